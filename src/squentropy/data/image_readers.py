"""Readers of files of images: idx, CIFAR's Python batches, MATLAB, STL-10's binary, mosaics, Hugging Face's tables."""

from __future__ import annotations

import gzip
import io
import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from squentropy.data.errors import DataError
from squentropy.data.images import ImageArray, to_tensor

_IDX_BYTES = 8  # the idx code of unsigned bytes


def read_idx(content: bytes, origin: str) -> NDArray[np.uint8]:
    """Reads an array of bytes in MNIST's format idx, compressed by gzip or not.

    Examples:
        >>> read_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]), "example")
        array([[7, 8, 9]], dtype=uint8)
    """
    try:
        raw = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (OSError, EOFError) as error:
        raise DataError(f"{origin} is a damaged gzip file ({error}); fetch it again") from error
    if len(raw) < 4 or raw[:3] != bytes([0, 0, _IDX_BYTES]) or len(raw) < 4 + 4 * raw[3]:
        raise DataError(f"{origin} is not an idx file of bytes; fetch it again")
    start = 4 + 4 * raw[3]
    shape = tuple(int(size) for size in np.frombuffer(raw[4:start], ">u4"))
    if len(raw) - start != math.prod(shape):
        raise DataError(f"{origin} has {len(raw) - start} bytes of data, its header says {shape}; fetch it again")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


class _ArraysOnly(pickle.Unpickler):
    """Reads a pickle of plain values and NumPy arrays, and refuses whatever would call anything else."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return np._core.multiarray._reconstruct  # type: ignore[attr-defined]
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes for Python 2
            return _latin1
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch of images needs")


def _latin1(text: str, encoding: str) -> bytes:
    return text.encode("latin1")


def read_cifar_batch(content: bytes, origin: str) -> ImageArray:
    """Reads a batch of CIFAR-10, or a part of CIFAR-100 with its fine classes, from the published Python pickle.

    Nothing but arrays, numbers and texts is accepted: a pickle that would run code is refused.
    """
    try:
        batch = _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # a hostile or damaged pickle can raise anything
        raise DataError(f"{origin} is not used: {error}; fetch it again") from error
    labels = batch.get("fine_labels", batch.get("labels")) if isinstance(batch, dict) else None
    data = batch.get("data") if isinstance(batch, dict) else None
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
        raise DataError(f"{origin} has no `data` of bytes (N, 3072); fetch it again")
    if not isinstance(labels, list) or not all(isinstance(label, int) for label in labels):
        raise DataError(f"{origin} has no list of labels; fetch it again")
    return ImageArray(torch.from_numpy(np.array(data).reshape(-1, 3, 32, 32)), torch.tensor(labels, dtype=torch.int64))


def read_svhn(content: bytes, origin: str) -> ImageArray:
    """Reads SVHN's cropped digits from a MATLAB file: `X` (32, 32, 3, N), and `y`, where 10 stands for the digit 0."""
    from scipy.io import loadmat

    try:
        found = loadmat(io.BytesIO(content), variable_names=["X", "y"])  # type: ignore[arg-type]  # a file is taken, too
        pixels, labels = found["X"], found["y"].ravel()
    except Exception as error:  # SciPy raises many kinds on a damaged file
        raise DataError(f"{origin} is not a MATLAB file with X and y ({error}); fetch it again") from error
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[:3] != (32, 32, 3):
        raise DataError(f"{origin} has X of {pixels.dtype} {pixels.shape}, not of bytes (32, 32, 3, N)")
    target = torch.from_numpy(labels.astype(np.int64) % 10)
    return ImageArray(torch.from_numpy(np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))), target)


def read_stl10(pixels: bytes, labels: bytes, origin: str) -> ImageArray:
    """Reads STL-10's binary files: images of 3 x 96 x 96 bytes column by column, and classes from 1 to 10."""
    if len(pixels) != len(labels) * 3 * 96 * 96 or not labels:
        raise DataError(f"{origin} has {len(pixels)} bytes for {len(labels)} labels of 27,648 each; fetch it again")
    images = np.frombuffer(pixels, np.uint8).reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)
    target = torch.from_numpy(np.frombuffer(labels, np.uint8).astype(np.int64) - 1)
    return ImageArray(torch.from_numpy(np.ascontiguousarray(images)), target)


def read_mosaic(content: bytes, labels: NDArray[np.uint8], origin: str) -> ImageArray:
    """Reads images of 32 x 32 pixels that are the tiles of one large image, row by row."""
    sheet = to_tensor(content, origin)
    _, height, width = sheet.shape
    if height % 32 or width % 32 or (height // 32) * (width // 32) != len(labels):
        raise DataError(f"{origin} has {height} x {width} pixels, which are not {len(labels)} tiles of 32 x 32")
    tiles = sheet.reshape(3, height // 32, 32, width // 32, 32).permute(1, 3, 0, 2, 4)
    return ImageArray(tiles.reshape(-1, 3, 32, 32).contiguous(), torch.from_numpy(labels.astype(np.int64)))


def read_rows_of_pixels(content: bytes, labels: Sequence[int], origin: str) -> ImageArray:
    """Reads images of 32 x 32 pixels that are the rows, 1,024 pixels long, of one large image."""
    sheet = to_tensor(content, origin)
    if sheet.shape[1:] != (len(labels), 1024):
        raise DataError(f"{origin} has {sheet.shape[1]} x {sheet.shape[2]} pixels, not {len(labels)} rows of 1024")
    images = sheet.permute(1, 0, 2).reshape(-1, 3, 32, 32).contiguous()
    return ImageArray(images, torch.tensor(list(labels), dtype=torch.int64))


def read_blobs(content: NDArray[np.uint8], lengths: NDArray[np.int32], labels: Tensor, origin: str) -> ImageArray:
    """Reads image files of one size whose bytes were joined."""
    ends = lengths.astype(np.int64).cumsum()
    if len(ends) != len(labels) or len(ends) == 0 or ends[-1] != len(content):
        raise DataError(f"{origin}: {len(content)} bytes are not the {len(labels)} files that it should hold")
    raw = content.tobytes()
    images = [to_tensor(raw[end - size : end], origin) for end, size in zip(ends, lengths, strict=True)]
    return ImageArray(torch.stack(images), labels)


def read_columns(contents: Sequence[bytes], origin: str) -> ImageArray:
    """Reads images of one size from Parquet or Arrow files as Hugging Face's hub and its `datasets` have them.

    A row has the bytes of an image file in `image` or `img`, and its class in `label` or `fine_label`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    images: list[Tensor] = []
    labels: list[int] = []
    for content in contents:
        try:
            is_parquet = content[:4] == b"PAR1"
            table = pq.read_table(io.BytesIO(content)) if is_parquet else pa.ipc.open_stream(content).read_all()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{origin} is neither Parquet nor Arrow ({error}); fetch it again") from error
        pixels, target = _columns(table, origin)
        images += [to_tensor(each["bytes"], origin) for each in pixels]
        labels += target
    return ImageArray(torch.stack(images), torch.tensor(labels, dtype=torch.int64))


def _columns(table: Any, origin: str) -> tuple[list[Any], list[int]]:
    image = next((name for name in ("image", "img") if name in table.column_names), None)
    label = next((name for name in ("fine_label", "label") if name in table.column_names), None)
    if image is None or label is None:
        raise DataError(f"{origin} has the columns {table.column_names}: no image or img, or no label or fine_label")
    return table[image].to_pylist(), table[label].to_pylist()
