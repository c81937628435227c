"""The published numbers are those of the paper, and each contradiction that a report points out is arithmetic."""

import math
from importlib.resources import files

import numpy as np
import pytest

from squentropy.study.published import errata, errata_for, find_row, published_rows
from squentropy.study.statistics import win_tie_loss

SUITES = {"Table 1": 34, "121 tabular": 121}


def rows(suite):
    return [row for row in published_rows().values() if row.suite == suite]


def row(name):
    return published_rows()[f"Table 1: {name}"]


def column(suite, measure, loss):
    return np.array([getattr(each, measure)[loss] for each in rows(suite)])


def test_all_rows_are_there():
    assert {suite: len(rows(suite)) for suite in SUITES} == SUITES
    assert all(
        each.performance.keys() == {"squentropy", "cross_entropy", "rescaled_square"} for each in rows("Table 1")
    )


@pytest.mark.parametrize(
    ("measure", "means"), [("performance", (85.6, 85.2, 85.5)), ("ece", (11.6, 13.2, 15.7))], ids=["accuracy", "ECE"]
)
def test_the_means_of_the_121_tables_are_those_of_the_text(measure, means):
    """But for the ECE of cross entropy, which the text gives as 13.0."""
    for loss, mean in zip(("squentropy", "cross_entropy", "rescaled_square"), means, strict=True):
        assert column("121 tabular", measure, loss).mean() == pytest.approx(mean, abs=0.05)


def test_spreads_are_those_of_table_2():
    assert row("ResNet-50, ImageNet (acc.)").deviation == {
        "squentropy": 0.029,
        "cross_entropy": 0.045,
        "rescaled_square": 0.032,
    }


def test_a_row_is_found_without_its_model_where_that_is_clear():
    assert find_row("Table 1: SVHN").name == "Table 1: VGG, SVHN"
    assert find_row(None) is None
    assert find_row("Figure 3") is None
    with pytest.raises(ValueError, match=r"names 2 rows of Table 1: choose one, 'Table 1: ResNet-18, CIFAR-10' and|or"):
        find_row("Table 1: CIFAR-10")
    with pytest.raises(ValueError, match="names 0 rows"):
        find_row("121 tabular: atlantis")


# The errata, sentence by sentence.


def text(key):
    (found,) = (erratum.text for erratum in errata() if erratum.key == key)
    return " ".join(found.split())


def square_confidence(classes, target=1.0):
    """The confidence of a square loss that is fitted well: its logits are M and zeros."""
    return 100 * math.exp(target) / (math.exp(target) + classes - 1)


def test_every_row_that_is_named_exists():
    for erratum in errata():
        assert all(name in published_rows() for name in erratum.rows)
        assert erratum.suite is None or erratum.suite in SUITES
    assert len({erratum.key for erratum in errata()}) == len(errata())


def test_swapped():
    stl, svhn = row("ResNet-18, STL-10"), row("VGG, SVHN")
    assert stl.ece["cross_entropy"] > 100 - stl.performance["cross_entropy"] == pytest.approx(6.3)
    limit = svhn.performance["rescaled_square"] - 10
    assert svhn.ece["rescaled_square"] > limit == pytest.approx(57.0)
    assert "accuracy 93.7 and ECE 26.1, but over-confidence cannot exceed 6.3" in text("swapped")
    assert "accuracy 67.0 and ECE 65.4, but under-confidence cannot exceed 57.0" in text("swapped")
    # With the accuracies exchanged every number is possible.
    for ours, theirs in ((stl, svhn), (svhn, stl)):
        for loss, accuracy in theirs.performance.items():
            assert ours.ece[loss] <= max(100 - accuracy, accuracy - 10)


def test_enwik8():
    subset = row("Transformer-XL, enwik8 (subset)")
    limit = subset.performance["rescaled_square"] - 100 / 204
    assert subset.ece["rescaled_square"] > limit == pytest.approx(46.8, abs=0.05)
    assert "accuracy 47.3 and ECE 70.6, but with 204 symbols under-confidence cannot exceed 46.8" in text("enwik8")


def test_bert_square():
    confidence = square_confidence(2)
    assert confidence == pytest.approx(73.1, abs=0.05)
    given = {}
    for task in ("QNLI", "QQP", "SST-2", "MRPC"):
        found = row(f"BERT fine-tuned, {task}")
        given[task] = found.ece["rescaled_square"], round(found.performance["rescaled_square"] - confidence, 1)
    assert given == {"QNLI": (4.2, 17.5), "QQP": (2.8, 15.8), "SST-2": (19.8, 20.9), "MRPC": (14.0, 10.7)}
    assert "4.2 on QNLI and 2.8 on QQP" in text("bert-square")
    assert "19.8 on SST-2 and 14.0 on MRPC are near what it gives there, 20.9 and 10.7" in text("bert-square")


def test_vit_square():
    found = row("Visual transformer, CIFAR-10")
    accuracy = found.performance["rescaled_square"]
    assert found.ece["rescaled_square"] == 7.2
    assert accuracy - square_confidence(10) == pytest.approx(76.1, abs=0.05)
    assert square_confidence(10, target=10) - accuracy == pytest.approx(0.7, abs=0.05)


def test_bold():
    text8, qqp = row("Transformer-XL, text8").performance, row("LSTM+Attention, QQP").performance
    assert (max(text8.values()), text8["rescaled_square"], text8["cross_entropy"]) == (73.2, 73.2, 72.8)
    assert (qqp["rescaled_square"], qqp["squentropy"]) == (83.4, 83.5)


def test_librispeech():
    characters, words = row("VGG+BLSTM, Librispeech (CER)"), row("VGG+BLSTM, Librispeech (WER)")
    assert list(characters.performance.values()) == [9.7, 10.6, 9.7]
    assert list(words.performance.values()) == [7.6, 8.2, 8.0]


def test_tabular_ties():
    accuracy, ece = (
        win_tie_loss(
            sign * column("121 tabular", measure, "squentropy"), sign * column("121 tabular", measure, "cross_entropy")
        )
        for measure, sign in (("performance", 1), ("ece", -1))
    )
    assert (accuracy.wins, accuracy.ties, accuracy.losses) == (82, 12, 27)
    assert (ece.wins, ece.ties, ece.losses) == (77, 6, 38)
    assert accuracy.wins + accuracy.ties == 94
    assert ece.wins + ece.ties == 83
    assert "82 are wins and 12 ties (27 losses)" in text("tabular-ties")
    assert "77 are wins and 6 ties (38 losses)" in text("tabular-ties")


def test_errata_stand_under_the_tables_that_they_concern():
    assert [each.key for each in errata_for([row("TCNN, MNIST")])] == []
    assert [each.key for each in errata_for(rows("121 tabular")[:1])] == ["tabular-ties"]
    assert "test_published.py" in files("squentropy.study.published").joinpath("errata.toml").read_text()
