"""Reading a table from a CSV or Parquet file: the whole of it, a random sample of its rows, or part after part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from squentropy.own_data import parquet_file, text_file
from squentropy.own_data.memory import check_memory, gigabytes
from squentropy.own_data.parquet_file import ParquetFile
from squentropy.own_data.text_file import TextFile

if TYPE_CHECKING:
    import pandas as pd

_COPIES = 3.0  # as text, as numbers, and while one is made of the other, in sizes of the table as text


@dataclass(frozen=True)
class RawTable:
    """A table as it stands in its file.

    Attributes:
        frame: The columns; all of a text file as text, with what pandas takes for missing as missing.
        notices: What the reader should know of how it was read.
    """

    frame: pd.DataFrame
    notices: tuple[str, ...] = ()


def open_table(path: Path, delimiter: str | None = None) -> TextFile | ParquetFile:
    """Opens a file, and looks at its beginning.

    Args:
        path: A text file (.csv, .tsv; also .gz, .bz2, .xz, .zip) with the names of its columns in the first line, or a
            Parquet file.
        delimiter: What stands between the values of a line; a comma, or in .tsv files a tab, if None.

    Raises:
        ValueError: If it holds no table, or if the delimiter is another one.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}: give the path of a CSV or Parquet file")
    kind = _kind(path)
    if kind not in (*text_file.SUFFIXES, *parquet_file.SUFFIXES):
        known = ", ".join((*text_file.SUFFIXES, *parquet_file.SUFFIXES))
        raise ValueError(f"{path}: a table's name ends in one of {known}; save it as one of these")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: give a file with a line of column names and lines of values")
    return ParquetFile(path) if kind in parquet_file.SUFFIXES else TextFile(path, delimiter)


def _kind(path: Path) -> str:
    """The suffix that says what a file holds.

    Examples:
        >>> _kind(Path("data.CSV.gz"))
        '.csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in text_file.COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def read_table(path: Path, *, delimiter: str | None = None, sample: int | None = None) -> RawTable:
    """Reads a table.

    Args:
        path: A file as `open_table` takes it.
        delimiter: What stands between the values of a line.
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
    if sample is not None and sample < 1:
        raise ValueError(f"sample must be at least 1, got {sample}")
    file = open_table(path, delimiter)
    notices: tuple[str, ...] = ()
    if sample is None:
        check_memory(
            f"{path} has {gigabytes(path.stat().st_size)} and",
            _COPIES * file.size,
            "compare on a random part of its rows with --sample 200000, or on fewer columns",
        )
        frame = file.whole()
    else:
        frame, rows = _sampled(file.parts(), sample)
        if len(frame) < rows:
            notices = (f"{len(frame):,} of {rows:,} rows, drawn at random.",)
    if frame.shape[0] == 0:
        raise ValueError(f"{path} has names of columns but no rows: give a file with lines of values")
    return RawTable(frame, (*file.notices, *notices))


def _sampled(parts: Iterable[pd.DataFrame], sample: int) -> tuple[pd.DataFrame, int]:
    """Draws rows at random from parts of a table, in their order: those with the lowest of random keys."""
    import pandas as pd

    generator = np.random.default_rng(0)
    frame, keys, rows = pd.DataFrame(), np.empty(0), 0
    for part in parts:
        rows += len(part)
        keys = np.concatenate([keys, generator.random(len(part))])
        frame = pd.concat([frame, part], ignore_index=True) if len(frame) else part
        if len(keys) > sample:
            lowest = np.sort(np.argpartition(keys, sample)[:sample])
            frame, keys = frame.iloc[lowest], keys[lowest]
    return frame.reset_index(drop=True), rows
