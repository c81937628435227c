"""Predictions with their labels, checked once: what scores and their intervals read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from squentropy.calibration.bins import Binning, CalibrationBins
from squentropy.calibration.blocks import Block, blocks

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities, labels and weights of samples, with what the scores need to know of each sample.

    Make them with `from_logits` or `from_probabilities`. Samples that are ignored or have no weight are left out; dense
    predictions (N, C, d1, ...) become one sample a position.

    Attributes:
        probs: Probabilities (N, C), float64 for float64 input, else float32.
        target: Class indices (N,) int64, or probabilities (N, C) float64.
        weight: Sample weights (N,).
        confidence: Highest probability (N,).
        correct: 1 where its class is the target, else 0; the probability that a soft target gives to it (N,).
        level: Place (N,) of the confidence among the distinct ones, from the lowest.
        log_likelihood: Logarithm (N,) of the target's probability, for logits without the detour over `probs`.
        rank: How many classes the model puts before the target (N,), the first of equals first; None for soft targets.
        dtype: Type in which the probabilities came, or in which the softmax was computed: bins compare in it.

    Examples:
        >>> predictions = Predictions.from_logits(torch.tensor([[2.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))
        >>> predictions.confidence.round(4), predictions.correct
        (array([0.8808, 0.5   ]), array([1., 0.]))
    """

    probs: NDArray[np.float32] | Values
    target: NDArray[np.int64] | Values
    weight: Values
    confidence: Values
    correct: Values
    level: NDArray[np.int64]
    log_likelihood: Values
    rank: NDArray[np.int64] | None
    dtype: torch.dtype

    @classmethod
    def from_logits(
        cls, logits: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100
    ) -> Predictions:
        """Predictions of logits: their softmax.

        Args:
            logits: Logits (N, C) or (N, C, d1, ...) of any floating type.
            target: Class indices (N,) or (N, d1, ...), or probabilities in the shape of `logits`.
            weight: Sample weights (N,) or (N, d1, ...): how often each sample counts.
            ignore_index: Target of samples to leave out.

        Returns:
            The predictions.

        Examples:
            >>> Predictions.from_logits(torch.tensor([[0.0, 0.0]]), torch.tensor([1])).probs
            array([[0.5, 0.5]], dtype=float32)
        """
        return cls._of(blocks(logits, target, weight, ignore_index, logits=True))

    @classmethod
    def from_probabilities(
        cls, probs: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100
    ) -> Predictions:
        """Predictions of probabilities.

        Args:
            probs: Probabilities (N, C) or (N, C, d1, ...) of any floating type; every row sums to 1.
            target: As in `from_logits`, and so are the other arguments.
            weight: Sample weights.
            ignore_index: Target of samples to leave out.

        Returns:
            The predictions.

        Examples:
            >>> Predictions.from_probabilities(torch.tensor([[0.75, 0.25]]), torch.tensor([1])).rank
            array([1])
        """
        return cls._of(blocks(probs, target, weight, ignore_index, logits=False))

    @classmethod
    def _of(cls, stream: Iterable[Block]) -> Predictions:
        parts, dtype = [], torch.float32
        for block in stream:
            parts.append(_columns(block))
            dtype = block.dtype
        if not parts:
            raise ValueError("target must have at least one sample that counts, but all are ignored or have no weight")
        columns: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        columns["level"] = np.unique(columns["confidence"], return_inverse=True)[1]
        return cls(**{"rank": None} | columns, dtype=dtype)

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.confidence)

    def labels(self) -> Values:
        """Target probabilities (N, C): the soft target, or class indices as one-hot rows."""
        if self.target.ndim == 2:
            return np.asarray(self.target, np.float64)
        return np.asarray(self.target[:, None] == np.arange(self.probs.shape[1]), np.float64)

    def reweighted(self, factor: ArrayLike) -> Predictions:
        """The same predictions with weights multiplied by a factor (N,): a bootstrap sample, for counts."""
        return replace(self, weight=self.weight * np.asarray(factor, np.float64))

    def bins(
        self,
        n_bins: int = 10,
        *,
        binning: Binning = "equal_width",
        edges: ArrayLike | None = None,
        class_wise: bool = False,
    ) -> CalibrationBins:
        """The bins that `CalibrationBins` makes of the same input; see there for the arguments.

        Examples:
            >>> predictions = Predictions.from_probabilities(torch.tensor([[0.75, 0.25]]), torch.tensor([1]))
            >>> predictions.bins(n_bins=2).gap
            array([ nan, 0.75])
        """
        options: dict[str, Any] = {"binning": binning, "edges": edges, "weight": torch.from_numpy(self.weight)}
        if class_wise:
            probs = torch.from_numpy(self.probs).to(self.dtype)
            target = torch.from_numpy(self.target)
            return CalibrationBins.from_probabilities(probs, target, n_bins, class_wise=True, **options)
        confidence, correct = torch.from_numpy(self.confidence).to(self.dtype), torch.from_numpy(self.correct)
        return CalibrationBins.from_confidences(confidence, correct, n_bins, **options)


def _columns(block: Block) -> dict[str, NDArray[Any]]:
    """The fields of `Predictions` for the samples of a block, but `level` and `dtype`."""
    scores = torch.from_numpy(block.scores)
    probs = block.probabilities().T.to(scores.dtype)
    confidence, correct = block.top_label()
    scores = scores.double()
    log_probs = scores.log_softmax(0) if block.logits else scores.log()
    columns = {
        "probs": probs,
        "target": block.target.movedim(-1, 0),
        "weight": torch.ones(len(probs), dtype=torch.float64) if block.weight is None else block.weight,
        "confidence": confidence.double(),
        "correct": correct.double(),
    }
    if block.target.ndim == 1:
        index = block.target[None]
        true = scores.gather(0, index)
        earlier = torch.arange(len(scores))[:, None] < index
        columns["log_likelihood"] = log_probs.gather(0, index)[0]
        columns["rank"] = ((scores > true) | ((scores == true) & earlier)).sum(0)
    else:
        columns["log_likelihood"] = torch.where(block.target > 0, block.target * log_probs, 0.0).sum(0)
    return {name: column.numpy() for name, column in columns.items()}
