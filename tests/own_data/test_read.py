"""Tables from files: right ones in every form, and a sentence for each way to be wrong."""

import lzma

import pandas as pd
import pytest

from squentropy.own_data import read
from squentropy.own_data.read import read_table

CSV = "length,kind\n1.5,a\n2.5,b\n"


def written(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", CSV),
        ("data.tsv", CSV.replace(",", "\t")),
        ("data.csv.xz", lzma.compress(CSV.encode())),
        ("data.csv", "\ufeff" + CSV),
    ],
    ids=["csv", "tsv", "xz", "byte order mark"],
)
def test_text_files(tmp_path, name, content):
    frame = read_table(written(tmp_path, content, name)).frame
    assert frame.to_dict("list") == {"length": ["1.5", "2.5"], "kind": ["a", "b"]}


def test_parquet_keeps_its_types(tmp_path):
    frame = pd.DataFrame({"when": pd.to_datetime(["2026-01-01", "2026-01-02"]), "number": [1, 2], "text": ["a", None]})
    frame.to_parquet(tmp_path / "data.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "data.parquet").frame, frame)


def test_an_old_encoding_is_read_and_told_of(tmp_path):
    raw = read_table(written(tmp_path, "größe,art\n1,a\n".encode("cp1252")))
    assert list(raw.frame.columns) == ["größe", "art"]
    assert "Windows-1252" in raw.notices[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("length,kind\n", "no rows"),
        ("length;kind\n1,5;a\n2,5;b\n", "--delimiter ';'"),
        ("length\tkind\n1\ta\n", r"--delimiter '\\t'"),
        ("1.5,2.5,3\n1.5,2.6,4\n", "put a line of names before it"),
        ("a,b\n1,2\n1,2,3,4\n", "--delimiter"),
    ],
    ids=["empty", "names only", "semicolons", "tabs", "no names", "ragged"],
)
def test_bad_text_files(tmp_path, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_table(written(tmp_path, content))
    assert "data.csv" in str(caught.value)


def test_other_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match=r"ends in one of \.csv"):
        read_table(written(tmp_path, CSV, "data.xlsx"))
    with pytest.raises(ValueError, match="no Parquet file"):
        read_table(written(tmp_path, CSV, "data.parquet"))


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b\n" + "0.123456,text\n" * 200_000)
    monkeypatch.setattr(read, "available_memory", lambda: 5e6)
    with pytest.raises(ValueError, match=r"2\.8 MB and would need about .* free: .*--sample 200000"):
        read_table(path)
    assert len(read_table(path, sample=100).frame) == 100  # the cure that it names


def test_five_gigabytes_do_not_fit_into_24(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b,c\n" + "0.123456,17,text\n" * 1000)
    with open(path, "r+b") as file:
        file.truncate(5_000_000_000)  # a sparse file: only its start is ever looked at
    monkeypatch.setattr(read, "available_memory", lambda: 24e9)
    with pytest.raises(ValueError, match=r"5\.0 GB"):
        read_table(path)


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_a_sample_is_drawn_from_all_rows_alike(tmp_path, monkeypatch, name):
    monkeypatch.setattr(read, "_ROWS_AT_A_TIME", 300)
    frame = pd.DataFrame({"row": range(1000), "other": 1})
    (frame.to_csv if name.endswith("csv") else frame.to_parquet)(tmp_path / name, index=False)
    raw = read_table(tmp_path / name, sample=500)
    rows = raw.frame["row"].astype(int)
    assert rows.is_unique
    assert rows.is_monotonic_increasing
    # The mean of 500 of 0..999 without replacement has a standard deviation of 9.1.
    assert abs(rows.mean() - 499.5) < 40
    assert raw.notices == ("500 of 1,000 rows, drawn at random.",)
    pd.testing.assert_frame_equal(raw.frame, read_table(tmp_path / name, sample=500).frame)
    assert read_table(tmp_path / name, sample=5000).notices == ()
