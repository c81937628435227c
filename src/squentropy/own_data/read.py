"""Reading a table from a CSV or Parquet file, with a sentence for each way in which the file can be wrong."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".data")
PARQUET_SUFFIXES = (".parquet", ".pq")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
# Of what a table needs as text, its numbers, and the matrices of several seeds, in sizes of the table as text.
_COPIES = 3.0
_COMPRESSION = 6.0  # how much longer a compressed text usually is
_SHARE_OF_MEMORY = 0.8
_PREVIEW_BYTES = 1 << 20
_ROWS_AT_A_TIME = 50_000


@dataclass(frozen=True)
class RawTable:
    """A table as it stands in its file.

    Attributes:
        frame: The columns; all of a text file as text, with what pandas takes for missing as missing.
        notices: What the reader should know of how it was read.
    """

    frame: pd.DataFrame
    notices: tuple[str, ...] = ()


def is_table(path: Path) -> bool:
    """Whether a file's name says that it holds a table.

    Examples:
        >>> is_table(Path("data.csv.gz")), is_table(Path("my_task.py"))
        (True, False)
    """
    return _kind(path) in (*TEXT_SUFFIXES, *PARQUET_SUFFIXES)


def read_table(path: Path, *, delimiter: str | None = None, sample: int | None = None) -> RawTable:
    """Reads a table.

    Args:
        path: A text file (.csv, .tsv; also .gz, .bz2, .xz, .zip) with the names of its columns in the first line, or a
            Parquet file.
        delimiter: What stands between the values of a line; a comma, or in .tsv files a tab, if None.
        sample: So many rows drawn at random, always the same ones; all if None. The rest is never in memory.

    Raises:
        ValueError: If there is nothing in it, if it is larger than memory, or if the delimiter is another one.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "data.csv"
        >>> _ = path.write_text("length;kind\\n1,5;a\\n2,5;b\\n")
        >>> read_table(path)
        Traceback (most recent call last):
        ValueError: ...data.csv: the values seem to stand between semicolons, not commas: give --delimiter ';'
        >>> read_table(path, delimiter=";").frame.shape
        (2, 2)
    """
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}: give the path of a CSV or Parquet file")
    if not is_table(path):
        known = ", ".join((*TEXT_SUFFIXES, *PARQUET_SUFFIXES))
        raise ValueError(f"{path}: a table's name ends in one of {known}; save it as one of these")
    if sample is not None and sample < 1:
        raise ValueError(f"sample must be at least 1, got {sample}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: give a file with a line of column names and lines of values")
    raw = _read_parquet(path, sample) if _kind(path) in PARQUET_SUFFIXES else _read_text(path, delimiter, sample)
    if raw.frame.shape[0] == 0:
        raise ValueError(f"{path} has names of columns but no rows: give a file with lines of values")
    return raw


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _read_text(path: Path, delimiter: str | None, sample: int | None) -> RawTable:
    import pandas as pd

    given = delimiter or ("\t" if _kind(path) == ".tsv" else ",")
    options: dict[str, Any] = {"sep": given, "dtype": str, "skipinitialspace": True}
    notices: list[str] = []
    try:
        try:
            start = pd.read_csv(path, nrows=1000, encoding="utf-8-sig", **options)
            options["encoding"] = "utf-8-sig"
        except UnicodeDecodeError:
            start = pd.read_csv(path, nrows=1000, encoding="cp1252", **options)
            options["encoding"] = "cp1252"
            notices.append("The file is not UTF-8; it was read as Windows-1252, so look whether names are right.")
        _check_delimiter(path, start, given, options["encoding"])
        _check_header(path, start)
        if sample is None:
            _check_memory(path, _text_bytes(path, start))
            return RawTable(pd.read_csv(path, **options), tuple(notices))
        with pd.read_csv(path, chunksize=_ROWS_AT_A_TIME, **options) as parts:
            frame, rows = _sampled(parts, sample)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty: give a file with a line of column names and lines of values") from None
    except pd.errors.ParserError as error:
        cause = str(error).rpartition("error: ")[2].strip()
        raise ValueError(
            f"{path} cannot be read as a table ({cause}): mend these lines, or name what stands between the values "
            "with --delimiter"
        ) from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is neither UTF-8 nor Windows-1252 from byte {error.start} on: save it as UTF-8"
        ) from None
    return RawTable(frame, (*notices, *_sample_notice(len(frame), rows)))


def _check_delimiter(path: Path, start: pd.DataFrame, given: str, encoding: str) -> None:
    """Says which delimiter it seems to be, where the one that was given leaves all in one column."""
    if start.shape[1] > 1:
        return
    lines = [str(start.columns[0]), *start.iloc[:50, 0].dropna().astype(str)]
    for other in DELIMITERS:
        widths = {len(row) for row in csv.reader(lines, delimiter=other)}
        if other != given and len(widths) == 1 and widths.pop() > 1:
            shown = "'\\t'" if other == "\t" else repr(other)
            raise ValueError(
                f"{path}: the values seem to stand between {_plural(other)}, not {_plural(given)}: "
                f"give --delimiter {shown}"
            )


def _plural(delimiter: str) -> str:
    name = _DELIMITER_NAMES.get(delimiter)
    return repr(delimiter) if name is None else f"{name.partition(' ')[2]}s"


def _check_header(path: Path, start: pd.DataFrame) -> None:
    numbers = [name for name in start.columns if _is_number(str(name))]
    if len(numbers) * 2 > start.shape[1]:
        raise ValueError(
            f"{path}: the first line holds numbers such as {numbers[0]} where the names of the columns should be: "
            "put a line of names before it"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text_bytes(path: Path, start: pd.DataFrame) -> float:
    """Estimates how much memory all lines take, from the first of them."""
    in_memory = float(start.memory_usage(deep=True).sum())
    in_file = max(1, len(start.to_csv(index=False).encode()))
    factor = _COMPRESSION if path.suffix.lower() in COMPRESSED else 1.0
    return path.stat().st_size * factor * max(1.0, in_memory / in_file)


def _check_memory(path: Path, size: float) -> None:
    need, available = _COPIES * size, available_memory()
    if available is not None and need > _SHARE_OF_MEMORY * available:
        raise ValueError(
            f"{path} has {_gigabytes(path.stat().st_size)} and would need about {_gigabytes(need)} of memory, of which "
            f"{_gigabytes(available)} are free: compare on a random part of its rows with --sample 200000, or on "
            "fewer columns"
        )


def available_memory() -> float | None:
    """Returns how many bytes of memory are free for this process, or None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def _read_parquet(path: Path, sample: int | None) -> RawTable:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is no Parquet file ({error}): write it again") from None
    with file:
        if sample is None:
            groups = range(file.metadata.num_row_groups)
            _check_memory(path, sum(file.metadata.row_group(group).total_byte_size for group in groups))
            return RawTable(file.read().to_pandas())
        parts = (batch.to_pandas() for batch in file.iter_batches(_ROWS_AT_A_TIME))
        frame, rows = _sampled(parts, sample)
    return RawTable(frame, _sample_notice(len(frame), rows))


def _sampled(parts: Iterable[pd.DataFrame], sample: int) -> tuple[pd.DataFrame, int]:
    """Draws rows at random from parts of a table, in their order: those with the lowest of random keys."""
    import pandas as pd

    generator = np.random.default_rng(0)
    kept: list[pd.DataFrame] = []
    keys = np.empty(0)
    rows = 0
    for part in _non_empty(parts):
        rows += len(part)
        keys = np.concatenate([keys, generator.random(len(part))])
        frame = pd.concat([*kept, part], ignore_index=True)
        if len(keys) > sample:
            lowest = np.sort(np.argpartition(keys, sample)[:sample])
            frame, keys = frame.iloc[lowest], keys[lowest]
        kept = [frame]
    return (kept[0].reset_index(drop=True) if kept else pd.DataFrame()), rows


def _non_empty(parts: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    return (part for part in parts if len(part))


def _sample_notice(kept: int, rows: int) -> tuple[str, ...]:
    return (f"{kept:,} of {rows:,} rows, drawn at random.",) if kept < rows else ()
