"""A corpus of speech: its utterances, in parts to train and to test on, and what was wrong with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from squentropy.data.errors import DataError

#: A file, its content, or features (N, d) that a corpus has in place of sound.
Recording: TypeAlias = Path | bytes | NDArray[np.float32]


class Utterance(NamedTuple):
    """One recording with what was said.

    Attributes:
        name: Unique in its corpus.
        recording: Its sound.
        transcript: Words, or phones, with single spaces between them.
    """

    name: str
    recording: Recording
    transcript: str


class Fault(NamedTuple):
    """An utterance that is left out, and why."""

    utterance: str
    reason: str


@dataclass(frozen=True)
class SpeechCorpus:
    """Utterances to train on, to choose by and to test on.

    Attributes:
        name: Name for the record.
        rate: Samples in a second; None where there are features instead.
        train: Utterances to train on.
        validation: Utterances to fit a temperature on.
        test: Utterances to test on.
        faults: Those that were left out.
        is_checked: Whether the files have the hashes of the manifest.
    """

    name: str
    rate: int | None
    train: tuple[Utterance, ...]
    validation: tuple[Utterance, ...]
    test: tuple[Utterance, ...]
    faults: tuple[Fault, ...] = ()
    is_checked: bool = False

    def __post_init__(self) -> None:
        for part in ("train", "validation", "test"):
            if not getattr(self, part):
                causes = f"; {described(self.faults)}" if self.faults else ""
                raise DataError(f"{self.name}: the {part} part has no utterances; look at its files{causes}")


def divided(
    name: str,
    rate: int,
    recordings: Mapping[str, Recording],
    transcripts: Mapping[str, str],
    part_of: Callable[[str], str | None],
    faults: Iterable[Fault] = (),
) -> SpeechCorpus:
    """Joins recordings and transcripts, and divides them into parts.

    Args:
        name: Of the corpus.
        rate: Samples in a second.
        recordings: By name of the utterance.
        transcripts: By name of the utterance; one without any symbol is a fault.
        part_of: "train", "validation" or "test" for an utterance; None if it belongs to no part.
        faults: Utterances that are left out already.

    Examples:
        >>> recordings = {"a": b"1", "b": b"2", "c": b"3", "d": b"4"}
        >>> parts = {"a": "train", "b": "validation", "c": "test", "d": "test"}
        >>> corpus = divided("letters", 16000, recordings, {"a": "A", "b": "B", "c": "C"}, parts.get)
        >>> [each.transcript for each in corpus.test], corpus.faults
        (['C'], (Fault(utterance='d', reason='there is no transcript'),))
    """
    parts: dict[str, list[Utterance]] = {"train": [], "validation": [], "test": []}
    faults = list(faults)
    known = {fault.utterance for fault in faults}
    for each in sorted({*recordings, *transcripts} - known):
        part = part_of(each)
        if part is None:
            continue
        if each not in recordings:
            faults.append(Fault(each, "there is no recording"))
        elif each not in transcripts:
            faults.append(Fault(each, "there is no transcript"))
        elif not transcripts[each].strip():
            faults.append(Fault(each, "the transcript is empty"))
        else:
            parts[part].append(Utterance(each, recordings[each], transcripts[each]))
    train, validation, test = map(tuple, parts.values())
    return SpeechCorpus(name, rate, train, validation, test, tuple(faults))


def described(faults: Iterable[Fault], most: int = 5) -> str:
    """How many utterances are left out, and the first of them with the reasons.

    Examples:
        >>> described([Fault("sx3", "the file is empty"), Fault("sx9", "it has 2 channels, not one")], most=1)
        '2 utterances are left out: sx3 (the file is empty), ...'
    """
    faults = list(faults)
    shown = ", ".join(f"{each.utterance} ({each.reason})" for each in faults[:most])
    count = "1 utterance is" if len(faults) == 1 else f"{len(faults)} utterances are"
    return f"{count} left out: {shown}{', ...' if len(faults) > most else ''}"


def of_letters(text: str) -> str:
    """A text in small letters, with single spaces for all that is neither letter nor apostrophe.

    Examples:
        >>> of_letters('Followed by the "pound" key -- don\\'t!')
        "followed by the pound key don't"
    """
    kept = "".join(character if character.isalpha() or character == "'" else " " for character in text.lower())
    return " ".join(kept.split())
