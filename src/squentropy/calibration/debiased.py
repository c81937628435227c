"""Calibration errors without the part that too few samples in a bin add."""

from __future__ import annotations

import math

import numpy as np

from squentropy.calibration.errors import Binned, Values, filled


def debiased_ece(bins: Binned) -> float:
    r"""The ECE less its bias, estimated in closed form (Kumar et al. 2019, appendix D, their power 1).

    Even a calibrated model has gaps, for accuracy in a bin of $n_k$ samples has the standard deviation
    $\sigma_k = \sqrt{a_k (1 - a_k) / n_k}$, and the ECE sums their distances from 0. What it adds is estimated as what
    the same noise would add once more, with the mean $\mathrm{E}\,|z|$ of a folded normal distribution:

    $$\sum_k s_k \bigl(2\,|g_k| - \mathrm{E}\,|z_k|\bigr), \qquad z_k \sim \mathcal{N}(g_k, \sigma_k^2)$$

    Where all true gaps are 0, where the bias is largest, $\sqrt2 - 1$ of it goes and the rest stays; where they are far
    above the noise there is none. In between the estimate may be somewhat too small.

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error; 0 where the estimate is below.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins, ece
        >>> confidence = torch.rand(1000)
        >>> bins = CalibrationBins.from_confidences(confidence, torch.bernoulli(confidence))
        >>> debiased_ece(bins) < ece(bins)
        True
    """
    share, gap, variance = _noise(bins, "debiased_ece", least=0)
    means = [_folded_normal_mean(g, math.sqrt(v)) for g, v in zip(gap.tolist(), variance.tolist(), strict=True)]
    return max(float(share @ (2 * np.abs(gap) - means)), 0.0)


def debiased_rmsce(bins: Binned) -> float:
    r"""The RMSCE from an unbiased estimate of its square (Bröcker 2012; Ferro & Fricker 2012; Kumar et al. 2019).

    $$\sqrt{\max\Bigl(0, \sum_k s_k \Bigl(g_k^2 - \frac{a_k (1 - a_k)}{n_k - 1}\Bigr)\Bigr)}$$

    Bins of a single sample say nothing about their own noise and count 0, as in the code of Kumar et al.

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.full((4,), 0.75), torch.tensor([1, 1, 1, 0])
        >>> debiased_rmsce(CalibrationBins.from_confidences(confidence, correct))
        0.0
    """
    share, gap, variance = _noise(bins, "debiased_rmsce", least=1)
    return math.sqrt(max(float(share @ (gap**2 - variance)), 0.0))


def _noise(bins: Binned, error: str, *, least: int) -> tuple[Values, Values, Values]:
    """Share, gap and the accuracy's variance in the bins of more than `least` samples, `least` degrees lost."""
    filled(bins, error)
    enough = bins.effective_count > least
    accuracy, count = bins.accuracy[enough], bins.effective_count[enough]
    return bins.share[enough], bins.gap[enough], accuracy * (1 - accuracy) / (count - least)


def _folded_normal_mean(mean: float, deviation: float) -> float:
    if deviation == 0:
        return abs(mean)
    z = mean / deviation
    return deviation * math.sqrt(2 / math.pi) * math.exp(-z * z / 2) + mean * math.erf(z / math.sqrt(2))
