"""A comparison of losses: means and spreads for each task and loss, and tests of one loss against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from squentropy.study import statistics
from squentropy.study.findings import (
    Cell,
    Comparison,
    Measure,
    MeasureComparison,
    Pair,
    PublishedGap,
    Ranking,
    SeedTests,
)
from squentropy.study.published import PublishedRow
from squentropy.study.results import Results
from squentropy.study.statistics import Values, WinTieLoss

ACCURACY_AND_ECE = (Measure("performance", "Accuracy"), Measure("ece", "ECE", higher_is_better=False))
LEVEL = 0.05
_NOISE_DECIMALS = 9  # means of the same counts in another order differ by rounding; that is no difference


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
    tables = _tables(results, scale, selection, measures, published or {})
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


def cells_by_task(
    results: Results, scale: str, selection: str = "last", *, measures: Sequence[Measure] = ACCURACY_AND_ECE
) -> list[dict[str, dict[str, Cell]]]:
    """Returns the table of each measure, by task and label, without the tests of `compare`, which take longer.

    Raises:
        ValueError: If there are no runs of this scale.
    """
    return [table.cells for table in _tables(results, scale, selection, measures, {})]


def _tables(
    results: Results,
    scale: str,
    selection: str,
    measures: Sequence[Measure],
    published: Mapping[str, PublishedRow],
) -> list[_Table]:
    present = {label for at, _, label, _ in results.records if at == scale}
    losses = [label for label in results.losses if label in present]
    if not losses:
        raise ValueError(f"scale {scale!r} has no runs here, only {', '.join(map(repr, results.scales))}")
    metrics = {task: record["metric"] for (at, task, _, _), record in results.records.items() if at == scale}
    return [_Table.of(results, scale, selection, measure, losses, metrics, published) for measure in measures]


@dataclass(frozen=True)
class _Table:
    """The results on one measure: values by task, label and seed, in printed units."""

    measure: Measure
    losses: list[str]
    values: dict[tuple[str, str], dict[int, float]]
    sign: dict[str, int]  # 1 where larger is better, -1 where smaller is
    cells: dict[str, dict[str, Cell]]
    metrics: dict[str, str]

    @classmethod
    def of(
        cls,
        results: Results,
        scale: str,
        selection: str,
        measure: Measure,
        losses: list[str],
        metrics: Mapping[str, Mapping[str, object]],
        published: Mapping[str, PublishedRow],
    ) -> _Table:
        runs = results.runs[(results.runs["scale"] == scale) & (results.runs["selection"] == selection)]
        values: dict[tuple[str, str], dict[int, float]] = {}
        if measure.key in runs:
            for row in runs.dropna(subset=[measure.key]).to_dict("records"):
                values.setdefault((row["task"], row["loss"]), {})[row["seed"]] = row[measure.key] * measure.factor
        high = {
            task: metric["higher_is_better"] if measure.higher_is_better is None else measure.higher_is_better
            for task, metric in metrics.items()
        }
        table = cls(
            measure=measure,
            losses=losses,
            values=values,
            sign={task: 1 if high[task] else -1 for task in sorted(metrics)},
            cells={},
            metrics={task: str(metric["name"]) for task, metric in metrics.items()},
        )
        failed = Counter((each.task, each.loss) for each in results.failures if each.scale == scale)
        names = {label: variant.name for label, variant in results.losses.items() if variant.is_published}
        for task in table.sign:
            cells = {
                label: table._cell(task, label, failed[task, label], published.get(task), names.get(label), scale)
                for label in losses
            }
            table.cells[task] = table._mark_best(task, cells)
        return table

    def _cell(self, task: str, label: str, failed: int, row: PublishedRow | None, name: str | None, scale: str) -> Cell:
        values = self.seeds(task, label)
        printed: dict[str, float] = {}
        deviation: dict[str, float] = {}
        if row is not None and self.measure.key in ("performance", "ece"):
            printed = row.performance if self.measure.key == "performance" else row.ece
            deviation = row.deviation if self.measure.key == "performance" else {}
        mean = _denoised(float(values.mean())) if len(values) else None
        target = printed.get(name or "")
        return Cell(
            mean=mean,
            deviation=_denoised(float(values.std(ddof=1))) if len(values) > 1 else None,
            n=len(values),
            failed=failed,
            published=target,
            published_deviation=deviation.get(name or ""),
            gap=None if mean is None or target is None or scale != "paper" else _denoised(mean - target),
            is_best=False,
        )

    def _mark_best(self, task: str, cells: dict[str, Cell]) -> dict[str, Cell]:
        scores = {
            label: self.sign[task] * round(cell.mean, self.measure.decimals)
            for label, cell in cells.items()
            if cell.mean is not None
        }
        return {
            label: replace(cell, is_best=label in scores and scores[label] == max(scores.values()))
            for label, cell in cells.items()
        }

    def seeds(self, task: str, label: str) -> Values:
        """The values of all seeds that finished."""
        return np.array(list(self.values.get((task, label), {}).values()))

    def scores(self, task: str, labels: Sequence[str]) -> list[float] | None:
        """The means of a task with the sign that makes larger better; None if one is missing."""
        means = [self.cells[task][label].mean for label in labels]
        if any(mean is None for mean in means):
            return None
        return [self.sign[task] * mean for mean in means if mean is not None]

    def differences(self, task: str, first: str, second: str) -> Values:
        """First minus second for each seed that both finished, positive where the first is better."""
        a, b = self.values.get((task, first), {}), self.values.get((task, second), {})
        pairs = [a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())]
        return np.round(self.sign[task] * np.array(pairs), _NOISE_DECIMALS)


def _denoised(value: float) -> float:
    return round(value, _NOISE_DECIMALS)


def _pairs(table: _Table, focus: str) -> list[Pair]:
    pairs = [_pair(table, focus, other) for other in table.losses if other != focus]
    found = [pair for pair in pairs if pair is not None]
    corrected = statistics.holm([pair.p_value for pair in found])
    return [replace(pair, p_holm=p) for pair, p in zip(found, corrected, strict=True)]


def _pair(table: _Table, focus: str, other: str) -> Pair | None:
    by_task = {task: table.differences(task, focus, other) for task in table.sign}
    by_task = {task: differences for task, differences in by_task.items() if len(differences)}
    if not by_task:
        return None
    means = {task: _denoised(float(differences.mean())) for task, differences in by_task.items()}
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


def _published_win_tie_loss(table: _Table, focus: str, other: str, tasks: list[str]) -> WinTieLoss | None:
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


def _ranking(table: _Table) -> Ranking | None:
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


def _gaps(table: _Table) -> dict[str, PublishedGap]:
    gaps = {}
    for label in table.losses:
        cells = [cells[label] for cells in table.cells.values() if cells[label].gap is not None]
        if cells:
            gap = np.array([cell.gap for cell in cells])
            gaps[label] = PublishedGap(
                tasks=len(cells),
                published=_denoised(float(np.mean([cell.published for cell in cells]))),
                mean=_denoised(float(gap.mean())),
                mean_absolute=_denoised(float(np.abs(gap).mean())),
            )
    return gaps
