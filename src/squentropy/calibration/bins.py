"""Calibration bins: exact sums of confidence and correctness that merge to the same bytes in any order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import add
from typing import Literal, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, distributed

from squentropy.calibration.binning import (
    Edges,
    Scored,
    equal_mass_edges,
    equal_width_edges,
    exact_sums,
    own_edges,
    scored_events,
    scored_predictions,
)
from squentropy.calibration.blocks import WHOLE, Run
from squentropy.calibration.checks import check_confidences, check_shapes
from squentropy.calibration.fixed_point import FRACTION_BITS, from_words, to_words

Binning = Literal["equal_width", "equal_mass"]
_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True)
class CalibrationBins:
    """How often predictions of each confidence were right: all that a binned error or a reliability diagram reads.

    Bin k of n holds confidences in (lo, hi], as in the paper, and the first bin also holds 0. A confidence is compared
    with edges in its own type, so that 0.1 is the upper edge of the first of ten bins in float16 as in float64, and the
    next larger number is above it. The memory needed does not depend on the number of samples, and `a + b` is exactly
    what one pass over the samples of both would give.

    Make one with `from_logits`, `from_probabilities` or `from_confidences`; the fields hold exact integers (sums in
    units of 2^-72, row by row for class-wise bins) and the properties are what to read.

    Attributes:
        boundaries: Edges of the bins, one row; or one row a class.
        class_wise: Whether there is one row of bins a class.
        sample_counts: Number of samples in each bin.
        weight_sums: Sum of the weights w.
        squared_weight_sums: Sum of w^2.
        confidence_sums: Sum of w times confidence.
        correct_sums: Sum of w times correctness.

    Examples:
        >>> probs = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.35, 0.65], [0.0, 1.0]])
        >>> bins = CalibrationBins.from_probabilities(probs, torch.tensor([0, 1, 0, 1]), n_bins=4)
        >>> bins.count
        array([0, 0, 1, 3])
        >>> bins.accuracy
        array([nan, nan,  0.,  1.])
        >>> bins.confidence.round(4)
        array([ nan,  nan, 0.65, 0.9 ])
    """

    boundaries: Edges
    class_wise: bool
    sample_counts: tuple[int, ...]
    weight_sums: tuple[int, ...]
    squared_weight_sums: tuple[int, ...]
    confidence_sums: tuple[int, ...]
    correct_sums: tuple[int, ...]

    @classmethod
    def from_probabilities(
        cls,
        probs: Tensor,
        target: Tensor,
        n_bins: int = 10,
        *,
        binning: Binning = "equal_width",
        edges: ArrayLike | None = None,
        class_wise: bool = False,
        weight: Tensor | None = None,
        ignore_index: int = -100,
    ) -> CalibrationBins:
        """Bins of probabilities.

        Args:
            probs: Probabilities (N, C) or (N, C, d1, ...) of any floating type; every row sums to 1.
            target: Class indices (N,) or (N, d1, ...), or probabilities in the shape of `probs`.
            n_bins: Number of bins.
            binning: `"equal_width"`, or `"equal_mass"` for edges that put the same number of these samples in each
                bin; that needs memory for their confidences.
            edges: Own edges (n_bins + 1,) from 0 to 1, in place of `n_bins` and `binning`; with `class_wise` also
                (C, n_bins + 1). The `edges` of other bins give bins that can be merged with those.
            class_wise: Bin the probability of every class, each class in its own bins, instead of the highest one.
            weight: Sample weights (N,) or (N, d1, ...).
            ignore_index: Target of samples to leave out.

        Returns:
            The bins; `top-label` ones (confidence = highest probability) unless `class_wise`.

        Examples:
            >>> probs = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
            >>> CalibrationBins.from_probabilities(probs, torch.tensor([0, 0]), n_bins=2).count
            array([0, 2])
        """
        check_shapes(probs, target, weight)
        stream = partial(scored_predictions, probs, target, weight, ignore_index, logits=False, class_wise=class_wise)
        num_classes = probs.shape[1] if class_wise else None
        return cls._of(stream, target.numel(), n_bins, binning, edges, num_classes)

    @classmethod
    def from_logits(
        cls,
        logits: Tensor,
        target: Tensor,
        n_bins: int = 10,
        *,
        binning: Binning = "equal_width",
        edges: ArrayLike | None = None,
        class_wise: bool = False,
        weight: Tensor | None = None,
        ignore_index: int = -100,
    ) -> CalibrationBins:
        """Bins of the softmax of logits, computed in float32 (float64 for float64 logits).

        Args:
            logits: Logits (N, C) or (N, C, d1, ...) of any floating type.
            target: As in `from_probabilities`, and so are the other arguments.
            n_bins: Number of bins.
            binning: `"equal_width"` or `"equal_mass"`.
            edges: Own edges.
            class_wise: Bin the probability of every class.
            weight: Sample weights.
            ignore_index: Target of samples to leave out.

        Returns:
            The bins.

        Examples:
            >>> logits = torch.tensor([[2.0, -1.0], [0.0, 0.0]])
            >>> CalibrationBins.from_logits(logits, torch.tensor([0, 1]), n_bins=2).count
            array([1, 1])
        """
        check_shapes(logits, target, weight)
        stream = partial(scored_predictions, logits, target, weight, ignore_index, logits=True, class_wise=class_wise)
        num_classes = logits.shape[1] if class_wise else None
        return cls._of(stream, target.numel(), n_bins, binning, edges, num_classes)

    @classmethod
    def from_confidences(
        cls,
        confidence: Tensor,
        correct: Tensor,
        n_bins: int = 10,
        *,
        binning: Binning = "equal_width",
        edges: ArrayLike | None = None,
        weight: Tensor | None = None,
    ) -> CalibrationBins:
        """Bins of any probability of an event and whether the event came: P(class 1) and the label, for example.

        Args:
            confidence: Probabilities (N,) in 0..1.
            correct: Outcomes (N,) in 0..1.
            n_bins: Number of bins.
            binning: `"equal_width"` or `"equal_mass"`.
            edges: Own edges.
            weight: Sample weights (N,).

        Returns:
            The bins.

        Examples:
            >>> probability, label = torch.tensor([0.0, 0.5, 1.0]), torch.tensor([0, 1, 1])
            >>> CalibrationBins.from_confidences(probability, label, n_bins=2).accuracy
            array([0.5, 1. ])
        """
        check_confidences(confidence, correct, weight)
        stream = partial(scored_events, confidence, correct, weight)
        return cls._of(stream, len(confidence), n_bins, binning, edges, None)

    @classmethod
    def empty(
        cls, n_bins: int = 10, *, edges: ArrayLike | None = None, num_classes: int | None = None
    ) -> CalibrationBins:
        """Bins without samples, to add batches to.

        Args:
            n_bins: Number of bins of equal width.
            edges: Own edges, in place of `n_bins`.
            num_classes: Makes class-wise bins for this many classes.

        Returns:
            The bins.

        Examples:
            >>> batches = [(torch.randn(8, 3), torch.randint(3, (8,))) for _ in range(5)]
            >>> bins = CalibrationBins.empty(n_bins=15)
            >>> for logits, target in batches:
            ...     bins += CalibrationBins.from_logits(logits, target, n_bins=15)
            >>> int(bins.count.sum())
            40
        """
        rows = 1 if num_classes is None else num_classes
        boundaries = (equal_width_edges(n_bins),) * rows if edges is None else own_edges(edges, rows)
        zeros = (0,) * (rows * (len(boundaries[0]) - 1))
        return cls(boundaries, num_classes is not None, zeros, zeros, zeros, zeros, zeros)

    @classmethod
    def _of(
        cls,
        stream: Callable[[Run], Iterator[Scored]],
        n_samples: int,
        n_bins: int,
        binning: Binning,
        edges: ArrayLike | None,
        num_classes: int | None,
    ) -> CalibrationBins:
        if binning not in ("equal_width", "equal_mass"):
            raise ValueError(f"binning must be 'equal_width' or 'equal_mass', got {binning!r}")
        if binning == "equal_mass" and edges is None:
            edges = equal_mass_edges(stream(WHOLE), n_bins)
        empty = cls.empty(n_bins, edges=edges, num_classes=num_classes)
        return empty._with_sums(exact_sums(stream, empty.boundaries, n_samples))

    def __add__(self, other: CalibrationBins) -> CalibrationBins:
        """The bins of both sets of samples."""
        if not isinstance(other, CalibrationBins):
            return NotImplemented
        if (self.boundaries, self.class_wise) != (other.boundaries, other.class_wise):
            raise ValueError(
                f"bins to be merged must have the same edges, got {self._summary()} and {other._summary()}: "
                "pass edges=bins.edges when making the second"
            )
        return self._with_sums([tuple(map(add, a, b)) for a, b in zip(self.sum_rows(), other.sum_rows(), strict=True)])

    def sum_rows(self) -> list[tuple[int, ...]]:
        """The five rows of integers, in the order of the attributes."""
        return [getattr(self, name) for name in _SUMS]

    def _with_sums(self, rows: Iterable[Iterable[int]]) -> CalibrationBins:
        return CalibrationBins(self.boundaries, self.class_wise, *map(tuple, rows))

    def _summary(self) -> str:
        kind = f"{len(self.boundaries)} classes x " if self.class_wise else ""
        return f"{kind}{self.n_bins} bins"

    def all_reduce(self, group: distributed.ProcessGroup | None = None) -> CalibrationBins:
        """The bins of all processes of a group, the same bytes in each: one exchange of O(bins) integers.

        Args:
            group: Group of `torch.distributed`; the default one if None. A process without samples passes `empty`.

        Returns:
            The merged bins.

        Raises:
            ValueError: If not all processes have the same edges.
        """
        device = torch.device("cuda" if distributed.get_backend(group) == "nccl" else "cpu")
        edges = hashlib.sha256(repr((self.boundaries, self.class_wise)).encode()).digest()
        digest = torch.tensor(list(edges), device=device)
        extremes = torch.cat([digest, -digest])
        distributed.all_reduce(extremes, distributed.ReduceOp.MAX, group)
        if not torch.equal(extremes[: len(edges)], -extremes[len(edges) :]):
            raise ValueError(
                "bins to be merged must have the same edges in every process, got other ones than these "
                f"{self._summary()}: pass the same n_bins or edges everywhere"
            )
        words = self.to_tensor().to(device)
        distributed.all_reduce(words, distributed.ReduceOp.SUM, group)
        return self.with_tensor(words)

    def to_tensor(self) -> Tensor:
        """The exact sums as int64 (5, cells, 6): what to send, as the sum of such tensors is that of the bins.

        Examples:
            >>> bins = CalibrationBins.from_confidences(torch.tensor([0.25, 0.75]), torch.tensor([0, 1]), n_bins=2)
            >>> bins.with_tensor(bins.to_tensor() + bins.to_tensor()) == bins + bins
            True
        """
        return torch.stack([to_words(row) for row in self.sum_rows()])

    def with_tensor(self, words: Tensor) -> CalibrationBins:
        """Bins of the same edges with the sums of a tensor from `to_tensor`, or of up to 2^26 of them added."""
        return self._with_sums(from_words(row) for row in words.cpu().numpy())

    def for_class(self, index: int) -> CalibrationBins:
        """The bins of one class out of class-wise ones.

        Examples:
            >>> probs = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
            >>> bins = CalibrationBins.from_probabilities(probs, torch.tensor([0, 1]), n_bins=2, class_wise=True)
            >>> bins.for_class(1).accuracy
            array([0., 1.])
        """
        if not self.class_wise:
            raise ValueError("for_class needs class-wise bins, got top-label ones: make them with class_wise=True")
        if not 0 <= index < len(self.boundaries):
            raise ValueError(f"index must lie in 0..{len(self.boundaries) - 1}, got {index}")
        part = slice(index * self.n_bins, (index + 1) * self.n_bins)
        one = replace(self, class_wise=False, boundaries=(self.boundaries[index],))
        return one._with_sums(row[part] for row in self.sum_rows())

    @property
    def n_bins(self) -> int:
        """Number of bins, of each class for class-wise bins."""
        return len(self.boundaries[0]) - 1

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges (n_bins + 1,), or (C, n_bins + 1)."""
        return self._shaped(np.array(self.boundaries))

    @property
    def count(self) -> NDArray[np.int64]:
        """Number of samples in each bin, (n_bins,) or (C, n_bins)."""
        return self._shaped(np.array(self.sample_counts, dtype=np.int64))

    @property
    def effective_count(self) -> NDArray[np.float64]:
        """Kish's effective number of samples, (sum of w)^2 / sum of w^2: the count, if all weights are equal."""
        squared_sums = (w * w for w in self.weight_sums)
        sums_of_squares = (square << FRACTION_BITS for square in self.squared_weight_sums)
        return self._ratios(squared_sums, sums_of_squares, empty=0.0)

    @property
    def share(self) -> NDArray[np.float64]:
        """Part of the weight (of its class) that is in each bin: the confidence histogram."""
        totals = []
        for start in range(0, len(self.weight_sums), self.n_bins):
            totals += [sum(self.weight_sums[start : start + self.n_bins])] * self.n_bins
        return self._ratios(self.weight_sums, totals, empty=0.0)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """Mean confidence in each bin; NaN in an empty one."""
        return self._ratios(self.confidence_sums, self.weight_sums)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Mean correctness in each bin; NaN in an empty one."""
        return self._ratios(self.correct_sums, self.weight_sums)

    @property
    def gap(self) -> NDArray[np.float64]:
        """Confidence minus accuracy: positive where the model is overconfident, NaN in an empty bin."""
        gaps = (f - a for f, a in zip(self.confidence_sums, self.correct_sums, strict=True))
        return self._ratios(gaps, self.weight_sums)

    def _ratios(
        self, numerators: Iterable[int], denominators: Iterable[int], empty: float = float("nan")
    ) -> NDArray[np.float64]:
        # Python divides integers of any size with one rounding.
        pairs = zip(numerators, denominators, strict=True)
        return self._shaped(np.array([a / b if b else empty for a, b in pairs]))

    def _shaped(self, values: NDArray[_Number]) -> NDArray[_Number]:
        return values.reshape(len(self.boundaries), -1) if self.class_wise else values.reshape(-1)


_SUMS = [field.name for field in fields(CalibrationBins)[2:]]
