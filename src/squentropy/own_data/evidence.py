"""How large the difference between two losses is, and how sure that is, when all runs share their data.

Seeds that split the same table share most of their rows, so their results are not independent, and the usual paired
t-test finds differences that are none. Where each seed has its own split, the variance is multiplied by
`1 / S + test rows / training rows` instead of `1 / S` (Nadeau and Bengio, 2003). Where all seeds share one test part,
what the choice of its rows could have changed is added, by a bootstrap over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from squentropy.calibration.binning import bin_finder, equal_width_edges
from squentropy.study.evaluation import N_BINS
from squentropy.study.statistics import Interval

_RESAMPLES = 500
_WEIGHTS_AT_A_TIME = 20_000_000
_find_bin = bin_finder((equal_width_edges(N_BINS),))


@dataclass(frozen=True)
class Difference:
    """One loss minus another on one metric, in the metric's own units.

    Attributes:
        interval: The mean over seeds with its 95 % interval.
        p_value: Of no difference; None where nothing can be tested.
    """

    interval: Interval
    p_value: float | None

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.interval.excludes_zero


@dataclass(frozen=True)
class Rows:
    """What two metrics are means of, on one test part: for each row whether it is right, and how confidently.

    Attributes:
        correct: 1 where the answer is right (N,).
        confidence: Probability of the answer (N,).
        nll: Negative log-likelihood of the class (N,).
    """

    correct: NDArray[np.float64]
    confidence: NDArray[np.float64]
    nll: NDArray[np.float64]

    @classmethod
    def of(cls, logits: NDArray[np.float32], target: NDArray[np.int64], temperature: float = 1.0) -> Rows:
        """Reads them off logits (N, C)."""
        log_probs = torch.log_softmax(torch.from_numpy(logits).double() / temperature, dim=1)
        confidence, answer = log_probs.max(1)
        classes = torch.from_numpy(target)
        true = log_probs.gather(1, classes[:, None])[:, 0]
        return cls((answer == classes).double().numpy(), confidence.exp().numpy(), -true.numpy())


def over_splits(differences: Sequence[float], test_share: float) -> Difference:
    """Tests differences of seeds that each have a split of their own: the corrected resampled t-test.

    Args:
        differences: For each seed, first loss minus second.
        test_share: Rows tested for each row trained on.

    Examples:
        >>> over_splits([1.0, 2.0, 3.0], test_share=0.0).interval  # the usual paired t-test
        Interval(estimate=2.0, low=-0.484..., high=4.484...)
        >>> over_splits([1.0, 2.0, 3.0], test_share=0.25).interval
        Interval(estimate=2.0, low=-1.286..., high=5.286...)
    """
    values = np.asarray(differences, np.float64)
    if len(values) < 2:
        return Difference(Interval(float(values.mean()), None, None), None)
    return _t_interval(
        float(values.mean()), float(values.var(ddof=1)) * (1 / len(values) + test_share), len(values) - 1
    )


def over_seeds(differences: Sequence[float], row_variance: float) -> Difference:
    """Tests differences of seeds that share a test part.

    Args:
        differences: For each seed, first loss minus second.
        row_variance: Variance of the mean difference over the choice of test rows.
    """
    values = np.asarray(differences, np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return _t_interval(mean, row_variance, None)
    return _t_interval(mean, float(values.var(ddof=1)) / len(values) + row_variance, len(values) - 1)


def _t_interval(mean: float, variance: float, freedom: int | None) -> Difference:
    from scipy import stats

    law = stats.norm() if freedom is None else stats.t(freedom)
    error = float(np.sqrt(variance))
    half = float(law.ppf(0.975)) * error
    p_value = float(2 * law.sf(abs(mean) / error)) if error > 0 else float(mean == 0)
    return Difference(Interval(mean, mean - half, mean + half), p_value)


def row_variances(first: Sequence[Rows], second: Sequence[Rows]) -> dict[str, float]:
    """Returns, for accuracy, ECE and NLL, the variance of the mean difference over the choice of test rows.

    Args:
        first: For each seed the rows under one loss.
        second: The same under the other.

    Examples:
        >>> right, wrong = (Rows(np.full(4, each), np.full(4, 0.9), np.zeros(4)) for each in (1.0, 0.0))
        >>> row_variances([right], [wrong])["accuracy"]  # the difference is the same for each row
        0.0
    """
    rows = len(first[0].correct)
    totals = {name: np.zeros(_RESAMPLES) for name in ("accuracy", "ece", "nll")}
    size = max(1, min(_RESAMPLES, _WEIGHTS_AT_A_TIME // rows))
    generator = np.random.default_rng(0)
    means = {
        "accuracy": _mean_over_seeds([each.correct for each in first], [each.correct for each in second]),
        "nll": _mean_over_seeds([each.nll for each in first], [each.nll for each in second]),
    }
    gaps = [[_gaps(each) for each in side] for side in (first, second)]
    for start in range(0, _RESAMPLES, size):
        part = slice(start, min(start + size, _RESAMPLES))
        weights = generator.multinomial(rows, np.full(rows, 1 / rows), size=part.stop - start) / rows
        for name, values in means.items():
            totals[name][part] = weights @ values
        ours, theirs = (np.mean([np.abs(weights @ each).sum(1) for each in side], axis=0) for side in gaps)
        totals["ece"][part] = ours - theirs
    return {name: float(values.var(ddof=1)) for name, values in totals.items()}


def _mean_over_seeds(
    first: Sequence[NDArray[np.float64]], second: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    difference: NDArray[np.float64] = np.mean(first, axis=0) - np.mean(second, axis=0)
    return difference


def _gaps(rows: Rows) -> NDArray[np.float64]:
    """Confidence minus correctness, each in the column of its bin (N, bins)."""
    bins = _find_bin(torch.from_numpy(rows.confidence)[None])[0].numpy()
    gaps = np.zeros((len(bins), N_BINS))
    gaps[np.arange(len(bins)), bins] = rows.confidence - rows.correct
    return gaps


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Corrects p-values by name for their number (Holm).

    Examples:
        >>> holm({"a": 0.01, "b": None, "c": 0.04})
        {'a': 0.02, 'b': None, 'c': 0.04}
    """
    from squentropy.study import statistics

    return dict(zip(p_values, statistics.holm(list(p_values.values())), strict=True))
