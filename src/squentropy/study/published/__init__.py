"""The numbers that the paper prints, row by row, and where they contradict themselves.

Source: Hui, Belkin, Wright, "Cut your Losses with Squentropy", ICML 2023 (arXiv:2302.03952v1). table1.csv is Table 1,
table2_std.csv its standard deviations (Table 2), tabular121.csv the appendix's tables for the 121 data sets.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

# The paper's columns by the name of the loss here.
_COLUMNS = {"squentropy": "squentropy", "cross_entropy": "cross_entropy", "rescaled_square": "square"}


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table, in percent; a value that the paper does not print is missing.

    Attributes:
        name: "Table 1: <model>, <task>" or "121 tabular: <data set>".
        performance: Accuracy or error rate by name of the loss.
        ece: Expected calibration error by name of the loss.
        deviation: Standard deviation of `performance` over five runs (Table 2) by name of the loss.
    """

    name: str
    performance: dict[str, float]
    ece: dict[str, float]
    deviation: dict[str, float]

    @property
    def suite(self) -> str:
        """The table that the row belongs to."""
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class Erratum:
    """A contradiction in the published numbers, of single rows or of a whole table.

    Attributes:
        key: Short name.
        text: What is wrong, in one or two sentences.
        rows: Names of the rows concerned; empty if it is the whole suite.
        suite: The table concerned as a whole, or None.
    """

    key: str
    text: str
    rows: tuple[str, ...] = ()
    suite: str | None = None


@cache
def published_rows() -> MappingProxyType[str, PublishedRow]:
    """All published rows by name.

    Examples:
        >>> published_rows()["Table 1: TCNN, MNIST"].ece["cross_entropy"]
        1.6
        >>> published_rows()["121 tabular: iris"].performance["squentropy"]
        97.2
    """
    deviations = {_table1_name(row): _by_loss(row, "std") for row in _read("table2_std.csv")}
    table1 = [
        PublishedRow(name, _by_loss(row, "perf"), _by_loss(row, "ece"), deviations.get(name, {}))
        for row in _read("table1.csv")
        for name in [_table1_name(row)]
    ]
    tabular = [
        PublishedRow(f"121 tabular: {row['dataset']}", _by_loss(row, "acc"), _by_loss(row, "ece"), {})
        for row in _read("tabular121.csv")
    ]
    return MappingProxyType({row.name: row for row in table1 + tabular})


def find_row(paper_row: str | None) -> PublishedRow | None:
    """The published row that a task reproduces; None for a task that reproduces no row of a table.

    The model may be left out where only one model has the task: "Table 1: MNIST".

    Raises:
        ValueError: If the name is that of a table but not of one of its rows.

    Examples:
        >>> find_row("Table 1: MNIST").name
        'Table 1: TCNN, MNIST'
        >>> find_row("Figure 3") is None
        True
    """
    rows = published_rows()
    if paper_row is None or paper_row.partition(":")[0] not in {row.suite for row in rows.values()}:
        return None
    suite, _, task = paper_row.partition(": ")
    found = [
        row
        for name, row in rows.items()
        if name == paper_row or (name.startswith(f"{suite}: ") and name.endswith(f", {task}"))
    ]
    if len(found) != 1:
        known = ", ".join(repr(row.name) for row in found) or "as published_rows() lists them"
        raise ValueError(f"paper_row {paper_row!r} names {len(found)} rows of {suite}: choose one, {known}")
    return found[0]


def errata_for(rows: Iterable[PublishedRow]) -> list[Erratum]:
    """The errata that concern any of these rows.

    Examples:
        >>> [erratum.key for erratum in errata_for([published_rows()["Table 1: VGG, SVHN"]])]
        ['swapped']
    """
    rows = list(rows)
    names, suites = {row.name for row in rows}, {row.suite for row in rows}
    return [erratum for erratum in errata() if names & {*erratum.rows} or erratum.suite in suites]


@cache
def errata() -> tuple[Erratum, ...]:
    """All known errata.

    Examples:
        >>> errata()[0].key
        'swapped'
    """
    entries = tomllib.loads(files(__name__).joinpath("errata.toml").read_text(encoding="utf-8"))["erratum"]
    return tuple(Erratum(**{**entry, "rows": tuple(entry.get("rows", ()))}) for entry in entries)


def _read(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(files(__name__).joinpath(name).read_text(encoding="utf-8").splitlines()))


def _table1_name(row: dict[str, str]) -> str:
    return f"Table 1: {row['model']}, {row['task']}"


def _by_loss(row: dict[str, str], column: str) -> dict[str, float]:
    return {
        loss: float(row[f"{published}_{column}"])
        for loss, published in _COLUMNS.items()
        if row[f"{published}_{column}"] != "N/A"
    }
