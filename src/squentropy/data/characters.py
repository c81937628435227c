"""Corpora of characters: text8 and enwik8, raw, as the published zip file, or the beginning of them."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from squentropy.data.archive import Archive
from squentropy.data.directories import data_directories
from squentropy.data.download import check_sha256
from squentropy.data.errors import DataError, MissingDataError
from squentropy.data.manifest import MANIFEST

#: Bytes of the whole corpora.
WHOLE = 100_000_000
_SIZES = {"charlm/text8": "31 MB", "charlm/enwik8": "36 MB"}
_ALPHABETS = {"charlm/text8": b" abcdefghijklmnopqrstuvwxyz"}


@dataclass(frozen=True)
class Corpus:
    """A text as one sequence of symbols.

    Attributes:
        name: Name for the record.
        symbols: The bytes that occur, in ascending order.
        codes: The text (N,), each byte as its place in `symbols`.

    Examples:
        >>> corpus = Corpus.from_bytes("abc", b"abacab")
        >>> corpus.symbols, corpus.codes.tolist()
        (b'abc', [0, 1, 0, 2, 0, 1])
    """

    name: str
    symbols: bytes
    codes: NDArray[np.uint8]

    @classmethod
    def from_bytes(cls, name: str, text: bytes) -> Corpus:
        """Numbers the bytes that occur in a text."""
        content = np.frombuffer(text, dtype=np.uint8)
        occurs = np.bincount(content, minlength=256) > 0
        return cls(name, bytes(np.flatnonzero(occurs).tolist()), (np.cumsum(occurs) - 1).astype(np.uint8)[content])


def load_corpus(name: str, data_dir: Path | None = None, *, first: int | None = None) -> Corpus:
    """Loads a corpus of the manifest.

    It is looked for in the data directory and then in the cache, as the raw file `text8`, the published `text8.zip` or
    the compact file of the manifest, in the folder `charlm` or beside it.

    Args:
        name: "charlm/text8" or "charlm/enwik8".
        data_dir: The user's data directory; the one in `SQUENTROPY_DATA` if None.
        first: How many bytes are wanted of the beginning, which may be all that the file has; all 100,000,000 if None.

    Raises:
        MissingDataError: No copy is at hand, or only the beginning of one where the whole is asked for.
        DataError: The copy is damaged, or has bytes that text8 cannot have.
    """
    if name not in _SIZES:
        raise DataError(f"{name!r} is no corpus of characters: choose among {', '.join(_SIZES)}")
    wanted = WHOLE if first is None else first
    too_short = None
    for directory in data_directories(data_dir):
        for path in _candidates(directory, name):
            text = _read(name, path)
            if len(text) >= wanted:
                return Corpus.from_bytes(name, _checked(name, path, text[:wanted]))
            too_short = f"{path} has {len(text):,} of the {wanted:,} bytes of {name} that are needed"
    about, problem = MANIFEST[name], too_short or f"{name} is not at hand"
    archive = f"{name.rpartition('/')[2]}.zip"
    raise MissingDataError(
        f"{problem}: put {archive} from {about.source} ({_SIZES[name]}; {about.licence}) into a directory and name it "
        f"with --data or SQUENTROPY_DATA, or run `squentropy data fetch {name}`"
    )


def is_corpus_at_hand(name: str, data_dir: Path | None = None) -> bool:
    """Whether there is a copy of a corpus, whole or its beginning."""
    return any(_candidates(directory, name) for directory in data_directories(data_dir))


def _candidates(directory: Path, name: str) -> list[Path]:
    last = name.rpartition("/")[2]
    compact = [directory / file.path for file in MANIFEST[name].files if file.form == "compact"]
    places = [directory / "charlm" / last, directory / last]
    found = [*places, *(place.with_name(f"{last}.zip") for place in places), *compact]
    return [path for path in found if path.is_file()]


def _read(name: str, path: Path) -> bytes:
    if path.suffix == ".zip":
        with Archive(path) as archive:
            return archive.read(name.rpartition("/")[2])
    if path.suffix == ".xz":
        (expected,) = (file.sha256 for file in MANIFEST[name].files if file.form == "compact")
        check_sha256(path, str(expected))
        return lzma.decompress(path.read_bytes())
    return path.read_bytes()


def _checked(name: str, path: Path, text: bytes) -> bytes:
    foreign = set(text) - set(_ALPHABETS.get(name, text))
    if foreign:
        position = min(map(text.index, map(lambda byte: bytes([byte]), foreign)))
        raise DataError(
            f"{path}: byte {position} is 0x{text[position]:02x}, but text8 has only a to z and space; fetch it again"
        )
    return text
