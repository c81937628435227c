"""Statistics against the literature's own examples, formulas written out, and other libraries."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from squentropy.study import statistics
from squentropy.study.statistics import Interval, WinTieLoss

# Demšar (2006), table 2: AUC of C4.5 without and with a tuned leaf size, on 14 data sets.
C45 = [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.000, 0.940, 0.619, 0.972, 0.957]
C45_M = [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.000, 0.962, 0.666, 0.981, 0.978]
# The same, table 5a: critical values q of Nemenyi's test at level 0.05 for 2 to 10 classifiers.
NEMENYI_Q = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_wins_ties_and_losses_are_counted_as_printed():
    first, second = [90.04, 80.25, 70.0, 60.1], [90.0, 80.2, 70.1, 60.0]
    assert statistics.win_tie_loss(first, second) == WinTieLoss(3, 0, 1)
    # 80.25 is stored as 80.25 exactly and printed as 80.2, as 80.2 is.
    assert statistics.win_tie_loss(first, second, decimals=1) == WinTieLoss(1, 2, 1)
    assert (f"{80.25:.1f}", f"{90.04:.1f}") == ("80.2", "90.0")


def test_holm_is_that_of_statsmodels(random):
    for _ in range(20):
        p_values = random.uniform(0, 0.2, size=7)
        np.testing.assert_allclose(statistics.holm(list(p_values)), multipletests(p_values, method="holm")[1])


def test_holm_by_hand():
    assert statistics.holm([0.04, 0.01, None, 0.03]) == pytest.approx([0.06, 0.03, None, 0.06])
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_the_paired_t_test_is_that_of_two_samples(random):
    first, second = random.normal(size=(2, 9))
    expected = stats.ttest_rel(first, second).pvalue
    assert statistics.paired_t_test(first - second) == pytest.approx(expected)
    # Two degrees of freedom have a closed form: p = 1 - t / sqrt(t^2 + 2), here with t = 2 sqrt(3).
    assert statistics.paired_t_test([1.0, 2.0, 3.0]) == pytest.approx(1 - math.sqrt(12 / 14))
    assert statistics.paired_t_test([0.5, 0.5, 0.5]) is None


def test_the_signed_rank_test_counts_all_signs(random):
    """Without ties and zeros: the share of all sign patterns whose rank sum is at least as far from the middle."""
    differences = random.normal(0.6, 1, size=9)
    ranks = stats.rankdata(np.abs(differences))
    middle = ranks.sum() / 2
    distance = abs(ranks[differences > 0].sum() - middle)
    patterns = np.array(list(itertools.product([0, 1], repeat=9)))
    expected = np.mean(np.abs(patterns @ ranks - middle) >= distance)
    assert statistics.signed_rank_test(differences) == pytest.approx(expected)
    assert statistics.signed_rank_test(-differences) == pytest.approx(expected)


def test_the_signed_rank_test_of_the_literature():
    """Demšar: two zeros split evenly, rank sums 93 and 12, z = -2.54."""
    differences = np.round(np.subtract(C45_M, C45), 3)
    z = (12 - 14 * 15 / 4) / math.sqrt(14 * 15 * 29 / 24)
    assert statistics.signed_rank_test(differences) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=0.02)


def test_few_tasks_or_none_that_differ():
    assert statistics.signed_rank_test([1.0] * 5) is None
    assert statistics.signed_rank_test([0.0] * 6) == 1.0
    assert statistics.bayesian_signed_rank([1.0] * 5, rope=0.1) is None


def test_the_bayesian_test_is_what_its_definition_says(random):
    """The definition as loops over each two tasks, with gamma variables instead of a Dirichlet distribution."""
    differences, rope = random.normal(0.4, 1, size=8), 0.3
    z = [0.0, *differences]
    counts = np.zeros(3)
    for _ in range(4000):
        weights = np.array([random.gamma(0.5), *random.gamma(1.0, size=8)])
        weights /= weights.sum()
        mass = [0.0, 0.0, 0.0]
        for (i, a), (j, b) in itertools.product(enumerate(z), repeat=2):
            mean = (a + b) / 2
            mass[0 if mean > rope else 2 if mean < -rope else 1] += weights[i] * weights[j]
        counts[int(np.argmax(mass))] += 1
    found = statistics.bayesian_signed_rank(differences, rope)
    np.testing.assert_allclose([found.better, found.equivalent, found.worse], counts / 4000, atol=0.03)


def test_the_bayesian_test_at_its_ends():
    assert statistics.bayesian_signed_rank([0.1] * 20, rope=1.0).equivalent == 1.0
    assert statistics.bayesian_signed_rank([-3.0] * 20, rope=1.0).worse == 1.0


def test_the_bootstrap_of_one_task_is_that_of_scipy(random):
    values = random.normal(size=20)
    found = statistics.bootstrap_mean([values])
    expected = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.estimate == pytest.approx(values.mean())
    np.testing.assert_allclose([found.low, found.high], expected, atol=0.03)


def test_the_bootstrap_has_the_variance_of_tasks_and_of_seeds(random):
    """Var = (variance of task means + mean variance within / seeds) / tasks, both variances as of populations."""
    tasks = list(random.normal(size=(40, 1)) + 2 * random.normal(size=(40, 5)))
    within = np.mean([values.var() for values in tasks]) / 5
    between = np.var([values.mean() for values in tasks])
    half_width = 1.96 * math.sqrt((between + within) / 40)
    found = statistics.bootstrap_mean(tasks)
    assert (found.high - found.low) / 2 == pytest.approx(half_width, rel=0.05)


def test_a_task_with_fewer_seeds_counts_as_much():
    found = statistics.bootstrap_mean([np.array([1.0] * 9), np.array([3.0])])
    assert found.estimate == 2.0
    assert (found.low, found.high) == (1.0, 3.0)


def test_a_single_value_has_no_interval():
    found = statistics.bootstrap_mean([np.array([2.0])])
    assert found == Interval(2.0, None, None)
    assert not found.excludes_zero
    assert Interval(2.0, 1.0, 3.0).excludes_zero
    assert not Interval(2.0, -1.0, 3.0).excludes_zero


def test_friedman_by_its_formula(random):
    results = random.normal(size=(12, 4))  # no ties
    ranks = statistics.average_ranks(results)
    statistic = 12 * 12 / (4 * 5) * ((ranks**2).sum() - 4 * 5**2 / 4)
    assert statistics.friedman_test(results) == pytest.approx(stats.chi2.sf(statistic, 3))
    assert statistics.friedman_test(np.ones((5, 3))) == 1.0
    assert statistics.friedman_test(results[:2]) is None
    assert statistics.friedman_test(results[:, :2]) is None


def test_ranks_of_ties_are_shared():
    assert statistics.average_ranks([[0.8, 0.9, 0.8], [0.5, 0.5, 0.5]]).tolist() == [2.25, 1.5, 2.25]


@pytest.mark.parametrize(("losses", "q"), list(enumerate(NEMENYI_Q, start=2)))
def test_critical_differences_of_the_literature(losses, q):
    tasks = 14
    expected = q * math.sqrt(losses * (losses + 1) / (6 * tasks))
    assert statistics.critical_difference(losses, tasks) == pytest.approx(expected, rel=3e-4)


def test_nemenyi_agrees_with_the_critical_difference(random):
    results = random.normal([0.0, 0.4, 0.9, 1.4], 1, size=(15, 4))
    ranks, p_values = statistics.average_ranks(results), statistics.nemenyi_test(results)
    distance = np.abs(ranks[:, None] - ranks[None, :])
    assert 0 < (distance > statistics.critical_difference(4, 15)).sum() < 12
    np.testing.assert_array_equal(p_values < 0.05, distance > statistics.critical_difference(4, 15))
    q = distance[0, 3] / math.sqrt(4 * 5 / (6 * 15)) * math.sqrt(2)
    assert p_values[0, 3] == pytest.approx(stats.studentized_range.sf(q, 4, np.inf), rel=1e-3)


def test_spread_by_its_parts(random):
    narrow, wide = random.normal(size=(9, 12)), 6 * random.normal(size=(9, 12))
    found = statistics.compare_spread(list(narrow), list(wide))
    assert (found.smaller, found.equal, found.larger) == (9, 0, 0)
    assert found.p_value == 2 / 2**9
    assert found.median_ratio == pytest.approx(np.median(narrow.std(axis=1, ddof=1) / wide.std(axis=1, ddof=1)))
    # Brown-Forsythe is an analysis of variance of the distances to the medians.
    p_values = [
        stats.f_oneway(np.abs(a - np.median(a)), np.abs(b - np.median(b))).pvalue
        for a, b in zip(narrow, wide, strict=True)
    ]
    assert found.clearly_smaller == (multipletests(p_values, method="holm")[1] < 0.05).sum() > 0
    assert found.clearly_larger == 0
    mirrored = statistics.compare_spread(list(wide), list(narrow))
    assert (mirrored.larger, mirrored.clearly_larger, mirrored.p_value) == (9, found.clearly_smaller, found.p_value)


def test_spread_of_too_little():
    alone, equal = np.array([1.0]), np.array([2.0, 2.0, 2.0])
    found = statistics.compare_spread([alone, equal], [alone, equal])
    assert (found.smaller, found.equal, found.larger) == (0, 1, 0)
    assert (found.p_value, found.median_ratio, found.clearly_smaller) == (None, None, 0)
