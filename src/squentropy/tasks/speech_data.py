"""Speech as data to train on: features and numbered transcripts in batches of utterances of like length."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from squentropy.data.errors import DataError
from squentropy.data.speech.corpora import load_speech
from squentropy.data.speech.corpus import Fault, SpeechCorpus, Utterance, described
from squentropy.data.speech.features import FeatureKind, Features, cached_features
from squentropy.data.speech.units import UNKNOWN, Subwords, Symbols, Units
from squentropy.study import Recipe, Shard

_LENGTHS_DIFFER_BY = 0.1  # at random, so that a batch is not the same in every epoch


class SpeechBatch(NamedTuple):
    """Some utterances.

    Attributes:
        features: Features (B, T, d), zero behind the end of each.
        lengths: Frames (B) of each.
        transcripts: Numbers of the symbols of each.
        rows: Which utterances of their part they are.
    """

    features: Tensor
    lengths: Tensor
    transcripts: list[Tensor]
    rows: Tensor


@dataclass(frozen=True)
class Speech:
    """One part of a corpus.

    Attributes:
        features: Of all utterances of the part.
        chosen: Which of these are used (U).
        references: Their transcripts.
        symbols: The numbers of these.
        mean: Mean (d) of the features in training.
        deviation: Their standard deviation (d) there.
        stack: How many frames in a row are made one, with all their features; those left over at the end are dropped.
    """

    features: Features
    chosen: tuple[int, ...]
    references: tuple[str, ...]
    symbols: tuple[Tensor, ...]
    mean: Tensor
    deviation: Tensor
    stack: int = 1

    @cached_property
    def lengths(self) -> Tensor:
        """Frames (U) of each utterance."""
        return self.features.lengths[list(self.chosen)] // self.stack

    def batch(self, rows: Tensor) -> SpeechBatch:
        """Reads utterances from disk, with mean 0 and deviation 1 of each feature over the training part."""
        features = [self._read(self.chosen[row]) for row in rows.tolist()]
        return SpeechBatch(
            pad_sequence(features, batch_first=True),
            torch.tensor([len(each) for each in features]),
            [self.symbols[row] for row in rows.tolist()],
            rows,
        )

    def _read(self, utterance: int) -> Tensor:
        features = (self.features.of(utterance) - self.mean) / self.deviation
        whole = len(features) // self.stack * self.stack
        return features[:whole].reshape(-1, self.stack * features.shape[1])


@dataclass(frozen=True, kw_only=True)
class SpeechData:
    """A corpus as the study engine takes it; its rows are utterances, its classes symbols.

    Attributes:
        name: Name for the record.
        sha256: Hash of features and transcripts, for the record.
        units: What transcripts are made of.
        train: Utterances to train on.
        validation: Utterances to fit a temperature on.
        test: Utterances to test on.
    """

    name: str
    sha256: str
    units: Units
    train: Speech
    validation: Speech
    test: Speech

    @property
    def num_classes(self) -> int:
        """Symbols, those without a sound included."""
        return self.units.count

    @property
    def num_features(self) -> int:
        """Features of a frame."""
        return self.train.stack * len(self.train.mean)

    @property
    def train_rows(self) -> int:
        """Utterances to train on."""
        return len(self.train.references)

    @property
    def test_rows(self) -> int:
        """Utterances to test on."""
        return len(self.test.references)

    def steps(self, recipe: Recipe) -> int:
        """Returns the number of batches in one epoch."""
        return len(batch_sizes(self.train.lengths, recipe.batch_size, _most_frames(recipe)))

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[SpeechBatch]]:
        """Yields one epoch: utterances of like length together, batches in random order."""
        for rows in length_buckets(self.train.lengths, recipe.batch_size, generator, _most_frames(recipe)):
            parts = shard.of(rows).tensor_split(recipe.accumulate)
            yield [self.train.batch(part) for part in parts if len(part)]

    def test_batches(self, recipe: Recipe) -> Iterator[SpeechBatch]:
        """Yields the test part from the shortest utterance to the longest."""
        return _by_length(self.test, recipe)

    def validation_batches(self, recipe: Recipe) -> Iterator[SpeechBatch]:
        """Yields the validation part from the shortest utterance to the longest."""
        return _by_length(self.validation, recipe)


def _by_length(part: Speech, recipe: Recipe) -> Iterator[SpeechBatch]:
    sizes = batch_sizes(part.lengths, recipe.batch_size, _most_frames(recipe))
    return (part.batch(rows) for rows in torch.split(part.lengths.argsort(stable=True), sizes))


def _most_frames(recipe: Recipe) -> int | None:
    most: Any = recipe.options.get("frames")
    return None if most is None else int(most)


def batch_sizes(lengths: Tensor, batch_size: int, most_frames: int | None = None) -> list[int]:
    """Sizes of the batches of utterances that stand in the order of their lengths.

    A batch has at most `batch_size` utterances, and fewer where these, padded to the longest, would be more than
    `most_frames` frames.

    Examples:
        >>> batch_sizes(torch.tensor([5, 90, 10, 8, 7]), 3, most_frames=100)
        [3, 1, 1]
    """
    sizes = [0]
    for length in lengths.sort().values.tolist():
        frames = (sizes[-1] + 1) * length
        if sizes[-1] and (sizes[-1] == batch_size or (most_frames is not None and frames > most_frames)):
            sizes.append(0)
        sizes[-1] += 1
    return sizes


def length_buckets(
    lengths: Tensor, batch_size: int, generator: torch.Generator, most_frames: int | None = None
) -> list[Tensor]:
    """Divides utterances into batches of like length, in random order.

    Before they are sorted each length is changed at random by up to a tenth: batches differ from epoch to epoch, their
    sizes do not.

    Examples:
        >>> lengths = torch.tensor([30, 10, 90, 11, 31, 92])
        >>> batches = length_buckets(lengths, 2, torch.Generator().manual_seed(0))
        >>> sorted(sorted(lengths[rows].tolist()) for rows in batches)
        [[10, 11], [30, 31], [90, 92]]
    """
    noise = 1 + _LENGTHS_DIFFER_BY * (2 * torch.rand(len(lengths), generator=generator) - 1)
    batches = torch.split((lengths * noise).argsort(), batch_sizes(lengths, batch_size, most_frames))
    return [batches[number] for number in torch.randperm(len(batches), generator=generator).tolist()]


def load(scale: str, data_dir: Path | None, *, recipes: Mapping[str, Recipe]) -> SpeechData:
    """Loads the corpus of a scale.

    The recipe's options say which: `corpus` is a name of the manifest; `units` is "phones", "characters" or a number of
    sub-words; `mels` and `pitch` are the features, of `stack` frames together; utterances of more than `longest` frames
    are not trained on.
    """
    options: Any = recipes[scale].options
    units: str | int = options["units"]
    corpus = load_speech(options["corpus"], "phones" if units == "phones" else "words", data_dir)
    kind = FeatureKind(options.get("mels", 80), options.get("pitch", True))
    return prepare(corpus, units, kind, stack=options.get("stack", 1), longest=options.get("longest"))


def prepare(
    corpus: SpeechCorpus, units: str | int, kind: FeatureKind, *, stack: int = 1, longest: int | None = None
) -> SpeechData:
    """Computes the features of a corpus, and numbers its symbols.

    What cannot be used is left out, with a warning that counts it and names the first. A symbol of the test part that
    training has not is the unknown one, and so an error of each transcript.
    """
    parts = {part: getattr(corpus, part) for part in ("train", "validation", "test")}
    features = {part: cached_features(utterances, corpus.rate, kind) for part, utterances in parts.items()}
    numbered = _units(units, (each.transcript for each in _used(corpus.train, features["train"], longest)))
    mean, deviation = features["train"].mean, features["train"].deviation
    made = {
        part: _part(utterances, features[part], numbered, mean, deviation, stack, longest if part == "train" else None)
        for part, utterances in parts.items()
    }
    faults = [*corpus.faults, *(fault for each in features.values() for fault in each.faults)]
    faults += _too_long(corpus.train, features["train"], longest)
    _tell(corpus.name, faults, made)
    left_out = f", {len(faults)} left out" if faults else ""
    return SpeechData(
        name=f"{corpus.name}, {len(made['train'].chosen)} + {len(made['test'].chosen)} utterances{left_out}",
        sha256=_hash(made, kind),
        units=numbered,
        **made,
    )


def _units(units: str | int, transcripts: Iterable[str]) -> Units:
    if isinstance(units, int):
        return Subwords.of(transcripts, units)
    separators = {"phones": " ", "characters": ""}
    if units not in separators:
        raise ValueError(f"units must be 'phones', 'characters' or a number of sub-words, got {units!r}")
    return Symbols.of(transcripts, separators[units])


def _used(utterances: Iterable[Utterance], features: Features, longest: int | None) -> list[Utterance]:
    by_name = {each.name: each for each in utterances}
    return [
        by_name[name]
        for name, length in zip(features.names, features.lengths.tolist(), strict=True)
        if length <= (longest or math.inf)
    ]


def _too_long(utterances: Iterable[Utterance], features: Features, longest: int | None) -> list[Fault]:
    used = {each.name for each in _used(utterances, features, longest)}
    return [
        Fault(name, f"it has {length} frames, more than {longest}")
        for name, length in zip(features.names, features.lengths.tolist(), strict=True)
        if name not in used
    ]


def _part(
    utterances: Sequence[Utterance],
    features: Features,
    units: Units,
    mean: Tensor,
    deviation: Tensor,
    stack: int,
    longest: int | None,
) -> Speech:
    used = _used(utterances, features, longest)
    if not used:
        raise DataError(f"no utterance has at most {longest} frames: raise the recipe's option longest")
    places = {name: place for place, name in enumerate(features.names)}
    return Speech(
        features,
        tuple(places[each.name] for each in used),
        tuple(each.transcript for each in used),
        tuple(torch.tensor(units.encode(each.transcript)) for each in used),
        mean,
        deviation,
        stack,
    )


def _tell(name: str, faults: Sequence[Fault], parts: Mapping[str, Speech]) -> None:
    """Warns of what is left out, and of symbols that training has not."""
    if faults:
        warnings.warn(f"{name}: {described(faults)}", stacklevel=2)
    for part, speech in parts.items():
        unknown = [
            reference
            for reference, symbols in zip(speech.references, speech.symbols, strict=True)
            if (symbols == UNKNOWN).any()
        ]
        if unknown:
            warnings.warn(
                f"{name}: {len(unknown)} transcripts of the {part} part have symbols that training has not, such as "
                f"{unknown[0]!r}; there they count as errors",
                stacklevel=2,
            )


def _hash(parts: Mapping[str, Speech], kind: FeatureKind) -> str:
    hashed = hashlib.sha256(repr(kind).encode())
    for each in parts.values():
        hashed.update(f"{each.features.sha256} {each.chosen}".encode())
        hashed.update("\0".join(each.references).encode())
    return hashed.hexdigest()
