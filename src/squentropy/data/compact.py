"""The compact form of a tabular data set: the arrays of the original files in one npz file."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import cast

import numpy as np

from squentropy.data.errors import DataError
from squentropy.data.tabular import Rows, Split, TabularSet


def read_compact(content: bytes, *, manifest_name: str, num_classes: int) -> TabularSet:
    """Read a data set from the bytes of its npz file.

    The arrays are ``X``, ``y``, ``train_idx``, ``test_idx``, ``kf0_train`` to ``kf3_test`` and, for data sets with a
    separate test file, ``X_test`` and ``y_test``. Nothing is unpickled.

    Raises:
        DataError: The file is damaged or an array is missing.
    """
    try:
        with np.load(BytesIO(content), allow_pickle=False) as arrays:

            def split(train: str, test: str) -> Split:
                return Split(cast(Rows, arrays[train].astype(np.int64)), cast(Rows, arrays[test].astype(np.int64)))

            has_test = "X_test" in arrays
            return TabularSet(
                name=manifest_name,
                X=arrays["X"],
                y=arrays["y"],
                num_classes=num_classes,
                halves=split("train_idx", "test_idx"),
                folds=tuple(split(f"kf{k}_train", f"kf{k}_test") for k in range(4)),
                X_test=arrays["X_test"] if has_test else None,
                y_test=arrays["y_test"] if has_test else None,
            )
    except DataError:
        raise
    except (KeyError, EOFError, zipfile.BadZipFile, OSError, ValueError) as error:
        raise DataError(f"{manifest_name}: the npz file is damaged or incomplete ({error})") from error
