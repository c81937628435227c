"""Free recordings that stand in for the licensed corpora at scale `small`."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from squentropy.data.errors import DataError
from squentropy.data.speech.corpus import Recording, SpeechCorpus, Utterance, divided, of_letters

PROMPTS_RATE, FESTVOX_RATE = 8_000, 16_000
_AN4_VALIDATION = 10  # every tenth speaker of the training part


def read_an4(content: bytes) -> SpeechCorpus:
    """Reads the compact AN4: spelled words and numbers, as 13 MFCC a frame in place of sound."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            train, test = (list(_an4_utterances(dict(file), part)) for part in ("train", "test"))
    except (KeyError, ValueError, OSError) as error:
        raise DataError(f"the compact file of AN4 cannot be read ({error}); fetch it again") from error
    speakers = sorted({_an4_speaker(each) for each in train})
    held_out = set(speakers[::_AN4_VALIDATION])
    return SpeechCorpus(
        "AN4 (13 MFCC)",
        None,
        tuple(each for each in train if _an4_speaker(each) not in held_out),
        tuple(each for each in train if _an4_speaker(each) in held_out),
        tuple(test),
    )


def _an4_utterances(file: dict[str, np.ndarray], part: str) -> Iterator[Utterance]:
    frames = np.split(file[f"{part}_feat"].astype(np.float32), np.cumsum(file[f"{part}_len"])[:-1])
    for name, features, text in zip(file[f"{part}_id"], frames, file[f"{part}_text"], strict=True):
        yield Utterance(str(name), features, " ".join(str(text).lower().split()))


def _an4_speaker(utterance: Utterance) -> str:
    return utterance.name.split("/")[1]


def read_prompts(sounds: Path, transcripts: Path) -> SpeechCorpus:
    """Reads Debian's English telephone prompts: 8 kHz, one speaker; transcripts are lines `name: text`.

    Sounds that are no speech, described in brackets, are left out. A text that was recorded twice is in one part only.
    """
    opened = gzip.open if transcripts.suffix == ".gz" else open
    with opened(transcripts, "rt", encoding="utf-8") as stream:
        lines = [line.partition(":") for line in stream if not line.startswith(";") and ":" in line]
    said = {name.strip(): of_letters(re.sub(r"\[[^]]*\]", "", text)) for name, _, text in lines}
    said = {name: text for name, text in said.items() if text}
    place = {text: number for number, text in enumerate(sorted(set(said.values())))}
    recordings: dict[str, Recording] = {name: path for name in said if (path := sounds / f"{name}.wav").is_file()}
    return divided("English prompts", PROMPTS_RATE, recordings, said, lambda name: _taking_turns(place[said[name]]))


def read_festvox(root: Path, units: str) -> SpeechCorpus:
    """Reads Debian's Russian voice: sentences of one speaker, phones in `lab/*.lab`, words in `etc/txt.done.data`."""
    recordings: dict[str, Recording] = {path.stem: path for path in sorted((root / "wav").glob("*.wav"))}
    if units == "phones":
        said = {path.stem: _labels(path) for path in sorted((root / "lab").glob("*.lab"))}
    else:
        text = (root / "etc" / "txt.done.data").read_text(encoding="utf-8")
        lines = re.findall(r'^\(\s*(\S+)\s+"(.*)"\s*\)', text, re.MULTILINE)
        said = {name: of_letters(words.replace("+", "")) for name, words in lines}  # + stands before a stressed vowel
    place = {name: number for number, name in enumerate(sorted(said))}
    return divided("festvox-ru", FESTVOX_RATE, recordings, said, lambda name: _taking_turns(place.get(name, 0)))


def _labels(path: Path) -> str:
    """The phones of lines `end colour phone` after a line `#`."""
    _, _, lines = path.read_text(encoding="utf-8").partition("#")
    return " ".join(line.split()[-1] for line in lines.splitlines() if line.strip())


def _taking_turns(number: int) -> str:
    """One in ten to test on, one in twenty to validate on."""
    return {0: "test", 10: "test", 5: "validation"}.get(number % 20, "train")
