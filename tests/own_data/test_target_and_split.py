"""Classes, and how rows are divided."""

import numpy as np
import pandas as pd
import pytest

from squentropy.own_data.split import Splitter
from squentropy.own_data.table import Options, make_table
from squentropy.own_data.target import check_target, find_target
from tests.own_data.tables import flowers


def target(values, **options):
    return find_target(pd.Series(values, name="kind"), **options)


def test_classes_are_in_order_and_the_same_for_all_spellings_of_a_number():
    assert target([10, 9.0, 10, 9]).classes == ("9", "10")
    assert target(["b", "a", " a", "b"]).codes.tolist() == [1, 0, 0, 1]
    assert target(pd.array([True, False, True, False])).classes == ("False", "True")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None, None], "has no values"),
        (["a", "a", None], "at least two classes, has only 'a'"),
        (["a", "a", "b", "b", "c"], "class 'c' with a single row .*--min-class-rows 2"),
        (np.linspace(0, 1, 100), "100 different numbers in 100 rows, which are no classes"),
        ([f"text {number}" for number in range(100)], "100 different values"),
    ],
)
def test_bad_targets(values, message):
    with pytest.raises(ValueError, match=message):
        target(values)


def test_rare_classes_can_be_left_out():
    found = target(["a", "a", "b", "b", "c"], min_class_rows=2)
    assert found.codes.tolist() == [0, 0, 1, 1, -1]
    assert "class 'c' with fewer than 2 rows left out (1 rows)" in found.notices[0]


def test_a_target_that_is_no_column_gets_a_hint():
    with pytest.raises(ValueError, match="did you mean 'species'"):
        check_target("Specie", ["size", "species"])


def test_rows_without_a_class_are_left_out_and_told_of():
    frame = flowers()
    frame.loc[:4, "kind"] = None
    table = make_table(frame, "kind", "flowers")
    assert len(table.values) == len(table.target.codes) == 115
    assert "5 rows have no value in the target column" in table.notices[0]


def check(parts, rows):
    """Every row is in one part."""
    assert sorted(np.concatenate(parts).tolist()) == list(range(rows))


def test_each_class_is_divided_by_itself():
    codes = np.array([0] * 50 + [1] * 10 + [2] * 2)
    sizes = set()
    for seed in range(10):
        parts = Splitter("stratified", codes).parts(seed)
        check(parts, 62)
        assert np.bincount(codes[parts.test]).tolist() == [10, 2, 1]
        assert np.bincount(codes[parts.train]).tolist() == [32, 6, 1]
        sizes.add(tuple(parts.test))
    assert len(sizes) == 10  # another division for each seed


def test_groups_stay_together():
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 30, 300).astype(float)
    splitter = Splitter("group", generator.integers(0, 2, 300), groups)
    for seed in range(5):
        parts = splitter.parts(seed)
        check(parts, 300)
        members = [set(groups[part]) for part in parts]
        assert not members[0] & members[1]
        assert not members[0] & members[2]
        assert not members[1] & members[2]
    with pytest.raises(ValueError, match="at least 10 different values"):
        Splitter("group", np.array([0, 1] * 10), np.arange(20) % 3.0).parts(0)


def test_the_last_rows_are_tested():
    times = np.array([5.0, 1, 4, 2, 3, 0, 9, 8, 7, 6])
    parts = Splitter("time", np.array([0, 1] * 5), times).parts(0)
    check(parts, 10)
    assert max(times[parts.train]) < min(times[parts.validation])
    assert max(times[parts.validation]) < min(times[parts.test])
    assert sorted(times[parts.test]) == [8, 9]
    with pytest.raises(ValueError, match="different values"):
        Splitter("time", np.array([0, 1] * 5), np.zeros(10)).parts(0)


def test_times_of_a_table_may_be_texts():
    days = [f"{1 + number % 28}.{1 + number // 28}.2025" for number in range(120)]
    table = make_table(flowers().assign(day=days), "kind", "flowers", Options(time="day"))
    parts = table.splitter.parts(3)
    assert parts.test.tolist() == list(range(96, 120))
    assert "day" in [column.name for column in table.columns]
    for bad, message in [(["soon"] * 120, "holds texts such as 'soon'"), ([None, *days[1:]], "without a value")]:
        with pytest.raises(ValueError, match=message):
            make_table(flowers().assign(day=bad), "kind", "flowers", Options(time="day"))


def test_a_group_column_is_no_input():
    frame = flowers().assign(patient=[f"p{number // 4}" for number in range(120)])
    table = make_table(frame, "kind", "flowers", Options(group="patient"))
    assert "patient" not in [column.name for column in table.columns]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(group="nothing"), "group names 'nothing'"),
        (Options(time="kind"), "time names 'kind'"),
        (Options(group="length", time="width"), "give one"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_table(flowers(), "kind", "flowers", options)


def test_too_few_rows():
    with pytest.raises(ValueError, match="at least 20"):
        make_table(flowers().iloc[:12].assign(kind=["a", "b"] * 6), "kind", "flowers")
