"""Fetching: the original files of a data set, from where they are published into the cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from squentropy.data.archive import Archive
from squentropy.data.directories import cache_dir
from squentropy.data.download import Progress, check_sha256, download
from squentropy.data.errors import DataError, WrongHashError
from squentropy.data.load import read_archived
from squentropy.data.manifest import DataFile, DataSet

ProgressFor = Callable[[DataFile], Progress]
"""Makes the progress callback of one file."""


def fetch(data_sets: list[DataSet], progress: ProgressFor | None = None) -> list[Path]:
    """Download the original files of data sets into the cache; those that are there are only checked.

    A file without a known SHA-256 (the archive of the 121 sets) is accepted if the values of every data set in it are
    those of the manifest.

    Args:
        data_sets: For instance `select(["mnist"])`.
        progress: Makes a progress callback for each file.

    Returns:
        The files, in the order of the manifest.

    Raises:
        DataError: A data set has no file that can be downloaded, or a download failed.
        WrongHashError: A download is not what the manifest says.
    """
    by_path: dict[str, DataFile] = {}
    for data_set in data_sets:
        if data_set.collection == "sklearn":
            continue
        own = {file.path: file for file in data_set.files if file.url}
        if not own:
            raise DataError(f"{data_set.name} has no download; get it from {data_set.source} and name it with --data")
        by_path |= own
    paths = []
    for file in by_path.values():
        assert file.url is not None
        path = cache_dir() / file.path
        check = partial(check_sha256, expected=file.sha256) if file.sha256 else partial(_check_archive, data_sets)
        download(file.url, path, check, progress=progress(file) if progress else None)
        paths.append(path)
    return paths


def _check_archive(data_sets: list[DataSet], path: Path) -> None:
    try:
        with Archive(path) as archive:
            for data_set in data_sets:
                read_archived(data_set, archive)
    except WrongHashError:
        raise
    except DataError as error:
        raise WrongHashError(f"not the archive of the 121 data sets: {error}") from error
