"""What the columns of a table hold: numbers, categories or dates, or something that a network should not be given."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from squentropy.own_data.dates import find_format, parse_dates
from squentropy.own_data.number_formats import PLAIN, find_number_format, parse_numbers

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["number", "category", "date"]

# What people write for a missing value, beside what pandas knows already.
_MARKERS = ("", "?", "-", "--", ".", "na", "n/a", "nan", "none", "null", "missing", "unknown")
_NAMES_OF_IDS = re.compile(r"(^|[_\W])((?i:id|uuid|guid|index|idx|row|rownames|unnamed: \d+))$|(?<=[a-z])I[dD]$")
ROWS_OF_A_LEVEL = 5  # fewer, and a level is joined with the other rare ones
_MOSTLY, _SELDOM = 0.9, 0.1
_FEW_LEVELS = 50
_WORDS_OF_TEXT = 5
_CHARACTERS_OF_TEXT = 60


@dataclass(frozen=True)
class Column:
    """A column that is used, and how its values are read.

    Attributes:
        name: As it stands in the table.
        kind: "number", "category" or "date".
        markers: Texts in lower case that stand for a missing value.
        written: How dates are written, for `pandas.to_datetime`, or numbers, as in `number_formats`; empty if the
            column holds them as such.

    Examples:
        >>> import pandas as pd
        >>> Column("age", "number", markers=("?",)).values(pd.Series(["41", "?"])).tolist()
        [41.0, nan]
    """

    name: str
    kind: Kind
    markers: tuple[str, ...] = ()
    written: str = ""

    def values(self, series: pd.Series[Any]) -> pd.Series[Any]:
        """Reads values: numbers as float64, categories as text, dates as datetime64. What cannot be read is missing."""
        import pandas as pd

        if self.kind == "number":
            if not pd.api.types.is_numeric_dtype(series):
                series = parse_numbers(self._without_markers(series), self.written)
            numbers = series.astype("float64")
            return numbers.where(np.isfinite(numbers))
        if self.kind == "date":
            if pd.api.types.is_datetime64_any_dtype(series):
                return _without_zone(series)
            return parse_dates(self._without_markers(series), self.written)
        return self._without_markers(series)

    def _without_markers(self, series: pd.Series[Any]) -> pd.Series[Any]:
        texts = as_text(series)
        return texts.mask(texts.str.lower().isin(self.markers)) if self.markers else texts


@dataclass(frozen=True)
class Findings:
    """The columns of a table that are used, and what was found out about the others.

    Attributes:
        columns: Those that are used.
        notices: A sentence for each that is left out or read in a way that one should know.
    """

    columns: tuple[Column, ...]
    notices: tuple[str, ...]


def find_columns(
    frame: pd.DataFrame, *, drop: Collection[str] = (), keep: Collection[str] = (), categories: Collection[str] = ()
) -> Findings:
    """Finds out what each column holds.

    Args:
        frame: The table without its target.
        drop: Columns to leave out.
        keep: Columns to use although they look like row numbers or names of rows.
        categories: Columns of numbers that stand for categories, such as codes.

    Raises:
        ValueError: If a column holds free text, or numbers mixed with many texts; the message says what to do.

    Examples:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"size": ["1", "2.5"] * 9, "colour": ["red", "blue"] * 9, "all": ["x"] * 18})
        >>> found = find_columns(frame)
        >>> [(column.name, column.kind) for column in found.columns]
        [('size', 'number'), ('colour', 'category')]
        >>> found.notices
        ("Column 'all' has the same value in each row; left out.",)
    """
    _check_names(frame, {"drop": drop, "keep": keep, "categories": categories})
    columns: list[Column] = []
    notices: list[str] = []
    for name in frame.columns:
        if name in drop:
            continue
        series = frame[name]
        looked_at = _look_at(series, name, name in keep, name in categories)
        columns += [] if looked_at.column is None else [looked_at.column]
        notices += [] if looked_at.notice is None else [f"Column {name!r} {looked_at.notice}"]
    if not columns:
        raise ValueError("no column is left to predict from: " + (" ".join(notices) or "the table has only its target"))
    return Findings(tuple(columns), tuple(notices))


def _check_names(frame: pd.DataFrame, options: dict[str, Iterable[str]]) -> None:
    twice = sorted({str(name) for name in frame.columns[frame.columns.duplicated()]})
    if twice:
        raise ValueError(f"two columns are called {twice[0]!r}: give each a name of its own")
    for option, names in options.items():
        for name in names:
            if name not in frame.columns:
                raise ValueError(
                    f"{option} names {name!r}, which is no column: choose among {', '.join(map(str, frame.columns))}"
                )


@dataclass(frozen=True)
class _Look:
    """What one column holds, and what should be said of it."""

    column: Column | None
    notice: str | None = None


def _look_at(series: pd.Series[Any], name: str, is_kept: bool, is_category: bool) -> _Look:
    import pandas as pd

    present = series.dropna()
    if not len(present):
        return _Look(None, "has no values; left out.")
    if pd.api.types.is_datetime64_any_dtype(series):
        return _constant(present, len(series)) or _Look(Column(name, "date"))
    if pd.api.types.is_numeric_dtype(series) and not is_category:
        return _numbers(Column(name, "number"), present, len(series), is_kept)
    if present.map(lambda value: isinstance(value, list | dict | np.ndarray)).any():
        raise ValueError(f"column {name!r} holds lists or mappings: leave it out with --drop {_quoted(name)}")
    return _texts(as_text(present), name, len(series), is_kept, is_category or _is_categorical(series))


def _is_categorical(series: pd.Series[Any]) -> bool:
    import pandas as pd

    return isinstance(series.dtype, pd.CategoricalDtype)


def _constant(present: pd.Series[Any], rows: int) -> _Look | None:
    if present.nunique() == 1 and len(present) == rows:
        return _Look(None, "has the same value in each row; left out.")
    return None


def _numbers(column: Column, present: pd.Series[Any], rows: int, is_kept: bool) -> _Look:
    name = column.name
    constant = _constant(present, rows)
    if constant is not None:
        return constant
    if not is_kept and _is_whole(present):
        whole = present.astype("float64")
        is_unique = present.nunique() == len(present)
        is_counting = is_unique and len(present) > 1 and bool(whole.max() - whole.min() == len(present) - 1)
        if is_counting and len(present) > _FEW_LEVELS:
            return _Look(None, f"numbers the rows; left out. --keep {_quoted(name)} uses it.")
        if _NAMES_OF_IDS.search(name):
            return _named_like_an_id(name, is_unique, present.nunique())
    return _Look(column)


def _named_like_an_id(name: str, is_unique: bool, levels: int) -> _Look:
    if is_unique:
        return _Look(None, f"looks like the name of each row; left out. --keep {_quoted(name)} uses it.")
    return _Look(
        None,
        f"looks like the name of {levels:,} things that have several rows each; left out. If rows of the same "
        f"thing are alike, split by it with --group {_quoted(name)}.",
    )


def _is_whole(present: pd.Series[Any]) -> bool:
    numbers = present.astype("float64").to_numpy()
    return bool(np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all())


def _texts(present: pd.Series[Any], name: str, rows: int, is_kept: bool, is_category: bool) -> _Look:
    """Texts: numbers or dates as text, categories, names of rows, free text."""
    if not is_category:
        lower = present.str.lower()
        is_marker = lower.isin(_MARKERS)
        values = present[~is_marker]
        if not len(values):
            return _Look(None, "has no values; left out.")
        markers = tuple(sorted(set(lower[is_marker])))
        written, share = find_number_format(values)
        numbers = parse_numbers(values, written)
        if share == 1:
            look = _numbers(Column(name, "number", markers, written), numbers, rows, is_kept)
            return replace(look, notice=look.notice or _numbers_notice(values, written, present[is_marker]))
        if share >= _MOSTLY or (share > _SELDOM and values.nunique() > _FEW_LEVELS):
            return _mixed(name, values[numbers.isna()], share)
        date_format = find_format(values)
        if date_format is not None:
            return _constant(values, rows) or _Look(Column(name, "date", markers, date_format))
        present = values if share == 0 else present
    constant = _constant(present, rows)
    if constant is not None:
        return constant
    return _free_text(present, name, is_kept) or _nothing_frequent(present) or _Look(Column(name, "category", ("",)))


def _numbers_notice(values: pd.Series[Any], written: str, markers: pd.Series[Any]) -> str | None:
    """What one should know where numbers are written in an unusual way, or texts were taken as missing."""
    notices = []
    if written != PLAIN:
        text = values[parse_numbers(values, PLAIN).isna()].iloc[0]
        [number] = parse_numbers(values[values == text].iloc[:1], written)
        notices.append(f"numbers such as {text!r}, which was read as {number:g}")
    texts = [text for text in dict.fromkeys(markers) if text]
    if texts:
        shown = " and ".join(repr(text) for text in texts[:3])
        rows = "1 row" if len(markers) == 1 else f"{len(markers):,} rows"
        notices.append(f"{'' if notices else 'numbers, and '}{shown} in {rows}, which was taken as missing")
    return f"holds {'; and '.join(notices)}." if notices else None


def _mixed(name: str, texts: pd.Series[Any], share: float) -> _Look:
    examples = " and ".join(repr(text) for text in list(dict.fromkeys(texts))[:3])
    raise ValueError(
        f"column {name!r} mixes numbers ({share:.0%} of its values) with texts such as {examples}: mend these values "
        f"or leave them empty, take all as categories with --category {_quoted(name)}, or leave the column out with "
        f"--drop {_quoted(name)}"
    )


def _free_text(present: pd.Series[Any], name: str, is_kept: bool) -> _Look | None:
    """Refuses sentences, and leaves out what names each row."""
    distinct = present.nunique() / len(present)
    if distinct < 0.5 or present.nunique() <= _FEW_LEVELS:
        return None
    words = float(present.str.count(r"\s+").mean()) + 1
    if words >= _WORDS_OF_TEXT or float(present.str.len().mean()) >= _CHARACTERS_OF_TEXT:
        example = present.iloc[0]
        raise ValueError(
            f"column {name!r} holds free text ({words:.0f} words a row, {distinct:.0%} of them different, such as "
            f"{example[:50]!r}), which a network for tables cannot read: leave it out with --drop {_quoted(name)}, "
            "or put numbers made from it in its place"
        )
    if is_kept:
        return None
    if _NAMES_OF_IDS.search(name):
        return _named_like_an_id(name, distinct == 1, present.nunique())
    if distinct > 0.95:
        return _Look(
            None,
            f"has {present.nunique():,} different texts in {len(present):,} rows, so it names the rows; left out. "
            f"--keep {_quoted(name)} uses it.",
        )
    return None


def _nothing_frequent(present: pd.Series[Any]) -> _Look | None:
    most = int(present.value_counts().iloc[0])
    if most >= ROWS_OF_A_LEVEL:
        return None
    return _Look(
        None,
        f"has {present.nunique():,} different texts, none of them in more than {most} of {len(present):,} rows, which "
        "is too few to learn from; left out.",
    )


def as_text(series: pd.Series[Any]) -> pd.Series[Any]:
    """Returns values as text without blanks around them, so that 1, 1.0 and "1" are the same category.

    Examples:
        >>> import pandas as pd
        >>> as_text(pd.Series([1.0, None, 2.5])).tolist()
        ['1', nan, '2.5']
    """
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    if isinstance(series.dtype, pd.StringDtype):
        return series.astype("str").str.strip()
    texts = [None if missing else _text(value) for value, missing in zip(series, series.isna(), strict=True)]
    return pd.Series(texts, index=series.index, name=series.name, dtype="str")


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _without_zone(series: pd.Series[Any]) -> pd.Series[Any]:
    return series if series.dt.tz is None else series.dt.tz_convert("UTC").dt.tz_localize(None)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else repr(name)
