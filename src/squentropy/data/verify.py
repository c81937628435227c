"""Verifying: the copies at hand against the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from squentropy.data.characters import is_corpus_at_hand
from squentropy.data.directories import find
from squentropy.data.download import sha256_of
from squentropy.data.errors import DataError, WrongHashError
from squentropy.data.image_sets import LAYOUTS, are_images_at_hand
from squentropy.data.load import find_copy, load_tabular
from squentropy.data.manifest import DataSet
from squentropy.data.speech.corpora import PLACES, find_speech, load_speech
from squentropy.data.speech.corpus import described
from squentropy.data.text_sets import are_texts_at_hand


@dataclass(frozen=True)
class Verdict:
    """What checking one data set found.

    Attributes:
        name: The data set.
        status: ``right``, ``wrong``, ``unknown`` (read without fault, but there is no hash to compare with) or
            ``missing``.
        detail: What is wrong, or where to get what is missing.
    """

    name: str
    status: str
    detail: str = ""


def is_at_hand(data_set: DataSet, data_dir: Path | None = None) -> bool:
    """Whether there is a copy of a data set, right or wrong.

    Examples:
        >>> from squentropy.data import MANIFEST
        >>> is_at_hand(MANIFEST["sklearn/iris"])
        True
    """
    if data_set.collection == "sklearn":
        return True
    if data_set.collection == "uci121":
        return find_copy(data_set, data_dir) is not None
    if data_set.name in LAYOUTS:
        return are_images_at_hand(data_set.name, data_dir)
    if data_set.collection in ("glue", "20news"):
        return are_texts_at_hand(data_set.name, data_dir)
    if data_set.collection == "charlm":
        return is_corpus_at_hand(data_set.name, data_dir)
    if data_set.name in PLACES:
        return find_speech(data_set.name, data_dir) is not None
    return bool(_files_at_hand(data_set, data_dir))


def verify(data_set: DataSet, data_dir: Path | None = None) -> Verdict:
    """Check a data set: the values of a tabular one, the utterances of a corpus of speech, the files of any other.

    Examples:
        >>> from squentropy.data import MANIFEST
        >>> verify(MANIFEST["sklearn/iris"]).status
        'right'
    """
    if not is_at_hand(data_set, data_dir):
        return Verdict(data_set.name, "missing", data_set.source)
    known, detail = True, ""
    try:
        if data_set.collection in ("sklearn", "uci121"):
            load_tabular(data_set.name, data_dir)
            known = data_set.content_sha256 is not None or _is_compact(data_set, data_dir)
        elif data_set.name in PLACES:
            corpus = load_speech(data_set.name, "words", data_dir)
            known, detail = corpus.is_checked, described(corpus.faults) if corpus.faults else ""
        else:
            files = _files_at_hand(data_set, data_dir)
            for path, copy in files.items():
                _check_file(data_set, path, copy)
            known = bool(files) and all(any(_hashes(data_set, path)) for path in files)
    except DataError as error:
        return Verdict(data_set.name, "wrong", str(error))
    return Verdict(data_set.name, "right" if known else "unknown", detail)


def _is_compact(data_set: DataSet, data_dir: Path | None) -> bool:
    copy = find_copy(data_set, data_dir)
    return copy is not None and copy.suffix == ".npz"


def _files_at_hand(data_set: DataSet, data_dir: Path | None) -> dict[str, Path]:
    """The files of the first form of which all are there, by their path in the manifest."""
    for form in dict.fromkeys(file.form for file in data_set.files):
        wanted = [file.path for file in data_set.files if file.form == form]
        found = {path: copy for path in wanted if (copy := find(path, data_dir))}
        if len(found) == len(wanted):
            return found
    return {}


def _check_file(data_set: DataSet, path: str, copy: Path) -> None:
    expected = _hashes(data_set, path)
    found = sha256_of(copy)
    if expected and found not in expected:
        raise WrongHashError(f"{copy} has SHA-256 {found}, the manifest says {' or '.join(expected)}")


def _hashes(data_set: DataSet, path: str) -> list[str]:
    """The hashes that a file may have; none where no copy was at hand to take one from."""
    return [file.sha256 for file in data_set.files if file.path == path and file.sha256 is not None]
