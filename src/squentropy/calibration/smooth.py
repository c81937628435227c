"""Calibration errors that do not depend on where edges are, from bins that are fine enough to have no say."""

from __future__ import annotations

import numpy as np

from squentropy.calibration.errors import Binned, filled

# The bandwidth is the error, and a kernel must be wider than a bin to say anything about it.
_LEAST_BINS = 200
_TOLERANCE = 1e-7


def ks_error(bins: Binned) -> float:
    r"""Kolmogorov-Smirnov calibration error (Gupta et al. 2021): the largest sum of gaps up to any confidence.

    $$\max_k \Bigl| \sum_{i \le k} s_i\,g_i \Bigr|$$

    In fine bins no gap hides behind one of the other sign: use 1000 or more. The error is that of the samples
    themselves if only equal confidences share a bin, and never above it.

    Args:
        bins: Top-label bins, or those of one class.

    Returns:
        The error, in 0..1, at most the ECE of the same bins.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.tensor([0.25, 0.5, 0.75]), torch.tensor([0, 0, 1])
        >>> ks_error(CalibrationBins.from_confidences(confidence, correct, n_bins=1000))
        0.25
    """
    share, gap = filled(bins, "ks_error")
    return float(np.abs(np.cumsum(share * gap)).max())


def smooth_ece(bins: Binned) -> float:
    r"""Smooth ECE (Błasiok & Nakkiran 2024): the mean size of the gap after smoothing over confidence.

    With the kernel $K_\sigma$ of a Gaussian that is reflected at 0 and 1, and confidence minus correctness $r_i$,

    $$\mathrm{smECE}_\sigma = \int_0^1 \Bigl| \frac1N \sum_i K_\sigma(t, c_i)\,r_i \Bigr| \, dt ,$$

    and the bandwidth is the one at which the error equals it, $\mathrm{smECE}_\sigma = \sigma$. This is what `relplot`
    computes from all samples; bins make it mergeable.

    Args:
        bins: Top-label bins, or those of one class, of equal width and much finer than the error: 1000 of them
            are enough for errors above 0.002.

    Returns:
        The error, in 0..1.

    Examples:
        >>> import torch
        >>> from squentropy.calibration import CalibrationBins
        >>> confidence, correct = torch.full((100,), 0.9), torch.arange(100) < 70
        >>> round(smooth_ece(CalibrationBins.from_confidences(confidence, correct, n_bins=1000)), 4)
        0.2
    """
    from scipy.optimize import brentq

    filled(bins, "smooth_ece")
    n_bins = len(bins.share)
    if n_bins < _LEAST_BINS:
        raise ValueError(f"smooth_ece needs at least {_LEAST_BINS} bins, got {n_bins}: make them with n_bins=1000")
    if np.abs(np.diff(bins.edges) * n_bins - 1).max() > 1e-9:
        raise ValueError(
            "smooth_ece needs bins of equal width, got others: make them with n_bins=1000 and no other binning"
        )
    mass = bins.share * np.nan_to_num(bins.gap)
    spectrum = np.fft.rfft(np.concatenate([mass, mass[::-1]]))
    frequency = np.pi * np.arange(n_bins + 1)

    def excess(bandwidth: float) -> float:
        """Of the error over the bandwidth; it falls as the bandwidth grows."""
        smoothed = np.fft.irfft(spectrum * np.exp(-((frequency * bandwidth) ** 2) / 2))[:n_bins]
        return float(np.abs(smoothed).sum()) - bandwidth

    largest = float(np.abs(mass).sum()) + _TOLERANCE
    while excess(largest) > 0:  # a kernel narrower than a bin may overshoot the sum of the sizes
        largest *= 2
    return float(brentq(excess, 0.0, largest, xtol=_TOLERANCE))
