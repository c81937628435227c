"""Predictions in blocks that stay in cache, each reduced to what calibration needs of it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
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

# 512 KiB of float32: in the cache of one core, and few enough samples for sums of a block to be exact in float64.
BLOCK_ELEMENTS = 2**17
# A block's width is a multiple of the widest vector register: no sample is then computed by another routine than the
# rest, so its confidence has the same bits wherever it stands.
_LANES = 64


@dataclass(frozen=True)
class Block:
    """Some samples of a larger input, one sample a column; it is used up by reading it once.

    Attributes:
        scores: A copy of the logits or probabilities (C, W) with W >= n; the columns from n on are padding.
        logits: Whether `scores` are logits.
        tolerance: How far from 1 the probabilities of a sample may sum.
        target: Class indices (n,) or probabilities (C, n).
        weight: Sample weights (n,) in float64, or None.
        where: Names the sample in a column, for messages.
    """

    scores: Tensor
    logits: bool
    tolerance: float
    target: Tensor
    weight: Tensor | None
    where: Where

    def top_label(self) -> tuple[Tensor, Tensor]:
        """Confidence and correctness of each sample, (n,) and (n,) in float64.

        The confidence is the highest probability. Correctness is 1 where its class is the target, else 0; under a
        soft target, the probability the target gives to that class.
        """
        n = self.target.shape[-1]
        highest = self.scores.amax(0)
        if self.logits:
            check_logits(self.scores, highest, self.where)
            correct = self._correct(highest[:n])
            total = self.scores.sub_(highest).exp_().sum(0)[:n]
            return total.reciprocal_().double(), correct
        check_probabilities(self.scores[:, :n], self.tolerance, self.where)
        return highest[:n].double().clamp_(max=1), self._correct(highest[:n])

    def probabilities(self) -> Tensor:
        """Probabilities (C, n) in float64."""
        n = self.target.shape[-1]
        if self.logits:
            highest = self.scores.amax(0)
            check_logits(self.scores, highest, self.where)
            exponentials = self.scores.sub_(highest).exp_()
            return exponentials.div_(exponentials.sum(0))[:, :n].double()
        check_probabilities(self.scores[:, :n], self.tolerance, self.where)
        return self.scores[:, :n].double().clamp_(max=1)

    def labels(self) -> Tensor:
        """Target probabilities (C, n) in float64: the soft target, or class indices as one-hot columns."""
        if self.target.ndim == 2:
            return self.target
        classes = torch.arange(self.scores.shape[0], device=self.target.device)
        return (self.target == classes[:, None]).double()

    def _correct(self, highest: Tensor) -> Tensor:
        scores = self.scores[:, : highest.shape[0]]
        if self.target.ndim == 2:
            return self.target.gather(0, scores.max(0).indices[None])[0]
        # The target's score is quickly looked up, the first of the highest is not: only a tie needs it.
        if int(torch.count_nonzero(scores == highest)) > highest.shape[0]:
            return (scores.max(0).indices == self.target).double()
        return (scores.gather(0, self.target[None])[0] == highest).double()


def blocks(
    scores: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, *, logits: bool
) -> Iterator[Block]:
    """Cuts predictions into checked blocks and leaves out samples that are ignored or have no weight.

    Args:
        scores: Logits or probabilities (N, C) or (N, C, d1, ...).
        target: Class indices (N,) or (N, d1, ...), or probabilities in the shape of `scores`.
        weight: Sample weights in the shape of the class indices, or None.
        ignore_index: Class index of samples to leave out; their scores are not looked at.
        logits: Whether `scores` are logits.

    Yields:
        The samples in order. What is held at once does not grow with their number.
    """
    check_shapes(scores, target, weight)
    soft, device = target.is_floating_point(), scores.device
    n_samples, num_classes, *space = scores.shape
    positions = math.prod(space)
    scores = scores.detach().reshape(n_samples, num_classes, positions)
    target = target.detach().reshape(scores.shape if soft else (n_samples, positions))
    weight = None if weight is None else weight.detach().reshape(n_samples, positions)

    width = max(_LANES, BLOCK_ELEMENTS // num_classes // _LANES * _LANES)
    n_rows = max(1, width // positions)
    for start in range(0, n_samples, n_rows):
        for offset in range(0, positions, width):
            rows, columns = slice(start, start + n_rows), slice(offset, offset + width)
            piece = _classes_first(scores[rows, :, columns])
            where = _Where(start, offset, min(width, positions - offset), tuple(space), None)
            if soft:
                labels = _classes_first(target[rows, :, columns]).to(device, torch.float64)
            else:
                labels = target[rows, columns].reshape(-1).to(device, torch.int64)
            weights = None
            if weight is not None:
                weights = weight[rows, columns].reshape(-1).to(device, torch.float64)
                check_weight(weights, where)

            kept = _kept(labels, weights, ignore_index)
            if kept is not None:
                piece, labels = piece[:, kept], labels[..., kept]
                weights = None if weights is None else weights[kept]
                where = replace(where, kept=kept)
            if labels.shape[-1] == 0:
                continue
            check_target(labels, num_classes, where)
            tolerance = ROW_SUM_TOLERANCE[scores.dtype]
            yield Block(_padded(piece), logits, tolerance, labels, weights, where)


def _kept(labels: Tensor, weights: Tensor | None, ignore_index: int) -> Tensor | None:
    """The columns that count, or None for all of them."""
    keep = torch.ones(labels.shape[-1], dtype=torch.bool, device=labels.device)
    if labels.ndim == 1:
        keep = labels != ignore_index
    if weights is not None:
        keep = keep & (weights > 0)
    return None if bool(keep.all()) else keep.nonzero()[:, 0]


def _classes_first(piece: Tensor) -> Tensor:
    if piece.shape[2] == 1:
        return piece[:, :, 0].T
    return piece.movedim(1, 0).reshape(piece.shape[1], -1)


def _padded(piece: Tensor) -> Tensor:
    n = piece.shape[1]
    dtype = torch.float64 if piece.dtype == torch.float64 else torch.float32
    padded = torch.empty(piece.shape[0], -(-n // _LANES) * _LANES, dtype=dtype, device=piece.device)
    padded[:, :n].copy_(piece)
    padded[:, n:] = 0
    return padded


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
        rest = self.offset + column % self.positions
        position: list[int] = []
        for size in reversed(self.space):
            rest, i = divmod(rest, size)
            position.insert(0, i)
        return f"{row}, position {tuple(position)}"
