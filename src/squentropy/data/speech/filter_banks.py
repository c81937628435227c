"""Log-mel filter banks as Kaldi computes them, without its random dither."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FRAME_SECONDS = 0.025
SHIFT_SECONDS = 0.010
_PREEMPHASIS = 0.97
_LOWEST_HERTZ = 20.0
_SMALLEST_ENERGY = float(np.finfo(np.float32).eps)


def log_mel(wave: Tensor, rate: int, mels: int = 80) -> Tensor:
    """Computes logarithms of the energies in triangular bands of equal width on the mel scale.

    Each frame of 25 ms is freed of its mean, its high frequencies are raised by a difference of first order, and it is
    weighted by Povey's window before its power spectrum is taken. Only whole frames count.

    Args:
        wave: Samples (n), in the range of 16-bit integers.
        rate: Samples in a second.
        mels: How many bands there are, from 20 Hz to half the rate.

    Returns:
        Features (N, mels), a frame every 10 ms.

    Examples:
        >>> tone = 1000 * torch.sin(2 * torch.pi * 1000 * torch.arange(16000) / 16000)
        >>> features = log_mel(tone, 16000, mels=23)
        >>> features.shape, features.mean(0).argmax().item()  # the band around 1,000 Hz
        (torch.Size([98, 23]), 7)
    """
    length, shift = frame_sizes(rate)
    if len(wave) < length:
        return wave.new_zeros(0, mels)
    frames = wave.unfold(0, length, shift)
    frames = frames - frames.mean(1, keepdim=True)
    before = torch.cat([frames[:, :1], frames[:, :-1]], dim=1)
    frames = (frames - _PREEMPHASIS * before) * _povey_window(length).to(wave)
    padded = 1 << (length - 1).bit_length()
    power = torch.fft.rfft(frames, padded).abs().square()
    filters = torch.from_numpy(mel_filters(mels, padded, rate)).to(wave)
    energies: Tensor = power @ filters
    return energies.clamp(min=_SMALLEST_ENERGY).log()


def frame_sizes(rate: int) -> tuple[int, int]:
    """Samples of a frame, and samples between the beginnings of two frames."""
    return round(rate * FRAME_SECONDS), round(rate * SHIFT_SECONDS)


def _povey_window(length: int) -> Tensor:
    return torch.hann_window(length, periodic=False, dtype=torch.float64) ** 0.85


@cache
def mel_filters(mels: int, fft_size: int, rate: int) -> NDArray[np.float64]:
    """Weights (fft_size / 2 + 1, mels) of triangles whose sides are straight on the mel scale.

    Raises:
        ValueError: If a triangle is narrower than the distance of two frequencies, so that it would see nothing.

    Examples:
        >>> mel_filters(23, 512, 16000).shape
        (257, 23)
        >>> mel_filters(128, 256, 8000)
        Traceback (most recent call last):
        ValueError: mels is 128, too many for 8000 samples a second: band 4 has no frequency; use fewer, such as 64
    """
    frequencies = _to_mel(np.arange(fft_size // 2 + 1) * rate / fft_size)
    edges = np.linspace(_to_mel(np.array(_LOWEST_HERTZ)), _to_mel(np.array(rate / 2)), mels + 2)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    rising = (frequencies[:, None] - left) / (centre - left)
    falling = (right - frequencies[:, None]) / (right - centre)
    filters = np.minimum(rising, falling).clip(min=0.0)
    empty = np.flatnonzero(filters.sum(0) == 0)
    if len(empty):
        raise ValueError(
            f"mels is {mels}, too many for {rate} samples a second: band {empty[0]} has no frequency; use fewer, "
            f"such as {mels // 2}"
        )
    return filters


def _to_mel(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1127.0 * np.log1p(hertz / 700.0))
