"""The records of one study on the 121 tables, arranged for the questions that are put to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from squentropy.data import MANIFEST, load_tabular
from squentropy.study.comparison import compare
from squentropy.study.findings import Comparison, Measure
from squentropy.study.published import PublishedRow, find_row
from squentropy.study.record import Record
from squentropy.study.results import Results, collect
from squentropy.study.statistics import Values

SQUENTROPY, CROSS_ENTROPY = "squentropy", "cross entropy"
ACCURACY = Measure("performance", "accuracy")
ECE = Measure("ece", "ECE", higher_is_better=False)


@dataclass(frozen=True)
class TabularStudy:
    """The records of one study on the tables, and what they say.

    Attributes:
        results: Its records as one table, all of one scale.
        published: The paper's row for each task.
    """

    results: Results
    published: dict[str, PublishedRow]

    @classmethod
    def of(cls, records: Iterable[Record]) -> TabularStudy:
        """Arranges records of one scale."""
        results = collect(records)
        names = {task: record["paper_row"] for (_, task, _, _), record in results.records.items()}
        rows = {task: find_row(name) for task, name in names.items()}
        return cls(results, {task: row for task, row in rows.items() if row is not None})

    @property
    def scale(self) -> str:
        """The one scale of the records."""
        (scale,) = self.results.scales
        return scale

    @cached_property
    def last(self) -> Comparison:
        """Accuracy and ECE at the last epoch."""
        return self.compared("last")

    @cached_property
    def best(self) -> Comparison:
        """Accuracy and ECE at the best test epoch."""
        return self.compared("best")

    def compared(self, selection: str, measures: Sequence[Measure] = (ACCURACY, ECE)) -> Comparison:
        """Compares squentropy with each other loss."""
        published = self.published if self.scale == "paper" else {}
        return compare(self.results, self.scale, selection, focus=SQUENTROPY, measures=measures, published=published)

    def label(self, loss: str) -> str | None:
        """The column of a loss with the parameters of the paper; None if there is none."""
        found = [label for label, variant in self.results.losses.items() if variant.name == loss]
        return min(found, key=len) if found else None

    def differences(self, first: tuple[str, str], second: tuple[str, str]) -> dict[str, Values]:
        """First minus second over paired seeds, at the last epoch; each is a loss and a metric, in percent."""
        runs = self.results.runs[self.results.runs["selection"] == "last"]
        one, other = (
            runs[runs["loss"] == loss].set_index(["task", "seed"])[metric].dropna() for loss, metric in (first, second)
        )
        paired = (100 * (one - other)).dropna()
        return {str(task): values.to_numpy() for task, values in paired.groupby(level="task")}


@dataclass(frozen=True)
class Kind:
    """What tells one table from another."""

    rows: int
    classes: int
    commonest: float  # share of the commonest class, times the number of classes: 1 is balanced


def set_name(task: str) -> str:
    """The data set of a task.

    Examples:
        >>> set_name("tabular121-plain/iris")
        'iris'
    """
    return task.partition("/")[2]


def read_kinds(path: Path) -> dict[str, Kind]:
    """Reads what `write_kinds` wrote: of each data set the number of classes and rows, and how balanced it is."""
    kinds = {}
    for name, share in (line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]):
        data_set = MANIFEST[f"uci121/{name}"]
        classes = data_set.classes or 0
        kinds[name] = Kind(data_set.rows, classes, float(share) * classes)
    return kinds


def write_kinds(path: Path, names: Iterable[str], data_dir: Path) -> None:
    """Writes the share of the commonest class of each data set, which needs the data."""
    lines = ["data_set,commonest_class"]
    for name in sorted(names):
        counts = np.bincount(load_tabular(f"uci121/{name}", data_dir).y)
        lines.append(f"{name},{counts.max() / counts.sum():.4f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
