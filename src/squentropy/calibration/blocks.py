"""Predictions in blocks that stay in cache, each reduced to what calibration needs of it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from squentropy.calibration.checks import (
    ROW_SUM_TOLERANCE,
    Where,
    check_logits,
    check_probabilities,
    check_shapes,
    check_target,
    check_weight,
)

# 1 MiB of float32: in the cache of one core, and long enough that threads seldom wait for each other.
BLOCK_ELEMENTS = 2**18
# PyTorch shares an operation on 2^15 values among its threads. For one as short as that this gains nothing, and on a
# busy machine the threads wait for each other much longer than they work. NumPy's operations have one thread.
BLOCK_SAMPLES = 2**15 - 1
# Two probabilities that are both the highest are not above 1/2, give or take what a row's sum may be wrong by.
_HIGHEST_TIE = 0.51

Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Some samples of a larger input, one sample a column.

    Attributes:
        scores: Logits or probabilities (C, n).
        logits: Whether `scores` are logits.
        dtype: Type of the probabilities: that of the input, or for logits float32 or float64.
        target: Class indices (n,) or probabilities (C, n).
        weight: Sample weights (n,) in float64, or None.
        where: Names the sample in a column, for messages.
    """

    scores: Floats
    logits: bool
    dtype: torch.dtype
    target: Tensor
    weight: Tensor | None
    where: Where

    def top_label(self) -> tuple[Tensor, Tensor]:
        """Confidence (n,), the highest probability, and correctness (n,) of each sample.

        Correctness tells whether the first class of highest probability is the target; under a soft target it is the
        probability that the target gives to that class.
        """
        highest = self.scores.max(0)
        if self.logits:
            confidence = 1 / self._exponentials(highest)[1]
        else:
            self._check_probabilities()
            confidence = highest.clip(max=1)
        return torch.from_numpy(confidence).to(self.dtype), self._correct(highest, confidence)

    def probabilities(self) -> Tensor:
        """Probabilities (C, n)."""
        if self.logits:
            exponentials, total = self._exponentials(self.scores.max(0))
            return torch.from_numpy(exponentials / total)
        self._check_probabilities()
        return torch.from_numpy(self.scores.clip(max=1)).to(self.dtype)

    def labels(self) -> Tensor:
        """Target probabilities (C, n): the soft target, or class indices as one-hot columns."""
        if self.target.ndim == 2:
            return self.target
        return self.target == torch.arange(len(self.scores))[:, None]

    def _exponentials(self, highest: Floats) -> tuple[Floats, Floats]:
        """exp(logits - highest) (C, n) and their sums (n,)."""
        if not (np.isfinite(self.scores.min()) and np.isfinite(highest.max())):
            check_logits(torch.from_numpy(self.scores), self.where)
        exponentials: Floats = self.scores - highest
        with np.errstate(under="ignore"):
            np.exp(exponentials, out=exponentials)
        return exponentials, _sums_over_classes(exponentials)

    def _check_probabilities(self) -> None:
        errors = np.abs(self.scores.sum(0) - 1)
        if not (self.scores.min() >= 0 and errors.max() <= ROW_SUM_TOLERANCE[self.dtype]):
            check_probabilities(torch.from_numpy(self.scores), self.dtype, self.where)

    def _correct(self, highest: Floats, confidence: Floats) -> Tensor:
        if self.target.ndim == 2:
            return self.target.gather(0, torch.from_numpy(self.scores.argmax(0))[None])[0]
        # The target's score is quickly looked up. Which class is the first of the highest is not: only a tie needs it.
        target = self.target.numpy()
        n = len(target)
        correct = self.scores.reshape(-1).take(target * n + np.arange(n)) == highest
        tied = np.flatnonzero(correct & (confidence <= _HIGHEST_TIE))
        correct[tied] = self.scores[:, tied].argmax(0) == target[tied]
        return torch.from_numpy(correct)


@dataclass(frozen=True)
class Run:
    """One of several runs of blocks, which follow each other and are together the whole input.

    Attributes:
        index: Which one, counted from 0.
        of: How many there are.
    """

    index: int = 0
    of: int = 1

    def __call__(self, n_blocks: int) -> range:
        """The numbers of its blocks out of so many."""
        return range(n_blocks * self.index // self.of, n_blocks * (self.index + 1) // self.of)


WHOLE = Run()


def blocks(
    scores: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, run: Run = WHOLE, *, logits: bool
) -> Iterator[Block]:
    """Cuts predictions into checked blocks and leaves out samples that are ignored or have no weight.

    Args:
        scores: Logits or probabilities (N, C) or (N, C, d1, ...), on any device.
        target: Class indices (N,) or (N, d1, ...), or probabilities in the shape of `scores`.
        weight: Sample weights in the shape of the class indices, or None.
        ignore_index: Class index of samples to leave out; their scores are not looked at.
        run: Which blocks to give.
        logits: Whether `scores` are logits.

    Yields:
        The samples in order, on the CPU. What is held at once does not grow with their number.
    """
    check_shapes(scores, target, weight)
    soft = target.is_floating_point()
    n_samples, num_classes, *space = scores.shape
    positions = math.prod(space)
    scores = scores.detach().reshape(n_samples, num_classes, positions)
    target = target.detach().reshape(scores.shape if soft else (n_samples, positions))
    weight = None if weight is None else weight.detach().reshape(n_samples, positions)
    dtype = torch.promote_types(scores.dtype, torch.float32) if logits else scores.dtype

    width = min(BLOCK_SAMPLES, -(-BLOCK_ELEMENTS // num_classes))
    n_rows, n_across = max(1, width // positions), -(-positions // width)
    for number in run(-(-n_samples // n_rows) * n_across):
        start, offset = number // n_across * n_rows, number % n_across * width
        rows, columns = slice(start, start + n_rows), slice(offset, offset + width)
        where = _Where(start, offset, min(width, positions - offset), tuple(space), None)
        if soft:
            labels = torch.from_numpy(_classes_first(target[rows, :, columns])).double()
        else:
            labels = target[rows, columns].reshape(-1).to("cpu", torch.int64)
        weights = None
        if weight is not None:
            weights = weight[rows, columns].reshape(-1).to("cpu", torch.float64)
            check_weight(weights, where)
        piece = _classes_first(scores[rows, :, columns])
        kept = _kept(labels, weights, ignore_index)
        if kept is not None:
            piece, labels, where = piece.take(kept.numpy(), axis=1), labels[..., kept], replace(where, kept=kept)
            weights = None if weights is None else weights[kept]
        if piece.shape[1] > 0:
            check_target(labels, num_classes, where)
            yield Block(piece, logits, dtype, labels, weights, where)


def _kept(labels: Tensor, weights: Tensor | None, ignore_index: int) -> Tensor | None:
    """The columns that count, or None for all of them."""
    keep = labels != ignore_index if labels.ndim == 1 else torch.ones(labels.shape[-1], dtype=torch.bool)
    if weights is not None:
        keep = keep & (weights > 0)
    return None if bool(keep.all()) else keep.nonzero()[:, 0]


def _classes_first(piece: Tensor) -> Floats:
    """Values (rows, C, positions) as (C, n), in float32 or float64."""
    array = piece.to("cpu", torch.promote_types(piece.dtype, torch.float32)).numpy()
    return np.ascontiguousarray(array.swapaxes(0, 1)).reshape(piece.shape[1], -1)


def _sums_over_classes(values: Floats) -> Floats:
    """Sums (n,) of values (C, n), one class after the other in float64: of a single column NumPy would add pairs."""
    columns = values.repeat(2, axis=1) if values.shape[1] == 1 else values
    sums: Floats = columns.sum(0, dtype=np.float64)[: values.shape[1]].astype(values.dtype)
    return sums


@dataclass(frozen=True)
class _Where:
    """Finds a column of a block again in the input."""

    start: int
    offset: int
    positions: int
    space: tuple[int, ...]
    kept: Tensor | None

    def __call__(self, column: int) -> str:
        if self.kept is not None:
            column = int(self.kept[column])
        row = f"row {self.start + column // self.positions}"
        if not self.space:
            return row
        place = np.unravel_index(self.offset + column % self.positions, self.space)
        return f"{row}, position {tuple(map(int, place))}"
