"""What columns hold: numbers, categories, dates, and what is left out or refused."""

import numpy as np
import pandas as pd
import pytest

from squentropy.own_data.columns import Column, find_columns


def found(values, name="x", **options):
    """What is found out about one column, beside one that can always be used."""
    frame = pd.DataFrame({name: values, "other": np.linspace(0, 1, len(values)) ** 2})
    findings = find_columns(frame, **options)
    columns = {column.name: column for column in findings.columns}
    return columns.get(name), " ".join(findings.notices)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.5, 1.5] * 10, "number"),
        ([True, False, True] * 10, "number"),
        (["1.5", "2.5", " 3"] * 10, "number"),
        (["1e3", "-2", None] * 10, "number"),
        (["a", "b", None] * 10, "category"),
        (["1", "2", "3+"] * 10, "category"),
        (["2026-01-31", "2026-02-01", None] * 10, "date"),
        (["31.1.2026", "1.2.2026", "3.12.2025"] * 10, "date"),
        (["1/31/2026 10:30", "2/1/2026 23:59", "2/1/2026 00:00"] * 10, "date"),
        (pd.to_datetime(["2026-01-31", "2026-02-01"] * 10), "date"),
        (pd.Categorical([1, 2] * 10), "category"),
        (["10-20", "20-30", "30-40"] * 10, "category"),
    ],
)
def test_kinds(values, kind):
    assert found(values)[0].kind == kind


def test_markers_of_missing_values_are_named():
    column, notices = found(["41", "?", "12", "17.5"] * 5)
    assert column == Column("x", "number", ("?",))
    assert "holds numbers, and '?' in 5 rows, which was taken as missing." in notices
    assert column.values(pd.Series(["?", "3"])).isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("values", "numbers", "example"),
    [
        (["14,23", "0,125", "-7", "1.234,5"], [14.23, 0.125, -7, 1234.5], "'14,23', which was read as 14.23"),
        (["1,234.5", "12", "2,000,000", "7.25"], [1234.5, 12, 2e6, 7.25], "'1,234.5', which was read as 1234.5"),
        (["$12", "$1,250", "$3.50", "$0"], [12, 1250, 3.5, 0], "'$12', which was read as 12"),
        (["12 %", "7.5%", "0%", "100 %"], [12, 7.5, 0, 100], "'12 %', which was read as 12"),
    ],
    ids=["decimal comma", "thousands", "currency", "per cent"],
)
def test_numbers_in_other_ways_of_writing(values, numbers, example):
    column, notices = found([*values * 5, "n/a"])
    assert column.kind == "number"
    assert column.values(pd.Series(values)).tolist() == numbers
    assert f"Column 'x' holds numbers such as {example}; and 'n/a' in 1 row, which was taken as missing." in notices
    assert column.values(pd.Series(["1,2,3", "red", "10-20"])).isna().all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None] * 60, "has no values"),
        (["?", ""] * 30, "has no values"),
        ([7] * 60, "same value"),
        (["a"] * 60, "same value"),
        (range(100, 160), "numbers the rows"),
        ([f"user {number}" for number in range(60)], "names the rows"),
        ([f"user {number // 2}" for number in range(120)], "too few to learn from"),
        ([*(f"{number}A{number}" for number in range(76)), "1E4", "0E8"], "names the rows"),  # codes, two like numbers
    ],
)
def test_columns_that_say_nothing_are_left_out(values, message):
    column, notices = found(list(values))
    assert column is None
    assert message in notices


def test_names_of_things_with_several_rows_suggest_groups():
    column, notices = found([number // 3 for number in range(90)], name="patient_id")
    assert column is None
    assert "--group patient_id" in notices


def test_what_looks_like_names_can_be_kept():
    assert found(range(60), keep=["x"])[0].kind == "number"
    assert (
        found([f"user {number % 70}" for number in range(560)], name="user_id", keep=["user_id"])[0].kind == "category"
    )


def test_numbers_can_be_categories():
    column, _ = found([10115, 20095] * 20, categories=["x"])
    assert column.kind == "category"
    assert column.values(pd.Series([10115, 10115.0, "10115"])).tolist() == ["10115"] * 3


def test_sentences_are_refused_with_the_way_out():
    texts = [f"The patient said number {number} and then went home again." for number in range(80)]
    with pytest.raises(ValueError, match=r"free text .*--drop x"):
        found(texts)
    assert found(texts, drop=["x"]) == (None, "")


def test_numbers_mixed_with_many_texts_are_refused_by_name():
    values = [str(number) if number % 3 else f"about {number}" for number in range(200)]
    with pytest.raises(ValueError, match=r"'x' mixes numbers \(66%.*'about 0' and 'about 3'.*--category x.*--drop x"):
        found(values)


def test_bad_frames():
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        find_columns(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="drop names 'b', which is no column: choose among a"):
        find_columns(pd.DataFrame({"a": [1, 2]}), drop=["b"])
    with pytest.raises(ValueError, match=r"lists.*--drop"):
        find_columns(pd.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(ValueError, match="no column is left"):
        find_columns(pd.DataFrame({"a": [1, 1]}))
