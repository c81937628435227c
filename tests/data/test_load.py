"""One way in: the user's directory before the cache, every form of a set the same values, wrong copies refused."""

import hashlib
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from squentropy.data import MANIFEST, DataError, MissingDataError, WrongHashError, fetch, load_tabular, verify
from squentropy.data.compact import read_compact
from tests.data import original_files
from tests.data.test_download import server  # noqa: F401 (a fixture)

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not at hand")


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


@pytest.fixture
def shells(tmp_path, monkeypatch):
    """A set `uci121/shells` in the manifest, as a folder of the original archive."""
    folder = original_files.write(tmp_path / "own" / "shells")
    content = "d2e1f0f2c53c1b5ecb5a7ad4bf9d8b3c" * 2
    known = replace(
        MANIFEST["uci121/iris"], name="uci121/shells", rows=5, features=2, classes=3, content_sha256=content, files=()
    )
    monkeypatch.setitem(MANIFEST, "uci121/shells", replace(known, content_sha256=None))
    table = load_tabular("uci121/shells", tmp_path / "own")
    monkeypatch.setitem(MANIFEST, "uci121/shells", replace(known, content_sha256=table.sha256))
    return folder


def test_folder_and_archive_have_the_same_values(tmp_path, shells):
    from_folder = load_tabular("uci121/shells", tmp_path / "own")
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed" / "data.tar.gz", "w:gz") as tar:
        tar.add(shells, "./data/shells")
    from_archive = load_tabular("uci121/shells", tmp_path / "packed")
    assert from_folder.sha256 == from_archive.sha256
    np.testing.assert_array_equal(from_archive.X, original_files.X)


def test_the_environment_names_the_directory(tmp_path, shells, monkeypatch):
    with pytest.raises(MissingDataError, match=r"uci121/shells is not at hand: download https?://.* --data or"):
        load_tabular("uci121/shells")
    monkeypatch.setenv("SQUENTROPY_DATA", str(tmp_path / "own"))
    assert load_tabular("uci121/shells").num_classes == 3
    monkeypatch.setenv("SQUENTROPY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(MissingDataError, match="nowhere does not exist; check --data or SQUENTROPY_DATA"):
        load_tabular("uci121/shells")


def test_other_values_are_refused(tmp_path, shells):
    path = shells / "shells_R.dat"
    path.write_text(path.read_text().replace("1.5", "1.25"))
    with pytest.raises(WrongHashError, match="this is another version of the data set"):
        load_tabular("uci121/shells", tmp_path / "own")
    verdict = verify(MANIFEST["uci121/shells"], tmp_path / "own")
    assert (verdict.status, "another version" in verdict.detail) == ("wrong", True)


def test_a_file_that_is_missing_in_the_folder(tmp_path, shells):
    (shells / "conxuntos.dat").unlink()
    with pytest.raises(DataError, match=r"conxuntos.dat cannot be read \(No such file.*unpack the archive again"):
        load_tabular("uci121/shells", tmp_path / "own")


def test_names_that_are_no_table():
    for name in ("uci121/no-such", "mnist"):
        with pytest.raises(DataError, match=f"'{name}' is not a tabular data set"):
            load_tabular(name)


def compact(folder, **changed):
    folds = {
        f"kf{k}_{part}": np.array(rows)
        for k, fold in enumerate(original_files.FOLDS)
        for part, rows in zip(("train", "test"), fold, strict=True)
    }
    arrays = {"X": original_files.X, "y": original_files.y, **folds}
    arrays |= {"train_idx": np.array([0, 2]), "test_idx": np.array([1, 3, 4])}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "shells.npz"
    np.savez(path, **{name: value for name, value in {**arrays, **changed}.items() if value is not None})
    return path.read_bytes()


def test_the_compact_form_has_the_same_values(tmp_path, shells):
    table = read_compact(compact(tmp_path), manifest_name="uci121/shells", num_classes=3)
    assert table.sha256 == load_tabular("uci121/shells", tmp_path / "own").sha256


@pytest.mark.parametrize(
    "content",
    [
        lambda whole, folder: whole[: len(whole) // 2],
        lambda whole, folder: b"no zip file",
        lambda whole, folder: compact(folder, kf3_test=None),
        lambda whole, folder: compact(folder, y=np.array([{}, 1, 2, 1, 0], dtype=object)),
    ],
    ids=["truncated", "other", "incomplete", "pickled"],
)
def test_a_damaged_compact_file_is_one_error(tmp_path, content):
    with pytest.raises(DataError, match="shells: the npz file is damaged or incomplete"):
        read_compact(content(compact(tmp_path), tmp_path), manifest_name="shells", num_classes=3)


def test_fetched_from_a_server_and_found_in_the_cache(tmp_path, server, monkeypatch):  # noqa: F811
    body = bytes(range(256)) * 4096
    file = replace(
        MANIFEST["mnist"].files[0],
        path="made/data",
        sha256=hashlib.sha256(body).hexdigest(),
        url=f"{server.url}/data",
        form="original",
    )
    made = replace(MANIFEST["mnist"], name="made", files=(file,))
    assert verify(made).status == "missing"
    assert fetch([made]) == [tmp_path / "cache" / "made" / "data"]
    assert verify(made).status == "right"
    assert fetch([made]) == [tmp_path / "cache" / "made" / "data"]
    assert server.asked == ["/data"]
    (tmp_path / "cache" / "made" / "data").write_bytes(body[:-1])
    assert verify(made).status == "wrong"


def test_what_has_no_download_says_where_to_get_it():
    with pytest.raises(DataError, match=r"has no download; get it from https?://.* and name it with --data"):
        fetch([replace(MANIFEST["mnist"], files=())])


@pytest.mark.parametrize(("name", "shape"), [("iris", (150, 4)), ("wine", (178, 13)), ("digits", (1797, 64))])
def test_what_comes_with_scikit_learn(name, shape):
    assert load_tabular(f"sklearn/{name}").X.shape == shape
    assert verify(MANIFEST[f"sklearn/{name}"]).status == "right"


@needs_shared
@pytest.mark.parametrize("name", ["abalone", "trains", "monks-1", "hill-valley"])
def test_real_tables(name):
    table = load_tabular(f"uci121/{name}", SHARED)
    described = MANIFEST[f"uci121/{name}"]
    assert table.X.shape == (described.rows, described.features)
    assert len(table.folds) == 4


@needs_shared
def test_a_flipped_byte_in_a_real_table(tmp_path):
    (tmp_path / "uci121").mkdir()
    path = tmp_path / "uci121" / "iris.npz"
    shutil.copyfile(SHARED / "uci121" / "iris.npz", path)
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.raises(WrongHashError, match=r"iris.npz has SHA-256 .*; replace the file"):
        load_tabular("uci121/iris", tmp_path)
