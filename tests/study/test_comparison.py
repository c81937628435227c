"""A comparison of records whose means, ties and gaps were worked out by hand."""

import math

import pytest

from squentropy.study.comparison import compare
from squentropy.study.findings import Measure
from squentropy.study.measured import ACCURACY_AND_ECE
from squentropy.study.published import find_row
from squentropy.study.results import collect
from squentropy.study.statistics import WinTieLoss
from tests.study.synthetic import make_record, make_records


def compared(records, scale="paper", selection="last", **settings):
    return compare(collect(records), scale, selection, **settings)


def by_seed(task, loss, accuracies, **settings):
    return [make_record(task, loss, seed, accuracy=each, **settings) for seed, each in enumerate(accuracies)]


def accuracy(comparison):
    return comparison.measures[0]


def test_means_spreads_and_counts():
    cell = accuracy(compared(by_seed("iris", "squentropy", [0.9, 0.92, 0.97]))).cells["iris"]["squentropy"]
    assert cell.mean == 93.0
    assert cell.deviation == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
    assert (cell.n, cell.failed) == (3, 0)
    alone = accuracy(compared(by_seed("iris", "squentropy", [0.9]))).cells["iris"]["squentropy"]
    assert (alone.mean, alone.deviation) == (90.0, None)


def test_best_and_last_epoch_are_kept_apart():
    records = by_seed("iris", "squentropy", [0.9])
    assert accuracy(compared(records)).cells["iris"]["squentropy"].mean == 90.0
    assert accuracy(compared(records, selection="best")).cells["iris"]["squentropy"].mean == 91.0


def test_the_best_are_those_that_no_other_is_better_than_as_printed():
    records = [
        make_record("iris", loss, accuracy=value, ece=0.1 - value / 10)
        for loss, value in (("squentropy", 0.9004), ("cross_entropy", 0.9), ("focal", 0.89))
    ]
    for measure in compared(records).measures:
        cells = measure.cells["iris"]
        assert [cells[label].is_best for label in ("squentropy", "cross entropy", "focal")] == [True, True, False]


def test_pairs_over_tasks_by_hand():
    records = [
        *by_seed("a", "squentropy", [0.90, 0.92]), *by_seed("a", "cross_entropy", [0.89, 0.90]),
        *by_seed("b", "squentropy", [0.80, 0.80]), *by_seed("b", "cross_entropy", [0.8002, 0.8002]),
        *by_seed("c", "squentropy", [0.70, 0.70]), *by_seed("c", "cross_entropy", [0.75, 0.71]),
    ]  # fmt: skip
    (pair,) = accuracy(compared(records)).pairs
    assert pair.other == "cross entropy"
    assert pair.differences == pytest.approx({"a": 1.5, "b": -0.02, "c": -3.0})
    assert pair.difference.estimate == pytest.approx((1.5 - 0.02 - 3.0) / 3)
    assert pair.rounded == WinTieLoss(1, 1, 1)
    assert pair.strict == WinTieLoss(1, 0, 2)
    assert (pair.p_value, pair.equivalence) == (None, None)  # too few tasks
    assert pair.seeds.untested == 1  # b: the same difference for each seed


def test_differences_are_positive_where_the_focus_is_better():
    records = [make_record("a", "squentropy", ece=0.05), make_record("a", "cross_entropy", ece=0.08)]
    ece = compared(records).measures[1]
    assert ece.pairs[0].differences == pytest.approx({"a": 3.0})
    (mirrored,) = compared(records, focus="cross entropy").measures[1].pairs
    assert (mirrored.other, mirrored.differences) == ("squentropy", pytest.approx({"a": -3.0}))


def test_a_failed_seed_is_counted_and_its_partner_is_not_compared():
    records = [
        *by_seed("a", "squentropy", [0.9, 0.8]),
        make_record("a", "cross_entropy", 0, accuracy=0.85),
        make_record("a", "cross_entropy", 1, failed="the training loss became nan in epoch 3"),
    ]
    comparison = compared(records)
    cell = accuracy(comparison).cells["a"]["cross entropy"]
    assert (cell.mean, cell.n, cell.failed) == (85.0, 1, 1)
    assert accuracy(comparison).cells["a"]["squentropy"].mean == 85.0
    assert accuracy(comparison).pairs[0].differences == pytest.approx({"a": 5.0})  # seed 0 only
    (failure,) = collect(records).failures
    assert (failure.loss, failure.seed) == ("cross entropy", 1)
    assert failure.reason == "NonFiniteLossError: the training loss became nan in epoch 3"


def test_a_loss_without_any_result_has_empty_cells_and_no_rank():
    records = [make_record("a", "squentropy"), make_record("a", "cross_entropy", failed="nan")]
    table = accuracy(compared(records))
    assert table.cells["a"]["cross entropy"].mean is None
    assert (table.ranking, table.pairs) == (None, [])


def test_the_gap_to_the_paper_is_measured_at_its_own_scale_only():
    row = find_row("121 tabular: iris")
    assert row.performance["squentropy"] == 97.2
    for scale, gap in (("paper", -2.2), ("small", None)):
        records = by_seed("iris", "squentropy", [0.95, 0.95], scale=scale)
        comparison = compared(records, scale, published={"iris": row})
        cell = accuracy(comparison).cells["iris"]["squentropy"]
        assert cell.gap == (None if gap is None else pytest.approx(gap))
        assert (accuracy(comparison).gaps == {}) == (gap is None)


def test_a_loss_with_other_parameters_has_no_published_value():
    row = find_row("121 tabular: iris")
    records = [make_record("iris"), make_record("iris", parameters={"square_weight": 0.1})]
    cells = accuracy(compared(records, published={"iris": row})).cells["iris"]
    assert cells["squentropy"].published == 97.2
    assert cells["squentropy (square_weight=0.1)"].published is None


def test_parameters_that_belong_to_the_tasks_do_not_make_two_losses():
    records = [
        make_record("a", "rescaled_square", parameters={"t": 1, "M": 5}),
        make_record("b", "rescaled_square", parameters={"t": 1, "M": 10}),
    ]
    variant = collect(records).losses["rescaled square"]
    assert variant.is_published
    assert {each["M"] for each in variant.parameters} == {5, 10}


def test_losses_stand_in_the_papers_order():
    records = [make_record("a", loss) for loss in ("focal", "rescaled_square", "cross_entropy", "squentropy")]
    assert list(collect(records).losses) == ["squentropy", "cross entropy", "rescaled square", "focal"]


def test_scales_are_never_mixed():
    records = [make_record("a", accuracy=0.9), make_record("a", accuracy=0.5, scale="small")]
    for scale, mean in (("paper", 90.0), ("small", 50.0)):
        assert accuracy(compared(records, scale)).cells["a"]["squentropy"].mean == mean
    with pytest.raises(ValueError, match="scale 'medium' has no runs here, only 'paper', 'small'"):
        compared(records, "medium")


def test_settings_are_never_mixed():
    other = {"epochs": 1, "batch_size": 64, "learning_rate": 0.01, "optimizer": "SGD"}
    with pytest.raises(ValueError, match="come from more than one recipe"):
        collect([make_record("a", seed=0), make_record("a", seed=1, recipe=other)])
    with pytest.raises(ValueError, match="two runs of task 'a'"):
        collect([make_record("a"), make_record("a", recipe=other)])


def test_an_unknown_focus_is_refused():
    with pytest.raises(ValueError, match="focus 'hinge' is not among the losses at scale 'paper': squentropy"):
        compared([make_record("a")], focus="hinge")


def test_a_known_advantage_is_found_and_chance_is_not():
    """One point better on each of 12 tasks, and with noise alone."""
    tasks = [f"t{number}" for number in range(12)]
    clear = compared(make_records(tasks, advantage=0.01, spread=0.004))
    for measure in clear.measures:
        against_ce = measure.pairs[0]
        assert against_ce.p_holm < 0.01
        assert against_ce.difference.low > 0
        assert measure.ranking.friedman < 0.001
        assert measure.ranking.ranks["squentropy"] < 1.3
    chance = compared(make_records(tasks, advantage=0.0, spread=0.004))
    for measure in chance.measures:
        assert not measure.pairs[0].difference.excludes_zero
        assert measure.pairs[0].equivalence.equivalent == 1.0


def test_averages_of_different_metrics_are_not_taken():
    records = [make_record("a"), {**make_record("b"), "metric": {"name": "nll", "higher_is_better": False}}]
    ranking = compared(records, measures=[Measure("performance", "headline"), ACCURACY_AND_ECE[1]]).measures[0].ranking
    assert ranking.averages == {}
    assert ranking.tasks == 2


def test_a_metric_of_ones_own_is_compared():
    measure = Measure("nll", "NLL", higher_is_better=False, factor=1, decimals=3, rope=0.01)
    (table,) = compared([make_record("a", ece=0.05)], measures=[measure]).measures
    assert table.cells["a"]["squentropy"].mean == pytest.approx(0.1)
