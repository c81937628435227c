"""The manifest: every set is described, every hash is a hash, every way to name a set works."""

import re
from collections import Counter

import pytest

from squentropy.data import MANIFEST, DataError, select

HASH = re.compile(r"[0-9a-f]{64}")


def test_the_121_tables_are_those_of_the_archive():
    tables = [data_set for data_set in MANIFEST.values() if data_set.collection == "uci121"]
    assert len(tables) == 121
    # Fernández-Delgado et al. 2014, table 1
    known = {"abalone": (4177, 8, 3), "connect-4": (67557, 42, 2), "trains": (10, 29, 2), "zoo": (101, 16, 7)}
    for name, (rows, features, classes) in known.items():
        table = MANIFEST[f"uci121/{name}"]
        assert (table.rows, table.features, table.classes) == (rows, features, classes)
    assert sum(table.test_rows > 0 for table in tables) == 19


@pytest.mark.parametrize("data_set", MANIFEST.values(), ids=lambda each: each.name)
def test_each_set_is_described(data_set):
    assert data_set.rows >= 2
    assert data_set.classes is None or data_set.classes >= 2
    assert data_set.licence
    assert data_set.source.startswith(("https://", "http://"))
    assert data_set.content_sha256 is None or HASH.fullmatch(data_set.content_sha256)
    assert data_set.files or data_set.collection == "sklearn"
    for file in data_set.files:
        assert file.form in ("original", "compact")
        assert file.sha256 is None or HASH.fullmatch(file.sha256)
        assert file.url is None or file.url.startswith("https://")
        assert not file.path.startswith("/")
        assert ".." not in file.path


def test_hashes_of_different_files_differ():
    hashes = Counter(
        sha256 for sha256, _ in {(file.sha256, file.path) for each in MANIFEST.values() for file in each.files}
    )
    hashes.pop(None)
    assert {sha256 for sha256, count in hashes.items() if count > 1} == set()
    contents = [each.content_sha256 for each in MANIFEST.values() if each.content_sha256]
    assert len(contents) == len(set(contents))


def test_selection():
    assert [each.name for each in select(["mnist", "mnist", "glue/MRPC"])] == ["mnist", "glue/MRPC"]
    assert len(select([])) == len(MANIFEST)
    with pytest.raises(DataError, match="no data set 'minst'; `squentropy data list`"):
        select(["minst"])
