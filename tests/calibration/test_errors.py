"""Calibration errors: hand-worked values, laws, torchmetrics, netcal and relplot, and the noise that is taken away."""

import csv
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from netcal.metrics import ECE, MCE
from relplot import smECE
from torchmetrics.functional.classification import multiclass_calibration_error

from squentropy.calibration import (
    CalibrationBins,
    classwise_ece,
    debiased_ece,
    debiased_rmsce,
    ece,
    ks_error,
    mce,
    overconfidence,
    rmsce,
    smooth_ece,
    underconfidence,
)

ERRORS = [ece, mce, rmsce, overconfidence, underconfidence, debiased_ece, debiased_rmsce, ks_error]
FIGURE1 = Path(__file__).parent / "figure1_bins.csv"


def miscalibrated(n_samples=3000, num_classes=5, factor=2.0, seed=0):
    """Probabilities that are too sure, in float64, and classes drawn from the right ones."""
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(n_samples, num_classes, generator=generator, dtype=torch.float64)
    target = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
    return (factor * logits).softmax(1), target


def events(n_samples=4000, seed=0):
    """Probabilities of an event that comes as often as their square says."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n_samples, generator=generator, dtype=torch.float64)
    return p, (torch.rand(n_samples, generator=generator, dtype=torch.float64) < p**2).double()


# ---- by hand ----

# Three bins of ten: two samples at 0.55 with gap 0.05, four at 0.85 with gap -0.15, four at 0.95 with gap 0.45.
BY_HAND = CalibrationBins.from_confidences(
    torch.tensor([0.55] * 2 + [0.85] * 4 + [0.95] * 4, dtype=torch.float64),
    torch.tensor([1, 0, 1, 1, 1, 1, 1, 1, 0, 0]),
)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ece, 0.2 * 0.05 + 0.4 * 0.15 + 0.4 * 0.45),
        (mce, 0.45),
        (rmsce, math.sqrt(0.2 * 0.05**2 + 0.4 * 0.15**2 + 0.4 * 0.45**2)),
        (overconfidence, 0.2 * 0.05 + 0.4 * 0.45),
        (underconfidence, 0.4 * 0.15),
        (ks_error, 0.01 - 0.06 + 0.18),
        (debiased_rmsce, math.sqrt(0.2 * (0.05**2 - 0.25) + 0.4 * 0.15**2 + 0.4 * (0.45**2 - 0.25 / 3))),
    ],
)
def test_values_worked_by_hand(error, expected):
    assert error(BY_HAND) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", ["cross_entropy", "squentropy", "square_t1_M10", "square_t1_M1"])
def test_figure_1_of_the_paper(loss):
    """Its shares, confidences and accuracies give its ECE, to the last digit that it prints."""
    with FIGURE1.open() as file:
        rows = [row for row in csv.DictReader(file) if row["loss"] == loss]
    share, confidence, accuracy = (
        torch.tensor([float(row[name]) for row in rows], dtype=torch.float64)
        for name in ("share", "confidence", "accuracy")
    )
    bins = CalibrationBins.from_confidences(confidence, accuracy, weight=share)
    assert bins.n_bins == 10
    assert round(ece(bins), 3) == float(rows[0]["published_ece"])
    part = round(overconfidence(bins) / ece(bins), 2)
    assert part == {"cross_entropy": 1, "squentropy": 0.81, "square_t1_M10": 0.96, "square_t1_M1": 0}[loss]


def test_class_wise_by_hand():
    probs = torch.tensor([[0.75, 0.25], [0.75, 0.25], [0.25, 0.75]], dtype=torch.float64)
    bins = CalibrationBins.from_probabilities(probs, torch.tensor([0, 1, 1]), n_bins=4, class_wise=True)
    # Each class: 2/3 of |0.75 or 0.25 - 1/2|, 1/3 of |0.25 - 0|.
    assert classwise_ece(bins) == pytest.approx(0.25)


def test_all_that_is_confident_and_right_has_no_error():
    bins = CalibrationBins.from_confidences(torch.ones(10), torch.ones(10), n_bins=1000)
    assert [error(bins) for error in (*ERRORS, smooth_ece)] == [0] * 9


# ---- laws ----

SAMPLES = st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=40)


def binned(samples, n_bins):
    confidence, correct, weight = (torch.tensor(column, dtype=torch.float64) for column in zip(*samples, strict=True))
    return CalibrationBins.from_confidences(confidence, correct, n_bins, weight=weight)


@settings(max_examples=60)
@given(SAMPLES, st.integers(1, 30))
def test_errors_are_ordered(samples, n_bins):
    bins = binned(samples, n_bins)
    least_to_most = [0, ks_error(bins), ece(bins), rmsce(bins), mce(bins), 1]
    assert all(low <= high + 1e-12 for low, high in pairwise(least_to_most))
    assert overconfidence(bins) + underconfidence(bins) == pytest.approx(ece(bins), abs=1e-12)
    assert 0 <= debiased_ece(bins) <= ece(bins) + 1e-12
    assert 0 <= debiased_rmsce(bins) <= rmsce(bins) + 1e-12


@settings(max_examples=60)
@given(SAMPLES, st.integers(1, 6))
def test_finer_bins_hide_fewer_gaps(samples, n_bins):
    assert ece(binned(samples, n_bins)) <= ece(binned(samples, 4 * n_bins)) + 1e-12


@settings(max_examples=60)
@given(SAMPLES)
def test_one_bin_sees_the_difference_of_the_means_and_ks_never_less(samples):
    p, y, w = np.array(samples, dtype=float).T
    difference = abs(np.average(p - y, weights=w))
    assert ece(binned(samples, 1)) == pytest.approx(difference, abs=1e-12)
    assert ks_error(binned(samples, 50)) >= difference - 1e-12
    assert smooth_ece(binned(samples, 400)) >= difference - 1e-6


@settings(max_examples=60)
@given(SAMPLES)
def test_a_reflected_world_has_the_same_errors(samples):
    """Of the opposite event overconfidence is underconfidence, and the rest stays."""
    bins = binned([(p, y, w) for p, y, w in samples if p * 7 % 1] or [(0.3, True, 1.0)], 7)
    mirrored = binned([(1 - p, not y, w) for p, y, w in samples if p * 7 % 1] or [(0.7, False, 1.0)], 7)
    if (bins.count[::-1] == mirrored.count).all():  # 1 - p is rounded, and may come to lie on an edge
        assert overconfidence(bins) == pytest.approx(underconfidence(mirrored), abs=1e-9)
        for error in (ece, mce, rmsce, debiased_rmsce):
            assert error(bins) == pytest.approx(error(mirrored), abs=1e-6)


# ---- other libraries ----


@pytest.mark.parametrize("n_bins", [5, 10, 15])
def test_netcal_agrees_between_edges(n_bins):
    probs, target = miscalibrated()
    bins = CalibrationBins.from_probabilities(probs, target, n_bins)
    assert ece(bins) == pytest.approx(ECE(bins=n_bins).measure(probs.numpy(), target.numpy()), abs=1e-9)
    assert mce(bins) == pytest.approx(MCE(bins=n_bins).measure(probs.numpy(), target.numpy()), abs=1e-9)


@pytest.mark.parametrize(("error", "norm"), [(ece, "l1"), (rmsce, "l2"), (mce, "max")])
def test_torchmetrics_agrees_between_edges(error, norm):
    probs, target = miscalibrated()
    bins = CalibrationBins.from_probabilities(probs, target, 15)
    theirs = multiclass_calibration_error(probs, target, num_classes=5, n_bins=15, norm=norm)
    assert error(bins) == pytest.approx(theirs.item(), abs=1e-5)  # it sums in float32


def test_class_wise_is_the_mean_over_classes_by_netcal():
    probs, target = miscalibrated()
    bins = CalibrationBins.from_probabilities(probs, target, class_wise=True)
    theirs = [ECE(bins=10).measure(probs[:, k].numpy(), (target == k).long().numpy()) for k in range(5)]
    assert classwise_ece(bins) == pytest.approx(np.mean(theirs), abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n_bins", [1000, 2000])
def test_relplot_agrees_on_the_smooth_error(seed, n_bins):
    p, y = events(seed=seed)
    bins = CalibrationBins.from_confidences(p, y, n_bins)
    # It looks for the bandwidth in steps of 2^-10 and evaluates on a grid.
    assert smooth_ece(bins) == pytest.approx(smECE(p.numpy(), y.numpy()), abs=2e-3)


def test_the_smooth_error_is_its_own_bandwidth():
    """Computed from all samples and mirror images, without bins: the integral equals the bandwidth."""
    p, y = (values.numpy() for values in events(500))
    found = smooth_ece(CalibrationBins.from_confidences(torch.tensor(p), torch.tensor(y), 2000))
    t = (np.arange(4000) + 0.5) / 4000
    images = np.concatenate([sign * p + shift for shift in range(-4, 5, 2) for sign in (1, -1)])
    kernel = np.exp(-((t[:, None] - images) ** 2) / (2 * found**2)) / (found * math.sqrt(2 * math.pi))
    integral = np.abs(kernel @ np.tile(p - y, 10) / len(p)).mean()
    assert integral == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("n_bins", [1000, 4000])
def test_ks_is_the_largest_sum_over_sorted_samples(n_bins):
    p, y = (values.numpy() for values in events())
    order = np.argsort(p)
    exact = np.abs(np.cumsum((p - y)[order])).max() / len(p)
    found = ks_error(CalibrationBins.from_confidences(torch.tensor(p), torch.tensor(y), n_bins))
    assert found <= exact + 1e-12
    assert found == pytest.approx(exact, abs=10 / n_bins)


def test_adaptive_ece_by_quantiles_of_numpy():
    p, y = events(1000)
    bins = CalibrationBins.from_confidences(p, y, 20, binning="equal_mass")
    order = np.argsort(p.numpy()).reshape(20, 50)
    expected = np.abs((p - y).numpy()[order].mean(1)).mean()
    assert ece(bins) == pytest.approx(expected, abs=1e-12)


# ---- noise ----


def test_debiased_ece_takes_away_what_the_same_noise_would_add_again():
    """The closed form is Kumar's 2 plugin - E[plugin of resamples], for normal noise of the observed accuracies."""
    p, y = events(300)
    bins = CalibrationBins.from_confidences(p, y, 10)
    noise = np.sqrt(bins.accuracy * (1 - bins.accuracy) / bins.count)
    draws = bins.gap + noise * np.random.default_rng(0).normal(size=(200_000, 10))
    expected = 2 * ece(bins) - (np.abs(draws) @ bins.share).mean()
    assert debiased_ece(bins) == pytest.approx(expected, abs=1e-4)


def test_debiased_ece_of_calibrated_models_is_smaller_by_what_its_documentation_says():
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(200, 1000, generator=generator, dtype=torch.float64)
    bins = [CalibrationBins.from_confidences(each, torch.bernoulli(each, generator=generator)) for each in p]
    ratio = np.mean([debiased_ece(each) for each in bins]) / np.mean([ece(each) for each in bins])
    assert ratio == pytest.approx(2 - math.sqrt(2), abs=0.03)


def test_debiased_rmsce_is_unbiased_in_its_square():
    """Over all outcomes of six samples at 0.05 whose probability is really 0.9."""
    expectation = 0.0
    for right in range(7):
        bins = CalibrationBins.from_confidences(torch.full((6,), 0.05, dtype=torch.float64), torch.arange(6) < right)
        expectation += math.comb(6, right) * 0.9**right * 0.1 ** (6 - right) * debiased_rmsce(bins) ** 2
    assert expectation == pytest.approx(0.85**2, abs=1e-5)


# ---- wrong use ----


@pytest.mark.parametrize("error", [*ERRORS, smooth_ece])
def test_an_error_of_nothing_and_of_class_wise_bins(error):
    with pytest.raises(ValueError, match=f"{error.__name__} needs at least one sample"):
        error(CalibrationBins.empty())
    probs, target = miscalibrated(10)
    with pytest.raises(
        ValueError, match=rf"{error.__name__} needs bins of one kind.* use classwise_ece, or bins.for_cl"
    ):
        error(CalibrationBins.from_probabilities(probs, target, class_wise=True))


def test_class_wise_error_of_other_bins():
    with pytest.raises(ValueError, match="classwise_ece needs class-wise bins"):
        classwise_ece(BY_HAND)
    with pytest.raises(ValueError, match="classwise_ece needs at least one sample"):
        classwise_ece(CalibrationBins.empty(num_classes=3))


def test_smooth_error_needs_fine_bins_of_equal_width():
    p, y = events(1000)
    with pytest.raises(ValueError, match="smooth_ece needs at least 200 bins, got 100: make them with n_bins=1000"):
        smooth_ece(CalibrationBins.from_confidences(p, y, 100))
    with pytest.raises(ValueError, match="smooth_ece needs bins of equal width"):
        smooth_ece(CalibrationBins.from_confidences(p, y, 500, binning="equal_mass"))


@pytest.mark.parametrize("right", [5008, 5005, 5000, 4995])
def test_smooth_error_smaller_than_a_bin_is_found(right):
    """All gaps in one bin, of which a kernel narrower than the bin makes more than there is."""
    bins = CalibrationBins.from_confidences(torch.full((10_000,), 0.501), torch.arange(10_000) < right, n_bins=500)
    assert smooth_ece(bins) == pytest.approx(0.501 - right / 10_000, rel=0.12)
