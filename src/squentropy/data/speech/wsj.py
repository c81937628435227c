"""The Wall Street Journal corpus (LDC93S6, LDC94S13): its discs with SPHERE files, indices and transcripts.

The parts are those of Kaldi's recipe: SI-284 to train on, the development set of Hub 1 of November 1993, and the test
of November 1992 with 20,000 words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from squentropy.data.errors import DataError
from squentropy.data.speech.corpus import Recording, SpeechCorpus, divided

RATE = 16_000
NOISE = "<NOISE>"
_MISSING_FOLDER = "si_tr_s/401/"  # the index names it, but it is not on the discs


class Index(NamedTuple):
    """One of the lists of files that make a part, by the end of its path."""

    path: str
    part: str


INDICES = (
    Index("wsj0/doc/indices/train/tr_s_wv1.ndx", "train"),
    Index("wsj1/doc/indices/si_tr_s.ndx", "train"),
    Index("wsj1/doc/indices/h1_p0.ndx", "validation"),
    Index("wsj0/doc/indices/test/nvp/si_et_20.ndx", "test"),
)


def read_wsj(root: Path) -> SpeechCorpus:
    """Reads a folder with all discs of both corpora in it, each in a folder of its own or all in one."""
    files: dict[str, list[Path]] = {"ndx": [], "wv1": [], "dot": [], "lsn": []}
    for path in sorted(root.rglob("*")):
        kind = path.suffix[1:].lower()
        if kind in files and path.is_file():
            files[kind].append(path)
    parts: dict[str, str] = {}
    for index in INDICES:
        parts |= dict.fromkeys(_listed(_find(index.path, files["ndx"], root)), index.part)
    recordings: dict[str, Recording] = {_key(path.as_posix()): path for path in files["wv1"]}
    # An utterance's transcript has its last name only; a detailed one is taken before one without noises.
    said = {**_transcripts(files["lsn"]), **_transcripts(files["dot"])}
    transcripts = {key: said[name] for key in parts if (name := key.rpartition("/")[2]) in said}
    return divided("WSJ", RATE, recordings, transcripts, parts.get)


def _find(path: str, indices: Iterable[Path], root: Path) -> Path:
    for each in indices:
        if each.as_posix().lower().endswith(f"/{path}"):
            return each
    raise DataError(f"{root} has no index {path}: copy the folders `doc` of the discs, too")


def _key(path: str) -> str:
    """The folder, the speaker and the name of a file: `si_tr_s/01i/01ic0201`."""
    return "/".join(path.lower().removesuffix(".wv1").split("/")[-3:])


def _listed(index: Path) -> Iterator[str]:
    """The files that lines `disc: folder/file` name, with or without `.wv1`; others are comments."""
    for line in index.read_text(encoding="ascii", errors="replace").splitlines():
        disc, _, path = line.strip().partition(":")
        if path and not disc.startswith(";"):
            key = _key(path.strip())
            if not key.startswith(_MISSING_FOLDER):
                yield key


def _transcripts(files: Iterable[Path]) -> Mapping[str, str]:
    """Lines `words (utterance)`."""
    found = {}
    for path in files:
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            said = re.fullmatch(r"(.*)\((\w+)\)\s*", line)
            if said:
                found[said[2].lower()] = normalised(said[1])
    return found


def normalised(transcript: str) -> str:
    """A transcript as Kaldi's recipe has it: capitals, one word for every noise, no marks of pauses and of cuts.

    Examples:
        >>> normalised(r"Mr\\\\. Smith's [loud_breath] firm . <and> [door_slam>] ~ %PERCENT --DASH")
        "MR. SMITH'S <NOISE> FIRM AND PERCENT -DASH"
    """
    return " ".join(filter(None, (_word(word) for word in transcript.upper().replace("\\", "").split())))


_WORDS = {"%PERCENT": "PERCENT", ".POINT": "POINT", "--DASH": "-DASH", "~": None, ".": None}


def _word(word: str) -> str | None:
    if word in _WORDS:
        return _WORDS[word]
    # A noise in the neighbouring word, or the beginning or the end of a longer one, is no noise between words.
    if re.fullmatch(r"\[(<\w+|\w+>|\w+/|/\w+)\]", word):
        return None
    if re.search(r"\[\w+\]", word):
        return NOISE
    cut = re.fullmatch(r"<([\w']+)>", word)  # said, although the sentence does not have it
    return cut[1] if cut else word
