"""What a report says of the data: rows, classes, columns, and how rows were divided."""

from __future__ import annotations

import math

from squentropy.own_data.report import Background
from squentropy.own_data.table import Table
from squentropy.own_data.yardsticks import boosting_rounds
from squentropy.study import TensorData
from squentropy.study.report import numbers
from squentropy.study.report.document import Entry, Section
from squentropy.study.report.document import Table as ReportTable

_MOST_CLASSES = 20
_IMBALANCED = 0.7
_FEW_ROWS = 30
_MOST_NAMED = 5


def background(table: Table, data: TensorData, seeds: int) -> Background:
    """Describes a table for its report.

    Args:
        table: The table.
        data: The data of one seed.
        seeds: How many seeds there are.
    """
    rounds = boosting_rounds(data.num_classes)
    few_rounds = [f"Gradient boosting has {rounds} rounds only, as each grows {data.num_classes} trees."]
    facts = [
        f"{len(table.values):,} rows, {numbers.count_of(len(table.columns), 'column')} used, which are "
        f"{numbers.count_of(data.train.inputs.shape[1], 'input')} of the network; "
        f"{table.target.name!r} has {len(table.target.classes)} classes.",
        *table.notices,
    ]
    return Background(
        title=f"Which loss predicts {table.target.name!r} best?",
        summary=[*imbalance(table), *_small(table, data)],
        section=Section("The table", [*facts, classes(table), _columns(table)]),
        design=[*_design(table, data, seeds), *(few_rounds if rounds < boosting_rounds(2) else [])],
    )


def imbalance(table: Table) -> list[str]:
    """What one should know where most rows have the same class."""
    share = table.counts.max() / table.counts.sum()
    if share < _IMBALANCED:
        return []
    label = table.target.classes[int(table.counts.argmax())]
    return [
        f"The classes are imbalanced: always answering {label!r} would be right in {100 * share:.1f} % of the rows. So "
        "look at the balanced accuracy and the probabilities, too."
    ]


def _small(table: Table, data: TensorData) -> list[str]:
    rare = [label for label, count in zip(table.target.classes, table.counts.tolist(), strict=True) if count < 10]
    sentences = []
    if data.test_rows < _FEW_ROWS:
        sentences.append(f"Only {data.test_rows} rows are tested for each seed, so only large differences show.")
    if rare:
        more = [f"{len(rare) - _MOST_NAMED} more"] if len(rare) > _MOST_NAMED else []
        names = numbers.listing([*map(repr, rare[:_MOST_NAMED]), *more])
        sentences.append(f"Fewer than ten rows have the class {names}: what is said of it rests on little.")
    return sentences


def classes(table: Table) -> ReportTable:
    """How many rows each class has, the most frequent first."""
    total = int(table.counts.sum())
    ordered = sorted(zip(table.counts.tolist(), table.target.classes, strict=True), key=lambda each: -each[0])
    rows = [[Entry(label), Entry(f"{count:,}"), Entry(f"{100 * count / total:.1f}")] for count, label in ordered]
    shown = rows[:_MOST_CLASSES]
    more = f"; {len(rows) - _MOST_CLASSES} others, no larger, are not shown" if len(rows) > _MOST_CLASSES else ""
    return ReportTable("classes", f"Classes of {table.target.name!r}{more}.", ["class", "rows", "%"], shown)


def _columns(table: Table) -> ReportTable:
    rows = []
    for column, width in zip(table.columns, table.widths, strict=True):
        values = table.values[column.name]
        missing = 100 * float(values.isna().mean())
        rows.append(
            [
                Entry(column.name),
                Entry(column.kind, f"written {column.written}" if column.written else ""),
                Entry(f"{values.nunique():,}"),
                Entry(f"{missing:.1f}"),
                Entry(f"{width.inputs(column.kind)}"),
            ]
        )
    caption = (
        "Columns. A number is shifted by its median, scaled by the range of its middle half and clipped smoothly; a "
        "category has an input for each frequent level and one for all others; a missing value is the median, with an "
        "input that says so. All of it is learnt from the training rows of each seed."
    )
    return ReportTable(
        "columns", caption, ["column", "kind", "values", "missing (%)", "inputs"], rows, text_columns=(1,)
    )


def _design(table: Table, data: TensorData, seeds: int) -> list[str]:
    held_out = 0 if data.validation is None else len(data.validation.target)
    sizes = f"{data.train_rows:,} rows to train on, {held_out:,} held out, {data.test_rows:,} to test"
    if not table.splitter.is_anew:
        return [
            f"{numbers.count_of(seeds, 'seed')}, all with the same division by time: {sizes}, the last rows. Seeds "
            "differ in their initial weights and the order of the rows.",
            "Intervals take in both the seeds and, by a bootstrap over them, the choice of the test rows. They take "
            "the rows for independent; where the times that follow one another are alike, less is sure.",
        ]
    how = "rows of a group are never divided" if table.splitter.way == "group" else "each class is divided by itself"
    sentences = [
        f"{numbers.count_of(seeds, 'seed')}, each with a division of its own ({sizes}; {how}), the same for all "
        "losses. Temperatures are fitted on the rows held out, and the loss of the saved model is chosen by them."
    ]
    if seeds > 1:
        widening = math.sqrt(1 + seeds * data.test_rows / data.train_rows)
        sentences.append(
            "The divisions share most of their rows, so seeds are not independent. Intervals and p-values are those of "
            f"the corrected resampled t-test (Nadeau and Bengio 2003), {widening:.1f} times as wide as if they were."
        )
    return sentences
