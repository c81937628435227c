"""Scores against scikit-learn, enumerations of small cases, and the laws that hold for any predictions."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score, top_k_accuracy_score

from squentropy.calibration import (
    CalibrationBins,
    Predictions,
    accuracy,
    aurc,
    auroc,
    brier,
    brier_decomposition,
    nll,
    top_k_accuracy,
)

SCORES = [accuracy, nll, brier, auroc, aurc]


def some(n_samples=300, num_classes=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(n_samples, num_classes, generator=generator, dtype=torch.float64)
    target = torch.multinomial((logits / 2).softmax(1), 1, generator=generator)[:, 0]
    weight = torch.rand(n_samples, generator=generator, dtype=torch.float64)
    return logits, target, weight


# ---- scikit-learn ----


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_agrees(weighted):
    logits, target, weight = some()
    probs, weight = logits.softmax(1), weight if weighted else None
    for predictions in (
        Predictions.from_logits(logits, target, weight),
        Predictions.from_probabilities(probs, target, weight),
    ):
        options = {} if weight is None else {"sample_weight": weight.numpy()}
        y, p = target.numpy(), probs.numpy()
        assert accuracy(predictions) == pytest.approx(accuracy_score(y, p.argmax(1), **options))
        assert nll(predictions) == pytest.approx(log_loss(y, p, **options), rel=1e-9)
        assert brier(predictions) == pytest.approx(
            brier_score_loss(y, p, scale_by_half=False, labels=range(4), **options), rel=1e-9
        )
        assert auroc(predictions) == pytest.approx(roc_auc_score(p.argmax(1) == y, p.max(1), **options), rel=1e-9)
        for k in (1, 2, 3):
            theirs = top_k_accuracy_score(y, p, k=k, labels=range(4), **options)
            assert top_k_accuracy(predictions, k) == pytest.approx(theirs)


def test_the_brier_score_of_two_classes_is_twice_that_of_one_probability():
    logits, target, _ = some(num_classes=2)
    probs = logits.softmax(1)
    predictions = Predictions.from_probabilities(probs, target)
    assert brier(predictions) == pytest.approx(2 * brier_score_loss(target.numpy(), probs[:, 1].numpy()))


# ---- by hand and by enumeration ----


def test_a_likelihood_of_zero_is_infinite_for_probabilities_and_exact_for_logits():
    assert nll(Predictions.from_probabilities(torch.tensor([[1.0, 0.0]]), torch.tensor([1]))) == math.inf
    assert nll(Predictions.from_logits(torch.tensor([[500.0, -500.0]]), torch.tensor([1]))) == 1000.0


def test_of_equals_the_first_class_comes_first():
    probs = torch.tensor([[0.25, 0.25, 0.25, 0.25]]).repeat(4, 1)
    predictions = Predictions.from_probabilities(probs, torch.arange(4))
    assert [top_k_accuracy(predictions, k) for k in (1, 2, 3, 4)] == [0.25, 0.5, 0.75, 1]
    assert accuracy(predictions) == 0.25
    assert predictions.rank.tolist() == [0, 1, 2, 3]


def mean_error_rate(correct):
    """Of the first i samples, over all i."""
    return np.mean(np.cumsum(1 - np.array(correct)) / np.arange(1, len(correct) + 1))


def test_the_risk_coverage_area_is_the_mean_over_orders_of_equals():
    confidence = [0.9, 0.8, 0.8, 0.8, 0.7, 0.7]
    correct = [1, 1, 0, 0, 0, 1]
    orders = [(0, *middle, *end) for middle in permutations((1, 2, 3)) for end in permutations((4, 5))]
    expected = np.mean([mean_error_rate([correct[i] for i in order]) for order in orders])
    p = torch.tensor(confidence, dtype=torch.float64)
    predictions = Predictions.from_probabilities(torch.stack([p, 1 - p], 1), 1 - torch.tensor(correct))
    assert aurc(predictions) == pytest.approx(expected, abs=1e-12)


def test_the_area_without_equals_is_the_mean_error_rate():
    logits, target, _ = some()
    predictions = Predictions.from_logits(logits, target)
    order = np.argsort(-predictions.confidence)
    assert aurc(predictions) == pytest.approx(mean_error_rate(predictions.correct[order]), rel=1e-12)


def test_auroc_counts_pairs():
    p = torch.tensor([0.9, 0.8, 0.8, 0.7, 0.6], dtype=torch.float64)
    right = np.array([1, 1, 0, 0, 1])
    predictions = Predictions.from_probabilities(torch.stack([p, 1 - p], 1), torch.tensor(1 - right))
    pairs = [(a > b) + 0.5 * (a == b) for a in p[right == 1].tolist() for b in p[right == 0].tolist()]
    assert auroc(predictions) == pytest.approx(np.mean(pairs))


def test_confidence_that_says_nothing_or_everything():
    probs = torch.tensor([[0.8, 0.2]] * 4)
    assert auroc(Predictions.from_probabilities(probs, torch.tensor([0, 1, 0, 1]))) == 0.5
    assert aurc(Predictions.from_probabilities(probs, torch.tensor([0, 1, 0, 1]))) == pytest.approx(0.5)
    sorted_probs = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    assert auroc(Predictions.from_probabilities(sorted_probs, torch.tensor([0, 0, 1, 1]))) == 1


@pytest.mark.parametrize(("target", "kind"), [([0, 0], "right"), ([1, 1], "wrong")])
def test_auroc_of_one_kind(target, kind):
    predictions = Predictions.from_probabilities(torch.tensor([[0.9, 0.1], [0.8, 0.2]]), torch.tensor(target))
    with pytest.raises(ValueError, match=f"auroc needs right and wrong predictions, but all are {kind}"):
        auroc(predictions)
    assert aurc(predictions) == (0 if kind == "right" else 1)


# ---- laws ----

CASES = st.integers(0, 2**32).map(lambda seed: some(20, 3, seed))


@settings(max_examples=60)
@given(CASES)
def test_a_weight_is_as_many_samples(case):
    logits, target, weight = case
    counts = (4 * weight).long()
    counts[0] += 1
    weighted = Predictions.from_logits(logits, target, counts)
    repeated = Predictions.from_logits(logits.repeat_interleave(counts, 0), target.repeat_interleave(counts))
    for score in SCORES:
        if score is not auroc or 0 < accuracy(repeated) < 1:
            assert score(weighted) == pytest.approx(score(repeated), rel=1e-9, abs=1e-12)


@settings(max_examples=60)
@given(CASES, st.integers(1, 12))
def test_the_parts_of_the_brier_score_are_the_whole(case, n_bins):
    predictions = Predictions.from_logits(*case)
    parts = brier_decomposition(predictions, n_bins)
    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bins
    assert whole == pytest.approx(brier(predictions), rel=1e-9)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0


def test_the_parts_are_those_of_class_wise_bins():
    logits, target, _ = some()
    predictions = Predictions.from_logits(logits, target)
    parts, bins = brier_decomposition(predictions), predictions.bins(class_wise=True)
    frequency = np.bincount(target, minlength=4)[:, None] / 300
    assert parts.reliability == pytest.approx((bins.share * np.nan_to_num(bins.gap) ** 2).sum())
    assert parts.resolution == pytest.approx((bins.share * np.nan_to_num(bins.accuracy - frequency) ** 2).sum())
    assert parts.uncertainty == pytest.approx((frequency * (1 - frequency)).sum())


def test_predictions_that_are_constant_in_each_bin_have_nothing_within_bins():
    probs = torch.tensor([[0.75, 0.25], [0.25, 0.75]]).repeat(10, 1)
    parts = brier_decomposition(Predictions.from_probabilities(probs, torch.arange(20) % 2))
    assert parts.within_bins == pytest.approx(0, abs=1e-12)


def test_soft_targets_are_the_expectation_over_their_labels():
    probs = torch.tensor([[0.6, 0.3, 0.1]], dtype=torch.float64)
    soft = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64)
    found = Predictions.from_probabilities(probs, soft)
    for score in (accuracy, nll, brier):
        expected = sum(
            soft[0, k].item() * score(Predictions.from_probabilities(probs, torch.tensor([k]))) for k in range(3)
        )
        assert score(found) == pytest.approx(expected)


def test_one_hot_targets_are_class_indices():
    logits, target, weight = some()
    hard = Predictions.from_logits(logits, target, weight)
    soft = Predictions.from_logits(logits, F.one_hot(target, 4).double(), weight)
    for score in SCORES:
        assert score(soft) == pytest.approx(score(hard), rel=1e-12)


# ---- predictions ----


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("class_wise", [False, True])
def test_their_bins_are_those_of_the_same_input(dtype, soft, class_wise):
    logits, target, weight = some()
    target = F.one_hot(target, 4).double() * 0.7 + 0.075 if soft else target
    probs = logits.softmax(1).to(dtype)
    from_probs = Predictions.from_probabilities(probs, target, weight).bins(7, class_wise=class_wise)
    options = {"weight": weight, "class_wise": class_wise}
    assert from_probs == CalibrationBins.from_probabilities(probs, target, 7, **options)
    from_logits = Predictions.from_logits(logits.to(dtype), target, weight).bins(7, class_wise=class_wise)
    assert from_logits == CalibrationBins.from_logits(logits.to(dtype), target, 7, **options)


def test_dense_predictions_become_a_row_for_each_position():
    logits = torch.randn(2, 3, 4, 5)
    target = torch.randint(3, (2, 4, 5))
    target[0, 0] = -100
    predictions = Predictions.from_logits(logits, target)
    flat, labels = logits.movedim(1, -1).reshape(-1, 3), target.reshape(-1)
    kept = labels != -100
    assert len(predictions) == 35
    np.testing.assert_array_equal(predictions.target, labels[kept])
    np.testing.assert_allclose(predictions.probs, flat[kept].softmax(1), rtol=1e-5)
    np.testing.assert_allclose(
        predictions.log_likelihood, -F.cross_entropy(flat[kept], labels[kept], reduction="none"), atol=1e-5
    )


def test_reweighted_counts_each_sample_so_often():
    logits, target, weight = some(20)
    predictions = Predictions.from_logits(logits, target, weight)
    factor = np.arange(20) % 3
    again = Predictions.from_logits(logits, target, weight * torch.tensor(factor))
    for score in SCORES:
        assert score(predictions.reweighted(factor)) == pytest.approx(score(again))


@pytest.mark.parametrize("k", [0, 5, -1])
def test_k_out_of_range(k):
    with pytest.raises(ValueError, match=f"k must lie in 1..4, the number of classes, got {k}"):
        top_k_accuracy(Predictions.from_logits(*some()), k)


def test_top_k_of_soft_targets():
    with pytest.raises(ValueError, match=r"needs class indices as targets.*use target.argmax\(1\)"):
        top_k_accuracy(Predictions.from_probabilities(torch.tensor([[0.5, 0.5]]), torch.tensor([[0.5, 0.5]])), 1)
