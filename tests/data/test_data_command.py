"""`squentropy data` as its user meets it."""

import json

import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


def run(*words):
    return CliRunner().invoke(make_app(), ["data", *map(str, words)])


def test_the_list_says_what_is_at_hand():
    shown = run("list", "sklearn", "mnist").output
    assert "4 of 5 data sets are at hand" in shown
    entries = json.loads(run("list", "sklearn/iris", "mnist", "--json").output)
    assert [(each["name"], each["at_hand"], each["rows"]) for each in entries] == [
        ("sklearn/iris", True, 150),
        ("mnist", False, 60000),
    ]
    assert len(entries[1]["files"][0]["sha256"]) == 64


@pytest.mark.parametrize("width", [80, 200])
def test_names_in_the_list_are_whole(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert "uci121/oocytes_trisopterus_nucleus_2f" in run("list", "uci121").output


def test_verify_ends_with_1_if_a_copy_is_wrong(tmp_path):
    assert run("verify", "sklearn").exit_code == 0
    (tmp_path / "uci121").mkdir()
    (tmp_path / "uci121" / "iris.npz").write_bytes(b"torn")
    result = run("verify", "uci121/iris", "--data", tmp_path)
    assert result.exit_code == 1
    assert "wrong" in result.output
    assert (tmp_path / "uci121" / "iris.npz").read_bytes() == b"torn"


def test_nothing_to_fetch():
    assert "come with scikit-learn" in run("fetch", "sklearn/iris").output


def test_an_unknown_name():
    error = run("fetch", "minst").exception
    assert isinstance(error, ValueError)
    assert "no data set 'minst'" in str(error)
