"""Predictions and labels out of npz, safetensors, CSV and Parquet files, in batches: a file may exceed memory."""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    import pyarrow

_BATCH_VALUES = 2**21


@dataclass(frozen=True)
class Columns:
    """What the arrays or columns of a file are called.

    Attributes:
        scores: The logits or probabilities: an array (N, C) or (N, C, d1, ...) of an npz or safetensors file, a column
            of lists in a Parquet file, or columns `<scores>_0`, `<scores>_1`, ... of a CSV or Parquet file.
        target: Class indices (N,) or (N, d1, ...).
        weight: Sample weights in the shape of the class indices, if the file has them.
    """

    scores: str
    target: str = "target"
    weight: str | None = None

    def __iter__(self) -> Iterator[str]:
        """The names that are there."""
        return (name for name in (self.scores, self.target, self.weight) if name is not None)


@dataclass(frozen=True)
class Batch:
    """Rows that follow each other in a file.

    Attributes:
        first_row: Number of the first one, counted from 0.
        scores: Logits or probabilities (n, C).
        target: Class indices (n,) int64.
        weight: Sample weights (n,), or None.
    """

    first_row: int
    scores: Tensor
    target: Tensor
    weight: Tensor | None


def read_batches(path: Path, columns: Columns) -> Iterator[Batch]:
    """Reads a file from start to end; what is held at once does not depend on its length. No pickle is ever loaded.

    Of arrays (N, C, d1, ...) every position becomes a row.

    Args:
        path: File whose name ends in .npz, .safetensors, .csv or .parquet.
        columns: What to read.

    Yields:
        The rows in order.

    Raises:
        ValueError: If the file cannot be read, in one sentence with its name and the cause.

    Examples:
        >>> _ = np.savez("two.npz", logits=np.float32([[2, 0], [0, 1]]), target=[0, 1])
        >>> [batch.target for batch in read_batches(Path("two.npz"), Columns("logits"))]
        [tensor([0, 1])]
    """
    if path.suffix not in _READERS:
        raise ValueError(f"the file must be one of {', '.join(_READERS)}, got {path}: save it as one of these")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    first_row = 0
    with names_the_file(path):
        for arrays in _READERS[path.suffix](path, columns):
            batch = _batch(first_row, columns, arrays)
            yield batch
            first_row += len(batch.target)
        if first_row == 0:
            raise ValueError(f"{columns.scores!r} has no rows")


class _FileError(ValueError):
    """Names its file already."""


@contextmanager
def names_the_file(path: Path) -> Iterator[None]:
    """What a reader raises, or whoever takes its rows, becomes one error with the name of the file."""
    try:
        yield
    except (_FileError, FileNotFoundError):
        raise
    except (ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise _FileError(f"cannot read {path}: {' '.join(str(error).split())}") from error


def _batch(first_row: int, columns: Columns, arrays: Mapping[str, Tensor]) -> Batch:
    scores, target = arrays[columns.scores], arrays[columns.target]
    weight = None if columns.weight is None else arrays[columns.weight]
    if scores.ndim < 2:
        raise ValueError(f"{columns.scores!r} must have shape (N, C), one column a class, got {tuple(scores.shape)}")
    if target.is_floating_point() or target.is_complex() or target.dtype == torch.bool:
        raise ValueError(f"{columns.target!r} must be integers, the numbers of the classes from 0, got {target.dtype}")
    rows = (scores.shape[0], *scores.shape[2:])
    for name, array in ((columns.target, target), (columns.weight, weight)):
        if array is not None and tuple(array.shape) != rows:
            raise ValueError(
                f"{name!r} must have one value for each row of {columns.scores!r}, got {tuple(array.shape)}"
            )
    flat_scores = scores.movedim(1, -1).reshape(-1, scores.shape[1])
    return Batch(first_row, flat_scores, target.reshape(-1).long(), None if weight is None else weight.reshape(-1))


# ---- arrays: npz and safetensors ----


@dataclass(frozen=True)
class _Rows:
    """An array in a file: its shape, and a function that gives the next n rows."""

    shape: tuple[int, ...]
    take: Callable[[int], Tensor]


def _together(arrays: Mapping[str, _Rows]) -> Iterator[dict[str, Tensor]]:
    for name, array in arrays.items():
        if not array.shape:
            raise ValueError(f"{name!r} must have rows, got a single value")
    lengths = {name: array.shape[0] for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"arrays must have the same number of rows, got {lengths}")
    n_rows = next(iter(lengths.values()))
    step = max(1, _BATCH_VALUES // max(1, *(int(np.prod(array.shape[1:])) for array in arrays.values())))
    for start in range(0, n_rows, step):
        yield {name: array.take(min(step, n_rows - start)) for name, array in arrays.items()}


def _from_npz(path: Path, columns: Columns) -> Iterator[dict[str, Tensor]]:
    with zipfile.ZipFile(path) as archive, ExitStack() as stack:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        _check_names(columns, names, "array")
        streams = {name: stack.enter_context(archive.open(f"{name}.npy")) for name in columns}
        yield from _together({name: _npy_rows(name, stream) for name, stream in streams.items()})
        for stream in streams.values():
            stream.read()  # only at its end is a member's checksum compared


def _npy_rows(name: str, stream: IO[bytes]) -> _Rows:
    version = np.lib.format.read_magic(stream)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read_header:
        raise ValueError(f"{name!r} has the npy version {version}: save it with numpy.savez")
    shape, by_columns, dtype = read_header[version](stream)
    if dtype.hasobject or dtype.kind not in "fiub":
        raise ValueError(f"{name!r} holds {dtype}, and only numbers are read, never a pickle: save numbers")
    if by_columns and len(shape) > 1:
        raise ValueError(f"{name!r} is stored column by column: save numpy.ascontiguousarray of it")

    def take(n: int) -> Tensor:
        n_bytes = n * dtype.itemsize * int(np.prod(shape[1:]))
        data = stream.read(n_bytes)
        if len(data) < n_bytes:
            raise ValueError(f"{name!r} ends before its last row: the file is truncated")
        values: NDArray[Any] = np.frombuffer(bytearray(data), dtype).reshape(n, *shape[1:])
        return torch.from_numpy(values.astype(dtype.newbyteorder("="), copy=False))

    return _Rows(shape, take)


def _from_safetensors(path: Path, columns: Columns) -> Iterator[dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as archive:
            _check_names(columns, archive.keys(), "tensor")
            yield from _together({name: _slice_rows(archive.get_slice(name)) for name in columns})
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def _slice_rows(tensor: Any) -> _Rows:
    position = 0

    def take(n: int) -> Tensor:
        nonlocal position
        position += n
        rows: Tensor = tensor[position - n : position]
        return rows

    return _Rows(tuple(tensor.get_shape()), take)


# ---- tables: CSV and Parquet ----


def _from_csv(path: Path, columns: Columns) -> Iterator[dict[str, Tensor]]:
    import pyarrow
    from pyarrow import csv

    with csv.open_csv(path) as reader:
        scores = _score_columns(columns, reader.schema.names)
    types = {name: pyarrow.float64() for name in (*scores, columns.weight)} | {columns.target: pyarrow.int64()}
    types.pop(None, None)
    # Of decimals, float64 keeps apart what is on an edge of a bin and what is beside it.
    convert = csv.ConvertOptions(column_types=types, include_columns=list(types))
    with csv.open_csv(path, convert_options=convert) as reader:
        yield from (_from_table(batch, columns, scores) for batch in reader)


def _from_parquet(path: Path, columns: Columns) -> Iterator[dict[str, Tensor]]:
    from pyarrow import parquet

    with parquet.ParquetFile(path, memory_map=True) as file:
        names = file.schema_arrow.names
        scores = [columns.scores] if columns.scores in names else _score_columns(columns, names)
        _check_names([*scores, *list(columns)[1:]], names, "column")
        rows = max(1, _BATCH_VALUES // max(len(scores), len(file.schema)))
        wanted = [*scores, *list(columns)[1:]]
        yield from (_from_table(batch, columns, scores) for batch in file.iter_batches(rows, columns=wanted))


def _score_columns(columns: Columns, names: list[str]) -> list[str]:
    """The columns `<scores>_0`, `<scores>_1`, ... in the order of their numbers."""
    found = {
        int(match[1]): name for name in names if (match := re.fullmatch(rf"{re.escape(columns.scores)}_(\d+)", name))
    }
    expected = [f"{columns.scores}_{k}" for k in range(max(2, len(found)))]
    _check_names([*expected, *list(columns)[1:]], names, "column")
    return expected


def _from_table(batch: "pyarrow.RecordBatch", columns: Columns, scores: list[str]) -> dict[str, Tensor]:
    arrays = {name: _numbers(batch.column(name), name) for name in list(columns)[1:]}
    parts = [_numbers(batch.column(name), name) for name in scores]
    arrays[columns.scores] = parts[0] if parts[0].ndim == 2 else torch.stack(parts, dim=1)
    return arrays


def _numbers(column: "pyarrow.Array", name: str) -> Tensor:
    """A column of numbers as a tensor (n,), or of lists of equal length as one (n, C)."""
    from pyarrow import compute, types

    if types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type):
        lengths = compute.unique(compute.list_value_length(column)).to_pylist()
        if len(lengths) > 1 or column.null_count:
            raise ValueError(f"the lists in {name!r} must have one length, got {sorted(lengths, key=str)[:5]}")
        return _numbers(column.flatten(), name).reshape(len(column), -1)
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        raise ValueError(f"{name!r} must hold numbers, got {column.type}")
    if types.is_integer(column.type) and column.null_count:
        raise ValueError(f"{name!r} has {column.null_count} empty values")
    return torch.from_numpy(np.array(column.to_numpy(zero_copy_only=False)))


def _check_names(wanted: Iterable[str], found: Iterable[str], kind: str) -> None:
    found = list(found)
    for name in wanted:
        if name not in found:
            shown = ", ".join(found[:12]) + (", ..." if len(found) > 12 else "")
            raise ValueError(f"there is no {kind} {name!r}, it has {shown or 'none'}: name it with an option")


_READERS: dict[str, Callable[[Path, Columns], Iterator[dict[str, Tensor]]]] = {
    ".npz": _from_npz,
    ".safetensors": _from_safetensors,
    ".csv": _from_csv,
    ".parquet": _from_parquet,
}
