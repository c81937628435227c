"""Images with their classes, in memory or as files: one frozen value, whatever form of file they were read from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.data.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image


class Box(NamedTuple):
    """A part of an image, in its pixels."""

    top: int
    left: int
    height: int
    width: int


Cut: TypeAlias = Callable[[int, int], Box]
"""Chooses the part of an image of this height and width."""


class Images(Protocol):
    """Images of one part of a data set."""

    @property
    def target(self) -> Tensor:
        """Classes (N,)."""
        ...

    @property
    def sha256(self) -> str:
        """Hash of the content, or of what stands for it."""
        ...

    def read(self, index: Tensor) -> Tensor:
        """Returns images (B, C, H, W) as bytes, which must all have one size."""
        ...

    def cut(self, index: Tensor, cuts: Sequence[Cut], size: int) -> Tensor:
        """Returns a part of each image, resized to a square of bytes (B, C, size, size)."""
        ...


@dataclass(frozen=True, eq=False)
class ImageArray:
    """Images in memory.

    Attributes:
        pixels: Bytes (N, C, H, W).
        target: Classes (N,).

    Examples:
        >>> images = ImageArray(torch.zeros(3, 1, 28, 28, dtype=torch.uint8), torch.tensor([0, 1, 0]))
        >>> images.read(torch.tensor([2, 0])).shape
        torch.Size([2, 1, 28, 28])
    """

    pixels: Tensor
    target: Tensor

    def __post_init__(self) -> None:
        if self.pixels.dtype != torch.uint8 or self.pixels.ndim != 4:
            raise DataError(f"pixels must be bytes (N, C, H, W), got {self.pixels.dtype} {tuple(self.pixels.shape)}")
        if self.target.shape != self.pixels.shape[:1]:
            raise DataError(f"{len(self.pixels)} images with classes of shape {tuple(self.target.shape)} do not fit")

    @cached_property
    def sha256(self) -> str:
        """Hash of shape, pixels and classes."""
        found = hashlib.sha256(f"{tuple(self.pixels.shape)}".encode())
        found.update(self.pixels.contiguous().numpy().data)
        found.update(self.target.contiguous().numpy().data)
        return found.hexdigest()

    def read(self, index: Tensor) -> Tensor:
        """Returns images (B, C, H, W)."""
        return self.pixels[index]

    def cut(self, index: Tensor, cuts: Sequence[Cut], size: int) -> Tensor:
        """Returns a part of each image, resized to a square of bytes (B, C, size, size)."""
        height, width = self.pixels.shape[2:]
        parts = []
        for row, choose in zip(index.tolist(), cuts, strict=True):
            box = choose(height, width)
            part = self.pixels[row, None, :, box.top : box.top + box.height, box.left : box.left + box.width]
            parts.append(F.interpolate(part, (size, size), mode="bilinear", antialias=True))
        return torch.cat(parts)


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images in files that are decoded when they are asked for, by several threads.

    Attributes:
        paths: The files.
        target: Classes (N,).
        names: Their names in the hash, the same on each machine.
    """

    paths: Sequence[Path]
    target: Tensor
    names: Sequence[str]

    @cached_property
    def sha256(self) -> str:
        """Hash of names, sizes and classes: reading all of ImageNet for a record would take longer than an epoch."""
        lines = (
            f"{name} {path.stat().st_size} {label}\n"
            for name, path, label in zip(self.names, self.paths, self.target.tolist(), strict=True)
        )
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def read(self, index: Tensor) -> Tensor:
        """Returns images (B, 3, H, W), which must all have one size."""
        decoded = self._decoded(index, [_whole] * len(index))
        shapes = {each.shape for each in decoded}
        if len(shapes) > 1:
            raise DataError(f"images of {len(shapes)} sizes cannot be one batch: cut them to one")
        return torch.stack(decoded)

    def cut(self, index: Tensor, cuts: Sequence[Cut], size: int) -> Tensor:
        """Returns a part of each image, resized to a square of bytes (B, 3, size, size)."""
        return torch.stack(self._decoded(index, [_Resized(choose, size) for choose in cuts]))

    def _decoded(self, index: Tensor, changes: Sequence[Callable[[Image], Image]]) -> list[Tensor]:
        with ThreadPoolExecutor() as pool:  # Pillow decodes without the interpreter's lock
            return list(pool.map(_decode, [self.paths[row] for row in index.tolist()], changes))


@dataclass(frozen=True)
class _Resized:
    """The part of an image that a cut chooses, as a square."""

    choose: Cut
    size: int

    def __call__(self, image: Image) -> Image:
        box = self.choose(image.height, image.width)
        edges = (box.left, box.top, box.left + box.width, box.top + box.height)
        return image.crop(edges).resize((self.size, self.size), resample=2)  # bilinear


def _whole(image: Image) -> Image:
    return image


def _decode(path: Path, change: Callable[[Image], Image]) -> Tensor:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); was it moved?") from error
    return to_tensor(content, str(path), change)


def to_tensor(content: bytes, origin: str, change: Callable[[Image], Image] = _whole) -> Tensor:
    """Decodes an image file into bytes (3, H, W).

    Raises:
        DataError: The file is no image, or is damaged.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(content)) as image:
            pixels = np.array(change(image.convert("RGB")))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{origin} is not an image that can be decoded ({error}); fetch it again") from error
    return torch.from_numpy(pixels).permute(2, 0, 1)


@dataclass(frozen=True)
class ImageSet:
    """A data set of images.

    Attributes:
        name: Name in the manifest.
        train: Images to train on.
        test: Images to test on.
        num_classes: Number of classes C.

    Raises:
        DataError: A part is empty, or a class is out of range.
    """

    name: str
    train: Images
    test: Images
    num_classes: int

    def __post_init__(self) -> None:
        for part, images in (("train", self.train), ("test", self.test)):
            target = images.target
            if len(target) == 0:
                raise DataError(f"{self.name}: the {part} part has no images")
            if target.min() < 0 or target.max() >= self.num_classes:
                raise DataError(
                    f"{self.name}: the {part} part has classes from {int(target.min())} to {int(target.max())}, "
                    f"but there are {self.num_classes}"
                )


def first_of_each_class(target: Tensor, count: int) -> Tensor:
    """Returns the rows of the first `count` images of each class, in their order.

    Examples:
        >>> first_of_each_class(torch.tensor([1, 0, 1, 1, 0, 2]), 2)
        tensor([0, 1, 2, 4, 5])
    """
    order = target.argsort(stable=True)
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), target.bincount().cumsum(0)[:-1]])
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(target)) - starts[target[order]]
    return (rank < count).nonzero()[:, 0]


def reduced(images: Images, per_class: int | None = None, pool: int = 1) -> ImageArray:
    """Returns the first images of each class, each pixel the rounded mean of `pool` x `pool`.

    Args:
        images: Images of one size.
        per_class: How many of each class; all if None.
        pool: Side of the squares that are averaged.

    Examples:
        >>> images = ImageArray(torch.full((4, 1, 4, 4), 7, dtype=torch.uint8), torch.tensor([0, 0, 0, 1]))
        >>> reduced(images, per_class=2, pool=2).pixels.shape
        torch.Size([3, 1, 2, 2])
    """
    rows = torch.arange(len(images.target)) if per_class is None else first_of_each_class(images.target, per_class)
    pixels = images.read(rows)
    if pool > 1:
        pixels = F.avg_pool2d(pixels.float(), pool).round().to(torch.uint8)
    return ImageArray(pixels, images.target[rows])
