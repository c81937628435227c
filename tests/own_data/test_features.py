"""From columns to inputs: learnt from training rows only, the same for what comes later."""

import json

import numpy as np
import pandas as pd
import pytest

from squentropy.own_data.columns import Column
from squentropy.own_data.features import Preprocessing, Width, widths
from squentropy.own_data.table import make_table
from tests.own_data.tables import flowers

SIZE, COLOUR, DAY = Column("size", "number"), Column("colour", "category"), Column("day", "date", (), "ISO8601")


def fitted(column, train, width=None):
    values = column.values(pd.Series(train))
    table = values.to_frame(column.name)
    return Preprocessing.fitted([column], [width or Width.of(column, values)], table)


def inputs(preprocessing, column, values):
    return preprocessing.apply(column.values(pd.Series(values)).to_frame(column.name)).tolist()


def test_numbers_by_hand():
    """Median 3, middle half from 2 to 4: (x - 3) / 2, then z / sqrt(1 + z^2 / 9)."""
    preprocessing = fitted(SIZE, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert inputs(preprocessing, SIZE, [3.0, 5.0, np.nan, np.inf]) == [
        [0.0],
        [pytest.approx(1 / np.sqrt(10 / 9))],
        [0],
        [0],
    ]


def test_a_missing_number_says_so_where_training_rows_had_some():
    preprocessing = fitted(SIZE, [1.0, np.nan, 3.0, 5.0])
    assert [row[1] for row in inputs(preprocessing, SIZE, [1.0, np.nan])] == [0.0, 1.0]
    unknown = fitted(SIZE, [1.0, 3.0, 5.0], Width(has_missing=True))  # another split's training rows had some
    assert inputs(unknown, SIZE, [np.nan]) == [[0.0, 0.0]]


def test_categories_by_hand():
    preprocessing = fitted(COLOUR, ["red"] * 6 + ["blue"] * 5 + ["green"] * 4 + [None])
    rows = inputs(preprocessing, COLOUR, ["red", "blue", "green", "never seen", None, " red "])
    assert rows == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]


def test_a_missing_category_is_unknown_where_no_training_row_missed_it():
    preprocessing = fitted(COLOUR, ["red"] * 6 + ["blue"] * 5)
    assert inputs(preprocessing, COLOUR, [None]) == inputs(preprocessing, COLOUR, ["never seen"]) == [[0, 0, 1]]


def test_many_levels_are_limited():
    values = [f"level {number % 90}" for number in range(900)]
    assert len(inputs(fitted(COLOUR, values), COLOUR, values)[0]) == 41


def test_dates():
    preprocessing = fitted(DAY, ["2025-01-01", "2025-07-02", "2026-01-01", "2026-07-02"])
    first, later = inputs(preprocessing, DAY, ["2025-01-01", "2026-01-01"])
    assert later[0] > first[0]  # the day itself
    assert first[1:3] == later[1:3] == [0.0, 1.0]  # the first of January, as a point of the year's circle
    assert inputs(preprocessing, DAY, ["nonsense"]) == [[0, 0, 0, 0, 0]]


def test_times_of_day():
    preprocessing = fitted(DAY, ["2025-01-01 06:00", "2025-01-02 18:00"])
    assert inputs(preprocessing, DAY, ["2025-01-01 06:00"])[0][-2:] == pytest.approx([1, 0], abs=1e-6)


def test_only_training_rows_are_learnt_from():
    frame = flowers()
    table = make_table(frame, "kind", "flowers")
    parts = table.splitter.parts(0)
    spoiled = frame.copy()
    others = np.concatenate([parts.validation, parts.test])
    spoiled.loc[others, "length"] *= 1000
    spoiled.loc[others, "colour"] = "purple"
    spoiled.loc[0, "colour"] = None  # so that both tables have a missing one among all rows
    fitted_on = table.fit(parts.train)
    again = make_table(spoiled, "kind", "flowers")
    assert [each.scale for each in again.fit(parts.train).encoders] == [each.scale for each in fitted_on.encoders]
    assert [each.levels for each in again.fit(parts.train).encoders] == [each.levels for each in fitted_on.encoders]


def test_all_seeds_have_as_many_inputs():
    frame = flowers().assign(rare=["a"] * 105 + ["b"] * 7 + ["c"] * 8)
    table = make_table(frame, "kind", "flowers")
    assert len({table.data(seed).train.inputs.shape for seed in range(20)}) == 1
    assert all(bool(table.data(seed).test.inputs.isfinite().all()) for seed in range(20))


def test_json_gives_the_same_preprocessing():
    table = make_table(flowers().assign(day="2026-01-31"), "kind", "flowers")
    preprocessing = table.fit(np.arange(50))
    again = Preprocessing.from_json(json.loads(json.dumps(preprocessing.to_json())))
    assert again == preprocessing
    assert widths(table.columns, table.values) == [each.width for each in again.encoders]
