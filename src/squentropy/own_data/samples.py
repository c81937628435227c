"""A user's data for a PyTorch model: tensors, data sets or loaders, as the study engine wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from squentropy.study import Batch, Recipe, Rows, Shard, TensorData
from squentropy.study.canonical import derived_seed, digest

Source: TypeAlias = Any  # a pair of tensors or arrays, a Dataset of pairs, or a DataLoader of such batches

HELD_OUT = 0.1
_SEED = 0


@dataclass(frozen=True, eq=False)
class SourceData:
    """Data sets that give pairs of inputs and class, loaded batch by batch.

    Attributes:
        name: For the record.
        train: To train on.
        validation: Held out, to fit a temperature on.
        test: To test on.
        num_classes: Number of classes.
        collate: Makes a batch of samples; PyTorch's own if None.
        workers: Processes that load samples.
    """

    name: str
    train: Dataset[Any]
    validation: Dataset[Any]
    test: Dataset[Any]
    num_classes: int
    collate: Callable[[list[Any]], Any] | None = None
    workers: int = 0

    @property
    def train_rows(self) -> int:
        """Samples that are trained on."""
        return size_of(self.train)

    @property
    def test_rows(self) -> int:
        """Samples that are tested."""
        return size_of(self.test)

    @cached_property
    def sha256(self) -> str:
        """Hash of the classes and the first inputs; a whole data set may be too large to read once more."""
        first = [np.asarray(self.test[number][0]).tobytes() for number in range(min(self.test_rows, 16))]
        return digest(b"".join([*first, repr((self.train_rows, size_of(self.validation), self.test_rows)).encode()]))

    def steps(self, recipe: Recipe) -> int:
        """Returns the number of optimiser steps in one epoch."""
        return -(-self.train_rows // recipe.batch_size)

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[Batch]]:
        """Yields one epoch in random order, as one process."""
        order = torch.randperm(self.train_rows, generator=generator)
        batches = [index.tolist() for index in torch.split(order, recipe.batch_size)]
        seeds = torch.Generator()
        seeds.set_state(generator.get_state())
        for batch in self._loader(self.train, batches, seeds):
            yield [batch]

    def validation_batches(self, recipe: Recipe) -> Iterator[Batch]:
        """Yields the validation part in its order."""
        return self._in_order(self.validation, recipe)

    def test_batches(self, recipe: Recipe) -> Iterator[Batch]:
        """Yields the test part in its order."""
        return self._in_order(self.test, recipe)

    def _in_order(self, part: Dataset[Any], recipe: Recipe) -> Iterator[Batch]:
        batches = [index.tolist() for index in torch.split(torch.arange(size_of(part)), recipe.batch_size)]
        return iter(self._loader(part, batches, torch.Generator().manual_seed(_SEED)))

    def _loader(self, part: Dataset[Any], batches: list[list[int]], seeds: torch.Generator) -> DataLoader[Any]:
        """A loader whose seed for its workers does not come from the generator that dropout draws from."""
        return DataLoader(
            part, batch_sampler=batches, collate_fn=self.collate, num_workers=self.workers, generator=seeds
        )


def size_of(part: Dataset[Any]) -> int:
    """Returns the number of samples."""
    return len(cast(Sized, part))


def make_data(
    name: str, train: Source, test: Source, validation: Source | None, num_classes: int | None
) -> TensorData | SourceData:
    """Makes data of what a user has.

    Args:
        name: For the record.
        train: A pair of tensors or arrays, a `Dataset` of pairs, or a `DataLoader` over one.
        test: The same for testing.
        validation: The same, to fit temperatures on; a tenth of `train` if None.
        num_classes: Number of classes; found from the targets of all tensors if None.

    Examples:
        >>> pair = torch.randn(40, 3), torch.arange(40) % 4
        >>> data = make_data("points", pair, pair, None, None)
        >>> data.train_rows, data.num_classes, len(data.validation.target)
        (36, 4, 4)
    """
    loader = train if isinstance(train, DataLoader) else None
    parts = {key: _dataset(key, part) for key, part in {"train": train, "test": test}.items()}
    if validation is not None:
        parts["validation"] = _dataset("validation", validation)
    if all(isinstance(part, TensorDataset) for part in parts.values()) and (loader is None or _is_plain(loader)):
        return _tensor_data(name, cast(dict[str, TensorDataset], parts), num_classes)
    if num_classes is None:
        num_classes = 1 + max(int(part[number][1]) for part in parts.values() for number in range(size_of(part)))
    if validation is None:
        most, few = _divide(size_of(parts["train"]))
        parts |= {"train": Subset(parts["train"], most), "validation": Subset(parts["train"], few)}
    return SourceData(
        name,
        parts["train"],
        parts["validation"],
        parts["test"],
        num_classes,
        collate=None if loader is None else loader.collate_fn,
        workers=0 if loader is None else loader.num_workers,
    )


def _is_plain(loader: DataLoader[Any]) -> bool:
    from torch.utils.data import default_collate

    return loader.collate_fn is default_collate


def _dataset(key: str, part: Source) -> Dataset[Any]:
    if isinstance(part, DataLoader):
        part = part.dataset
    if isinstance(part, IterableDataset):
        raise TypeError(
            f"{key} is an IterableDataset, which cannot be put into the same order for each loss: use a Dataset"
        )
    if isinstance(part, tuple | list) and len(part) == 2:
        inputs, target = (torch.as_tensor(np.asarray(each)) if not isinstance(each, Tensor) else each for each in part)
        if len(inputs) != len(target):
            raise ValueError(f"{key} must have as many inputs as targets, got {len(inputs)} and {len(target)}")
        if target.ndim != 1 or target.is_floating_point():
            raise ValueError(f"{key} must have class indices (N,) as targets, got {target.dtype} {tuple(target.shape)}")
        return TensorDataset(inputs.float() if inputs.dtype == torch.float64 else inputs, target.long())
    if not hasattr(part, "__getitem__") or not hasattr(part, "__len__"):
        raise TypeError(f"{key} must be a pair of tensors, a Dataset or a DataLoader, got {type(part).__name__}")
    return cast(Dataset[Any], part)


def _tensor_data(name: str, parts: dict[str, TensorDataset], num_classes: int | None) -> TensorData:
    rows = {}
    for key, part in parts.items():
        if len(part.tensors) != 2:
            raise ValueError(f"{key} must give pairs of inputs and class, got {len(part.tensors)} tensors")
        rows[key] = Rows(part.tensors[0], part.tensors[1].long())
    if "validation" not in rows:
        most, few = _divide(len(rows["train"].target))
        rows |= {
            key: Rows(rows["train"].inputs[index], rows["train"].target[index])
            for key, index in {"validation": few, "train": most}.items()
        }
    classes = num_classes or 1 + max(int(each.target.max()) for each in rows.values())
    return TensorData(name, rows["train"], rows["test"], classes, validation=rows["validation"])


def _divide(size: int) -> tuple[list[int], list[int]]:
    """Most of the samples, and a tenth at random."""
    generator = torch.Generator().manual_seed(derived_seed(_SEED, "held out"))
    order = torch.randperm(size, generator=generator)
    few, most = order.tensor_split([max(1, round(HELD_OUT * size))])
    return sorted(most.tolist()), sorted(few.tolist())
