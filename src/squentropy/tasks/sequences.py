"""Sequences of different length as data: batches of like length, padded to the longest of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from squentropy.study import Recipe, Shard

_BATCHES_SORTED_TOGETHER = 50


class SequenceBatch(NamedTuple):
    """Padded sequences, a tensor (N, L) for each column, with their classes (N,)."""

    columns: tuple[Tensor, ...]
    target: Tensor


@dataclass(frozen=True)
class Sequences:
    """Rows of integer sequences with their classes.

    Attributes:
        columns: For each column the sequences (N) of all rows, such as the words of the first and second sentence.
        target: Classes (N,).

    Examples:
        >>> rows = Sequences(([torch.tensor([5, 6]), torch.tensor([7])],), torch.tensor([0, 1]))
        >>> rows.batch(torch.tensor([1, 0])).columns[0]
        tensor([[7, 0],
                [5, 6]])
    """

    columns: tuple[Sequence[Tensor], ...]
    target: Tensor

    @cached_property
    def lengths(self) -> Tensor:
        """Length (N,) of each row, over all columns."""
        return torch.tensor([[len(each) for each in column] for column in self.columns]).sum(dim=0)

    def batch(self, rows: Tensor) -> SequenceBatch:
        """Gathers rows, padded with 0 to the longest of each column."""
        columns = (
            pad_sequence([column[row] for row in rows.tolist()], batch_first=True).long() for column in self.columns
        )
        return SequenceBatch(tuple(columns), self.target[rows])


@dataclass(frozen=True, kw_only=True)
class SequenceData:
    """A data set of sequences, as the study engine takes it.

    Attributes:
        name: Name for the record.
        sha256: Hash of the content, for the record.
        num_classes: Number of classes.
        train: Rows to train on.
        test: Rows to test on.
    """

    name: str
    sha256: str
    num_classes: int
    train: Sequences
    test: Sequences

    @property
    def train_rows(self) -> int:
        """Rows of the training part."""
        return len(self.train.target)

    @property
    def test_rows(self) -> int:
        """Rows of the test part."""
        return len(self.test.target)

    def steps(self, recipe: Recipe) -> int:
        """Returns the number of optimiser steps in one epoch, one of them on what is left over."""
        return -(-self.train_rows // recipe.batch_size)

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[SequenceBatch]]:
        """Yields one epoch: rows of like length together, batches in random order."""
        for rows in by_length(self.train.lengths, recipe.batch_size, generator):
            yield [self.train.batch(part) for part in shard.of(rows).tensor_split(recipe.accumulate)]

    def test_batches(self, recipe: Recipe) -> Iterator[SequenceBatch]:
        """Yields the test part from the shortest row to the longest."""
        order = self.test.lengths.argsort(stable=True)
        return (self.test.batch(rows) for rows in torch.split(order, recipe.batch_size))


def by_length(lengths: Tensor, batch_size: int, generator: torch.Generator) -> list[Tensor]:
    """Divides rows into batches of like length, both of rows and of batches in random order.

    The rows are shuffled and then sorted within pieces of 50 batches, so that batches differ from epoch to epoch.

    Examples:
        >>> lengths = torch.tensor([3, 1, 9, 1, 3, 9])
        >>> batches = by_length(lengths, 2, torch.Generator().manual_seed(0))
        >>> sorted(lengths[rows].tolist() for rows in batches)
        [[1, 1], [3, 3], [9, 9]]
    """
    shuffled = torch.randperm(len(lengths), generator=generator)
    batches: list[Tensor] = []
    for piece in torch.split(shuffled, batch_size * _BATCHES_SORTED_TOGETHER):
        batches += torch.split(piece[lengths[piece].argsort(stable=True)], batch_size)
    return [batches[number] for number in torch.randperm(len(batches), generator=generator).tolist()]
