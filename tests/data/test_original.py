"""The files of the original archive: read to the digit, refused when they do not hold what they say."""

import numpy as np
import pytest

from squentropy.data import DataError
from squentropy.data.fernandez_delgado import read_original
from tests.data import original_files


def read(folder):
    return read_original(folder.name, lambda file: (folder / file).read_bytes(), manifest_name=f"made/{folder.name}")


def test_everything_is_read(tmp_path):
    table = read(original_files.write(tmp_path / "shells"))
    np.testing.assert_array_equal(table.X, original_files.X)
    np.testing.assert_array_equal(table.y, original_files.y)
    assert (table.name, table.num_classes) == ("made/shells", 3)
    assert [part.tolist() for part in table.halves] == [[0, 2], [1, 3, 4]]
    assert [(train.tolist(), test.tolist()) for train, test in table.folds] == original_files.FOLDS
    assert table.X_test is None


def test_a_separate_test_file_is_kept_apart(tmp_path):
    table = read(original_files.write(tmp_path / "shells", with_test=True))
    assert len(table.y) == 5
    np.testing.assert_array_equal(table.X_test, original_files.X[:2] + 1)
    np.testing.assert_array_equal(table.y_test, [0, 1])


def test_the_hash_is_of_the_values(tmp_path):
    same, again = (read(original_files.write(tmp_path / place / "shells")) for place in "ab")
    changed = original_files.X.copy()
    changed[4, 1] = -1.5
    other = read(original_files.write(tmp_path / "c" / "shells", R_dat=original_files.patterns(changed)))
    assert same.sha256 == again.sha256 != other.sha256


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"txt": "n_clases= three\n"}, "`n_patrons1=` must be followed by a whole number|must name a file"),
        ({"txt": "fich1= ../secret\nn_patrons1= 5\nn_entradas= 2\nn_clases= 3"}, "must name a file of the same folder"),
        ({"R_dat": original_files.patterns()[:-8]}, "4 rows|not a table"),
        ({"R_dat": original_files.patterns().replace("0.25", "x")}, "not a table of numbers"),
        ({"R_dat": original_files.patterns(classes=[0, 1, 0.5, 1, 0])}, "whole numbers"),
        ({"R_dat": original_files.patterns(classes=[0, 1, 3, 1, 0])}, "num_classes is 3"),
        ({"R_dat": original_files.patterns().replace("0.25", "nan")}, "replace missing values"),
        ({"conxuntos_dat": "0 1\n"}, "1 lines of row numbers, expected 2"),
        ({"conxuntos_dat": "0 1\n2 five\n"}, "not a list of row numbers"),
        ({"conxuntos_dat": "0 1\n2 5\n"}, "names a row beyond the 5 rows"),
        ({"conxuntos_dat": "0 1\n1 2\n"}, "both its training and its test part"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, changed, message):
    with pytest.raises(DataError, match=message):
        read(original_files.write(tmp_path / "shells", **changed))
