"""Pitch as Kaldi understands it (Ghahremani et al. 2014): how voiced a frame is, its pitch, and how that changes."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.signal import firwin, resample_poly
from torch import Tensor

from squentropy.data.speech.filter_banks import FRAME_SECONDS, SHIFT_SECONDS, frame_sizes

_RATE = 4000  # samples a second at which pitch is looked for
_CUTOFF = 1000.0  # Hz, of the low-pass filter before
_LOWEST, _HIGHEST = 50.0, 400.0  # Hz
_RATIO = 1.005  # of two pitches that are told apart
_PENALTY = 0.1  # of the squared logarithm of the ratio of two frames' pitches
_BALLAST = 7000.0  # lowers the correlation of quiet frames
_SOFT_LOWEST = 10.0  # Hz: of two lags that correlate as well, the shorter one is chosen
_REACH = 5  # zeros of the interpolating filter on its two sides
_WINDOW = 151  # frames over which the mean of the logarithm of the pitch is taken away


class Track(NamedTuple):
    """What was found in each frame.

    Attributes:
        correlation: Normalised correlation (N) of the frame with itself one period later.
        pitch: Pitch (N) in Hz, also where there is no voice.
    """

    correlation: Tensor
    pitch: Tensor


def pitch_features(wave: Tensor, rate: int) -> Tensor:
    """Computes Kaldi's three features of pitch, without the noise that it adds to the last one.

    Args:
        wave: Samples (n).
        rate: Samples in a second.

    Returns:
        Features (N, 3), a frame every 10 ms: a power of the correlation that is lower the surer there is voice; the
        logarithm of the pitch without its mean over 1.5 seconds, in which voiced frames count more; and its slope.

    Examples:
        >>> tone = torch.sin(2 * torch.pi * 120 * torch.arange(16000) / 16000)
        >>> pitch_features(tone, 16000).shape
        torch.Size([98, 3])
    """
    correlation, pitch = track_pitch(wave, rate)
    if len(pitch) == 0:
        return wave.new_zeros(0, 3)
    log_pitch = pitch.log()
    voiced = _probability_of_voice(correlation)
    level = _moving_sum(voiced * log_pitch) / _moving_sum(voiced)
    unvoiced = (1.0001 - correlation.clamp(-1, 1)) ** 0.15 - 1
    return torch.stack([2 * unvoiced, 2 * (log_pitch - level), 10 * _slope(log_pitch)], dim=1).float()


def track_pitch(wave: Tensor, rate: int) -> Track:
    """Finds the pitch of each frame: the path through all frames with high correlations and few jumps.

    Examples:
        >>> tone = torch.sin(2 * torch.pi * 120 * torch.arange(16000) / 16000)
        >>> bool(((track_pitch(tone, 16000).pitch - 120).abs() < 1.2).all())
        True
    """
    length, shift = frame_sizes(rate)
    count = max(0, 1 + (len(wave) - length) // shift)
    if count == 0:
        return Track(wave.new_zeros(0), wave.new_zeros(0))
    products, energies, mean_square = _correlations(_resampled(wave, rate), count)
    window = round(_RATE * FRAME_SECONDS)
    # Ballast counts in the choice of the path, not in how voiced a frame is.
    ballast = _BALLAST * (mean_square * window) ** 2
    interpolate, lags = _interpolation()
    weighted = (products / (energies + ballast).clamp(min=1e-30).sqrt()) @ interpolate
    plain = (products / energies.clamp(min=1e-30).sqrt()) @ interpolate
    path = _best_path(1 - weighted * (1 - _SOFT_LOWEST * lags))
    return Track(plain.gather(1, path[:, None])[:, 0], 1 / lags[path])


def _resampled(wave: Tensor, rate: int) -> Tensor:
    """The wave at 4,000 samples a second, without what is above 1,000 Hz."""
    divisor = math.gcd(rate, _RATE)
    up, down = _RATE // divisor, rate // divisor
    taps = 2 * 2 * up * rate // int(_CUTOFF) + 1
    low_pass: Any = firwin(taps, _CUTOFF, fs=rate * up)
    return torch.from_numpy(resample_poly(wave.double().numpy(), up, down, window=low_pass))


def _correlations(wave: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Products (N, L) of each frame with what is 0 to L - 1 samples later, products of their energies, mean square."""
    window, shift = round(_RATE * FRAME_SECONDS), round(_RATE * SHIFT_SECONDS)
    lags = len(_interpolation()[0])
    span = window + lags - 1
    missing = (count - 1) * shift + span - len(wave)
    padded = torch.nn.functional.pad(wave, (0, max(0, missing)))
    frames = padded.unfold(0, span, shift)[:count]
    frames = frames - frames[:, :window].mean(1, keepdim=True)
    later = frames.unfold(1, window, 1)  # (N, L, window)
    products = torch.einsum("nw,nlw->nl", frames[:, :window], later)
    squares = torch.nn.functional.pad(frames.square().cumsum(1), (1, 0))
    energy = squares[:, window:] - squares[:, :-window]
    return products, energy[:, :1] * energy, wave.square().mean()


@cache
def _interpolation() -> tuple[Tensor, Tensor]:
    """Weights (L, S) from correlations at whole lags to those at S lags in constant ratio, and these lags in seconds.

    The weights are a sinc function under a raised cosine with `_REACH` zeros.
    """
    states = int(math.log(_HIGHEST / _LOWEST) / math.log(_RATIO)) + 1
    lags = torch.tensor([_RATIO**state / _HIGHEST for state in range(states)], dtype=torch.float64)
    whole = torch.arange(round(_RATE / _LOWEST) + _REACH // 2 + 2, dtype=torch.float64)
    distance = lags * _RATE - whole[:, None]
    window = 0.5 * (1 + torch.cos(2 * torch.pi * distance / _REACH)) * (distance.abs() < _REACH / 2)
    return torch.sinc(distance) * window, lags


def _best_path(costs: Tensor) -> Tensor:
    """States (N) of the path with the least sum of costs (N, S) and of penalties between its steps (Viterbi)."""
    number = np.arange(costs.shape[1], dtype=np.float32)
    penalty = np.float32(_PENALTY * math.log(_RATIO) ** 2) * (number[:, None] - number) ** 2
    local = costs.float().numpy()
    total, sums, came_from = local[0], np.empty_like(penalty), []
    for each in local[1:]:
        np.add(penalty, total, out=sums)
        best = sums.argmin(1)
        came_from.append(best)
        total = sums[np.arange(len(best)), best] + each
        total -= total.min()
    path = [int(total.argmin())]
    for best in reversed(came_from):
        path.append(int(best[path[-1]]))
    return torch.tensor(path[::-1])


def _probability_of_voice(correlation: Tensor) -> Tensor:
    """The function of the correlation that Ghahremani et al. fitted to voiced and unvoiced speech."""
    c = correlation.abs().clamp(max=1)
    evidence = -5.2 + 5.4 * (7.5 * (c - 1)).exp() + 4.8 * c - 2 * (-10 * c).exp() + 4.2 * (20 * (c - 1)).exp()
    return evidence.sigmoid()


def _moving_sum(values: Tensor) -> Tensor:
    """Sums over the window around each frame, as much of it as there is."""
    sums = torch.nn.functional.pad(values.cumsum(0), (1, 0))
    place = torch.arange(len(values))
    first = (place - _WINDOW // 2).clamp(min=0)
    behind = (place + _WINDOW // 2 + 1).clamp(max=len(values))
    return sums[behind] - sums[first]


def _slope(values: Tensor) -> Tensor:
    """The slope of the straight line through five frames; the first and the last one stand for what is beyond."""
    padded = torch.cat([values[:1].expand(2), values, values[-1:].expand(2)])
    return (2 * (padded[4:] - padded[:-4]) + padded[3:-1] - padded[1:-3]) / 10
