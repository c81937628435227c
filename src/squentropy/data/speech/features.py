"""Features of many utterances, computed once and kept in one file that is mapped into memory."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from squentropy.data.directories import cache_dir
from squentropy.data.download import sha256_of
from squentropy.data.errors import DataError
from squentropy.data.speech.audio import RecordingError, read_recording
from squentropy.data.speech.corpus import Fault, Recording, Utterance
from squentropy.data.speech.filter_banks import log_mel
from squentropy.data.speech.pitch import pitch_features

SHORTEST = 7  # frames, what the convolutions of the models need
_FORMAT = 1  # changes when the same recordings give other features
_SECONDS_BETWEEN_MESSAGES = 20.0


@dataclass(frozen=True)
class FeatureKind:
    """Which features a frame has.

    Attributes:
        mels: Bands of the log-mel filter bank.
        pitch: Whether three features of pitch follow.
    """

    mels: int = 80
    pitch: bool = True


@dataclass(frozen=True)
class Features:
    """Frames of many utterances, one after another.

    Attributes:
        frames: Features (N, d) of all of them.
        ends: Where each utterance ends (U).
        mean: Mean (d) over all frames.
        deviation: Standard deviation (d) over all frames; 1 where a feature never changes.
        names: Names of the utterances.
        faults: Utterances that have no features, and why.
        sha256: Hash of the frames.
    """

    frames: NDArray[np.float32]
    ends: NDArray[np.int64]
    mean: Tensor
    deviation: Tensor
    names: tuple[str, ...]
    faults: tuple[Fault, ...]
    sha256: str

    @property
    def lengths(self) -> Tensor:
        """Frames (U) of each utterance."""
        return torch.from_numpy(np.diff(self.ends, prepend=0))

    def of(self, utterance: int) -> Tensor:
        """Returns the features (T, d) of an utterance, given by number."""
        begin = 0 if utterance == 0 else self.ends[utterance - 1]
        return torch.from_numpy(np.array(self.frames[begin : self.ends[utterance]]))


def compute(recording: Recording, rate: int | None, kind: FeatureKind) -> NDArray[np.float32]:
    """Features (T, d) of one recording; those that the corpus has in its place are left as they are.

    Raises:
        RecordingError: If it cannot be used, or has fewer than seven frames.
    """
    if isinstance(recording, np.ndarray):
        features = recording
    else:
        assert rate is not None
        wave = read_recording(recording, rate)
        parts = [log_mel(wave, rate, kind.mels), *([pitch_features(wave, rate)] if kind.pitch else [])]
        features = torch.cat(parts, dim=1).numpy()
    if len(features) < SHORTEST:
        raise RecordingError(f"it has {len(features)} frames of 10 ms, fewer than {SHORTEST}")
    return features


def cached_features(utterances: Sequence[Utterance], rate: int | None, kind: FeatureKind) -> Features:
    """Returns the features of utterances from the cache, or computes them and puts them there.

    The cache is the folder `features` of `squentropy.data.directories.cache_dir()`. A file's name is the hash of the
    names and bytes of all recordings and of the kind of features; its content is checked against the hash that was
    taken when it was written. Of several processes one computes and the others wait.

    Raises:
        DataError: If the file of the cache is damaged, or no utterance can be used.
    """
    from filelock import FileLock

    key = _key(utterances, rate, kind)
    path = cache_dir() / "features" / f"{key}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.with_suffix(".json").exists():
            _write(path, utterances, rate, kind)
    return _read(path)


def _key(utterances: Sequence[Utterance], rate: int | None, kind: FeatureKind) -> str:
    hashed = hashlib.sha256(json.dumps([_FORMAT, rate, asdict(kind)]).encode())
    for each in utterances:
        hashed.update(f"{each.name}\0{_hash_of(each.recording)}\0".encode())
    return hashed.hexdigest()


def _hash_of(recording: Recording) -> str:
    if isinstance(recording, Path):
        return sha256_of(recording)
    return hashlib.sha256(recording if isinstance(recording, bytes) else recording.tobytes()).hexdigest()


def _write(path: Path, utterances: Sequence[Utterance], rate: int | None, kind: FeatureKind) -> None:
    """Writes the frames, and then their description, whose presence says that the frames are whole."""
    names, ends, faults = [], [0], []
    total, squares, hashed = np.zeros(0), np.zeros(0), hashlib.sha256()
    with path.open("wb") as stream:
        for each in _told(utterances):
            try:
                features = compute(each.recording, rate, kind)
            except RecordingError as error:
                faults.append(Fault(each.name, str(error)))
                continue
            content = features.astype("<f4").tobytes()
            stream.write(content)
            hashed.update(content)
            names.append(each.name)
            ends.append(ends[-1] + len(features))
            exact = features.astype(np.float64)
            total = total + exact.sum(0) if len(total) else exact.sum(0)
            squares = squares + np.square(exact).sum(0) if len(squares) else np.square(exact).sum(0)
    if not names:
        raise DataError(f"none of {len(utterances)} utterances can be used: {faults[0].utterance} {faults[0].reason}")
    mean = total / ends[-1]
    deviation = np.sqrt((squares / ends[-1] - mean**2).clip(min=0.0))
    description = {
        "sha256": hashed.hexdigest(),
        "names": names,
        "ends": ends[1:],
        "mean": mean.tolist(),
        "deviation": np.where(deviation < 1e-6, 1.0, deviation).tolist(),
        "faults": faults,
    }
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(description), encoding="utf-8")
    os.replace(temporary, path.with_suffix(".json"))


def _told(utterances: Sequence[Utterance]) -> Iterator[Utterance]:
    """Goes through the utterances, and says from time to time how far it is."""
    last = time.monotonic()
    for number, each in enumerate(utterances):
        if time.monotonic() - last > _SECONDS_BETWEEN_MESSAGES:
            last = time.monotonic()
            print(f"features of {number:,} of {len(utterances):,} utterances", file=sys.stderr)
        yield each


def _read(path: Path) -> Features:
    description = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    if sha256_of(path) != description["sha256"]:
        raise DataError(f"{path} is damaged: remove it and {path.with_suffix('.json').name} beside it")
    mean = torch.tensor(description["mean"], dtype=torch.float32)
    return Features(
        frames=np.memmap(path, dtype="<f4", mode="r").reshape(-1, len(mean)),
        ends=np.array(description["ends"], dtype=np.int64),
        mean=mean,
        deviation=torch.tensor(description["deviation"], dtype=torch.float32),
        names=tuple(description["names"]),
        faults=tuple(Fault(*each) for each in description["faults"]),
        sha256=description["sha256"],
    )
