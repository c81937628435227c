"""Differences and how sure they are: against closed forms and by simulation."""

import numpy as np
import pytest
from scipy import stats

from squentropy.own_data.answer import Verdict, judge
from squentropy.own_data.evidence import Difference, Rows, over_seeds, over_splits, row_variances
from squentropy.study.statistics import Interval


def test_the_corrected_t_test_by_its_formula():
    """Nadeau and Bengio (2003): t = mean / sqrt((1/S + test/training) variance), with S - 1 degrees of freedom."""
    differences = [0.01, 0.03, -0.01, 0.02, 0.02]
    found = over_splits(differences, test_share=0.25)
    error = np.sqrt((1 / 5 + 0.25) * np.var(differences, ddof=1))
    assert found.p_value == pytest.approx(2 * stats.t(4).sf(0.014 / error))
    assert found.interval.low == pytest.approx(0.014 - stats.t(4).ppf(0.975) * error)


def test_without_shared_rows_it_is_the_paired_t_test():
    differences = np.random.default_rng(0).normal(size=8)
    assert over_splits(differences, 0.0).p_value == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)


def test_random_divisions_of_the_same_rows_deceive_the_plain_test_but_not_the_corrected_one():
    """Two models that are equally good: they differ by noise on each row, and each seed sees a fifth of the rows."""
    generator = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(400):
        rows = generator.normal(size=100)
        seeds = [generator.permutation(rows)[:20].mean() for _ in range(10)]
        plain += over_splits(seeds, 0.0).p_value < 0.05
        corrected += over_splits(seeds, 20 / 80).p_value < 0.05
    assert plain > 80  # a difference found in more than a fifth of the cases, where there is none
    assert corrected < 32


def test_one_seed_says_nothing_where_the_division_is_random():
    assert over_splits([0.3], 0.25) == Difference(Interval(0.3, None, None), None)


def random_rows(seed, rows=4000):
    generator = np.random.default_rng(seed)
    return Rows(generator.integers(0, 2, rows).astype(float), generator.random(rows), generator.exponential(size=rows))


def test_the_choice_of_test_rows_by_its_formula():
    first, second = random_rows(0), random_rows(1)
    variances = row_variances([first], [second])
    assert variances["accuracy"] == pytest.approx((first.correct - second.correct).var() / 4000, rel=0.2)
    assert variances["nll"] == pytest.approx((first.nll - second.nll).var() / 4000, rel=0.2)


def test_the_choice_of_test_rows_for_ece():
    """Against the spread of the difference over test parts that are really drawn anew."""
    observed = []
    for seed in range(100):
        first, second = random_rows(2 * seed + 10), random_rows(2 * seed + 11)
        observed.append(ece(first) - ece(second))
    assert row_variances([random_rows(0)], [random_rows(1)])["ece"] == pytest.approx(np.var(observed), rel=0.5)


def ece(rows):
    """Written out once more: ten bins that are closed above."""
    bins = np.clip(np.ceil(rows.confidence * 10) - 1, 0, 9).astype(int)
    gaps = np.bincount(bins, rows.confidence - rows.correct, minlength=10)
    return np.abs(gaps).sum() / len(bins)


def test_rows_are_read_off_logits():
    rows = Rows.of(np.array([[2.0, 0.0], [0.0, 0.0]], np.float32), np.array([1, 0]), temperature=2.0)
    assert rows.correct.tolist() == [0.0, 1.0]
    assert rows.confidence == pytest.approx([np.e / (1 + np.e), 0.5])
    assert rows.nll == pytest.approx([np.log(1 + np.e), np.log(2)])


def test_seeds_and_rows_add_up():
    assert over_seeds([1.0], row_variance=0.25).interval.low == pytest.approx(1 - 1.959964 * 0.5)
    found = over_seeds([1.0, 3.0], row_variance=0.5)
    assert found.p_value == pytest.approx(2 * stats.t(1).sf(2 / np.sqrt(2 / 2 + 0.5)))


UNSURE = Difference(Interval(0.0, -0.1, 0.1), 0.9)


def sure(value):
    return Difference(Interval(value, value - 0.001, value + 0.001), 0.01)


@pytest.mark.parametrize(
    ("accuracy", "ece", "verdict"),
    [
        (sure(0.01), UNSURE, Verdict.SWITCH),
        (sure(0.01), sure(-0.01), Verdict.SWITCH),
        (sure(0.01), sure(0.01), Verdict.TRADE),
        (sure(-0.01), sure(-0.01), Verdict.TRADE),
        (UNSURE, sure(-0.01), Verdict.SWITCH_FOR_PROBABILITIES),
        (UNSURE, UNSURE, Verdict.NO_EVIDENCE),
        (UNSURE, sure(0.01), Verdict.STAY),
        (sure(-0.01), UNSURE, Verdict.STAY),
        (sure(-0.01), sure(0.01), Verdict.STAY),
        (over_splits([0.1], 0.25), over_splits([0.1], 0.25), Verdict.UNKNOWN),
    ],
)
def test_verdicts(accuracy, ece, verdict):
    assert judge(accuracy, ece) is verdict
