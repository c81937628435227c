"""Tables: what they refuse, and that nobody can change them."""

import numpy as np
import pytest

from squentropy.data import DataError, Split, TabularSet

X, y = np.zeros((3, 2), np.float32), np.array([0, 1, 1])


def test_arrays_are_read_only():
    table = TabularSet("three", X.copy(), y.copy(), num_classes=2)
    with pytest.raises(ValueError, match="read-only"):
        table.X[0, 0] = 1


def test_constant_features_and_absent_classes_are_allowed():
    table = TabularSet("three", X, y, num_classes=5)
    assert (table.num_classes, len(set(table.y.tolist()))) == (5, 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"X": X[:1], "y": y[:1]}, r"1 row\(s\); at least two"),
        ({"num_classes": 1}, "num_classes is 1"),
        ({"X": X.astype(np.float64)}, "float64 and int64; float32 and int64 are needed"),
        ({"X": X[:2]}, r"shape \(2, 2\), its classes \(3,\)"),
        ({"X": np.array([[0, 0], [0, np.nan], [0, 0]], np.float32)}, r"X\[1, 1\] is nan"),
        ({"y": np.array([0, 1, 2])}, "classes from 0 to 2"),
        ({"X_test": X}, "X_test and y_test come together"),
        ({"folds": (Split(np.array([0]), np.array([0])),)}, "both its training and its test part"),
        ({"halves": Split(np.array([0]), np.array([], np.int64))}, "a split is empty"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    with pytest.raises(DataError, match=f"^three: .*{message}|^three: {message}"):
        TabularSet(**{"name": "three", "X": X, "y": y, "num_classes": 2, **changed})
