"""Dates that are written as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Where day and month cannot be told apart, the first that reads all values wins.
FORMATS = (
    "ISO8601",
    *(
        f"{date}{time}"
        for date in (
            "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d", "%m/%d/%y", "%d.%m.%y",
            "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%b %d, %Y", "%B %d, %Y", "%b %Y", "%B %Y",
        )
        for time in ("", " %H:%M", " %H:%M:%S")
    ),
)  # fmt: skip
_LOOKED_AT = 200


def find_format(texts: pd.Series[Any]) -> str | None:
    """Returns how dates are written, or None if these are no dates.

    Examples:
        >>> import pandas as pd
        >>> find_format(pd.Series(["24.12.2025", "1.1.2026"])), find_format(pd.Series(["red", "blue"]))
        ('%d.%m.%Y', None)
    """
    distinct = texts.drop_duplicates()
    if not distinct.str.contains(r"\d").all() or not distinct.str.contains(r"\d{2}").all():
        return None
    first = distinct.iloc[:_LOOKED_AT]
    for written in FORMATS:
        if bool(parse_dates(first, written).notna().all()) and bool(parse_dates(distinct, written).notna().all()):
            return written
    return None


def parse_dates(texts: pd.Series[Any], date_format: str) -> pd.Series[Any]:
    """Reads dates that are written in one way; what is not a date becomes missing."""
    import pandas as pd

    dates = pd.to_datetime(texts, format=date_format or "ISO8601", errors="coerce", utc=True)
    return dates.dt.tz_localize(None)
