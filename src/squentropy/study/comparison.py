"""A comparison of losses: one loss against each other, tested over tasks and over seeds, and all of them ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from squentropy.study import statistics
from squentropy.study.findings import (
    Comparison,
    Measure,
    MeasureComparison,
    Pair,
    PublishedGap,
    Ranking,
    SeedTests,
)
from squentropy.study.measured import ACCURACY_AND_ECE, MeasuredTable, denoised, measured_tables
from squentropy.study.published import PublishedRow
from squentropy.study.results import Results
from squentropy.study.statistics import Values, WinTieLoss

LEVEL = 0.05


def compare(
    results: Results,
    scale: str,
    selection: str = "last",
    *,
    focus: str | None = None,
    measures: Sequence[Measure] = ACCURACY_AND_ECE,
    published: Mapping[str, PublishedRow] | None = None,
) -> Comparison:
    """Compares losses at one scale.

    Args:
        results: As `collect` returns them.
        scale: "paper" or "small"; they are never mixed.
        selection: "last" for the last epoch, "best" for the best test epoch.
        focus: Label of the loss to compare with each other one; the first of the table if None.
        measures: What to compare.
        published: The published row by task, where there is one. The distance to it is measured at scale "paper" only.

    Raises:
        ValueError: If `focus` is no label of these runs.

    Examples:
        >>> from squentropy.study.results import collect
        >>> record = {
        ...     "run_id": "0", "status": "done", "metric": {"name": "accuracy", "higher_is_better": True},
        ...     "run": {"task": "iris", "scale": "small", "loss": {"name": "squentropy"}, "seed": 0, "recipe": {}},
        ...     "metrics": {"last": {"accuracy": 0.956, "ece": 0.04}}}
        >>> compare(collect([record]), "small").measures[0].cells["iris"]["squentropy"].mean
        95.6
    """
    tables = measured_tables(results, scale, selection, measures, published or {})
    losses, metrics = tables[0].losses, tables[0].metrics
    if focus is not None and focus not in losses:
        raise ValueError(f"focus {focus!r} is not among the losses at scale {scale!r}: {', '.join(losses)}")
    focus = losses[0] if focus is None else focus
    return Comparison(
        scale=scale,
        selection=selection,
        focus=focus,
        losses=losses,
        tasks=sorted(metrics),
        metrics=dict(sorted(metrics.items())),
        measures=[
            MeasureComparison(table.measure, table.cells, _ranking(table), _pairs(table, focus), _gaps(table))
            for table in tables
        ],
    )


def _pairs(table: MeasuredTable, focus: str) -> list[Pair]:
    pairs = [_pair(table, focus, other) for other in table.losses if other != focus]
    found = [pair for pair in pairs if pair is not None]
    corrected = statistics.holm([pair.p_value for pair in found])
    return [replace(pair, p_holm=p) for pair, p in zip(found, corrected, strict=True)]


def _pair(table: MeasuredTable, focus: str, other: str) -> Pair | None:
    by_task = {task: table.differences(task, focus, other) for task in table.sign}
    by_task = {task: differences for task, differences in by_task.items() if len(differences)}
    if not by_task:
        return None
    means = {task: denoised(float(differences.mean())) for task, differences in by_task.items()}
    ours, theirs = np.array([table.scores(task, [focus, other]) for task in by_task]).T
    over_tasks = list(means.values())
    return Pair(
        other=other,
        differences=means,
        difference=statistics.bootstrap_mean(list(by_task.values())),
        rounded=statistics.win_tie_loss(ours, theirs, decimals=table.measure.decimals),
        strict=statistics.win_tie_loss(ours, theirs),
        published=_published_win_tie_loss(table, focus, other, list(by_task)),
        p_value=statistics.signed_rank_test(over_tasks),
        p_holm=None,
        equivalence=statistics.bayesian_signed_rank(over_tasks, rope=table.measure.rope),
        seeds=_seed_tests(list(by_task.values())),
        spread=statistics.compare_spread(
            [table.seeds(task, focus) for task in by_task], [table.seeds(task, other) for task in by_task], alpha=LEVEL
        ),
    )


def _published_win_tie_loss(table: MeasuredTable, focus: str, other: str, tasks: list[str]) -> WinTieLoss | None:
    scores = [
        (table.sign[task] * first, table.sign[task] * second)
        for task in tasks
        for first, second in [(table.cells[task][focus].published, table.cells[task][other].published)]
        if first is not None and second is not None
    ]
    if not scores:
        return None
    ours, theirs = np.array(scores).T
    return statistics.win_tie_loss(ours, theirs)


def _seed_tests(tasks: list[Values]) -> SeedTests:
    p_values = statistics.holm([statistics.paired_t_test(differences) for differences in tasks])
    clear = [
        bool(differences.mean() > 0)
        for differences, p in zip(tasks, p_values, strict=True)
        if p is not None and p < LEVEL
    ]
    tested = sum(p is not None for p in p_values)
    return SeedTests(
        better=sum(clear),
        worse=len(clear) - sum(clear),
        undecided=tested - len(clear),
        untested=len(tasks) - tested,
    )


def _ranking(table: MeasuredTable) -> Ranking | None:
    scores = {task: table.scores(task, table.losses) for task in table.sign}
    complete = {task: row for task, row in scores.items() if row is not None}
    if not complete:
        return None
    rows = list(complete.values())
    is_one_metric = table.measure.higher_is_better is not None or len({table.metrics[task] for task in complete}) == 1
    friedman = statistics.friedman_test(rows)
    nemenyi = None if friedman is None else statistics.nemenyi_test(rows)
    return Ranking(
        tasks=len(complete),
        averages={
            label: statistics.bootstrap_mean([table.seeds(task, label) for task in complete])
            for label in table.losses
            if is_one_metric
        },
        best={label: sum(table.cells[task][label].is_best for task in complete) for label in table.losses},
        ranks=dict(zip(table.losses, statistics.average_ranks(rows).tolist(), strict=True)),
        friedman=friedman,
        nemenyi=None
        if nemenyi is None
        else {
            label: dict(zip(table.losses, row, strict=True))
            for label, row in zip(table.losses, nemenyi.tolist(), strict=True)
        },
        critical_difference=None
        if friedman is None
        else statistics.critical_difference(len(table.losses), len(complete)),
    )


def _gaps(table: MeasuredTable) -> dict[str, PublishedGap]:
    gaps = {}
    for label in table.losses:
        cells = [cells[label] for cells in table.cells.values() if cells[label].gap is not None]
        if cells:
            gap = np.array([cell.gap for cell in cells])
            gaps[label] = PublishedGap(
                tasks=len(cells),
                published=denoised(float(np.mean([cell.published for cell in cells]))),
                mean=denoised(float(gap.mean())),
                mean_absolute=denoised(float(np.abs(gap).mean())),
            )
    return gaps
