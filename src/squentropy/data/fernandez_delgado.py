"""The 121 data sets of Fernández-Delgado et al. (2014), from the files of the authors' own archive.

Each data set is a folder. ``<name>.txt`` says how many inputs and classes there are and which files hold the
patterns; these have a header line and then, separated by tabs, the row's number, its features and its class.
``conxuntos.dat`` holds two lines of row numbers (train, test), ``conxuntos_kfold.dat`` four such pairs. The
pairs are four random splits: their test parts overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import numpy as np

from squentropy.data.errors import DataError
from squentropy.data.tabular import Classes, Features, Split, TabularSet

ReadFile = Callable[[str], bytes]
"""Gives the bytes of the file with this name in the data set's folder."""


def read_original(name: str, read_file: ReadFile, *, manifest_name: str) -> TabularSet:
    """Read one data set in its original form.

    Args:
        name: The data set's folder, for instance ``"abalone"``.
        read_file: Gives the bytes of a file of that folder, from wherever the folder lies.
        manifest_name: The name that the result carries.

    Raises:
        DataError: A file is not in the format above, or does not hold what ``<name>.txt`` says.
    """
    header = _read_header(f"{name}.txt", read_file(f"{name}.txt"))
    X, y = _read_patterns(header, "1", read_file)  # noqa: N806
    X_test, y_test = _read_patterns(header, "2", read_file) if "fich2" in header else (None, None)  # noqa: N806
    (halves,) = _read_splits("conxuntos.dat", read_file("conxuntos.dat"), pairs=1)
    return TabularSet(
        name=manifest_name,
        X=X,
        y=y,
        num_classes=_count(header, "n_clases"),
        halves=halves,
        folds=_read_splits("conxuntos_kfold.dat", read_file("conxuntos_kfold.dat"), pairs=4),
        X_test=X_test,
        y_test=y_test,
    )


def _read_header(file: str, content: bytes) -> dict[str, str]:
    header = {"": file}
    for line in content.decode("latin-1").splitlines():
        key, equals, value = line.partition("=")
        if equals:
            header[key.strip()] = value.strip()
    return header


def _count(header: dict[str, str], key: str) -> int:
    try:
        return int(header[key])
    except (KeyError, ValueError) as error:
        found = header.get(key, "nothing")
        raise DataError(f"{header['']}: `{key}=` must be followed by a whole number, found {found!r}") from error


def _read_patterns(header: dict[str, str], which: str, read_file: ReadFile) -> tuple[Features, Classes]:
    file = header.get(f"fich{which}", "")
    if not file or "/" in file or "\\" in file:
        raise DataError(f"{header['']}: `fich{which}=` must name a file of the same folder, found {file!r}")
    try:
        table = np.loadtxt(BytesIO(read_file(file)), delimiter="\t", skiprows=1, ndmin=2, encoding="latin-1")
    except ValueError as error:
        raise DataError(f"{file}: not a table of numbers ({error})") from error
    expected = (_count(header, f"n_patrons{which}"), _count(header, "n_entradas") + 2)
    if table.shape != expected:
        raise DataError(
            f"{file}: {table.shape[0]} rows of {table.shape[1]} columns, but {header['']} says "
            f"{expected[0]} rows of {expected[1]} (number, features, class); the file is cut or of another set"
        )
    classes = table[:, -1]
    if not (classes == np.floor(classes)).all():
        raise DataError(f"{file}: the last column must hold whole numbers, the classes")
    return table[:, 1:-1].astype(np.float32), classes.astype(np.int64)


def _read_splits(file: str, content: bytes, *, pairs: int) -> tuple[Split, ...]:
    lines = [line for line in content.decode("latin-1").splitlines() if line.strip()]
    if len(lines) != 2 * pairs:
        raise DataError(f"{file}: {len(lines)} lines of row numbers, expected {2 * pairs}")
    try:
        rows = [np.array(line.split(), dtype=np.int64) for line in lines]
    except ValueError as error:
        raise DataError(f"{file}: not a list of row numbers ({error})") from error
    return tuple(Split(train, test) for train, test in zip(rows[::2], rows[1::2], strict=True))
