"""Tables of texts in files: tab-separated, JSON lines, Parquet and folders that Hugging Face datasets saved."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from squentropy.data.errors import DataError
from squentropy.data.texts import Texts, indexed

Row = Mapping[str, str]
_DECOMPRESS = {".xz": lzma.decompress, ".gz": gzip.decompress}


def read_lines(path: Path, *, damaged: str = "strict") -> list[str]:
    """Reads the lines of a text file in UTF-8, unpacked if its name ends in .xz or .gz.

    Args:
        path: The file.
        damaged: What becomes of bytes that are no UTF-8: "strict" is an error, "replace" puts U+FFFD.

    Raises:
        DataError: The file is damaged, or has bytes that are no UTF-8.
    """
    content = path.read_bytes()
    try:
        content = _DECOMPRESS.get(path.suffix, bytes)(content)
    except (lzma.LZMAError, EOFError, OSError) as error:
        raise DataError(f"{path} is damaged ({error}); fetch it again") from error
    try:
        return content.decode("utf-8-sig", errors=damaged).replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; convert the file, for example with "
            "iconv"
        ) from None


def read_tsv(path: Path, columns: Sequence[str] | None = None, *, damaged: str = "strict") -> Iterator[Row]:
    """Reads a tab-separated file without quoting, as GLUE has them.

    Args:
        path: The file.
        columns: Names of the columns of a file without a header.
        damaged: As for `read_lines`.
    """
    lines = read_lines(path, damaged=damaged)
    names = list(columns) if columns is not None else lines.pop(0).split("\t")
    for number, line in enumerate(lines, start=1 if columns is not None else 2):
        values = line.split("\t")
        if len(values) != len(names):
            raise DataError(f"{path}, line {number}: {len(values)} columns instead of {len(names)}; correct the line")
        yield dict(zip(names, values, strict=True))


def read_jsonl(path: Path) -> Iterator[Row]:
    """Reads a file with a JSON object on each line."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {number} is no JSON ({error}); correct the line") from None
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number} is no JSON object; correct the line")
        yield _as_text(row)


def read_parquet(paths: Iterable[Path]) -> Iterator[Row]:
    """Reads Parquet files one after another, as data sets lie on the Hugging Face hub."""
    import pyarrow
    import pyarrow.parquet

    for path in paths:
        try:
            table = pyarrow.parquet.read_table(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path} cannot be read as Parquet ({error}); fetch it again") from error
        yield from map(_as_text, table.to_pylist())


def read_saved(folder: Path, part: str) -> Iterator[Row]:
    """Reads one part of a folder that `datasets.DatasetDict.save_to_disk` wrote."""
    from datasets import load_from_disk

    try:
        parts: Any = load_from_disk(str(folder), keep_in_memory=True)
        rows = parts[part]
    except (KeyError, ValueError, OSError, TypeError) as error:
        raise DataError(f"{folder} has no part {part!r} that Hugging Face datasets can read ({error})") from error
    yield from map(_as_text, rows)


def _as_text(row: Mapping[str, Any]) -> Row:
    return {name: "" if value is None else str(value) for name, value in row.items()}


def texts_of(
    rows: Iterable[Row],
    source: str,
    *,
    texts: Sequence[Sequence[str]],
    label: Sequence[str],
    classes: tuple[str, ...],
    skips_empty: bool = False,
) -> Texts:
    """Picks the columns of texts and labels from rows.

    Args:
        rows: The rows of a file.
        source: What errors call the file.
        texts: For each text of a row the names that its column may have.
        label: The names that the column of labels may have.
        classes: Names of the classes; a label is a name or a number.
        skips_empty: Whether rows with an empty text are left out, instead of being an error.

    Examples:
        >>> rows = [{"sentence": "fine", "label": "1"}, {"sentence": "poor", "label": "0"}]
        >>> found = texts_of(rows, "a.tsv", texts=[["sentence"]], label=["label"], classes=("bad", "good"))
        >>> found.first, found.target
        (('fine', 'poor'), array([1, 0]))
    """
    class_of = indexed(classes)
    columns: list[list[str]] = [[] for _ in texts]
    target: list[int] = []
    for number, row in enumerate(rows, start=1):
        values = [_value(row, names, source) for names in texts]
        if not all(value.strip() for value in values):
            if skips_empty:
                continue
            raise DataError(f"{source}, row {number}: the text is empty; fill it in or remove the row")
        for column, value in zip(columns, values, strict=True):
            column.append(value)
        try:
            target.append(class_of(_value(row, label, source)))
        except DataError as error:
            raise DataError(f"{source}, row {number}: {error}") from None
    second = tuple(columns[1]) if len(columns) > 1 else None
    return Texts(tuple(columns[0]), second, np.array(target, dtype=np.int64))


def _value(row: Row, names: Sequence[str], source: str) -> str:
    for name in names:
        if name in row:
            return row[name]
    raise DataError(f"{source} has no column {' or '.join(map(repr, names))}, only {', '.join(map(repr, row))}")
