"""Images as a study takes them: batches framed and normalised on the fly, decoded ahead where they are files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from squentropy.data.augmentation import Framing, Normalisation, Unchanged
from squentropy.data.images import ImageFiles, Images, ImageSet
from squentropy.study import Recipe, Rows, Shard
from squentropy.study.canonical import digest

_AHEAD = 2  # batches that are decoded while the model computes


@dataclass(frozen=True)
class ImageData:
    """A data set of images with the way that they become batches.

    Attributes:
        images: The images.
        normalisation: Mean and standard deviation of each channel.
        framing: What of an image is shown in training.
        test_framing: What of it is shown in the test.
        checkpoint: Weights that training starts from, for a task that fine-tunes.

    Examples:
        >>> from squentropy.data.images import ImageArray
        >>> images = ImageArray(torch.zeros(8, 3, 32, 32, dtype=torch.uint8), torch.arange(8) % 2)
        >>> data = ImageData(ImageSet("cifar10", images, images, 2), Normalisation((0.5,) * 3, (0.5,) * 3))
        >>> recipe = Recipe(epochs=1, batch_size=4, learning_rate=0.1)
        >>> [[part.inputs.shape for part in parts] for parts in data.train_batches(recipe, torch.Generator(), Shard())]
        [[torch.Size([4, 3, 32, 32])], [torch.Size([4, 3, 32, 32])]]
    """

    images: ImageSet
    normalisation: Normalisation
    framing: Framing = field(default_factory=Unchanged)
    test_framing: Framing = field(default_factory=Unchanged)
    checkpoint: Path | None = None

    @property
    def name(self) -> str:
        """Name in the manifest."""
        return self.images.name

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.images.num_classes

    @property
    def train_rows(self) -> int:
        """Number of images to train on."""
        return len(self.images.train.target)

    @property
    def test_rows(self) -> int:
        """Number of images to test on."""
        return len(self.images.test.target)

    @cached_property
    def sha256(self) -> str:
        """Hash of both parts."""
        return digest(f"{self.images.train.sha256} {self.images.test.sha256}")

    def steps(self, recipe: Recipe) -> int:
        """Returns the number of optimiser steps in one epoch, the last on what is left over."""
        return -(-self.train_rows // recipe.batch_size)

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[Rows]]:
        """Yields one epoch in random order."""
        images = self.images.train
        order = torch.randperm(self.train_rows, generator=generator)

        def draw() -> Iterator[tuple[Tensor, Tensor]]:
            for index in torch.split(order, recipe.batch_size):
                draws = self.framing.draw(len(index), generator)
                yield shard.of(index), shard.of(draws)

        for batch in self._batches(images, self.framing, draw()):
            parts = max(1, min(recipe.accumulate, len(batch.target)))  # none of them is empty
            inputs, target = (tensor.tensor_split(parts) for tensor in batch)
            yield [Rows(*part) for part in zip(inputs, target, strict=True)]

    def test_batches(self, recipe: Recipe) -> Iterator[Rows]:
        """Yields the test part in its order."""
        size = -(-recipe.batch_size // recipe.accumulate)
        indices = torch.split(torch.arange(self.test_rows), size)
        return self._batches(self.images.test, self.test_framing, ((index, torch.empty(0)) for index in indices))

    def _batches(self, images: Images, framing: Framing, draws: Iterator[tuple[Tensor, Tensor]]) -> Iterator[Rows]:
        def batch(index: Tensor, numbers: Tensor) -> Rows:
            return Rows(self.normalisation(framing(images, index, numbers)), images.target[index])

        return _ahead(batch, draws) if isinstance(images, ImageFiles) else (batch(*each) for each in draws)


def _ahead(batch: Callable[[Tensor, Tensor], Rows], draws: Iterator[tuple[Tensor, Tensor]]) -> Iterator[Rows]:
    """Makes batches in a thread of its own, a few before they are asked for."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[Rows]] = deque()
        for each in draws:
            waiting.append(pool.submit(batch, *each))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
