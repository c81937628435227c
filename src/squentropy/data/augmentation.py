"""How images become a batch: framed, flipped and normalised on whole batches, with all chance drawn beforehand.

The random numbers of a batch are drawn for all its rows at once. A process that computes only some of the rows takes
these rows of the numbers: all processes together see the batch that one would see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from squentropy.data.images import Box, Images


class Framing(Protocol):
    """Chooses what of each image is shown."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws the random numbers (count, ...) for so many images."""
        ...

    def __call__(self, images: Images, index: Tensor, draws: Tensor) -> Tensor:
        """Returns bytes (B, C, H, W) of the images with these numbers."""
        ...


@dataclass(frozen=True)
class Unchanged:
    """Images as they are."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws nothing."""
        return torch.empty(count, 0)

    def __call__(self, images: Images, index: Tensor, draws: Tensor) -> Tensor:
        """Returns the images."""
        return images.read(index)


@dataclass(frozen=True)
class PadCropFlip:
    """A random part, as large as the image, of the image with its mirrored border around it; half of them flipped.

    Attributes:
        padding: Width of the border.

    Examples:
        >>> from squentropy.data.images import ImageArray
        >>> images = ImageArray(torch.arange(9, dtype=torch.uint8).reshape(1, 1, 3, 3), torch.tensor([0]))
        >>> framing = PadCropFlip(padding=1)
        >>> framing(images, torch.tensor([0]), torch.tensor([[0.0, 0.5, 0.9]]))[0, 0]  # one up, unmoved, flipped
        tensor([[5, 4, 3],
                [2, 1, 0],
                [5, 4, 3]], dtype=torch.uint8)
    """

    padding: int = 4

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws two offsets and a flip for each image, uniform in [0, 1)."""
        return torch.rand(count, 3, generator=generator)

    def __call__(self, images: Images, index: Tensor, draws: Tensor) -> Tensor:
        """Returns bytes (B, C, H, W), gathered in one pass."""
        pixels = images.read(index)
        count, channels, height, width = pixels.shape
        offsets = (draws[:, :2] * (2 * self.padding + 1)).long() - self.padding
        rows = _mirrored(torch.arange(height) + offsets[:, :1], height)
        columns = torch.arange(width).repeat(count, 1)
        columns = torch.where(draws[:, 2:] < 0.5, columns, width - 1 - columns)
        columns = _mirrored(columns + offsets[:, 1:2], width)
        taken = (rows[:, :, None] * width + columns[:, None, :]).reshape(count, 1, -1)
        return pixels.flatten(2).gather(2, taken.expand(-1, channels, -1)).view_as(pixels)


def _mirrored(position: Tensor, size: int) -> Tensor:
    """Positions beyond an edge reflected at it, the edge itself not repeated."""
    return (size - 1) - ((size - 1) - position.abs()).abs()


@dataclass(frozen=True)
class RandomResizedCrop:
    """A random part of 8 to 100 % of the area, 3:4 to 4:3 in shape, resized to a square; half of them flipped.

    As in torchvision: ten attempts, and the whole or the middle where none fits.

    Attributes:
        size: Side of the square.
    """

    size: int
    attempts: int = 10

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws area, shape and place of each attempt, and a flip, uniform in [0, 1)."""
        return torch.rand(count, 4 * self.attempts + 1, generator=generator)

    def __call__(self, images: Images, index: Tensor, draws: Tensor) -> Tensor:
        """Returns bytes (B, C, size, size)."""
        attempts = draws[:, :-1].reshape(-1, self.attempts, 4).tolist()
        framed = images.cut(index, [partial(_random_box, each) for each in attempts], self.size)
        flipped = draws[:, -1] >= 0.5
        framed[flipped] = framed[flipped].flip(3)
        return framed


def _random_box(attempts: Sequence[Sequence[float]], height: int, width: int) -> Box:
    for area, shape, top, left in attempts:
        pixels = height * width * (0.08 + 0.92 * area)
        ratio = math.exp(math.log(3 / 4) + math.log(16 / 9) * shape)
        w, h = round(math.sqrt(pixels * ratio)), round(math.sqrt(pixels / ratio))
        if 0 < w <= width and 0 < h <= height:
            return Box(int(top * (height - h + 1)), int(left * (width - w + 1)), h, w)
    h, w = min(height, round(width * 4 / 3)), min(width, round(height * 4 / 3))
    return Box((height - h) // 2, (width - w) // 2, h, w)


@dataclass(frozen=True)
class CenterCrop:
    """The middle square, whose side is a share of the shorter side, resized.

    Attributes:
        size: Side of the square.
        share: Of the shorter side; 224 / 256 is usual on ImageNet.
    """

    size: int
    share: float = 224 / 256

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws nothing."""
        return torch.empty(count, 0)

    def __call__(self, images: Images, index: Tensor, draws: Tensor) -> Tensor:
        """Returns bytes (B, C, size, size)."""
        return images.cut(index, [self._box] * len(index), self.size)

    def _box(self, height: int, width: int) -> Box:
        side = max(1, round(min(height, width) * self.share))
        return Box((height - side) // 2, (width - side) // 2, side, side)


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of each channel, of values from 0 to 1.

    Examples:
        >>> Normalisation((0.5,), (0.5,))(torch.tensor([[[[0, 255]]]], dtype=torch.uint8))
        tensor([[[[-1.,  1.]]]])
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def __call__(self, pixels: Tensor) -> Tensor:
        """Returns numbers (B, C, H, W) for bytes."""
        mean, deviation = (255 * torch.tensor(values).view(-1, 1, 1) for values in (self.mean, self.deviation))
        return pixels.float().sub_(mean).div_(deviation)
