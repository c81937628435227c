"""The contestants of a case compute the same, so that their times can be compared."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from squentropy.bench import calibration, classifier, compare, engine, heads, language, losses, speech, training, vision
from squentropy.bench.case import COMPILED
from squentropy.bench.cases import CASES, MEAN_TARGETS, select
from squentropy.data import MANIFEST

CPU = torch.device("cpu")
OTHER_LOSSES = {losses.BASELINE, "rescaled_square", "label_smoothing", "focal", "logit_penalty"}
TABLE = training._Shape(rows=100, features=7, classes=3)
NETWORK = classifier._Setting(rows=400, features=6, classes=3, hidden=(16, 8), batch_size=20)
STEPS = {
    "losses": lambda: losses._steps((6, 5), torch.float32, True, CPU),
    "heads": lambda: heads._steps(6, 4, 9, CPU),
    "calibration": lambda: calibration._steps(1000, 10, CPU),
    "training": lambda: {
        **training._training_steps([TABLE], ["squentropy"], 1, CPU),
        **training._arithmetic_steps([TABLE], CPU),
        **training._planning_steps(400, CPU),
    },
    "engine": lambda: engine._steps(4, CPU),
    "vision": lambda: {**vision._training_steps(CPU), **vision._input_steps(CPU)},
    "classifier": lambda: classifier._steps(NETWORK, CPU),
    "compare": lambda: compare._steps(60, 6, 3, 1, CPU),
    "language": lambda: {
        **language.step_steps(32, 2, 4, CPU),
        **language.evaluation_steps(1, 8, 8, CPU),
        **language.finetuning_steps(32, 1, CPU),
    },
    "speech": lambda: {**speech.search_steps(2, 2, CPU), **speech.training_steps(24, CPU)},
}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_targets_and_baseline_are_among_the_contestants(case):
    contestants = STEPS[case.group]().keys()
    assert case.name.startswith(f"{case.group}/")
    assert case.baseline in contestants
    for target in (*case.targets, *filter(None, [MEAN_TARGETS.get(case.group)])):
        assert {target.contestant, target.against or target.contestant} <= contestants
        assert target.at_most > 0


@pytest.mark.parametrize("shape", [(6, 5), (2, 5, 3, 4)], ids=str)
def test_all_ways_to_write_squentropy_have_one_gradient(shape):
    steps = losses._steps(shape, torch.float32, True, CPU)
    squentropies = steps.keys() - OTHER_LOSSES - {losses.COPY, COMPILED}
    assert squentropies == {losses.OURS, losses.IN_PLACE, losses.FORMULA, losses.OFFICIAL, losses.NAIVE}
    (expected,) = steps[losses.OURS]()
    expected = expected.clone()
    for name in squentropies:
        torch.testing.assert_close(steps[name]()[0], expected)
    for name in OTHER_LOSSES:
        assert not torch.allclose(steps[name]()[0], expected)


def test_heads_have_one_gradient():
    steps = heads._steps(6, 4, 9, CPU)
    for ours, theirs in ((heads.OURS, "F.linear + official formula"), (heads.CHUNKED, heads.BASELINE)):
        torch.testing.assert_close(steps[ours](), steps[theirs]())


def test_calibration_errors_are_one():
    steps = calibration._steps(1000, 10, CPU)
    assert steps[calibration.OURS]() == pytest.approx(steps[calibration.BASELINE]().item(), abs=1e-6)


def test_classifiers_train_the_same_network_as_long():
    theirs, ours = (step() for step in classifier._steps(NETWORK, CPU).values())
    assert theirs.n_iter_ == ours.n_iter_ == 5
    ours_shapes = [layer.weight.T.shape for layer in ours.module_[::2]]
    assert [weight.shape for weight in theirs.coefs_] == ours_shapes
    assert theirs.batch_size == ours.batch_size
    assert len(theirs.loss_curve_) == len(ours.loss_curve_)
    wrong = classifier._errors(NETWORK, CPU)
    assert 0 < wrong[classifier.OURS] < 0.5
    assert 0 < wrong[classifier.BASELINE] < 0.5


def test_a_comparison_trains_five_losses_with_ten_seeds():
    result = compare._steps(60, 6, 3, 1, CPU)[compare.OURS]()
    assert (result.models["seeds"] == 10).all()
    assert len(result.outcome.networks) == 5
    assert len(result.outcome.yardsticks) == 2


def test_planning_gives_as_many_ids_as_runs():
    ids = training._planning_steps(800, CPU)["plan"]()
    assert len(ids) == len(set(ids)) == 800


def test_matrix_products_have_the_operations_of_training():
    """Counted by PyTorch, on the same layers with the bias as one more input."""
    widths = [8, *(width + 1 for width in training._HIDDEN), 3]
    layers = [torch.nn.Linear(a, b, bias=False) for a, b in zip(widths, [*training._HIDDEN, 3], strict=False)]
    hidden = torch.rand(1, 8)
    with FlopCounterMode(display=False) as counter:
        for layer in layers:
            hidden = torch.nn.functional.pad(layer(hidden), (0, 1), value=1.0)
        hidden.sum().backward()
    # Training needs no gradient of the ones that meet the biases.
    left_out = 2 * sum(layer.out_features for layer in layers[1:])
    assert training._operations(TABLE) == counter.get_total_flops() - left_out


def test_tables_are_those_at_hand():
    assert (
        sum(shape.rows for shape in training._AT_HAND)
        == sum(each.rows for each in MANIFEST.values() if each.collection == "uci121") - 130_064
    )
    assert len(training._TEN_LARGEST) == len(training._EVERY_TWELFTH) == 10
    assert training._TEN_LARGEST[-1] == (67_557, 42, 2)


def test_selection():
    assert [case.name for case in select(["all"])] == list(CASES)
    assert {case.group for case in select(["heads", "losses/128x10"])} == {"heads", "losses"}
    assert select(["losses/128x10", "losses"]) == select(["losses"])
    with pytest.raises(ValueError, match="no benchmark is called 'loss': choose among all, losses"):
        select(["heads", "loss"])


def test_evaluation_with_memory_sees_what_a_sliding_window_sees():
    """Of one layer the logits are the same; of more, memory reaches further back."""
    steps = language.evaluation_steps(1, 8, 20, CPU)
    torch.testing.assert_close(steps[language.WITH_MEMORY](), steps[language.SLIDING]())


def test_finetuning_trains_on_as_many_rows():
    steps = language.finetuning_steps(32, 2, CPU)
    assert 0 <= steps[language.BARE]() <= 32
    assert 0 <= steps[language.STUDY]()["accuracy"] <= 1


def test_utterances_are_transcribed_alike_alone_and_together():
    alone, together = (step() for step in speech.search_steps(3, 4, CPU).values())
    assert [each[0].symbols for each in alone] == [each.symbols for each in together]
    assert [each[0].score for each in alone] == pytest.approx([each.score for each in together], abs=1e-3)


def test_random_batches_have_as_many_frames_as_those_of_like_length():
    lengths = speech._lengths(160)
    assert lengths.min() == 69
    assert lengths.max() == 639
    assert lengths.double().mean() == pytest.approx(267.6, rel=0.03)  # AN4's
    batches = speech._at_random(lengths, 8, torch.Generator().manual_seed(0))
    assert sorted(torch.cat(batches).tolist()) == list(range(160))
    frames = torch.tensor([int(lengths[rows].sum()) for rows in batches])
    assert (frames - lengths.sum() / 8).abs().max() <= 639
