"""Confidence intervals of calibration errors and scores, and of their difference between two models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from squentropy.calibration.binning import bin_finder
from squentropy.calibration.bins import Binning, CalibrationBins
from squentropy.calibration.errors import Values
from squentropy.calibration.predictions import Predictions
from squentropy.calibration.worlds import Error, SampledBins, Worlds


@dataclass(frozen=True)
class Interval:
    """An estimate, and the ends of the interval that the true value lies in with the stated confidence.

    The estimate of a calibration error is too large by what noise adds to it, and may lie above its interval: then
    most of it is noise.
    """

    estimate: float
    low: float
    high: float


def interval(
    measure: Callable[[Any], float],
    data: CalibrationBins | Predictions,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Confidence interval of a calibration error from its bins, or of a score from its predictions.

    **A score** (`nll`, `brier`, `auroc`, any function of `Predictions`) has the percentile interval of the bootstrap:
    samples are drawn with replacement. It keeps within the range of the score. Resamples on which the score is not
    defined are left out.

    **A calibration error** (`ece`, `smooth_ece`, any function of bins) cannot have it: noise makes gaps where there are
    none, every resample adds its own to those of the sample, and of a calibrated model no interval of resamples would
    ever hold the true error 0. Its ends are the smallest and the largest true error of models that could have given the
    estimate (inversion of a bootstrap test): models with the confidences of the bins, and the estimated gaps scaled up
    or down to a calibrated model. Of each, bins of as many samples are drawn. Bins are all that is needed, so it
    costs the same for any number of samples, and takes for granted that

    - samples are independent, as all bootstraps do; class-wise bins are drawn class by class, as if classes were, too;
    - the spread of confidences within a bin adds little to the noise of outcomes, which it does in ten bins or more;
    - soft targets are probabilities of labels;
    - weights are worth Kish's effective number of samples.

    In simulations of models with known errors, 300 to 2000 samples and 100 resamples, intervals of 90% held the true
    error in 79 to 98 of 100 cases, the fewest where the model is far from calibrated.

    Args:
        measure: A function of `data`.
        data: Bins for a calibration error, predictions for a score.
        n_resamples: Number of resamples.
        confidence: Probability with which such intervals hold the true value.
        seed: Of a generator of its own; the global ones stay as they are.

    Returns:
        The interval.

    Examples:
        >>> from squentropy.calibration import ece
        >>> confidence = torch.rand(2000, generator=torch.Generator().manual_seed(0))
        >>> found = interval(ece, CalibrationBins.from_confidences(confidence, confidence > 0.5))
        >>> found.low < 0.25 < found.high
        True
    """
    tail = _tail(n_resamples, confidence)
    if isinstance(data, Predictions):
        counts = _counts(len(data), n_resamples, seed)
        return _percentile(measure(data), _defined(measure, ((data.reweighted(count),) for count in counts)), tail)
    low, high = _ends(measure, data, tail, n_resamples, seed)
    return Interval(measure(data), low, high)


def difference(
    measure: Callable[[Any], float],
    a: Predictions,
    b: Predictions,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    *,
    n_bins: int | None = None,
    binning: Binning = "equal_width",
    class_wise: bool = False,
) -> Interval:
    """Confidence interval of `measure(a) - measure(b)` for two models on the same samples.

    The models see the same samples in every resample, so what makes a sample hard for both does not widen the
    interval. **A score** has the percentile interval of the difference. **A calibration error**, a function of bins,
    needs `n_bins`; the intervals of the two models and the correlation of their errors over resamples are put together
    (Zou & Donner 2008, "MOVER"), around estimates that are free of bias in the median.

    Args:
        measure: A function of predictions, or of bins if `n_bins` is given.
        a: Predictions of one model.
        b: Predictions of the other, of the same samples in the same order.
        n_resamples: Number of resamples.
        confidence: Probability with which such intervals hold the true value.
        seed: Of a generator of its own.
        n_bins: Number of bins, for a calibration error.
        binning: `"equal_width"` or `"equal_mass"`, each model by its own confidences.
        class_wise: Whether the bins are class-wise.

    Returns:
        The interval; one without 0 tells the models apart.

    Examples:
        >>> from squentropy.calibration import ece
        >>> target = torch.arange(1000) % 2
        >>> flat, sharp = (Predictions.from_logits(torch.eye(2)[target] * scale, target) for scale in (1, 3))
        >>> found = difference(ece, flat, sharp, n_bins=10)
        >>> found.low > 0
        True
    """
    tail = _tail(n_resamples, confidence)
    _check_same_samples(a, b)
    counts = _counts(len(a), n_resamples, seed)
    if n_bins is None:
        pairs = ((a.reweighted(count), b.reweighted(count)) for count in counts)
        sampled = _defined(measure, pairs)
        return _percentile(measure(a) - measure(b), sampled[:, 0] - sampled[:, 1], tail)
    binned = [_BinnedSamples.of(each, each.bins(n_bins, binning=binning, class_wise=class_wise)) for each in (a, b)]
    sampled = _defined(measure, ([each.resample(count) for each in binned] for count in counts))
    spread: Values = sampled.std(axis=0)
    correlation = float(np.corrcoef(*sampled.T)[0, 1]) if spread.all() else 0.0
    (low_a, high_a), (low_b, high_b) = (_ends(measure, each.bins, tail, n_resamples, seed) for each in binned)
    middle_a, middle_b = (_middle(measure, each.bins, n_resamples, seed) for each in binned)

    def reach(x: float, y: float) -> float:
        return math.sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))

    return Interval(
        measure(binned[0].bins) - measure(binned[1].bins),
        middle_a - middle_b - reach(middle_a - low_a, high_b - middle_b),
        middle_a - middle_b + reach(high_a - middle_a, middle_b - low_b),
    )


def _ends(error: Error, bins: CalibrationBins, tail: float, n_resamples: int, seed: int) -> tuple[float, float]:
    high = Worlds.of(bins, shrunk=False).error_behind(error, tail, n_resamples, seed)
    return min(Worlds.of(bins, shrunk=True).error_behind(error, 1 - tail, n_resamples, seed), high), high


def _middle(error: Error, bins: CalibrationBins, n_resamples: int, seed: int) -> float:
    return Worlds.of(bins, shrunk=False).error_behind(error, 0.5, n_resamples, seed)


def _percentile(estimate: float, sampled: Values, tail: float) -> Interval:
    low, high = np.quantile(sampled, [tail, 1 - tail])
    return Interval(estimate, float(low), float(high))


def _counts(n_samples: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each sample is drawn, (n_samples,), one resample after the other."""
    generator = np.random.default_rng(seed)
    for _ in range(n_resamples):
        yield np.bincount(generator.integers(n_samples, size=n_samples), minlength=n_samples)


def _defined(measure: Callable[[Any], float], resamples: Iterable[Sequence[Any]]) -> Values:
    """The measure of each model, (n, 1) or (n, 2), in the resamples in which it is defined."""
    values, reason = [], None
    for models in resamples:
        try:
            values.append([measure(model) for model in models])
        except ValueError as error:
            reason = error
    if len(values) < 2:
        raise ValueError(f"measure is defined in fewer than two resamples, use more samples: {reason}")
    return np.array(values)


@dataclass(frozen=True)
class _BinnedSamples:
    """Samples that know their bins, so that resampled bins are three sums."""

    bins: CalibrationBins
    cell: NDArray[np.int64]
    confidence: Values
    correct: Values
    weight: Values

    @classmethod
    def of(cls, predictions: Predictions, bins: CalibrationBins) -> _BinnedSamples:
        if bins.class_wise:
            confidence = predictions.probs.T.astype(np.float64)
            correct = predictions.labels().T
        else:
            confidence, correct = predictions.confidence[None], predictions.correct[None]
        cell = bin_finder(bins.boundaries)(torch.from_numpy(confidence)).numpy()
        cell = cell + bins.n_bins * np.arange(len(cell))[:, None]
        return cls(bins, cell.reshape(-1), confidence, correct, predictions.weight)

    def resample(self, count: NDArray[np.int64]) -> SampledBins:
        """The bins of samples drawn so often."""
        weight, shape = self.weight * count, self.bins.share.shape

        def sums(values: Values) -> Values:
            return np.asarray(np.bincount(self.cell, values.reshape(-1), np.prod(shape)), np.float64).reshape(shape)

        mass = sums(np.broadcast_to(weight, self.correct.shape))
        some = np.where(mass > 0, mass, 1)
        confidence, accuracy = sums(weight * self.confidence) / some, sums(weight * self.correct) / some
        share = mass / mass.sum(axis=-1, keepdims=True)
        return SampledBins(self.bins.class_wise, self.bins.edges, share, accuracy, confidence - accuracy, mass)


def _tail(n_resamples: int, confidence: float) -> float:
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2, got {n_resamples}: 1000 is usual")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}: 0.95 is usual")
    return (1 - confidence) / 2


def _check_same_samples(a: Predictions, b: Predictions) -> None:
    for name in ("target", "weight"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise ValueError(f"a and b must have the same samples, got other values of {name}: keep the order of rows")
