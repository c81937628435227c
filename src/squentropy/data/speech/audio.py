"""Recordings as samples: wav, flac, NIST SPHERE, and whatever else libsndfile reads."""

from __future__ import annotations

import io
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from squentropy.data.errors import DataError

_SHORTEN = b"embedded-shorten"
_SPHERE_HEADER = 1024  # bytes


class RecordingError(DataError):
    """One recording cannot be used; the message says why, and the others can."""


def read_recording(recording: Path | bytes, rate: int) -> Tensor:
    """Reads a recording with one channel.

    More samples a second than asked for are made fewer by a filter; fewer are refused, as the features of high
    frequencies would be empty, and so is stereo, as nothing says which channel has the voice.

    Args:
        recording: A file, or its content.
        rate: Samples wanted in a second.

    Returns:
        Samples (n), in the range of 16-bit integers.

    Raises:
        RecordingError: If it is empty, damaged, stereo, has too few samples a second, or is compressed in a form that
            needs a program that is not installed.

    Examples:
        >>> import io, soundfile
        >>> file = io.BytesIO()
        >>> soundfile.write(file, np.array([0.0, 0.5, -0.5]), 16000, format="WAV")
        >>> read_recording(file.getvalue(), 16000)
        tensor([     0.,  16384., -16384.])
    """
    import soundfile

    content = recording if isinstance(recording, bytes) else recording.read_bytes()
    if not content:
        raise RecordingError("the file is empty")
    if _SHORTEN in content[:_SPHERE_HEADER]:
        content = _expanded(content)
    try:
        samples, found = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise RecordingError(f"no sound can be read from it ({error})") from error
    if samples.shape[1] != 1:
        raise RecordingError(f"it has {samples.shape[1]} channels, not one")
    if len(samples) == 0:
        raise RecordingError("it has no samples")
    if found < rate:
        raise RecordingError(f"it has {found} samples a second, fewer than {rate}")
    if not np.isfinite(samples).all():
        raise RecordingError("some of its samples are no finite numbers")
    wave = samples[:, 0]
    if found > rate:
        from scipy.signal import resample_poly

        divisor = math.gcd(found, rate)
        wave = resample_poly(wave, rate // divisor, found // divisor).astype(np.float32)
    return torch.from_numpy(wave * np.float32(2**15))


def _expanded(content: bytes) -> bytes:
    """The content of a SPHERE file that shorten compressed, as wav."""
    program = shutil.which("sph2pipe")
    if program is None:
        raise RecordingError(
            "it is compressed by shorten: put the program sph2pipe (https://www.openslr.org/3/) on the path, or "
            "expand the files with it"
        )
    done = subprocess.run([program, "-f", "wav", "-p", "-c", "1", "-"], input=content, capture_output=True)
    if done.returncode or not done.stdout:
        raise RecordingError(f"sph2pipe cannot expand it ({done.stderr.decode(errors='replace').strip()[:200]})")
    return done.stdout
