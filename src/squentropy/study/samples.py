"""What a task is trained and tested on: the protocol of a data set, and the one for tensors in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from squentropy.study.canonical import canonical_json, digest
from squentropy.study.recipe import Recipe

Batch: TypeAlias = Any  # whatever the task's `forward` takes: a pair of tensors, a mapping, a named tuple


@dataclass(frozen=True)
class Shard:
    """Which part of each batch a process computes: the rows `index`, `index + count`, ...

    Examples:
        >>> Shard(index=1, count=2).of(torch.arange(5))
        tensor([1, 3])
    """

    index: int = 0
    count: int = 1

    def of(self, rows: Tensor) -> Tensor:
        """Returns this part of a batch."""
        return rows[self.index :: self.count]


class Data(Protocol):
    """A data set with its training and its test part, which gives out batches."""

    @property
    def name(self) -> str:
        """Name for the record."""
        ...

    @property
    def sha256(self) -> str:
        """Hash of the content, for the record."""
        ...

    @property
    def num_classes(self) -> int:
        """Number of classes, also of those that occur in no row."""
        ...

    @property
    def train_rows(self) -> int:
        """Rows of the training part."""
        ...

    @property
    def test_rows(self) -> int:
        """Rows of the test part."""
        ...

    def steps(self, recipe: Recipe) -> int:
        """Returns the number of optimiser steps in one epoch."""
        ...

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[Batch]]:
        """Yields one epoch, step by step: for each step the shard's `recipe.accumulate` parts of the batch.

        All randomness (order, augmentation) comes from `generator`, and every shard draws the same numbers, so that
        the shards of a step together are the batch that one process would see.
        """
        ...

    def test_batches(self, recipe: Recipe) -> Iterator[Batch]:
        """Yields the test part in its order."""
        ...


@runtime_checkable
class HoldsOut(Protocol):
    """Data with rows held out from training, to fit a temperature on."""

    def validation_batches(self, recipe: Recipe) -> Iterator[Batch]:
        """Yields the validation part in its order; nothing if there is none."""
        ...


class Rows(NamedTuple):
    """Rows of inputs (N, ...) with their classes (N,)."""

    inputs: Tensor
    target: Tensor


@dataclass(frozen=True)
class TensorData:
    """A data set that fits in memory as tensors; batches are gathered by index.

    Attributes:
        name: Name for the record.
        train: Inputs (N, ...) and classes (N,) to train on.
        test: Inputs and classes to test on.
        num_classes: Number of classes, also of those that occur in no row.
        augment: Changes a batch of training inputs, `augment(inputs, generator)`.
        validation: Inputs and classes held out from training, to fit a temperature on.

    Examples:
        >>> inputs, target = torch.zeros(10, 2), torch.zeros(10, dtype=torch.int64)
        >>> data = TensorData("zeros", Rows(inputs[:8], target[:8]), Rows(inputs[8:], target[8:]), num_classes=2)
        >>> data.train_rows, data.steps(Recipe(epochs=1, batch_size=3, learning_rate=0.1))
        (8, 3)
    """

    name: str
    train: Rows
    test: Rows
    num_classes: int
    augment: Callable[[Tensor, torch.Generator], Tensor] | None = None
    validation: Rows | None = None

    def __post_init__(self) -> None:
        for part in ("train", "test", "validation") if self.validation else ("train", "test"):
            inputs, target = rows = Rows(*getattr(self, part))
            object.__setattr__(self, part, rows)
            if len(inputs) != len(target) or len(inputs) == 0:
                raise ValueError(
                    f"{part} part of {self.name!r}: needs as many inputs as targets and at least one, "
                    f"got {len(inputs)} and {len(target)}"
                )
            if target.min() < 0 or target.max() >= self.num_classes:
                raise ValueError(
                    f"{part} part of {self.name!r}: classes must be 0 to {self.num_classes - 1}, "
                    f"got {int(target.min())} to {int(target.max())}"
                )

    @property
    def train_rows(self) -> int:
        """Rows of the training part."""
        return len(self.train.target)

    @property
    def test_rows(self) -> int:
        """Rows of the test part."""
        return len(self.test.target)

    @cached_property
    def sha256(self) -> str:
        """Hash of the name of every tensor type and shape and of all values."""
        tensors = [tensor.contiguous() for tensor in (*self.train, *self.test, *(self.validation or ()))]
        shapes = canonical_json([[str(tensor.dtype), list(tensor.shape)] for tensor in tensors])
        values = b"".join(tensor.flatten().view(torch.uint8).numpy().tobytes() for tensor in tensors)
        return digest(shapes.encode() + values)

    def steps(self, recipe: Recipe) -> int:
        """Returns the number of optimiser steps in one epoch, the last on what is left over."""
        return -(-self.train_rows // recipe.batch_size)

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[Batch]]:
        """Yields one epoch in random order."""
        order = torch.randperm(self.train_rows, generator=generator)
        for index in torch.split(order, recipe.batch_size):
            inputs, target = self.train.inputs[index], self.train.target[index]
            if self.augment is not None:
                inputs = self.augment(inputs, generator)
            inputs, target = shard.of(inputs), shard.of(target)
            parts = zip(inputs.tensor_split(recipe.accumulate), target.tensor_split(recipe.accumulate), strict=True)
            yield [Rows(*part) for part in parts]

    def test_batches(self, recipe: Recipe) -> Iterator[Batch]:
        """Yields the test part in its order."""
        return _batches(self.test, recipe)

    def validation_batches(self, recipe: Recipe) -> Iterator[Batch]:
        """Yields the validation part in its order; nothing if there is none."""
        return iter(()) if self.validation is None else _batches(self.validation, recipe)


def _batches(rows: Rows, recipe: Recipe) -> Iterator[Rows]:
    inputs, target = (torch.split(tensor, recipe.batch_size) for tensor in rows)
    return (Rows(*batch) for batch in zip(inputs, target, strict=True))
