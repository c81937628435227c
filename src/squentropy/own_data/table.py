"""A table made ready: what each column holds, the classes, and the data of each seed with its preprocessing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from squentropy.own_data.columns import Column, as_text, find_columns
from squentropy.own_data.dates import find_format, parse_dates
from squentropy.own_data.features import Preprocessing, Width, widths
from squentropy.own_data.split import Indices, Splitter, Way
from squentropy.own_data.target import Target, check_target, find_target
from squentropy.study import Rows, TensorData

if TYPE_CHECKING:
    import pandas as pd

_FEWEST_ROWS = 20


@dataclass(frozen=True)
class Options:
    """How a table is to be taken.

    Attributes:
        drop: Columns to leave out.
        keep: Columns to use although they look like names of rows.
        categories: Columns of numbers that stand for categories.
        group: Column of groups that are not divided between training and test part; no input.
        time: Column of times, the last of which are tested; an input as well.
        min_class_rows: Classes with fewer rows are left out; None refuses those with a single row.
    """

    drop: Collection[str] = ()
    keep: Collection[str] = ()
    categories: Collection[str] = ()
    group: str | None = None
    time: str | None = None
    min_class_rows: int | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table to learn from.

    Attributes:
        name: For records and reports, one word.
        columns: What is used, and how its values are read.
        widths: How many inputs each column has.
        values: The values of these columns, as `Column.values` returns them.
        target: The classes; `codes` has one for each row of `values`.
        splitter: How rows are divided.
        notices: What the reader should know.
    """

    name: str
    columns: Sequence[Column]
    widths: Sequence[Width]
    values: pd.DataFrame = field(repr=False)
    target: Target
    splitter: Splitter
    notices: tuple[str, ...]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each class (C,)."""
        return np.bincount(self.target.codes, minlength=len(self.target.classes)).astype(np.int64)

    @property
    def num_inputs(self) -> int:
        """Inputs of the network for each row."""
        return sum(width.inputs(column.kind) for column, width in zip(self.columns, self.widths, strict=True))

    def fit(self, rows: Indices) -> Preprocessing:
        """Fits the preprocessing on training rows."""
        return Preprocessing.fitted(self.columns, self.widths, self.values.iloc[rows])

    def rows(self, preprocessing: Preprocessing, rows: Indices) -> Rows:
        """Returns inputs and classes of some rows."""
        inputs = torch.from_numpy(preprocessing.apply(self.values.iloc[rows]))
        return Rows(inputs, torch.from_numpy(self.target.codes[rows]))

    def data(self, seed: int) -> TensorData:
        """Splits for a seed, with the preprocessing fitted on the rows that are trained on."""
        parts = self.splitter.parts(seed)
        fitted = self.fit(parts.train)
        train, validation, test = (self.rows(fitted, part) for part in parts)
        return TensorData(self.name, train, test, len(self.target.classes), validation=validation)


def make_table(
    frame: pd.DataFrame, target: str, name: str, options: Options | None = None, notices: Sequence[str] = ()
) -> Table:
    """Makes a table ready.

    Args:
        frame: The table with its target.
        target: The column to predict.
        name: For records and reports.
        options: How it is to be taken.
        notices: What is to be said of how it was read.

    Raises:
        ValueError: If that is impossible; the message says what to do.

    Examples:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"size": range(0, 100, 2), "kind": ["a", "b"] * 25})
        >>> make_table(frame, "kind", "small").data(seed=0).train.inputs.shape
        torch.Size([32, 1])
    """
    options = options or Options()
    frame = frame.rename(columns=str)
    check_target(target, list(frame.columns))
    for option, column in {"group": options.group, "time": options.time}.items():
        if column is not None and (column not in frame.columns or column == target):
            raise ValueError(f"{option} names {column!r}: give a column other than the target")
    if options.group and options.time:
        raise ValueError("group and time were both given: give one, as rows are divided in one way only")
    if int((frame.columns == target).sum()) > 1:
        raise ValueError(f"two columns are called {target!r}: give each a name of its own")
    found = find_target(frame[target], options.min_class_rows)
    used = found.codes >= 0
    frame = frame[used].reset_index(drop=True)
    found = Target(found.name, found.classes, found.codes[used], found.notices)
    if len(frame) < _FEWEST_ROWS:
        raise ValueError(
            f"the table has {len(frame)} rows with a class: at least {_FEWEST_ROWS} are needed, and hundreds to see a "
            "difference"
        )
    columns = find_columns(
        frame.drop(columns=[target, *filter(None, [options.group])]),
        drop=options.drop,
        keep=[*options.keep, *filter(None, [options.time])],
        categories=options.categories,
    )
    import pandas as pd

    values = pd.DataFrame({column.name: column.values(frame[column.name]) for column in columns.columns})
    return Table(
        name=name,
        columns=columns.columns,
        widths=widths(columns.columns, values),
        values=values,
        target=found,
        splitter=_splitter(frame, found, options),
        notices=(*notices, *found.notices, *columns.notices),
    )


def _splitter(frame: pd.DataFrame, target: Target, options: Options) -> Splitter:
    way: Way = "stratified"
    by = None
    if options.group is not None:
        way, by = "group", _groups(frame[options.group])
    elif options.time is not None:
        way, by = "time", _times(frame[options.time])
    return Splitter(way, target.codes, by)


def _groups(series: pd.Series[Any]) -> NDArray[np.float64]:
    import pandas as pd

    if series.isna().any():
        raise ValueError(
            f"the group column {series.name!r} has rows without a value: fill them in or leave the rows out"
        )
    return np.asarray(pd.factorize(as_text(series))[0], np.float64)


def _times(series: pd.Series[Any]) -> NDArray[np.float64]:
    """Times as numbers that rise with them."""
    import pandas as pd

    name = series.name
    if not pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_datetime64_any_dtype(series):
        texts = as_text(series)
        numbers = pd.to_numeric(texts, errors="coerce")
        if numbers.isna().sum() > texts.isna().sum():
            written = find_format(texts.dropna())
            if written is None:
                raise ValueError(
                    f"the time column {name!r} holds texts such as {texts.dropna().iloc[0]!r}: write dates as "
                    "2026-01-31"
                )
            series = parse_dates(texts, written)
        else:
            series = numbers
    if series.isna().any():
        raise ValueError(f"the time column {name!r} has rows without a value: fill them in or leave the rows out")
    return np.asarray(series.rank(method="dense"), np.float64)
