"""What the runs of one scale measured: values by task, loss and seed, and the cells that tables print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from squentropy.study.findings import Cell, Measure
from squentropy.study.published import PublishedRow
from squentropy.study.results import Results
from squentropy.study.statistics import Values

ACCURACY_AND_ECE = (Measure("performance", "Accuracy"), Measure("ece", "ECE", higher_is_better=False))
_NOISE_DECIMALS = 9  # means of the same counts in another order differ by rounding; that is no difference


def cells_by_task(
    results: Results, scale: str, selection: str = "last", *, measures: Sequence[Measure] = ACCURACY_AND_ECE
) -> list[dict[str, dict[str, Cell]]]:
    """Returns the table of each measure, by task and label, without the tests of `squentropy.study.comparison.compare`.

    Raises:
        ValueError: If there are no runs of this scale.
    """
    return [table.cells for table in measured_tables(results, scale, selection, measures, {})]


def measured_tables(
    results: Results,
    scale: str,
    selection: str,
    measures: Sequence[Measure],
    published: Mapping[str, PublishedRow],
) -> list[MeasuredTable]:
    """Returns the results of one scale and selection of the epoch, a table for each measure.

    Raises:
        ValueError: If there are no runs of this scale.
    """
    present = {label for at, _, label, _ in results.records if at == scale}
    losses = [label for label in results.losses if label in present]
    if not losses:
        raise ValueError(f"scale {scale!r} has no runs here, only {', '.join(map(repr, results.scales))}")
    metrics = {task: record["metric"] for (at, task, _, _), record in results.records.items() if at == scale}
    return [MeasuredTable.of(results, scale, selection, measure, losses, metrics, published) for measure in measures]


@dataclass(frozen=True)
class MeasuredTable:
    """The results on one measure.

    Attributes:
        measure: The measure.
        losses: Labels in the order of tables.
        values: By (task, label) and seed, in printed units.
        sign: By task, 1 where larger is better and -1 where smaller is.
        cells: What tables print, by task and label.
        metrics: Headline metric by task.
    """

    measure: Measure
    losses: list[str]
    values: dict[tuple[str, str], dict[int, float]]
    sign: dict[str, int]
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
    ) -> MeasuredTable:
        """Gathers the results of one measure."""
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
        mean = denoised(float(values.mean())) if len(values) else None
        target = printed.get(name or "")
        return Cell(
            mean=mean,
            deviation=denoised(float(values.std(ddof=1))) if len(values) > 1 else None,
            n=len(values),
            failed=failed,
            published=target,
            published_deviation=deviation.get(name or ""),
            gap=None if mean is None or target is None or scale != "paper" else denoised(mean - target),
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


def denoised(value: float) -> float:
    """Leaves out the last digits, in which equal numbers differ.

    Examples:
        >>> denoised(0.1 + 0.2)
        0.3
    """
    return round(value, _NOISE_DECIMALS)
