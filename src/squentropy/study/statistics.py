"""Statistics for comparing two or more losses, on plain arrays of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its interval; the ends are None where a single value allows none."""

    estimate: float
    low: float | None
    high: float | None

    @property
    def excludes_zero(self) -> bool:
        """Whether both ends are known and lie on the same side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class WinTieLoss:
    """On how many tasks the first of two losses is better, equal or worse."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class PracticalEquivalence:
    """Posterior probabilities that a loss is better by more than `rope`, within it, or worse by more."""

    better: float
    equivalent: float
    worse: float
    rope: float


@dataclass(frozen=True)
class SpreadComparison:
    """On how many tasks the first of two losses spreads less over seeds than the second.

    `p_value` belongs to the sign test over tasks; `clearly_smaller` and `clearly_larger` count the tasks on
    which the Brown-Forsythe test over seeds rejects equal spread after Holm's correction over tasks.
    """

    smaller: int
    equal: int
    larger: int
    p_value: float | None
    median_ratio: float | None
    clearly_smaller: int
    clearly_larger: int


def win_tie_loss(first: ArrayLike, second: ArrayLike, decimals: int | None = None) -> WinTieLoss:
    """Count wins, ties and losses of `first` against `second`, larger being better.

    Args:
        first: results of one loss on each task, shape (T,).
        second: results of the other, shape (T,).
        decimals: two results are a tie when they agree after rounding to this many decimals; None compares
            them as they are.

    Examples:
        >>> win_tie_loss([85.61, 70.0, 90.0], [85.58, 70.5, 89.0], decimals=1)
        WinTieLoss(wins=1, ties=1, losses=1)
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if decimals is not None:  # Python rounds as it prints; np.round does not always
        first, second = (np.array([round(value, decimals) for value in each.tolist()]) for each in (first, second))
    return WinTieLoss(int((first > second).sum()), int((first == second).sum()), int((first < second).sum()))


def holm(p_values: list[float | None]) -> list[float | None]:
    """Correct p-values for their number by Holm's step-down method; a test that was not made stays None.

    Examples:
        >>> holm([0.01, None, 0.04])
        [0.02, None, 0.04]
    """
    ascending = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected = list(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(ascending):
        largest = max(largest, min(1.0, (len(ascending) - rank) * p))
        corrected[index] = largest
    return corrected


def paired_t_test(differences: ArrayLike) -> float | None:
    """p-value of the paired t-test over seeds, or None when fewer than two pairs or no spread allow one.

    Examples:
        >>> round(paired_t_test([1.0, 2.0, 3.0]), 4)
        0.0742
        >>> paired_t_test([1.0]) is None
        True
    """
    from scipy import stats

    differences = np.asarray(differences, float)
    if len(differences) < 2 or np.ptp(differences) == 0:
        return None
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def signed_rank_test(differences: ArrayLike) -> float | None:
    """p-value of Wilcoxon's signed-rank test over tasks, zeros split evenly (Demšar 2006).

    With fewer than six tasks no outcome reaches p < 0.05, so the answer is None.

    Examples:
        >>> signed_rank_test([0.2, 0.5, 1.0, 0.3, 0.4, 0.1])
        0.03125
    """
    from scipy import stats

    differences = np.asarray(differences, float)
    if len(differences) < 6:
        return None
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="zsplit").pvalue)


def bayesian_signed_rank(
    differences: ArrayLike, rope: float, *, prior: float = 0.5, draws: int = 20_000, seed: int = 0
) -> PracticalEquivalence | None:
    """Bayesian signed-rank test with a region of practical equivalence (Benavoli et al. 2017, section 4.2).

    The weights of the tasks are Dirichlet(prior, 1, ..., 1), the first weight being that of a pseudo-task with
    difference 0. A draw w speaks for "better" when sum over i, j of w_i w_j [z_i + z_j > 2 rope] is the largest of
    the three such sums. None with fewer than six tasks, as for `signed_rank_test`.

    Args:
        differences: difference on each task, positive where the first loss is better, shape (T,).
        rope: differences of at most this size count as none.
        prior: weight of the pseudo-task.
        draws: number of draws from the posterior.
        seed: of the draws.

    Examples:
        >>> bayesian_signed_rank([3.0] * 20, rope=1.0).better
        1.0
    """
    z = np.concatenate([[0.0], np.asarray(differences, float)])
    if len(z) <= 6:
        return None
    weights = np.random.default_rng(seed).dirichlet([prior, *np.ones(len(z) - 1)], size=draws)
    sums = z[:, None] + z[None, :]
    better = ((weights @ (sums > 2 * rope)) * weights).sum(axis=1)
    worse = ((weights @ (sums < -2 * rope)) * weights).sum(axis=1)
    most = np.argmax([better, 1 - better - worse, worse], axis=0)
    share = np.bincount(most, minlength=3) / draws
    return PracticalEquivalence(float(share[0]), float(share[1]), float(share[2]), rope)


def bootstrap_mean(
    tasks: list[Values], *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Mean over tasks of the mean over seeds, with a percentile interval that resamples tasks, then their seeds.

    A single task has only its seeds to resample, and a single value has no interval.

    Args:
        tasks: for each task the values of its seeds, shapes (S_t,); paired differences give a paired interval.
        confidence: of the interval.
        resamples: number of bootstrap samples.
        seed: of the resampling.

    Examples:
        >>> bootstrap_mean([np.array([1.0, 1.0]), np.array([1.0])])
        Interval(estimate=1.0, low=1.0, high=1.0)
    """
    estimate = float(np.mean([values.mean() for values in tasks]))
    if sum(len(values) for values in tasks) < 2:
        return Interval(estimate, None, None)
    counts = np.array([len(values) for values in tasks])
    padded = np.full((len(tasks), counts.max()), np.nan)
    for row, values in zip(padded, tasks, strict=True):
        row[: len(values)] = values
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, 1000):  # bounds the memory of many tasks with many seeds
        size = min(1000, resamples - start)
        task = generator.integers(len(tasks), size=(size, len(tasks)))
        drawn = counts[task][..., None]
        column = (generator.random((size, len(tasks), counts.max())) * drawn).astype(np.intp)
        value = padded[task[..., None], column]
        # A task with fewer seeds is resampled at its own number of seeds.
        used = np.arange(counts.max()) < drawn
        means[start : start + size] = (np.where(used, value, 0).sum(-1) / drawn[..., 0]).mean(-1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(estimate, float(low), float(high))


def average_ranks(results: ArrayLike) -> Values:
    """Average rank of each loss over tasks; the largest result has rank 1 and ties share their ranks.

    Args:
        results: shape (T, L), a row for each task, larger being better.

    Examples:
        >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]])
        array([1.  , 2.25, 2.75])
    """
    from scipy import stats

    return cast(Values, stats.rankdata(-np.asarray(results, float), axis=1).mean(axis=0))


def friedman_test(results: ArrayLike) -> float | None:
    """p-value of Friedman's test that all losses rank alike; None below three tasks or three losses.

    Examples:
        >>> round(friedman_test([[3, 2, 1], [3, 2, 1], [3, 2, 1], [3, 1, 2]]), 4)
        0.0388
    """
    from scipy import stats

    results = np.asarray(results, float)
    if min(results.shape) < 3:
        return None
    if (results == results[:, :1]).all():
        return 1.0
    return float(stats.friedmanchisquare(*results.T).pvalue)


def nemenyi_test(results: ArrayLike) -> Values:
    """p-values of Nemenyi's test between each two losses, shape (L, L), from scikit-posthocs.

    Args:
        results: shape (T, L), a row for each task, larger being better.

    Examples:
        >>> nemenyi_test([[3, 2, 1], [3, 2, 1], [3, 2, 1], [3, 1, 2]]).round(3)
        array([[1.   , 0.181, 0.036],
               [0.181, 1.   , 0.759],
               [0.036, 0.759, 1.   ]])
    """
    from scikit_posthocs import posthoc_nemenyi_friedman

    return cast(Values, posthoc_nemenyi_friedman(np.asarray(results, float)).to_numpy())


def critical_difference(losses: int, tasks: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference of average ranks, q sqrt(L (L + 1) / (6 T)) (Demšar 2006, equation 6).

    Examples:
        >>> round(critical_difference(losses=3, tasks=121), 3)
        0.301
    """
    from scipy import stats

    q = stats.studentized_range.ppf(1 - alpha, losses, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(losses * (losses + 1) / (6 * tasks)))


def compare_spread(first: list[Values], second: list[Values], alpha: float = 0.05) -> SpreadComparison:
    """Compare the spread over seeds of two losses, task by task and over tasks.

    Each task gives the sign of the difference of standard deviations, and the Brown-Forsythe test (Levene's test
    about the median). Tasks with fewer than two seeds of either loss say nothing and are left out.

    Args:
        first: for each task the values of one loss, shapes (S_t,).
        second: for each task the values of the other.
        alpha: level of the Brown-Forsythe tests.

    Examples:
        >>> narrow, wide = np.array([1.0, 1.1, 1.2]), np.array([0.0, 1.0, 2.0])
        >>> compare_spread([narrow] * 8, [wide] * 8).smaller
        8
    """
    from scipy import stats

    pairs = [(a, b) for a, b in zip(first, second, strict=True) if min(len(a), len(b)) > 1]
    deviations = np.array([(a.std(ddof=1), b.std(ddof=1)) for a, b in pairs]).reshape(-1, 2)
    order = np.sign(deviations[:, 0] - deviations[:, 1])
    smaller, larger = int((order < 0).sum()), int((order > 0).sum())
    brown_forsythe = holm([_brown_forsythe(a, b) for a, b in pairs])
    clear = np.array([p is not None and p < alpha for p in brown_forsythe], dtype=bool)
    both_spread = (deviations > 0).all(axis=1)
    return SpreadComparison(
        smaller=smaller,
        equal=len(pairs) - smaller - larger,
        larger=larger,
        p_value=float(stats.binomtest(smaller, smaller + larger).pvalue) if smaller + larger >= 6 else None,
        median_ratio=float(np.median(deviations[both_spread, 0] / deviations[both_spread, 1]))
        if both_spread.any()
        else None,
        clearly_smaller=int((clear & (order < 0)).sum()),
        clearly_larger=int((clear & (order > 0)).sum()),
    )


def _brown_forsythe(first: Values, second: Values) -> float | None:
    from scipy import stats

    if min(len(first), len(second)) < 3 or not (np.ptp(first) or np.ptp(second)):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # all distances to the median may be equal
        p_value = float(stats.levene(first, second, center="median").pvalue)
    return None if np.isnan(p_value) else p_value
