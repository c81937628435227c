"""Numbers that are written as text, also with a decimal comma, marks between thousands, or a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

PLAIN, COMMAS_FOR_THOUSANDS, DECIMAL_COMMA = "", "1,234.5", "1.234,5"
# Where both would do, as for 1,234, the first is taken: decimal numbers seldom have three decimals each.
_PATTERNS = {
    COMMAS_FOR_THOUSANDS: r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?",
    DECIMAL_COMMA: r"[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?(?:[eE][+-]?\d+)?",
}
_UNIT = r"^[$€£¥]\s*|\s*[%$€£¥]$"


def find_number_format(texts: pd.Series[Any]) -> tuple[str, float]:
    """Returns how numbers are written, and the share of the texts that are numbers if it is so.

    Examples:
        >>> import pandas as pd
        >>> find_number_format(pd.Series(["1.5", "2"])), find_number_format(pd.Series(["1,5", "2", "red", "1.000,0"]))
        (('', 1.0), ('1.234,5', 0.75))
    """
    found, most = PLAIN, 0.0
    for written in (PLAIN, *_PATTERNS):
        share = float(parse_numbers(texts, written).notna().mean())
        if share > most:
            found, most = written, share
        if most == 1:
            break
    return found, most


def parse_numbers(texts: pd.Series[Any], written: str) -> pd.Series[Any]:
    """Reads numbers that are written in one way; what is none becomes missing.

    Examples:
        >>> import pandas as pd
        >>> parse_numbers(pd.Series(["$1,234.50", "12 %", "red"]), "1,234.5").tolist()
        [1234.5, 12.0, nan]
    """
    import pandas as pd

    if written != PLAIN:
        texts = texts.str.replace(_UNIT, "", regex=True)
        texts = texts.where(texts.str.fullmatch(_PATTERNS[written]))
        if written == DECIMAL_COMMA:
            texts = texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
        else:
            texts = texts.str.replace(",", "", regex=False)
    return pd.to_numeric(texts, errors="coerce")
