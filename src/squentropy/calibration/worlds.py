"""Which true calibration errors could have given an estimate: models with known gaps, and bins of samples from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from squentropy.calibration.errors import Binned, Values

Error = Callable[[Binned], float]
# Gaps so many times those estimated put the true accuracies at 0 or 1: a larger scale changes nothing any more.
_LARGEST_SCALE = 64.0
_CELLS_AT_ONCE = 2**20


@dataclass(frozen=True)
class SampledBins:
    """What an error reads of bins; see `Binned`."""

    class_wise: bool
    edges: Values
    share: Values
    accuracy: Values
    gap: Values
    effective_count: Values


@dataclass(frozen=True)
class Worlds:
    """Models with the confidences of observed bins and known true gaps: a gap for each bin, times a scale.

    Attributes:
        bins: The observed bins.
        share: Share of the weight in each bin.
        count: Effective number of samples in each bin.
        confidence: Mean confidence in each bin, 0 in an empty one.
        gap: True gap in each bin at scale 1; at scale 0 every model is calibrated.
    """

    bins: Binned
    share: Values
    count: Values
    confidence: Values
    gap: Values

    @classmethod
    def of(cls, bins: Binned, *, shrunk: bool) -> Worlds:
        """Models whose gaps are those estimated, grown or diminished together.

        Args:
            bins: The observed bins.
            shrunk: Whether what noise explains of the estimated gaps is taken away first (the positive part of James
                and Stein): fewer true gaps then make up for more noise.
        """
        gap, variance = _pooled_gap(bins)
        confidence = np.nan_to_num(bins.gap + bins.accuracy)
        if shrunk:
            gap *= np.maximum(1 - variance / np.where(gap == 0, 1, gap) ** 2, 0)
        return cls(bins, bins.share, bins.effective_count, confidence, gap if gap.any() else confidence)

    def error_behind(self, error: Error, quantile: float, n_resamples: int, seed: int) -> float:
        """The true error of the model of which samples like those observed have the estimated error as this quantile.

        Args:
            error: The error.
            quantile: A low one gives the largest true error that is plausible, a high one the smallest.
            n_resamples: Number of samples drawn from each model that is tried.
            seed: Of the draws.
        """
        from scipy.optimize import brentq

        estimate, counts = error(self.bins), self._counts(n_resamples, seed)

        @cache
        def excess(scale: float) -> float:
            sampled = [error(bins) for bins in self._samples(scale, counts, seed)]
            return float(np.quantile(sampled, quantile)) - estimate

        if excess(0.0) >= 0:
            return error(self.population(0.0))
        scale = 1.0
        while scale < _LARGEST_SCALE and excess(scale) < 0:
            scale *= 2
        if scale >= _LARGEST_SCALE:  # no larger gap is possible: how far it is from such an estimate
            return error(self.population(scale)) - excess(scale)
        return error(self.population(brentq(excess, 0.0, scale, xtol=0.001 * scale)))

    def accuracy(self, scale: float) -> Values:
        """True accuracy in each bin."""
        return np.clip(self.confidence - scale * self.gap, 0, 1)

    def population(self, scale: float) -> SampledBins:
        """The bins of infinitely many samples."""
        accuracy, count = self.accuracy(scale), np.where(self.share > 0, np.inf, 0)
        gap = self.confidence - accuracy
        return SampledBins(self.bins.class_wise, self.bins.edges, self.share, accuracy, gap, count)

    def _counts(self, n_resamples: int, seed: int) -> NDArray[np.int64]:
        """Numbers of samples in the bins, (n_resamples, n_bins) or (n_resamples, C, n_bins)."""
        total = self.count.sum(axis=-1)
        generator = np.random.default_rng(seed)
        size = (n_resamples, *total.shape)
        return generator.multinomial(np.rint(total).astype(np.int64), self.count / total[..., None], size)

    def _samples(self, scale: float, counts: NDArray[np.int64], seed: int) -> Iterator[SampledBins]:
        generator, true = np.random.default_rng([seed, 1]), self.accuracy(scale)
        weight, edges = self.share / np.where(self.count > 0, self.count, 1), self.bins.edges
        rows = max(1, _CELLS_AT_ONCE // true.size)
        for part in (counts[start : start + rows] for start in range(0, len(counts), rows)):
            share = weight * part
            share /= share.sum(axis=-1, keepdims=True)
            accuracy = generator.binomial(part, true) / np.where(part > 0, part, 1)
            gap, count = self.confidence - accuracy, part.astype(np.float64)
            for k in range(len(part)):
                yield SampledBins(self.bins.class_wise, edges, share[k], accuracy[k], gap[k], count[k])


def _pooled_gap(bins: Binned) -> tuple[Values, Values]:
    """Gap and its variance in each bin, those of neighbours with few samples pooled.

    Fine bins have a sample or none, whose outcome says nothing about its bin. Groups of about the square root of the
    number of samples tell where the gaps are and how large.
    """
    count, shape = bins.effective_count, bins.share.shape
    middle = np.cumsum(count, axis=-1) - count / 2
    place = np.floor(middle / np.sqrt(count.sum(axis=-1, keepdims=True)))
    rows = np.arange(place.size // shape[-1]).reshape(*shape[:-1], 1)
    group = np.unique(place + rows * (place.max() + 1), return_inverse=True)[1].reshape(-1)

    def pooled(values: Values) -> Values:
        sums = np.bincount(group, np.nan_to_num(values).reshape(-1))
        return np.asarray(sums, np.float64)[group].reshape(shape)

    share, number = pooled(bins.share), pooled(count)
    share, number = np.where(share > 0, share, 1), np.where(number > 0, number, 1)
    gap, accuracy = pooled(bins.share * bins.gap) / share, pooled(bins.share * bins.accuracy) / share
    return gap, accuracy * (1 - accuracy) / number
