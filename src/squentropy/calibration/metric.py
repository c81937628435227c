"""Calibration errors as a metric of torchmetrics, which must be installed for it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.errors import Binned, ece


class CalibrationMetric(Metric):
    """Any calibration error of bins, where a `torchmetrics.Metric` is wanted.

    Its state is a tensor of integers whose size does not depend on the number of samples, and processes add theirs: the
    result is exactly that of one process which sees all samples.

    Args:
        error: A function of bins, such as `ece` or `mce`.
        n_bins: Number of bins of equal width.
        logits: Whether `update` is given logits; probabilities otherwise. This is never guessed.
        num_classes: Makes class-wise bins for this many classes, for `classwise_ece`.
        ignore_index: Target of samples to leave out.
        **options: Options of `torchmetrics.Metric`.

    Examples:
        >>> metric = CalibrationMetric(n_bins=15, logits=True)
        >>> for _ in range(3):
        ...     metric.update(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
        >>> metric.compute()
        tensor(0.5000)
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    words: Tensor

    def __init__(
        self,
        error: Callable[[Binned], float] = ece,
        n_bins: int = 10,
        *,
        logits: bool,
        num_classes: int | None = None,
        ignore_index: int = -100,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.error = error
        self.logits = logits
        self.ignore_index = ignore_index
        self._empty = CalibrationBins.empty(n_bins, num_classes=num_classes)
        self.add_state("words", self._empty.to_tensor(), dist_reduce_fx="sum")

    @property
    def bins(self) -> CalibrationBins:
        """The bins of all samples so far, for other errors and for diagrams."""
        return self._empty.with_tensor(self.words)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Takes in predictions (N, C) or (N, C, d1, ...) and class indices (N,) or (N, d1, ...)."""
        make = CalibrationBins.from_logits if self.logits else CalibrationBins.from_probabilities
        batch = make(
            preds, target, self._empty.n_bins, class_wise=self._empty.class_wise, ignore_index=self.ignore_index
        )
        self.words = (self.bins + batch).to_tensor().to(self.words)

    def compute(self) -> Tensor:
        """Returns the error of all samples so far."""
        return torch.tensor(self.error(self.bins), device=self.words.device)
