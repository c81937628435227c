"""Tables from files: right ones in every form, and a sentence for each way to be wrong."""

import lzma

import pandas as pd
import pytest

from squentropy.own_data import memory, parquet_file, text_file
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
        ("data.txt", CSV.encode("utf-16")),
    ],
    ids=["csv", "tsv", "xz", "byte order mark", "utf-16"],
)
def test_text_files(tmp_path, name, content):
    frame = read_table(written(tmp_path, content, name)).frame
    assert frame.to_dict("list") == {"length": ["1.5", "2.5"], "kind": ["a", "b"]}


def test_parquet_keeps_its_types(tmp_path):
    frame = pd.DataFrame({"when": pd.to_datetime(["2026-01-01", "2026-01-02"]), "number": [1, 2], "text": ["a", None]})
    frame.to_parquet(tmp_path / "data.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "data.parquet").frame, frame)


def test_an_old_encoding_is_read_and_told_of_wherever_it_shows(tmp_path):
    raw = read_table(written(tmp_path, "größe,art\n1,a\n".encode("cp1252")))
    assert list(raw.frame.columns) == ["größe", "art"]
    assert "Windows-1252" in raw.notices[0]
    late = written(tmp_path, ("size,kind\n" + "1,a\n" * 5000 + "2,größer\n").encode("cp1252"))
    for sample in (None, 5001):
        raw = read_table(late, sample=sample)
        assert raw.frame["kind"].iloc[-1] == "größer"
        assert "Windows-1252" in raw.notices[0]


@pytest.mark.parametrize("line", ["1,a,\n", "row,1,a\n"], ids=["delimiter at the end", "names of rows"])
def test_one_value_more_than_names(tmp_path, line):
    frame = read_table(written(tmp_path, "size,kind\n" + 3 * line)).frame
    assert frame.to_dict("list") == {"size": ["1"] * 3, "kind": ["a"] * 3}


def test_none_may_be_a_class_but_other_words_are_missing_values(tmp_path):
    raw = read_table(written(tmp_path, "drink,kind\nNone,NA\n,nan\n"))
    assert raw.frame["drink"].tolist()[0] == "None"
    assert raw.frame.isna().to_numpy().tolist() == [[False, True], [True, True]]
    assert raw.notices == ()


@pytest.mark.parametrize("names", [["0", "1", "2"], ["2024", "2025", "2026"], [f"{450 + 2.5 * i}" for i in range(9)]])
def test_names_of_columns_may_be_numbers(tmp_path, names):
    frame = pd.DataFrame({**{name: ["0.5", "1.5"] for name in names}, "kind": ["a", "b"]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "data.csv").frame, frame.astype("str"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("length,kind\n", "no rows"),
        ("length;kind\n1,5;a\n2,5;b\n", "--delimiter ';'"),
        ("length;width;kind\n1,5;2,5;a\n2;2,5;b\n3;1;c\n", "--delimiter ';'"),
        ("length\tkind\n1\ta\n", r"--delimiter '\\t'"),
        ("length kind\n1 a\n2 b\n", "--delimiter ' '"),
        ("1.5,0.5,3\n1.5,2.6,4\n", "put a line of names before it"),
        ("1.5,red,tall\n1.6,blue,small\n", "numbers such as 1.5 .* put a line of names before it"),
        ("size,kind,size\n1,a,2\n", "two columns are called 'size'"),
        ("a,b\n1,2\n1,2,3,4\n", "--delimiter"),
        ("a,b\n1,2,3,4\n1,2,3,4\n", "2 names in its first line and 4 values in others"),
    ],
    ids=[
        "empty",
        "names only",
        "semicolons",
        "semicolons and decimal commas",
        "tabs",
        "spaces",
        "no names",
        "no names, few numbers",
        "same names",
        "ragged",
        "few names",
    ],
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
    with pytest.raises(ValueError, match="is an Excel workbook"):
        read_table(written(tmp_path, b"PK\x03\x04\x14\x00\x06\x00"))


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b\n" + "0.123456,text\n" * 200_000)
    monkeypatch.setattr(memory, "available_memory", lambda: 5e6)
    with pytest.raises(ValueError, match=r"2\.8 MB and would need about .* free: .*--sample 200000"):
        read_table(path)
    assert len(read_table(path, sample=100).frame) == 100  # the cure that it names


def test_five_gigabytes_do_not_fit_into_24(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b,c\n" + "0.123456,17,text\n" * 1000)
    with open(path, "r+b") as file:
        file.truncate(5_000_000_000)  # a sparse file: only its start is ever looked at
    monkeypatch.setattr(memory, "available_memory", lambda: 24e9)
    with pytest.raises(ValueError, match=r"5\.0 GB"):
        read_table(path)


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_a_sample_is_drawn_from_all_rows_alike(tmp_path, monkeypatch, name):
    for module in (text_file, parquet_file):
        monkeypatch.setattr(module, "_ROWS_AT_A_TIME", 300)
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
