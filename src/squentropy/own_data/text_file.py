"""Tables as text: values with commas, semicolons, tabs or bars between them."""

from __future__ import annotations

import codecs
import csv
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".tsv", ".txt", ".data")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_MISSING = ("", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NULL", "null")  # but not None, which may be a class
_MANY_NUMBERS = 8  # a line of values seldom has so many that rise
_LOOKED_AT, _LINES_LOOKED_AT = 1000, 50
_COMPRESSION = 6.0  # how much longer a compressed text usually is
_ROWS_AT_A_TIME = 50_000
_WINDOWS = "squentropy-windows-1252"  # the name under which codecs know what to do with bytes that are not UTF-8
_OTHER_FORMATS = {
    b"PK\x03\x04": "an Excel workbook or a ZIP file",
    b"PAR1": "a Parquet file",
    b"\xd0\xcf": "an Excel file",
}


class TextFile:
    """A table as text, with the names of its columns in the first line.

    Args:
        path: The file, which may be compressed.
        delimiter: What stands between the values of a line; a comma, or in .tsv files a tab, if None.

    Raises:
        ValueError: If it is no such file, or the delimiter is another one.
    """

    def __init__(self, path: Path, delimiter: str | None) -> None:
        import pandas as pd

        self.path = path
        given = delimiter or ("\t" if ".tsv" in path.suffixes else ",")
        self._is_windows = False
        codecs.register_error(_WINDOWS, self._read_as_windows)
        self._options: dict[str, Any] = {
            "sep": given, "dtype": str, "skipinitialspace": True, "keep_default_na": False, "na_values": _MISSING,
            "encoding": _encoding(path), "encoding_errors": _WINDOWS,
        }  # fmt: skip
        with self._in_a_sentence():
            lines = self._first_lines()
            _check_delimiter(path, lines, given)
            _check_header(path, [name.strip() for name in next(csv.reader(lines[:1], delimiter=given), [])])
            self._start = pd.read_csv(path, nrows=_LOOKED_AT, **self._options)
            self._check_index()

    @property
    def notices(self) -> tuple[str, ...]:
        """What the reader should know of how the part was read that has been read so far."""
        if not self._is_windows:
            return ()
        return ("The file is not UTF-8; it was read as Windows-1252, so look whether names are right.",)

    @property
    def size(self) -> float:
        """About how many bytes of memory all lines take, judged by the first of them."""
        in_memory = float(self._start.memory_usage(deep=True).sum())
        in_file = max(1, len(self._start.to_csv(index=False).encode()))
        factor = _COMPRESSION if self.path.suffix.lower() in COMPRESSED else 1.0
        return self.path.stat().st_size * factor * max(1.0, in_memory / in_file)

    def whole(self) -> pd.DataFrame:
        """Reads all lines."""
        import pandas as pd

        with self._in_a_sentence():
            frame: pd.DataFrame = pd.read_csv(self.path, **self._options)
        return frame

    def parts(self) -> Iterator[pd.DataFrame]:
        """Reads some lines at a time."""
        import pandas as pd

        with self._in_a_sentence(), pd.read_csv(self.path, chunksize=_ROWS_AT_A_TIME, **self._options) as parts:
            yield from parts

    def _first_lines(self) -> list[str]:
        import pandas as pd

        no_delimiter = {**self._options, "sep": "\x1f", "header": None, "quoting": csv.QUOTE_NONE}
        return [str(line) for line in pd.read_csv(self.path, nrows=_LINES_LOOKED_AT, **no_delimiter)[0].dropna()]

    def _check_index(self) -> None:
        """What pandas makes of lines with one value more than there are names: the first one names the row."""
        import pandas as pd

        start = self._start
        if isinstance(start.index, pd.RangeIndex) or not len(start):
            return
        if start.index.nlevels > 1:
            raise ValueError(
                f"{self.path} has {start.shape[1]} names in its first line and {start.shape[1] + start.index.nlevels} "
                "values in others: mend these lines, or name what stands between the values with --delimiter"
            )
        if start.iloc[:, -1].isna().all():  # a delimiter at the end of each line
            self._options["index_col"] = False
            self._start = pd.read_csv(self.path, nrows=_LOOKED_AT, **self._options)

    def _read_as_windows(self, error: UnicodeError) -> tuple[str, int]:
        """Reads the bytes that are not UTF-8."""
        if not isinstance(error, UnicodeDecodeError):
            raise error
        self._is_windows = True
        wrong = error.object[error.start : error.end]
        return wrong.decode("cp1252", errors="replace"), error.end

    @contextmanager
    def _in_a_sentence(self) -> Iterator[None]:
        """Says in a sentence what pandas says of a file that it cannot read."""
        import pandas as pd

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pd.errors.ParserWarning)  # of a delimiter at the end of each line
                yield
        except pd.errors.EmptyDataError:
            raise ValueError(
                f"{self.path} is empty: give a file with a line of column names and lines of values"
            ) from None
        except (pd.errors.ParserError, csv.Error) as error:
            cause = str(error).rpartition("error: ")[2].strip()
            raise ValueError(
                f"{self.path} cannot be read as a table ({cause}): mend these lines, or name what stands between the "
                "values with --delimiter"
            ) from None


def _encoding(path: Path) -> str:
    """UTF-16 if a file begins like it, else UTF-8; refuses files that are no text."""
    with open(path, "rb") as file:
        start = file.read(4)
    if path.suffix.lower() not in COMPRESSED:
        for magic, name in _OTHER_FORMATS.items():
            if start.startswith(magic):
                raise ValueError(f"{path} is {name}, whatever it is called: save the table as CSV")
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
    return "utf-8-sig"


def _check_delimiter(path: Path, lines: Sequence[str], given: str) -> None:
    """Says which delimiter it seems to be, where the one that was given leaves all names in one column."""
    if len(next(csv.reader(lines[:1], delimiter=given), [])) != 1:
        return
    for other, name in _DELIMITERS.items():
        widths = {len(row) for row in csv.reader(lines, delimiter=other)}
        if other != given and len(widths) == 1 and widths.pop() > 1:
            shown = "'\\t'" if other == "\t" else repr(other)
            raise ValueError(
                f"{path}: the values seem to stand between {name}, not {_DELIMITERS.get(given, repr(given))}: "
                f"give --delimiter {shown}"
            )


def _check_header(path: Path, names: Sequence[str]) -> None:
    """Refuses a first line of values, and names that are there twice, which pandas would make different."""
    numbers = [name for name in names if _is_number(name)]
    if not _may_be_names(numbers, len(names)):
        raise ValueError(
            f"{path}: the first line holds numbers such as {numbers[0]} where the names of the columns should be: "
            "put a line of names before it"
        )
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise ValueError(f"{path}: two columns are called {twice[0]!r}: give each a name of its own")


def _may_be_names(numbers: Sequence[str], columns: int) -> bool:
    """Whether numbers may be names: a few whole ones, counted ones as pandas gives and years are, or many that rise.

    Examples:
        >>> _may_be_names(["2019", "2020", "2021"], columns=4), _may_be_names(["5.1", "3.5", "1.4"], columns=4)
        (True, False)
    """
    steps = {float(after) - float(before) for before, after in pairwise(numbers)}
    is_many_rising = len(numbers) >= _MANY_NUMBERS and min(steps) > 0
    is_counted = len(numbers) * 2 <= columns or steps <= {1.0}
    return is_many_rising or (is_counted and all(number.isdecimal() for number in numbers))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
