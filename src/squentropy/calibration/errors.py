"""Calibration errors that are read off bins: how far confidence is from accuracy, summed up in one number."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


class Binned(Protocol):
    """What an error reads: `CalibrationBins`, and resamples of them."""

    @property
    def class_wise(self) -> bool:
        """Whether there is one row of bins a class."""

    @property
    def edges(self) -> Values:
        """Edges (n_bins + 1,)."""

    @property
    def share(self) -> Values:
        """Part of the weight in each bin, (n_bins,)."""

    @property
    def accuracy(self) -> Values:
        """Mean correctness in each bin; NaN in an empty one."""

    @property
    def gap(self) -> Values:
        """Confidence minus accuracy in each bin; NaN in an empty one."""

    @property
    def effective_count(self) -> Values:
        """Number of samples in each bin that equal weights would need for the same precision."""


def ece(bins: Binned) -> float:
    r"""Expected calibration error: the mean distance of confidence and accuracy (Naeini et al. 2015; Guo et al. 2017).

    With bins of equal width it is the paper's ECE, with `binning="equal_mass"` it is the adaptive ECE of
    Nguyen & O'Connor (2015):

    $$\mathrm{ECE} = \sum_k s_k\,|g_k|, \qquad g_k = \mathrm{confidence}_k - \mathrm{accuracy}_k$$

    with the share $s_k$ of the samples' weight in bin k. Estimated from few samples it is too large: see
    `debiased_ece` and `interval`.

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error, in 0..1.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.tensor([0.9, 0.9, 0.6, 0.6]), torch.tensor([1, 1, 0, 1])
        >>> round(ece(CalibrationBins.from_confidences(confidence, correct, n_bins=10)), 4)
        0.1
    """
    share, gap = filled(bins, "ece")
    return float(share @ np.abs(gap))


def mce(bins: Binned) -> float:
    r"""Maximum calibration error, $\max_k |g_k|$ over the bins that are not empty.

    One sample alone in its bin can decide it; look at it together with the counts.

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error, in 0..1.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.tensor([0.95, 0.95, 0.55, 0.75]), torch.tensor([1, 1, 0, 1])
        >>> round(mce(CalibrationBins.from_confidences(confidence, correct, n_bins=10)), 4)
        0.55
    """
    _, gap = filled(bins, "mce")
    return float(np.abs(gap).max())


def rmsce(bins: Binned) -> float:
    r"""Root mean squared calibration error, $\sqrt{\sum_k s_k\,g_k^2}$ (Hendrycks et al. 2019).

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error, in 0..1; at least the ECE and at most the MCE of the same bins.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.tensor([0.9, 0.9, 0.6, 0.6]), torch.tensor([1, 1, 0, 1])
        >>> round(rmsce(CalibrationBins.from_confidences(confidence, correct, n_bins=10)), 4)
        0.1
    """
    share, gap = filled(bins, "rmsce")
    return float(np.sqrt(share @ gap**2))


def overconfidence(bins: Binned) -> float:
    r"""The part of the ECE from bins where confidence exceeds accuracy, $\sum_k s_k \max(g_k, 0)$.

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error, in 0..1; together with `underconfidence` it is the ECE.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.tensor([0.9, 0.9, 0.6, 0.6]), torch.tensor([1, 1, 0, 1])
        >>> round(overconfidence(CalibrationBins.from_confidences(confidence, correct, n_bins=10)), 4)
        0.05
    """
    share, gap = filled(bins, "overconfidence")
    return float(share @ np.maximum(gap, 0.0))


def underconfidence(bins: Binned) -> float:
    r"""The part of the ECE from bins where accuracy exceeds confidence, $\sum_k s_k \max(-g_k, 0)$.

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error, in 0..1; together with `overconfidence` it is the ECE.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.tensor([0.9, 0.9, 0.6, 0.6]), torch.tensor([1, 1, 0, 1])
        >>> round(underconfidence(CalibrationBins.from_confidences(confidence, correct, n_bins=10)), 4)
        0.05
    """
    share, gap = filled(bins, "underconfidence")
    return float(share @ np.maximum(-gap, 0.0))


def classwise_ece(bins: Binned) -> float:
    r"""Class-wise ECE, $\frac1C \sum_j \mathrm{ECE}_j$: the probability of each class against its frequency.

    After Kull et al. (2019); the static calibration error of Nixon et al. (2019) is the same.

    Args:
        bins: Class-wise bins.

    Returns:
        The error, in 0..1.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> probs, target = torch.tensor([[0.75, 0.25], [0.75, 0.25]]), torch.tensor([0, 0])
        >>> classwise_ece(CalibrationBins.from_probabilities(probs, target, class_wise=True))
        0.25
    """
    if not bins.class_wise:
        raise ValueError("classwise_ece needs class-wise bins, got others: make them with class_wise=True, or use ece")
    if not bins.share.any():
        raise ValueError("classwise_ece needs at least one sample, got bins with none: add a batch to them first")
    return float((bins.share * np.abs(np.nan_to_num(bins.gap))).sum(axis=1).mean())


def filled(bins: Binned, error: str) -> tuple[Values, Values]:
    """Share and gap of the bins that are not empty."""
    if bins.class_wise:
        raise ValueError(
            f"{error} needs bins of one kind, got class-wise ones: use classwise_ece, or bins.for_class(k)"
        )
    filled = bins.share > 0
    if not filled.any():
        raise ValueError(f"{error} needs at least one sample, got bins with none: add a batch to them first")
    return bins.share[filled], bins.gap[filled]
