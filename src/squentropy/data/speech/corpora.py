"""One way in to the corpora of speech: by name, from wherever the user has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from squentropy.data.archive import Archive
from squentropy.data.directories import data_directories
from squentropy.data.download import check_sha256
from squentropy.data.errors import DataError, MissingDataError
from squentropy.data.manifest import MANIFEST
from squentropy.data.speech.corpus import SpeechCorpus
from squentropy.data.speech.librispeech import PARTS, read_librispeech
from squentropy.data.speech.stand_ins import read_an4, read_festvox, read_prompts
from squentropy.data.speech.timit import Units, read_sample, read_timit
from squentropy.data.speech.wsj import read_wsj

INSTALLED = Path("/usr/share")
"""Where Debian's packages put their sounds and voices."""

_VOICE = "festival/voices/russian/msu_ru_nsh_clunits"
_SOUNDS, _SOUNDS_SAID = "asterisk/sounds/en_US_f_Allison", "doc/asterisk-core-sounds-en/core-sounds-en.txt.gz"


class Place(NamedTuple):
    """How a corpus is found, read and asked for.

    Attributes:
        copies: Where it may be in a directory.
        is_copy: Whether something is there that can be read.
        read: Reads it in words or phones.
        cure: What to do if it is not at hand.
    """

    copies: tuple[str, ...]
    is_copy: Callable[[Path], bool]
    read: Callable[[Path, Units], SpeechCorpus]
    cure: str


def load_speech(name: str, units: Units, data_dir: Path | None = None) -> SpeechCorpus:
    """Loads a corpus of the manifest.

    Args:
        name: Such as "speech/timit"; `squentropy data list speech` shows them.
        units: "words" or "phones", which only TIMIT, its sample and festvox-ru have.
        data_dir: The user's data directory; the one in `SQUENTROPY_DATA` if None.

    Raises:
        MissingDataError: No copy is at hand; the message says where to get one.
        DataError: The copy cannot be read.

    Examples:
        >>> load_speech("speech/switchboard", "words")
        Traceback (most recent call last):
        squentropy.data.errors.DataError: 'speech/switchboard' is no corpus of speech: choose among speech/timit, ...
    """
    if name not in PLACES:
        raise DataError(f"{name!r} is no corpus of speech: choose among {', '.join(PLACES)}")
    place = PLACES[name]
    copy = find_speech(name, data_dir)
    if copy is None:
        raise MissingDataError(f"{name} is not at hand: {place.cure}")
    return place.read(copy, units)


def find_speech(name: str, data_dir: Path | None = None) -> Path | None:
    """The first copy of a corpus in the data directory, in the cache or where a package has installed it, or None."""
    place = PLACES[name]
    return next((path for path in _candidates(place, data_dir) if place.is_copy(path)), None)


def _candidates(place: Place, data_dir: Path | None) -> Iterator[Path]:
    for directory in (*data_directories(data_dir), INSTALLED):
        for copy in place.copies:
            yield directory / copy


def _has_parts(*parts: str) -> Callable[[Path], bool]:
    def has(folder: Path) -> bool:
        names = {each.name.lower() for each in folder.iterdir() if each.is_dir()} if folder.is_dir() else set()
        return names >= set(parts)

    return has


def _read_sample(path: Path, units: Units) -> SpeechCorpus:
    is_compact = _is_checked("speech/timit-sample", path)
    with Archive(path) as archive:
        return replace(read_sample(archive, units), is_checked=is_compact)


def _read_an4(path: Path, units: Units) -> SpeechCorpus:
    return replace(read_an4(path.read_bytes()), is_checked=_is_checked("speech/an4", path))


def _is_checked(name: str, path: Path) -> bool:
    """Checks a file of the manifest against its hash; False for a file that the manifest has not."""
    expected = [file.sha256 for file in MANIFEST[name].files if Path(file.path).name == path.name]
    for each in filter(None, expected):
        check_sha256(path, each)
    return any(expected)


def _read_prompts(path: Path, units: Units) -> SpeechCorpus:
    beside = path / "core-sounds-en.txt"
    return read_prompts(path, beside if beside.is_file() else INSTALLED / _SOUNDS_SAID)


_OWN = "into a directory, and name that with --data or SQUENTROPY_DATA"
PLACES = {
    "speech/timit": Place(
        ("TIMIT", "timit", "TIMIT/TIMIT", "timit/TIMIT", "timit/timit"),
        _has_parts("train", "test"),
        read_timit,
        f"the LDC licenses it (https://catalog.ldc.upenn.edu/LDC93S1); copy its folder TIMIT {_OWN}",
    ),
    "speech/wsj": Place(
        ("wsj", "WSJ", "csr_1_2"),
        Path.is_dir,
        lambda path, units: read_wsj(path),
        "the LDC licenses it (https://catalog.ldc.upenn.edu/LDC93S6A and LDC94S13A); copy the discs of both into the "
        f"folder wsj, and this {_OWN}",
    ),
    "speech/librispeech": Place(
        ("LibriSpeech", "librispeech", "librispeech/LibriSpeech"),
        _has_parts(*PARTS),
        lambda path, units: read_librispeech(path),
        f"unpack {', '.join(f'{part}.tar.gz' for part in PARTS)} of https://www.openslr.org/12 (7 GB) {_OWN}",
    ),
    "speech/timit-sample": Place(
        ("speech/timit_nltk_sample.tar.xz", "timit_nltk_sample.tar.xz", "corpora/timit.zip", "timit.zip"),
        Path.is_file,
        _read_sample,
        f"put timit.zip of https://www.nltk.org/nltk_data/ (22 MB) {_OWN}",
    ),
    "speech/an4": Place(
        ("speech/an4_mfcc.npz", "an4_mfcc.npz"),
        Path.is_file,
        _read_an4,
        f"put the compact file an4_mfcc.npz {_OWN}",
    ),
    "speech/prompts-en": Place(
        (_SOUNDS, "asterisk-core-sounds-en"),
        _has_parts("digits", "letters"),
        _read_prompts,
        "install Debian's packages asterisk-core-sounds-en and asterisk-core-sounds-en-wav, or put the sounds and "
        f"core-sounds-en.txt in a folder asterisk-core-sounds-en {_OWN}",
    ),
    "speech/festvox-ru": Place(
        (_VOICE, "festvox-ru"),
        _has_parts("wav", "lab", "etc"),
        read_festvox,
        f"install Debian's package festvox-ru, or put its folders wav, lab and etc in a folder festvox-ru {_OWN}",
    ),
}
"""The corpora by name."""
