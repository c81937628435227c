"""Tables for classification: one frozen value, whatever form of file it was read from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from squentropy.data.errors import DataError

Features = NDArray[np.float32]
Classes = NDArray[np.int64]
Rows = NDArray[np.int64]


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    train: Rows
    test: Rows


@dataclass(frozen=True, eq=False)
class TabularSet:
    """A table of numbers with a class for each row, and the splits that its publisher made.

    The arrays are read-only. Features that are constant are allowed, and so is a class without a row:
    `num_classes` is what the publisher states.

    Attributes:
        name: Name in the manifest.
        X: Features, shape `(n, d)`.
        y: Classes from 0 to `num_classes - 1`, shape `(n,)`.
        num_classes: Number of classes C.
        halves: The publisher's split for choosing hyper-parameters, or None.
        folds: The publisher's splits for testing; empty where there are none.
        X_test: Features of the separate test file, shape `(m, d)`, or None.
        y_test: Classes of the separate test file, shape `(m,)`, or None.

    Raises:
        DataError: Shapes do not fit, a value is not finite, a class or a row number is out of range, or there
            are fewer than two rows or two classes.

    Examples:
        >>> table = TabularSet("two rows", np.zeros((2, 3), np.float32), np.array([0, 1]), num_classes=2)
        >>> table.X.shape, len(table.sha256)
        ((2, 3), 64)
    """

    name: str
    X: Features
    y: Classes
    num_classes: int
    halves: Split | None = None
    folds: tuple[Split, ...] = ()
    X_test: Features | None = None
    y_test: Classes | None = None

    def __post_init__(self) -> None:
        if len(self.y) < 2:
            raise DataError(f"{self.name}: {len(self.y)} row(s); at least two are needed, to train and to test")
        if self.num_classes < 2:
            raise DataError(f"{self.name}: num_classes is {self.num_classes}; at least two are needed")
        self._check_table("X", self.X, self.y)
        if (self.X_test is None) != (self.y_test is None):
            raise DataError(f"{self.name}: X_test and y_test come together or not at all")
        if self.X_test is not None and self.y_test is not None:
            self._check_table("X_test", self.X_test, self.y_test)
        for split in (*self.folds, *([self.halves] if self.halves else [])):
            self._check_split(split)
        for _, array in self._arrays():
            array.flags.writeable = False

    def _check_table(self, label: str, X: Features, y: Classes) -> None:  # noqa: N803 (the name in the files)
        if X.dtype != np.float32 or y.dtype != np.int64:
            raise DataError(f"{self.name}: {label} has {X.dtype} and {y.dtype}; float32 and int64 are needed")
        if X.shape != (len(y), self.X.shape[1]):
            raise DataError(f"{self.name}: {label} has shape {X.shape}, its classes {y.shape}; they do not fit")
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            raise DataError(f"{self.name}: {label}[{row}, {column}] is {X[row, column]}; replace missing values")
        if y.min() < 0 or y.max() >= self.num_classes:
            raise DataError(f"{self.name}: classes from {y.min()} to {y.max()}, but num_classes is {self.num_classes}")

    def _check_split(self, split: Split) -> None:
        for rows in split:
            if rows.size == 0 or rows.min() < 0 or rows.max() >= len(self.y):
                raise DataError(f"{self.name}: a split is empty or names a row beyond the {len(self.y)} rows")
        if np.intersect1d(*split).size:
            raise DataError(f"{self.name}: a split has rows in both its training and its test part")

    def _arrays(self) -> list[tuple[str, NDArray[np.generic]]]:
        arrays: list[tuple[str, NDArray[np.generic]]] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                arrays.append((field.name, value))
        splits = [("halves", self.halves)] if self.halves else []
        splits += [(f"fold{k}", fold) for k, fold in enumerate(self.folds)]
        for label, split in splits:
            arrays += [(f"{label}.train", split.train), (f"{label}.test", split.test)]
        return arrays

    @cached_property
    def sha256(self) -> str:
        """Hash of all arrays, with their names, types and shapes: the same for every form of file."""
        digest = hashlib.sha256()
        for label, array in self._arrays():
            little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
            digest.update(f"{label} {array.dtype.name} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(little_endian).tobytes())
        return digest.hexdigest()
