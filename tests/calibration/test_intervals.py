"""Intervals hold the truth as often as they say, on models whose true calibration error is known."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import binom

from squentropy.calibration import (
    CalibrationBins,
    Interval,
    Predictions,
    accuracy,
    auroc,
    brier,
    classwise_ece,
    difference,
    ece,
    interval,
    mce,
    nll,
    rmsce,
    smooth_ece,
)

QUICK = 100
COVERAGE = 0.9


def world(name, n_samples, seed):
    """Confidences, and the probabilities with which they are really right."""
    generator = torch.Generator().manual_seed(seed)
    if name == "very underconfident":  # as the square loss with t = M = 1
        p = 0.017 + 0.01 * torch.rand(n_samples, generator=generator, dtype=torch.float64)
        return p, torch.full_like(p, 0.54)
    logit = 0.2 + 2 * torch.randn(n_samples, generator=generator, dtype=torch.float64).abs()
    factor = {"calibrated": 1.0, "overconfident": 2.0, "underconfident": 0.5}[name]
    return torch.sigmoid(factor * logit), torch.sigmoid(logit)


def drawn(name, n_samples, seed):
    p, truth = world(name, n_samples, seed)
    return p, torch.bernoulli(truth, generator=torch.Generator().manual_seed(seed + 10_000))


def misses(name, error, n_bins, n_samples, repetitions):
    """How often the true error is not in an interval."""
    true = error(CalibrationBins.from_confidences(*world(name, 500_000, seed=1), n_bins))
    found = [
        interval(error, CalibrationBins.from_confidences(*drawn(name, n_samples, seed), n_bins), QUICK, COVERAGE, seed)
        for seed in range(100, 100 + repetitions)
    ]
    return sum(not each.low - 1e-12 <= true <= each.high + 1e-12 for each in found)


def most_misses(repetitions):
    """More would happen once in a thousand times to intervals that hold the truth in 85 of 100 cases."""
    return binom.ppf(0.999, repetitions, 0.15)


@pytest.mark.parametrize("name", ["calibrated", "overconfident", "underconfident", "very underconfident"])
def test_the_true_ece_is_in_its_interval(name):
    assert misses(name, ece, 10, 500, 40) <= most_misses(40)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calibrated", "overconfident", "underconfident", "very underconfident"])
@pytest.mark.parametrize(("error", "n_bins"), [(ece, 15), (rmsce, 10), (mce, 5), (smooth_ece, 500)])
@pytest.mark.parametrize("n_samples", [200, 2000])
def test_true_errors_are_in_their_intervals(name, error, n_bins, n_samples):
    assert misses(name, error, n_bins, n_samples, 60) <= most_misses(60)


def test_a_calibrated_models_interval_holds_zero_though_its_estimate_is_far_from_it():
    found = interval(ece, CalibrationBins.from_confidences(*drawn("calibrated", 300, 0)), QUICK)
    assert found.low == 0 < 0.02 < found.estimate


def test_more_samples_give_shorter_intervals_around_the_estimate():
    few, many = (
        interval(ece, CalibrationBins.from_confidences(*drawn("overconfident", n, 0)), QUICK) for n in (300, 30_000)
    )
    assert few.high - few.low > 5 * (many.high - many.low)
    assert many.low < many.estimate < many.high


def test_the_interval_of_the_accuracy_is_that_of_a_share():
    p, right = drawn("overconfident", 400, 0)
    predictions = Predictions.from_probabilities(torch.stack([p, 1 - p], 1), 1 - right.long())
    found = interval(accuracy, predictions, 1000)
    expected = binom.ppf([0.025, 0.975], 400, found.estimate) / 400
    np.testing.assert_allclose([found.low, found.high], expected, atol=0.01)


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    p, right = drawn("calibrated", 1000, 0)
    predictions = Predictions.from_probabilities(torch.stack([p, 1 - p], 1), 1 - right.long())
    found = interval(nll, predictions, 1000)
    half = 1.96 * predictions.log_likelihood.std() / np.sqrt(1000)
    np.testing.assert_allclose([found.low, found.high], [found.estimate - half, found.estimate + half], rtol=0.05)


def two_models(name_a, name_b, n_samples=1000, seed=0):
    """Predictions of one model and of its recalibration or another model, on the same samples."""
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(n_samples, 3, generator=generator, dtype=torch.float64)
    target = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
    factors = {"calibrated": 1.0, "overconfident": 2.0, "also overconfident": 2.02}
    return [Predictions.from_logits(factors[name] * logits, target) for name in (name_a, name_b)]


@pytest.mark.parametrize("measure", [partial(difference, ece, n_bins=10), partial(difference, brier)])
def test_two_models_are_told_apart_or_not(measure):
    apart = measure(*two_models("overconfident", "calibrated"), n_resamples=QUICK)
    assert 0 < apart.low < apart.estimate < apart.high
    again = measure(*two_models("calibrated", "overconfident"), n_resamples=QUICK)
    assert again.high < 0
    assert again.estimate == pytest.approx(-apart.estimate)


def test_what_is_hard_for_both_models_does_not_widen_the_difference():
    a, b = two_models("overconfident", "also overconfident")
    alone = interval(brier, a, QUICK)
    together = difference(brier, a, b, QUICK)
    assert together.high - together.low < 0.1 * (alone.high - alone.low)
    ece_alone = interval(ece, a.bins(), QUICK)
    ece_together = difference(ece, a, b, QUICK, n_bins=10)
    assert ece_together.high - ece_together.low < 0.6 * (ece_alone.high - ece_alone.low)


def test_a_model_does_not_differ_from_itself():
    a, _ = two_models("overconfident", "calibrated")
    assert difference(brier, a, a, QUICK) == Interval(0, 0, 0)
    found = difference(ece, a, a, QUICK, n_bins=10)
    alone = interval(ece, a.bins(), QUICK)
    assert found.estimate == 0
    assert found.low <= 0 <= found.high
    assert found.high - found.low < 0.3 * (alone.high - alone.low)


@pytest.mark.slow
def test_the_true_difference_is_in_its_interval():
    truth = [ece(each.bins(10)) for each in two_models("overconfident", "calibrated", 300_000, seed=1)]
    missed = 0
    for seed in range(100, 160):
        found = difference(ece, *two_models("overconfident", "calibrated", 400, seed), QUICK, COVERAGE, n_bins=10)
        missed += not found.low <= truth[0] - truth[1] <= found.high
    assert missed <= most_misses(60)


def test_class_wise_errors_have_intervals_and_differences():
    a, b = two_models("overconfident", "calibrated")
    found = interval(classwise_ece, a.bins(class_wise=True), QUICK)
    assert 0 < found.low < found.high
    assert difference(classwise_ece, a, b, QUICK, n_bins=10, class_wise=True).low > 0


def test_the_same_seed_gives_the_same_interval_and_the_global_generators_stay():
    a, b = two_models("overconfident", "calibrated")
    before = torch.get_rng_state(), np.random.get_state()[1].tobytes()
    found = [interval(ece, a.bins(), QUICK), interval(nll, a, QUICK), difference(ece, a, b, QUICK, n_bins=10)]
    assert found == [interval(ece, a.bins(), QUICK), interval(nll, a, QUICK), difference(ece, a, b, QUICK, n_bins=10)]
    assert interval(nll, a, QUICK, seed=1) != found[1]
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tobytes() == before[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 1}, "n_resamples must be at least 2, got 1"),
        ({"confidence": 95}, "confidence must lie between 0 and 1, got 95"),
    ],
)
def test_wrong_arguments(options, message):
    a, b = two_models("overconfident", "calibrated", 20)
    with pytest.raises(ValueError, match=message):
        interval(nll, a, **options)
    with pytest.raises(ValueError, match=message):
        difference(nll, a, b, **options)


def test_models_on_other_samples_are_not_compared():
    a, _ = two_models("overconfident", "calibrated", 20)
    _, b = two_models("overconfident", "calibrated", 20, seed=1)
    with pytest.raises(ValueError, match="a and b must have the same samples, got other values of target"):
        difference(nll, a, b)


def test_a_score_that_is_never_defined():
    predictions = Predictions.from_probabilities(torch.tensor([[0.9, 0.1]] * 5), torch.zeros(5, dtype=torch.int64))
    with pytest.raises(ValueError, match="auroc needs right and wrong predictions"):
        interval(auroc, predictions, QUICK)
