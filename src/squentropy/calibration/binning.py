"""Where the edges of bins are, and the exact sums of what falls between them."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from squentropy.calibration.blocks import BLOCK_SAMPLES, WHOLE, Run, blocks
from squentropy.calibration.fixed_point import (
    N_WORDS,
    ONES,
    VALUES_BEFORE_CARRY,
    add_cells,
    carry,
    from_words,
)

Edges = tuple[tuple[float, ...], ...]
Sums = list[tuple[int, ...]]
# More bins are found by search: rounding in float32 could put a guess off by more than one.
_MOST_COMPUTED = 2**17
# So many samples are worth a thread.
_SAMPLES_A_THREAD = 2**17


@dataclass(frozen=True)
class Scored:
    """Probabilities of events and whether the events came.

    Attributes:
        confidence: Probabilities (G, n) for each of G rows of bins, in their own type.
        correct: Outcomes (G, n), true and false or in 0..1.
        weight: Weights (n,) in float64, or None for ones.
    """

    confidence: Tensor
    correct: Tensor
    weight: Tensor | None


def scored_predictions(
    scores: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    run: Run = WHOLE,
    *,
    logits: bool,
    class_wise: bool,
) -> Iterator[Scored]:
    """What is binned of predictions: the highest probability, or with `class_wise` that of every class."""
    for block in blocks(scores, target, weight, ignore_index, run, logits=logits):
        if class_wise:
            yield Scored(block.probabilities(), block.labels(), block.weight)
        else:
            confidence, correct = block.top_label()
            yield Scored(confidence[None], correct[None], block.weight)


def scored_events(confidence: Tensor, correct: Tensor, weight: Tensor | None, run: Run = WHOLE) -> Iterator[Scored]:
    """What is binned of probabilities (N,) of an event, its outcomes (N,) and weights (N,)."""
    for number in run(-(-len(confidence) // BLOCK_SAMPLES)):
        rows = slice(number * BLOCK_SAMPLES, (number + 1) * BLOCK_SAMPLES)
        kept = slice(None) if weight is None else weight[rows] > 0
        weights = None if weight is None else weight[rows][kept].detach().cpu().double()
        values, outcomes = confidence[rows][kept].detach().cpu(), correct[rows][kept].detach().cpu()
        if len(values):
            yield Scored(values[None], outcomes[None], weights)


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
    """The function from confidences (G, n) to bins: the k with edges[k] < confidence <= edges[k + 1], and 0 for 0.

    Edges are rounded to the type of the confidences, so that a confidence written as an edge is that edge.
    """
    n_bins = len(edges[0]) - 1
    inner = torch.tensor(edges, dtype=torch.float64)[:, 1:-1].contiguous()
    equal_widths = set(edges) == {equal_width_edges(n_bins)} and n_bins <= _MOST_COMPUTED

    def find(confidence: Tensor) -> Tensor:
        if not equal_widths or confidence.dtype not in (torch.float32, torch.float64):
            rounded = inner.to(confidence.device, confidence.dtype)
            return torch.searchsorted(rounded, confidence.contiguous())
        # A guess by multiplication that is right, or by rounding one too high: then its lower edge, k/n, tells.
        k = (confidence * (n_bins * (1 + 4 * torch.finfo(confidence.dtype).eps))).long()
        k -= (confidence <= k.to(confidence.dtype) / n_bins).long()
        return k.clamp_(0)

    return find


def exact_sums(stream: Callable[[Run], Iterable[Scored]], edges: Edges, n_samples: int) -> Sums:
    """Counts, and sums of w, w^2, w confidence and w correctness in units of 2^-72, of each bin, row after row.

    Args:
        stream: The samples of a run.
        edges: Edges of the bins. One row of bins is shared among as many threads as PyTorch has; of several, the
            operations are large enough for PyTorch to share them.
        n_samples: About how many samples there are.
    """
    n_threads = min(torch.get_num_threads(), 1 + n_samples // _SAMPLES_A_THREAD) if len(edges) == 1 else 1
    if n_threads == 1:
        return _sums_of(stream(WHOLE), edges)
    with ThreadPoolExecutor(n_threads) as pool:
        parts = list(pool.map(lambda k: _sums_of(stream(Run(k, n_threads)), edges), range(n_threads)))
    return [tuple(map(sum, zip(*rows, strict=True))) for rows in zip(*parts, strict=True)]


def _sums_of(stream: Iterable[Scored], edges: Edges) -> Sums:
    n_bins, find_bin = len(edges[0]) - 1, bin_finder(edges)
    n_cells = len(edges) * n_bins
    words = np.zeros((4, n_cells, N_WORDS), np.int64)
    counts = np.zeros(n_cells, np.int64)
    n_values = 0
    for scored in stream:
        cell = (find_bin(scored.confidence) + torch.arange(0, n_cells, n_bins)[:, None]).view(-1).numpy()
        confidence, correct = scored.confidence.double().view(-1).numpy(), scored.correct.reshape(-1).numpy()
        if scored.weight is not None:
            weight = scored.weight.expand(scored.confidence.shape).reshape(-1).numpy()
            add_cells(words[0], cell, weight)
            add_cells(words[1], cell, weight * weight)
            confidence, correct = weight * confidence, weight * correct
        add_cells(words[2], cell, confidence)
        if correct.dtype == np.bool_:
            wrong, right = np.bincount(2 * cell + correct, minlength=2 * n_cells).reshape(-1, 2).T
            count = wrong + right
            words[3, :, ONES] += right
        else:
            count = np.bincount(cell, minlength=n_cells)
            add_cells(words[3], cell, correct.astype(np.float64, copy=False))
        counts += count
        if scored.weight is None:
            words[:2, :, ONES] += count
        n_values += len(cell)
        if n_values >= VALUES_BEFORE_CARRY:
            carry(words)
            n_values = 0
    return [tuple(counts.tolist()), *map(from_words, words)]
