"""Bins against sums of fractions: edges, types, weights, masks, and merging to the same bytes in any order."""

import math
import random
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from squentropy.calibration import CalibrationBins, Predictions, ece
from squentropy.calibration.binning import bin_finder, equal_width_edges

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
UNIT = Fraction(1, 2**72)


def some_logits(n_samples=400, num_classes=4, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(n_samples, num_classes, generator=generator)
    return logits.to(dtype), torch.randint(num_classes, (n_samples,), generator=generator)


def exact_sums(confidence, correct, weight, n_bins):
    """Count, and sums of w, w^2, w confidence and w correctness of each bin, as fractions, from the definition."""
    edges = [Fraction(float(torch.tensor(k / n_bins, dtype=confidence.dtype))) for k in range(n_bins + 1)]
    sums = [[Fraction(0)] * n_bins for _ in range(5)]
    for p, y, w in zip(confidence.tolist(), correct.tolist(), weight.tolist(), strict=True):
        p, y, w = Fraction(p), Fraction(y), Fraction(w)
        k = 0 if p == 0 else next(k for k in range(n_bins) if edges[k] < p <= edges[k + 1])
        for row, value in zip(sums, (1, w, w * w, w * p, w * y), strict=True):
            row[k] += value
    return sums


def as_fractions(bins):
    counts, *sums = bins.sum_rows()
    return [list(map(Fraction, counts)), *([value * UNIT for value in row] for row in sums)]


# ---- edges ----


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 20, 64, 100])
def test_each_edge_is_the_upper_end_of_its_bin(dtype, n_bins):
    """In every type k/n belongs below, the next larger number above; and 0 to the first bin."""
    for k in range(n_bins + 1):
        edge = torch.tensor(k / n_bins, dtype=dtype)
        near = [edge, *(torch.nextafter(edge, torch.tensor(end, dtype=dtype)) for end in (0.0, 1.0))]
        below, above = max(k - 1, 0), min(k, n_bins - 1)
        bins = [CalibrationBins.from_confidences(p[None], torch.ones(1), n_bins).count.argmax().item() for p in near]
        assert bins == [below, below, above]


@pytest.mark.parametrize("dtype", DTYPES)
def test_edges_of_top_label_and_class_wise_probabilities(dtype):
    """The same through `from_probabilities`: a confidence of k/10 and its neighbours, the rest in other classes."""
    for k in range(6, 11):
        edge = torch.tensor(k / 10, dtype=dtype)
        for p, expected in [
            (edge, k - 1),
            (torch.nextafter(edge, edge * 0), k - 1),
            (torch.nextafter(edge, edge * 0 + 1), min(k, 9)),
        ]:
            probs = torch.stack([p, 1 - p])[None]
            bins = CalibrationBins.from_probabilities(probs, torch.tensor([0]))
            assert bins.count.argmax() == expected
            class_wise = CalibrationBins.from_probabilities(probs, torch.tensor([0]), class_wise=True)
            assert class_wise.count[0].argmax() == expected
            predictions = Predictions.from_probabilities(probs, torch.tensor([0]))
            assert predictions.bins() == bins
            assert predictions.bins(class_wise=True) == class_wise


def test_a_saturated_softmax_is_in_the_last_bin():
    bins = CalibrationBins.from_logits(torch.tensor([[200.0, 0.0], [0.0, 200.0]]), torch.tensor([0, 0]))
    assert bins.count.tolist() == [0] * 9 + [2]
    assert bins.confidence[-1] == 1.0
    assert bins.accuracy[-1] == 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=60)
@given(data=st.data())
def test_the_quick_way_to_a_bin_is_the_search(dtype, data):
    n_bins = data.draw(st.integers(1, 3000))
    width = 32 if dtype == torch.float32 else 64
    values = data.draw(st.lists(st.floats(0, 1, width=width), min_size=1, max_size=20))
    values += [k / n_bins for k in data.draw(st.lists(st.integers(0, n_bins), max_size=20))]
    confidence = torch.tensor([values], dtype=dtype)
    edges = equal_width_edges(n_bins)
    searched = np.searchsorted(torch.tensor(edges[1:-1], dtype=dtype).numpy(), confidence[0].numpy())
    assert bin_finder((edges,))(confidence)[0].tolist() == searched.tolist()


def test_own_edges_are_used_as_they_are():
    confidence = torch.tensor([0.0, 0.25, 0.2500001, 0.5, 0.9, 1.0], dtype=torch.float64)
    bins = CalibrationBins.from_confidences(confidence, torch.ones(6), edges=[0, 0.25, 0.5, 0.5, 1])
    assert bins.count.tolist() == [2, 2, 0, 2]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0.1, 1], "edges must rise from 0 to 1"),
        ([0, 0.9], "edges must rise from 0 to 1"),
        ([0, 0.6, 0.5, 1], "edges must rise from 0 to 1"),
        ([0, math.nan, 1], "edges must rise from 0 to 1"),
        ([1], "edges must have shape"),
        ([[0, 1], [0, 1]], "edges must have shape"),
    ],
)
def test_wrong_edges(edges, message):
    with pytest.raises(ValueError, match=message):
        CalibrationBins.from_confidences(torch.tensor([0.5]), torch.ones(1), edges=edges)


# ---- sums ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_exact(dtype):
    generator = torch.Generator().manual_seed(1)
    confidence = torch.rand(300, generator=generator).to(dtype)
    correct = torch.randint(2, (300,), generator=generator)
    weight = torch.rand(300, generator=generator, dtype=torch.float64).float()
    weight[::7] *= 2.0**20
    bins = CalibrationBins.from_confidences(confidence, correct, 7, weight=weight)
    assert as_fractions(bins) == exact_sums(confidence, correct, weight, 7)


@pytest.mark.parametrize("weight", [1.0, 1 / 3, 2.0**36 - 1])
def test_weights_of_any_size_are_summed_exactly(weight):
    weights = torch.full((1000,), weight, dtype=torch.float64)
    bins = CalibrationBins.from_confidences(torch.full((1000,), 0.75), torch.ones(1000), 4, weight=weights)
    assert bins.weight_sums[2] * UNIT == 1000 * Fraction(weight)
    assert bins.correct_sums[2] * UNIT == 1000 * Fraction(weight)
    assert bins.confidence[2] == 0.75
    assert bins.effective_count[2] == pytest.approx(1000, rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_more_samples_than_float32_can_count(dtype):
    """Summed in float32, 2^24 + 1 samples are 2^24; in float16 no more than 2048 can be counted."""
    n_samples = 2**24 + 2**12 + 1
    probs = torch.tensor([[0.25, 0.75]], dtype=dtype).expand(n_samples, 2)
    target = torch.ones(1, dtype=torch.int64).expand(n_samples)
    bins = CalibrationBins.from_probabilities(probs, target, n_bins=4)
    assert bins.count.tolist() == [0, 0, n_samples, 0]
    assert bins.confidence_sums[2] * UNIT == Fraction(3, 4) * n_samples
    assert bins.accuracy[2] == 1.0


def test_logits_of_half_precision_are_exponentiated_in_float32():
    logits, target = some_logits(dtype=torch.float16)
    assert CalibrationBins.from_logits(logits, target) == CalibrationBins.from_logits(logits.float(), target)


def test_top_label_bins_against_the_formulas():
    logits, target = some_logits(dtype=torch.float64)
    confidence, predicted = logits.softmax(1).max(1)
    bins = CalibrationBins.from_logits(logits, target, n_bins=15)
    cell = (confidence * 15).ceil().long() - 1
    for k in range(15):
        inside = cell == k
        assert bins.count[k] == inside.sum()
        if inside.any():
            assert bins.confidence[k] == pytest.approx(confidence[inside].mean().item(), rel=1e-12)
            assert bins.accuracy[k] == pytest.approx((predicted == target)[inside].double().mean().item(), rel=1e-12)
    np.testing.assert_allclose(bins.share, bins.count / 400)
    assert bins.share.sum() == pytest.approx(1)


def test_of_equal_scores_the_first_class_is_predicted():
    probs = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    assert CalibrationBins.from_probabilities(probs, torch.tensor([0, 1])).correct_sums[4] * UNIT == 1
    logits = torch.tensor([[1.0, 3.0, 3.0], [1.0, 3.0, 3.0]])
    assert CalibrationBins.from_logits(logits, torch.tensor([2, 1])).correct_sums[4] * UNIT == 1
    assert Predictions.from_logits(logits, torch.tensor([2, 1])).correct.tolist() == [0, 1]


def test_logits_and_their_softmax_give_the_same_bins():
    logits, target = some_logits(dtype=torch.float64)
    a, b = CalibrationBins.from_logits(logits, target), CalibrationBins.from_probabilities(logits.softmax(1), target)
    assert a.count.tolist() == b.count.tolist()
    np.testing.assert_allclose(a.gap, b.gap, atol=1e-12)


# ---- what a sample is: classes, positions, weights, soft targets ----


def test_class_wise_bins_are_the_bins_of_each_class():
    logits, target = some_logits(dtype=torch.float64)
    probs = logits.softmax(1)
    bins = CalibrationBins.from_probabilities(probs, target, class_wise=True)
    assert bins.count.shape == (4, 10)
    for k in range(4):
        assert bins.for_class(k) == CalibrationBins.from_confidences(probs[:, k], target == k)


@pytest.mark.parametrize("class_wise", [False, True])
def test_positions_are_samples(class_wise):
    logits = torch.randn(3, 5, 4, 6)
    target = torch.randint(5, (3, 4, 6))
    target[1, 2] = 255
    weight = torch.rand(3, 4, 6)
    options = {"class_wise": class_wise, "ignore_index": 255}
    dense = CalibrationBins.from_logits(logits, target, weight=weight, **options)
    flat = CalibrationBins.from_logits(
        logits.movedim(1, -1).reshape(-1, 5), target.reshape(-1), weight=weight.reshape(-1), **options
    )
    assert dense == flat
    assert dense.count.sum() == (72 - 6) * (5 if class_wise else 1)


def test_what_is_ignored_is_not_looked_at():
    logits, target = some_logits()
    expected = CalibrationBins.from_logits(logits[100:], target[100:])
    target[:100] = -100
    logits[:100] = math.nan
    assert CalibrationBins.from_logits(logits, target) == expected


def test_a_weight_is_as_many_samples_and_none_is_none():
    logits, target = some_logits()
    weight = torch.arange(400) % 4
    weighted = CalibrationBins.from_logits(logits, target, weight=weight)
    repeated = CalibrationBins.from_logits(logits.repeat_interleave(weight, 0), target.repeat_interleave(weight))
    assert weighted.weight_sums == repeated.weight_sums
    assert weighted.confidence_sums == repeated.confidence_sums
    assert weighted.correct_sums == repeated.correct_sums
    assert weighted.count.sum() == 300
    assert ece(weighted) == ece(repeated)


@pytest.mark.parametrize("class_wise", [False, True])
def test_one_hot_targets_are_class_indices(class_wise):
    logits, target = some_logits()
    hard = CalibrationBins.from_logits(logits, target, class_wise=class_wise)
    assert CalibrationBins.from_logits(logits, F.one_hot(target, 4).double(), class_wise=class_wise) == hard


def test_a_soft_target_says_how_right_a_prediction_is():
    probs = torch.tensor([[0.7, 0.3], [0.2, 0.8]])
    bins = CalibrationBins.from_probabilities(probs, torch.tensor([[0.5, 0.5], [0.25, 0.75]]), n_bins=1)
    assert bins.accuracy.tolist() == [0.625]


def test_equal_mass_bins_have_equal_numbers():
    confidence = torch.rand(1000, dtype=torch.float64)
    bins = CalibrationBins.from_confidences(confidence, torch.ones(1000), 8, binning="equal_mass")
    assert bins.count.tolist() == [125] * 8
    ordered = confidence.sort().values.tolist()
    assert bins.edges.tolist() == [0, *ordered[124:-1:125], 1]


def test_equal_mass_keeps_equal_confidences_together():
    confidence = torch.tensor([0.5] * 6 + [0.7, 0.9])
    bins = CalibrationBins.from_confidences(confidence, torch.ones(8), 4, binning="equal_mass")
    assert sorted(bins.count.tolist()) == [0, 0, 2, 6]


def test_equal_mass_counts_weights():
    confidence = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    bins = CalibrationBins.from_confidences(
        confidence, torch.ones(4), 2, binning="equal_mass", weight=torch.tensor([3.0, 1, 1, 1])
    )
    assert bins.edges.tolist() == [0, 0.1, 1]


def test_class_wise_equal_mass_has_edges_for_each_class():
    logits, target = some_logits()
    bins = CalibrationBins.from_logits(logits, target, 5, binning="equal_mass", class_wise=True)
    assert bins.edges.shape == (4, 6)
    assert (bins.count == 80).all()
    other = CalibrationBins.from_logits(*some_logits(seed=1), edges=bins.edges, class_wise=True)
    assert (bins + other).count.sum() == 4 * 800


# ---- merging ----


def batches(n_batches, size, dtype=torch.float32):
    return [some_logits(size, dtype=dtype, seed=seed) for seed in range(n_batches)]


def joined(parts):
    return tuple(torch.cat(part) for part in zip(*parts, strict=True))


@pytest.mark.parametrize("options", [{}, {"class_wise": True}, {"n_bins": 1000}], ids=str)
def test_batches_in_any_order_give_the_bytes_of_one_pass(options):
    parts = batches(12, 50)
    whole = CalibrationBins.from_logits(*joined(parts), **options)
    shuffle = random.Random(0).shuffle
    for _ in range(10):
        shuffle(parts)
        bins = [CalibrationBins.from_logits(*part, **options) for part in parts]
        while len(bins) > 1:  # a tree of another shape each time
            shuffle(bins)
            bins = [bins[0] + bins[1], *bins[2:]]
        assert bins[0] == whole
        assert repr(bins[0]) == repr(whole)
        assert bins[0].gap.tobytes() == whole.gap.tobytes()


@pytest.mark.parametrize(
    ("n_batches", "size"), [(100, 1000), pytest.param(100, 100_000, marks=pytest.mark.slow)], ids=["1e5", "1e7"]
)
def test_a_hundred_batches_are_one_pass_bit_for_bit(n_batches, size):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n_batches * size, 10, generator=generator)
    target = torch.randint(10, (n_batches * size,), generator=generator)
    streamed = CalibrationBins.empty()
    for start in range(0, len(logits), size):
        streamed += CalibrationBins.from_logits(logits[start : start + size], target[start : start + size])
    assert streamed == CalibrationBins.from_logits(logits, target)


def test_the_number_of_threads_changes_nothing():
    logits, target = some_logits(400_000, 3)
    one = CalibrationBins.from_logits(logits, target)
    torch.set_num_threads(3)
    try:
        assert CalibrationBins.from_logits(logits, target) == one
        target[300_000], target[399_999] = 7, 8
        with pytest.raises(ValueError, match="got 7 in row 300000"):
            CalibrationBins.from_logits(logits, target)
    finally:
        torch.set_num_threads(1)


def test_layout_and_contiguity_change_nothing():
    logits, target = some_logits()
    expected = CalibrationBins.from_logits(logits, target)
    assert CalibrationBins.from_logits(logits.T.contiguous().T, target) == expected
    assert (
        CalibrationBins.from_logits(logits.repeat_interleave(2, 0)[::2], target.repeat_interleave(2)[::2]) == expected
    )
    assert CalibrationBins.from_logits(logits.requires_grad_(), target.int()) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("num_classes", [2, 10, 100])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_smallest_batches_are_one_pass_bit_for_bit(dtype, num_classes, size):
    """A sum over classes must not depend on how many samples are beside it."""
    logits, target = some_logits(60, num_classes, dtype)
    pieces = zip(logits.split(size), target.split(size), strict=True)
    assert sum((CalibrationBins.from_logits(*piece) for piece in pieces), CalibrationBins.empty()) == (
        CalibrationBins.from_logits(logits, target)
    )


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.floats(0, 2.0**35)), min_size=1, max_size=30))
def test_any_samples_one_by_one_are_all_at_once(samples):
    confidence, correct, weight = (torch.tensor(column, dtype=torch.float64) for column in zip(*samples, strict=True))
    whole = CalibrationBins.from_confidences(confidence, correct, 6, weight=weight)
    merged = CalibrationBins.empty(6)
    for k in torch.randperm(len(samples)).tolist():
        merged += CalibrationBins.from_confidences(
            confidence[k : k + 1], correct[k : k + 1], 6, weight=weight[k : k + 1]
        )
    assert merged == whole


def test_bins_of_other_edges_are_not_merged():
    logits, target = some_logits()
    bins = CalibrationBins.from_logits(logits, target)
    for other in ({"n_bins": 15}, {"class_wise": True}, {"binning": "equal_mass"}):
        with pytest.raises(ValueError, match=r"must have the same edges, .* pass edges=bins.edges"):
            bins + CalibrationBins.from_logits(logits, target, **other)
    with pytest.raises(TypeError):
        bins + 1


def test_empty_bins_are_the_zero_of_addition():
    logits, target = some_logits()
    for options in ({}, {"class_wise": True}):
        bins = CalibrationBins.from_logits(logits, target, **options)
        zero = CalibrationBins.empty(num_classes=4 if options else None)
        assert bins + zero == bins
        assert np.isnan(zero.gap).all()
        assert zero.share.sum() == 0


def test_bins_are_a_value():
    logits, target = some_logits()
    bins = CalibrationBins.from_logits(logits, target)
    assert hash(bins) == hash(CalibrationBins.from_logits(logits, target))
    with pytest.raises(AttributeError):
        bins.class_wise = True


# ---- bad input ----


def with_value(values, row, column, value):
    values = values.clone()
    values[row, column] = value
    return values


PROBS = torch.full((5, 4), 0.25)
TARGET = torch.tensor([0, 1, 2, 3, 0])


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (with_value(PROBS, 3, 1, math.nan), "probs must be finite, got nan in row 3"),
        (with_value(PROBS, 3, 1, math.inf), "probs must be finite, got inf in row 3"),
        (with_value(PROBS, 2, 0, -0.25), "probs must not be negative, got -0.25 in row 2"),
        (with_value(PROBS, 4, 0, 0.5), "probs must sum to 1 in every row, got 1.25 in row 4"),
        (torch.randn(5, 4) * 3, r"in row \d: if these are logits, use from_logits"),
        (torch.rand(5, 4) * 3 + 1, r"probs must sum to 1 .* row 0: if these are logits, use from_logits"),
        (torch.zeros(0, 4), "predictions must not be empty, got shape"),
        (torch.zeros(5, 1), "at least two classes in dimension 1, got"),
        (torch.zeros(5), "two classes need two columns"),
        (torch.zeros(5, 4).long(), "got torch.int64: pass scores, not classes"),
        ([[0.5, 0.5]], "predictions must be a tensor, got list"),
    ],
)
@pytest.mark.parametrize("make", [CalibrationBins.from_probabilities, Predictions.from_probabilities])
def test_bad_probabilities(probs, message, make):
    with pytest.raises((ValueError, TypeError), match=message):
        make(probs, TARGET)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("make", [CalibrationBins.from_logits, Predictions.from_logits])
@pytest.mark.parametrize("row", [0, 70_000])
def test_bad_logits(value, make, row):
    logits = with_value(torch.zeros(70_001, 4), row, 2, value)
    with pytest.raises(ValueError, match=re.escape(f"logits must be finite, got {value} in row {row}: leave the row")):
        make(logits, torch.zeros(70_001, dtype=torch.int64))


def test_a_bad_value_between_ignored_samples_is_found_again():
    logits, target = torch.zeros(2, 3, 4, 5), torch.zeros(2, 4, 5, dtype=torch.int64)
    target[0] = -100
    target[1, :2] = -100
    logits[1, 1, 3, 2] = math.nan
    with pytest.raises(ValueError, match=r"got nan in row 1, position \(3, 2\)"):
        CalibrationBins.from_logits(logits, target)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (torch.tensor([0, 1, 2, 4, 0]), "target must lie in 0..3, got 4 in row 3: number the classes from 0"),
        (torch.tensor([0, 1, -1, 3, 0]), "target must lie in 0..3, got -1 in row 2"),
        (torch.tensor([0, 1]), r"target of class indices must have shape \(5,\)"),
        (torch.zeros(5, 3), r"target of probabilities must have shape \(5, 4\)"),
        (torch.zeros(5, 4), "target probabilities must be at least 0 and sum to 1, got a sum of 0 .* in row 0"),
        (torch.ones(5, dtype=torch.bool), r"got torch.bool: use target.long\(\)"),
        ([0, 1, 2, 3, 0], "target must be a tensor, got list"),
    ],
)
def test_bad_targets(target, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CalibrationBins.from_probabilities(PROBS, target)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (torch.tensor([1.0, 1, -1, 1, 1]), "weight must lie in 0..2\\^36, got -1 in row 2"),
        (torch.tensor([1.0, 1, math.nan, 1, 1]), "got nan in row 2"),
        (torch.tensor([1.0, 1, 1e30, 1, 1]), "got 1e\\+30 in row 2: divide all weights"),
        (torch.ones(4), "one value a sample, shape \\(5,\\), got \\(4,\\)"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        CalibrationBins.from_probabilities(PROBS, TARGET, weight=weight)
    with pytest.raises(ValueError, match="weight must"):
        CalibrationBins.from_confidences(PROBS[:, 0], TARGET > 0, weight=weight)


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        (torch.tensor([0.5, 1.5]), torch.ones(2), "confidence must lie in 0..1, got 1.5 in row 1"),
        (torch.tensor([0.5, math.nan]), torch.ones(2), "confidence must lie in 0..1, got nan in row 1"),
        ([0.5], torch.ones(1), "confidence must be a tensor, got list"),
        (torch.ones(2, dtype=torch.int64), torch.ones(2), "confidence must be of a floating type, got torch.int64"),
        (torch.tensor([0.5, 0.5]), torch.tensor([0, 2]), "correct must lie in 0..1, got 2 in row 1"),
        (torch.tensor([0.5, 0.5]), torch.ones(3), r"correct must have shape \(2,\), got \(3,\)"),
        (torch.zeros(0), torch.zeros(0), r"confidence must have shape \(N,\) with N > 0"),
        (PROBS, TARGET, r"confidence must have shape \(N,\)"),
    ],
)
def test_bad_confidences(confidence, correct, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CalibrationBins.from_confidences(confidence, correct)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be at least 1, got 0"),
        ({"n_bins": -3}, "n_bins must be at least 1, got -3"),
        ({"n_bins": 6, "binning": "equal_mass"}, "n_bins must be in 1..5, the number of samples that count, got 6"),
        ({"binning": "quantile"}, "binning must be 'equal_width' or 'equal_mass', got 'quantile'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        CalibrationBins.from_probabilities(PROBS, TARGET, **options)


def test_all_ignored_is_empty_bins_for_a_batch_but_no_error_to_be_had():
    bins = CalibrationBins.from_probabilities(PROBS, torch.full((5,), -100))
    assert bins == CalibrationBins.empty()
    with pytest.raises(ValueError, match="needs at least one sample"):
        ece(bins)
    with pytest.raises(ValueError, match="at least one sample that counts"):
        Predictions.from_probabilities(PROBS, torch.full((5,), -100))


def test_class_of_bins():
    bins = CalibrationBins.from_probabilities(PROBS, TARGET, class_wise=True)
    with pytest.raises(ValueError, match=r"index must lie in 0..3, got 4"):
        bins.for_class(4)
    with pytest.raises(ValueError, match="for_class needs class-wise bins"):
        bins.for_class(0).for_class(0)


def test_edges_are_the_nearest_float64():
    edges = CalibrationBins.empty(10).edges
    assert edges.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert all(low < high for low, high in pairwise(CalibrationBins.empty(1000).edges))
