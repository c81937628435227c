"""Where the edges of bins are, and the exact sums of what falls between them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from squentropy.calibration.blocks import blocks
from squentropy.calibration.fixed_point import (
    ADDITIONS_BEFORE_CARRY,
    MOST_VALUES,
    N_WORDS,
    ONES,
    add_cells,
    carry,
    from_words,
)

Edges = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Scored:
    """Probabilities of events and whether the events came.

    Attributes:
        confidence: Probabilities (G, n) in float64, for each of G rows of bins.
        correct: Outcomes (G, n) in float64.
        weight: Weights (n,) in float64, or None for ones.
    """

    confidence: Tensor
    correct: Tensor
    weight: Tensor | None


def scored_predictions(
    scores: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, *, logits: bool, class_wise: bool
) -> Iterator[Scored]:
    """What is binned of predictions: the highest probability, or with `class_wise` that of every class."""
    for block in blocks(scores, target, weight, ignore_index, logits=logits):
        if class_wise:
            yield Scored(block.probabilities(), block.labels(), block.weight)
        else:
            confidence, correct = block.top_label()
            yield Scored(confidence[None], correct[None], block.weight)


def scored_events(confidence: Tensor, correct: Tensor, weight: Tensor | None) -> Iterator[Scored]:
    """What is binned of probabilities (N,) of an event, its outcomes (N,) and weights (N,)."""
    for start in range(0, confidence.shape[0], MOST_VALUES):
        rows = slice(start, start + MOST_VALUES)
        parts = [part[rows].detach().double() for part in (confidence, correct, weight) if part is not None]
        if weight is not None:
            parts = [part[parts[2] > 0] for part in parts]
        if parts[0].numel():
            yield Scored(parts[0][None], parts[1][None], parts[2] if weight is not None else None)


def equal_width_edges(n_bins: int) -> tuple[float, ...]:
    """The float64 nearest to k/n, for k = 0..n."""
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}")
    return tuple(k / n_bins for k in range(n_bins + 1))


def equal_mass_edges(stream: Iterable[Scored], n_bins: int) -> Edges:
    """Edges that put the same weight of these samples in each bin, as nearly as ties allow.

    Edge k is the lowest confidence up to which lies k/n of the weight, so it is one of the confidences. Equal
    confidences stay together; bins that they leave without samples have no width.
    """
    scored = list(stream)
    n_samples = sum(part.confidence.shape[1] for part in scored)
    if not 1 <= n_bins <= n_samples:
        raise ValueError(f"n_bins must be in 1..{n_samples}, the number of samples that count, got {n_bins}")
    weight = torch.cat(
        [torch.ones(part.confidence.shape[1]) if part.weight is None else part.weight for part in scored]
    )
    return tuple(_quantiles(row, weight.to(row), n_bins) for row in torch.cat([part.confidence for part in scored], 1))


def _quantiles(confidence: Tensor, weight: Tensor, n_bins: int) -> tuple[float, ...]:
    ordered, order = confidence.sort(stable=True)
    mass = weight[order].cumsum(0)
    wanted = torch.arange(1, n_bins, dtype=torch.float64, device=mass.device) / n_bins * mass[-1]
    # A sum of weights that should meet k/n exactly may miss it by its rounding.
    inner = ordered[torch.searchsorted(mass, wanted * (1 - 1e-12))]
    return (0.0, *inner.tolist(), 1.0)


def own_edges(edges: ArrayLike, rows: int) -> Edges:
    """Edges that were passed in, (n_bins + 1,) or (rows, n_bins + 1), for this many rows of bins."""
    array = np.asarray(edges, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[-1] < 2 or (array.ndim == 2 and array.shape[0] != rows):
        raise ValueError(f"edges must have shape (n_bins + 1,) or ({rows}, n_bins + 1), got {array.shape}")
    array = np.broadcast_to(array, (rows, array.shape[-1]))
    if not ((np.diff(array) >= 0).all() and (array[:, 0] == 0).all() and (array[:, -1] == 1).all()):
        raise ValueError(f"edges must rise from 0 to 1, got {array[0].tolist()}")
    return tuple(tuple(row) for row in array.tolist())


def bin_finder(edges: Edges) -> Callable[[Tensor], Tensor]:
    """The function from confidences (G, n) to bins: the k with edges[k] < confidence <= edges[k + 1], and 0 for 0."""
    n_bins = len(edges[0]) - 1

    def among_equal_widths(confidence: Tensor) -> Tensor:
        # ceil(n c) - 1, which rounding may put one off; k / n is the very edge that decides.
        k = (confidence * n_bins).ceil_().sub_(1)
        k -= (k / n_bins >= confidence).to(k)
        k += ((k + 1).div_(n_bins) < confidence).to(k)
        return k.clamp_(0).long()

    def among_any(confidence: Tensor) -> Tensor:
        return torch.searchsorted(inner.to(confidence.device), confidence.contiguous())

    if set(edges) == {equal_width_edges(n_bins)}:
        return among_equal_widths
    inner = torch.tensor(edges, dtype=torch.float64)[:, 1:-1].contiguous()
    return among_any


def exact_sums(stream: Iterable[Scored], edges: Edges) -> list[tuple[int, ...]]:
    """Counts, and sums of w, w^2, w confidence and w correctness in units of 2^-72, of each bin, row after row."""
    n_bins, find_bin = len(edges[0]) - 1, bin_finder(edges)
    n_cells = len(edges) * n_bins
    words = torch.zeros(4, n_cells, N_WORDS, dtype=torch.int64)
    counts = torch.zeros(n_cells, dtype=torch.int64)
    for i, scored in enumerate(stream, start=1):
        words, counts = words.to(scored.confidence.device), counts.to(scored.confidence.device)
        first_cells = torch.arange(0, n_cells, n_bins, device=counts.device)[:, None]
        cell = (find_bin(scored.confidence) + first_cells).view(-1)
        count = torch.bincount(cell, minlength=n_cells)
        counts += count
        confidence, correct = scored.confidence.reshape(-1), scored.correct.reshape(-1)
        if scored.weight is None:
            words[:2, :, ONES] += count
        else:
            weight = scored.weight.expand(scored.confidence.shape).reshape(-1)
            confidence, correct = weight * confidence, weight * correct
            add_cells(words[0], cell, weight)
            add_cells(words[1], cell, weight * weight)
        add_cells(words[2], cell, confidence)
        add_cells(words[3], cell, correct)
        if i % ADDITIONS_BEFORE_CARRY == 0:
            carry(words)
    return [tuple(counts.tolist()), *map(from_words, words)]
