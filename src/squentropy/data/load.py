"""One way in to the tabular data sets: by name, from whatever form is at hand, checked against the manifest."""

from __future__ import annotations

import hashlib
from pathlib import Path

from squentropy.data.archive import Archive
from squentropy.data.compact import read_compact
from squentropy.data.directories import data_directories
from squentropy.data.embedded import read_embedded
from squentropy.data.errors import DataError, MissingDataError, WrongHashError
from squentropy.data.fernandez_delgado import ReadFile, read_original
from squentropy.data.manifest import MANIFEST, DataSet
from squentropy.data.tabular import TabularSet

_LOADERS = {
    "sklearn/iris": "load_iris",
    "sklearn/wine": "load_wine",
    "sklearn/breast-cancer": "load_breast_cancer",
    "sklearn/digits": "load_digits",
}


def load_tabular(name: str, data_dir: Path | None = None) -> TabularSet:
    """Load a tabular data set of the manifest.

    The sets of scikit-learn are always at hand. Those of the collection ``uci121`` are looked for in the data
    directory and then in the cache: as ``uci121/<name>.npz``, as a folder ``uci121/<name>`` or ``<name>`` of the
    original archive, or inside ``uci121/data.tar.gz`` or ``data.tar.gz``.

    Args:
        name: A name of the manifest, for instance ``"uci121/abalone"`` or ``"sklearn/iris"``.
        data_dir: The user's data directory; the one in `SQUENTROPY_DATA` if None.

    Raises:
        MissingDataError: No copy is at hand.
        WrongHashError: The copy is not what the manifest describes.
        DataError: The name is not of a tabular data set, or the copy cannot be read.

    Examples:
        >>> table = load_tabular("sklearn/iris")
        >>> table.X.shape, table.num_classes
        ((150, 4), 3)
    """
    data_set = MANIFEST.get(name)
    if data_set is None or data_set.collection not in ("uci121", "sklearn"):
        raise DataError(f"{name!r} is not a tabular data set of the manifest; `squentropy data list` shows them")
    if data_set.collection == "sklearn":
        return _checked(read_embedded(_LOADERS[name], manifest_name=name), data_set, "scikit-learn's copy")
    return _load_uci121(data_set, data_dir)


def find_copy(data_set: DataSet, data_dir: Path | None = None) -> Path | None:
    """The first copy of a set of the collection ``uci121``: an npz file, a folder or an archive; or None."""
    folder = data_set.name.partition("/")[2]
    for directory in data_directories(data_dir):
        if (compact := directory / "uci121" / f"{folder}.npz").is_file():
            return compact
        for place in (directory / "uci121" / folder, directory / folder):
            if (place / f"{folder}.txt").is_file():
                return place
        for archive in (directory / "uci121" / "data.tar.gz", directory / "data.tar.gz"):
            if archive.is_file():
                return archive
    return None


def _load_uci121(data_set: DataSet, data_dir: Path | None) -> TabularSet:
    copy = find_copy(data_set, data_dir)
    if copy is None:
        raise MissingDataError(
            f"{data_set.name} is not at hand: download {data_set.source} into a directory and name it with --data or "
            f"SQUENTROPY_DATA, or run `squentropy data fetch {data_set.name}`"
        )
    if copy.suffix == ".npz":
        return _load_compact(data_set, copy)
    if copy.is_dir():
        table = read_original(copy.name, _from_folder(copy), manifest_name=data_set.name)
        return _checked(table, data_set, str(copy))
    with Archive(copy) as archive:
        return read_archived(data_set, archive)


def _load_compact(data_set: DataSet, path: Path) -> TabularSet:
    (expected,) = (file.sha256 for file in data_set.files if file.form == "compact")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise WrongHashError(f"{path} has SHA-256 {found}, the manifest says {expected}; replace the file")
    return read_compact(content, manifest_name=data_set.name, num_classes=data_set.classes or 0)


def read_archived(data_set: DataSet, archive: Archive) -> TabularSet:
    """Read a data set of the collection ``uci121`` from its original archive, however deep its folders lie."""
    folder = data_set.name.partition("/")[2]
    header = f"{folder}/{folder}.txt"
    headers = [name for name in archive.names if name == header or name.endswith(f"/{header}")]
    if not headers:
        raise MissingDataError(f"{archive.path} has no data set {folder!r} (a member {header})")
    place = min(headers, key=len).removesuffix(f"{folder}.txt")
    table = read_original(folder, lambda file: archive.read(place + file), manifest_name=data_set.name)
    return _checked(table, data_set, f"{archive.path}, member {place}")


def _from_folder(folder: Path) -> ReadFile:
    def read(file: str) -> bytes:
        try:
            return (folder / file).read_bytes()
        except OSError as error:
            raise DataError(f"{folder / file} cannot be read ({error.strerror}); unpack the archive again") from error

    return read


def _checked(table: TabularSet, data_set: DataSet, origin: str) -> TabularSet:
    if data_set.content_sha256 is not None and table.sha256 != data_set.content_sha256:
        raise WrongHashError(
            f"{origin}: the values of {data_set.name} have SHA-256 {table.sha256}, the manifest says "
            f"{data_set.content_sha256}; this is another version of the data set"
        )
    return table
