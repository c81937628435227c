"""From columns to the inputs of a network: what is learnt from the training rows, and applied to all others.

Numbers are shifted and scaled robustly and clipped smoothly, as Holzmüller et al. (2024, RealMLP) do. Categories become
one input for each level that is frequent enough, with one for all others. A missing value is the median, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from squentropy.own_data.columns import ROWS_OF_A_LEVEL, Column, Kind

if TYPE_CHECKING:
    import pandas as pd

Values = NDArray[np.float32]

MOST_LEVELS = 40
_CLIP = 3.0
_SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True)
class Width:
    """How many inputs a column may need, whichever rows it is fitted on, so that all splits have as many inputs.

    Attributes:
        levels: Of a category, levels with an input of their own.
        has_missing: Whether any row has no value.
        has_time: Whether any date has a time of day.
    """

    levels: int = 0
    has_missing: bool = False
    has_time: bool = False

    @classmethod
    def of(cls, column: Column, values: pd.Series[Any]) -> Width:
        """Looks at all rows of a column."""
        has_missing = bool(values.isna().any())
        if column.kind == "category":
            return cls(len(_frequent(values)), has_missing)
        has_time = column.kind == "date" and bool((values.dropna() != values.dropna().dt.normalize()).any())
        return cls(has_missing=has_missing, has_time=has_time)

    def inputs(self, kind: Kind) -> int:
        """Returns how many inputs these are."""
        match kind:
            case "category":
                return self.levels + 1 + self.has_missing
            case "date":
                return 5 + 2 * self.has_time + self.has_missing
        return 1 + self.has_missing


def _frequent(values: pd.Series[Any]) -> list[str]:
    counts = values.value_counts()
    ordered = sorted(counts.items(), key=lambda level: (-level[1], str(level[0])))
    return [str(level) for level, count in ordered if count >= ROWS_OF_A_LEVEL][:MOST_LEVELS]


@dataclass(frozen=True)
class Scale:
    """A shift and a factor for numbers.

    Examples:
        >>> scale = Scale.fitted(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
        >>> scale.apply(np.array([3.0, np.nan, 1e9])).tolist()
        [0.0, 0.0, 3.0]
    """

    center: float
    factor: float

    @classmethod
    def fitted(cls, values: NDArray[np.float64]) -> Scale:
        """Learns the median, and the range of the middle half or where that is zero half the whole range."""
        present = values[~np.isnan(values)]
        if not len(present):
            return cls(0.0, 0.0)
        low, center, high = np.quantile(present, [0.25, 0.5, 0.75]).tolist()
        whole = float(np.ptp(present)) / 2
        spread = high - low if high > low else whole
        return cls(center, 1 / spread if spread > 0 and np.isfinite(1 / spread) else 0.0)

    def apply(self, values: NDArray[np.float64]) -> Values:
        """Shifts, scales and clips smoothly at 3; a missing value becomes 0, which is the median."""
        scaled = np.clip((values - self.center) * self.factor, -1e6, 1e6)
        clipped = scaled / np.sqrt(1 + (scaled / _CLIP) ** 2)
        return np.where(np.isnan(values), 0.0, clipped).astype(np.float32)


@dataclass(frozen=True)
class Encoder:
    """One column's inputs, fitted on training rows.

    Attributes:
        column: The column.
        width: How many inputs it has.
        scale: Of a number, or of the days of a date.
        levels: Of a category, those with an input of their own.
        has_missing: Whether training rows had no value; where none had, a missing value is nothing that one can learn.
    """

    column: Column
    width: Width
    scale: Scale | None = None
    levels: tuple[str, ...] = ()
    has_missing: bool = False

    @classmethod
    def fitted(cls, column: Column, width: Width, values: pd.Series[Any]) -> Encoder:
        """Learns from the values of the training rows, as `Column.values` returns them."""
        has_missing = bool(values.isna().any())
        match column.kind:
            case "category":
                return cls(column, width, levels=tuple(_frequent(values)[: width.levels]), has_missing=has_missing)
            case "date":
                return cls(column, width, scale=Scale.fitted(_days(values)), has_missing=has_missing)
        return cls(column, width, scale=Scale.fitted(values.to_numpy(np.float64)), has_missing=has_missing)

    def apply(self, values: pd.Series[Any]) -> Values:
        """Returns the inputs (N, d) of values."""
        match self.column.kind:
            case "category":
                return self._levels(values)
            case "date":
                parts = self._date_parts(values)
            case _:
                assert self.scale is not None
                parts = [self.scale.apply(values.to_numpy(np.float64))]
        if self.width.has_missing:
            parts.append((values.isna().to_numpy() & self.has_missing).astype(np.float32))
        return np.stack(parts, axis=1)

    def _levels(self, values: pd.Series[Any]) -> Values:
        """One input for each level, one for all others and one for missing values."""
        import pandas as pd

        codes = pd.Index(self.levels, dtype="str").get_indexer(pd.Index(values))
        other, missing = self.width.levels, self.width.levels + 1
        codes = np.where(codes < 0, other, codes)
        codes = np.where(values.isna() & self.has_missing, missing, codes)
        inputs = np.zeros((len(values), self.width.levels + 2), np.float32)
        inputs[np.arange(len(values)), codes] = 1
        return inputs if self.width.has_missing else inputs[:, :-1]

    def _date_parts(self, values: pd.Series[Any]) -> list[Values]:
        """The day, and where in the year, the week and, if there are times, the day it is, as points of a circle."""
        assert self.scale is not None
        days, dates = _days(values), values.dt
        turns = [(dates.day_of_year - 1) / 365.25, dates.day_of_week / 7]
        if self.width.has_time:
            turns.append(days % 1)
        parts = [self.scale.apply(days)]
        for turn in turns:
            angle = 2 * np.pi * np.asarray(turn, np.float64)
            parts += [np.nan_to_num(wave(angle)).astype(np.float32) for wave in (np.sin, np.cos)]
        return parts


def _days(values: pd.Series[Any]) -> NDArray[np.float64]:
    import pandas as pd

    seconds = (values - pd.Timestamp(2000, 1, 1)).dt.total_seconds()
    return np.asarray(seconds / _SECONDS_A_DAY, np.float64)


@dataclass(frozen=True)
class Preprocessing:
    """All columns' encoders.

    Examples:
        >>> import pandas as pd
        >>> columns = [Column("size", "number"), Column("colour", "category")]
        >>> table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0, 5.0] * 2, "colour": ["red"] * 9 + ["blue"]})
        >>> fitted = Preprocessing.fitted(columns, widths(columns, table), table)
        >>> fitted.apply(pd.DataFrame({"size": [3.0, 5.0], "colour": ["red", "never seen"]})).tolist()
        [[0.0, 1.0, 0.0], [0.9486833214759827, 0.0, 1.0]]
    """

    encoders: tuple[Encoder, ...]

    @classmethod
    def fitted(cls, columns: Sequence[Column], widths: Sequence[Width], table: pd.DataFrame) -> Preprocessing:
        """Learns from training rows, whose values are read already."""
        pairs = zip(columns, widths, strict=True)
        return cls(tuple(Encoder.fitted(column, width, table[column.name]) for column, width in pairs))

    def apply(self, table: pd.DataFrame) -> Values:
        """Returns the inputs (N, d) of rows whose values are read already."""
        return np.concatenate([encoder.apply(table[encoder.column.name]) for encoder in self.encoders], axis=1)

    def to_json(self) -> list[dict[str, Any]]:
        """Returns it as plain values."""
        return [asdict(encoder) for encoder in self.encoders]

    @classmethod
    def from_json(cls, content: Sequence[Mapping[str, Any]]) -> Preprocessing:
        """Makes it again from what `to_json` returned."""
        return cls(
            tuple(
                Encoder(
                    column=Column(**{**each["column"], "markers": tuple(each["column"]["markers"])}),
                    width=Width(**each["width"]),
                    scale=None if each["scale"] is None else Scale(**each["scale"]),
                    levels=tuple(each["levels"]),
                    has_missing=bool(each["has_missing"]),
                )
                for each in content
            )
        )


def widths(columns: Sequence[Column], table: pd.DataFrame) -> list[Width]:
    """Returns how many inputs each column may need, from all rows."""
    return [Width.of(column, table[column.name]) for column in columns]
