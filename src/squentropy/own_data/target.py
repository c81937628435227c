"""The column to predict: its classes, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from squentropy.own_data.columns import as_text

if TYPE_CHECKING:
    import pandas as pd

_FEW_CLASSES = 20
_SHOWN = 5


@dataclass(frozen=True)
class Target:
    """The classes of a table's rows.

    Attributes:
        name: Of the column.
        classes: Labels as text, in order: by value if they are numbers.
        codes: For each row the index of its class (N,), -1 where the row is to be left out.
        notices: Sentences on rows that are left out.

    Examples:
        >>> import pandas as pd
        >>> target = find_target(pd.Series(["10", "9", "9", "10", None], name="kind"))
        >>> target.classes, target.codes.tolist(), target.notices
        (('9', '10'), [1, 0, 0, 1, -1], ("1 row has no value in the target column 'kind'; left out.",))
    """

    name: str
    classes: tuple[str, ...]
    codes: NDArray[np.int64]
    notices: tuple[str, ...]


def check_target(name: str, columns: Sequence[str]) -> None:
    """Refuses the name of a target that is no column, with those that are like it."""
    if name in columns:
        return
    close = get_close_matches(name, [str(each) for each in columns], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"choose among {', '.join(map(str, columns))}"
    raise ValueError(f"target {name!r} is no column of the table: {hint}")


def find_target(series: pd.Series[Any], min_class_rows: int | None = None) -> Target:
    """Finds the classes.

    Args:
        series: The column.
        min_class_rows: Rows of classes with fewer rows are left out; a class with a single row is an error if None.

    Raises:
        ValueError: If there are fewer than two classes, a class with a single row, or so many that it is a number to
            be predicted and no class.
    """
    name = str(series.name)
    texts = as_text(series)
    texts = texts.mask(texts == "")
    missing = int(texts.isna().sum())
    if missing == len(texts):
        raise ValueError(f"target {name!r} has no values: choose another column")
    notices = []
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        notices.append(f"{rows} no value in the target column {name!r}; left out.")
    counts = texts.value_counts()
    _refuse_numbers(name, texts, len(counts))
    if min_class_rows is not None:
        rare = counts[counts < min_class_rows]
        texts = texts.mask(texts.isin(rare.index))
        if len(rare):
            notices.append(f"{_shown(rare)} with fewer than {min_class_rows} rows left out ({int(rare.sum()):,} rows).")
        counts = counts[counts >= min_class_rows]
    if len(counts) < 2:
        only = f"only {counts.index[0]!r}" if len(counts) else "none with enough rows"
        raise ValueError(f"target {name!r} must have at least two classes, has {only}: choose another column")
    single = counts[counts < 2]
    if len(single):
        raise ValueError(
            f"target {name!r}: {_shown(single)} with a single row cannot be both trained on and tested: join them with "
            "other classes in the table, or leave them out with --min-class-rows 2"
        )
    classes = tuple(sorted((str(each) for each in counts.index), key=_order(counts.index)))
    position = {label: number for number, label in enumerate(classes)}
    codes = np.array([-1 if missing else position[text] for text, missing in zip(texts, texts.isna(), strict=True)])
    return Target(name, classes, codes.astype(np.int64), tuple(notices))


def _refuse_numbers(name: str, texts: pd.Series[Any], classes: int) -> None:
    import pandas as pd

    present = texts.dropna()
    if classes <= _FEW_CLASSES:
        return
    numbers = pd.to_numeric(present, errors="coerce")
    is_measured = bool(numbers.notna().all()) and bool((numbers % 1 != 0).any() or classes > 0.1 * len(present))
    if is_measured or classes > 0.5 * len(present):
        kind = "numbers" if is_measured else "values"
        raise ValueError(
            f"target {name!r} has {classes:,} different {kind} in {len(present):,} rows, which are no classes: choose "
            "another column, or divide this one into a few classes first"
        )


def _shown(counts: pd.Series[Any]) -> str:
    names = ", ".join(repr(str(label)) for label in counts.index[:_SHOWN])
    more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
    return f"{'class' if len(counts) == 1 else 'classes'} {names}{more}"


def _order(labels: Any) -> Any:
    try:
        numbers = {str(label): float(label) for label in labels}
    except ValueError:
        return str
    return lambda label: numbers[label]
