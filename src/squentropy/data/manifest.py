"""The manifest: every data set of the studies, where it comes from, and the hashes by which it is recognised."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from squentropy.data.errors import DataError


@dataclass(frozen=True)
class DataFile:
    """One file that holds a data set or a part of one.

    Attributes:
        path: Where it lies, relative to the data directory or the cache.
        form: ``original`` (as published) or ``compact`` (the same values in fewer bytes).
        bytes: Size, or None where it is not known.
        sha256: Hash of the file, or None where no copy was at hand to take it from.
        url: Where it can be downloaded, or None.
    """

    path: str
    form: str
    bytes: int | None
    sha256: str | None
    url: str | None


@dataclass(frozen=True)
class DataSet:
    """One data set: what is in it, under which terms, and its files.

    Attributes:
        name: ``collection/name`` or ``name``.
        rows: Rows of the training file.
        test_rows: Rows of the separate test file, 0 without one.
        features: Columns (or pixels), None for text and sound.
        classes: Number of classes, None where the target is a text.
        licence: Licence or terms of the origin.
        source: Public page of the origin.
        content_sha256: Hash of the arrays themselves, whatever file they were read from
            (`squentropy.data.TabularSet.sha256`); None where no copy of the original was at hand.
        note: What a user has to know, for instance what was cut.
        files: The files that hold it, in any one of the forms.
    """

    name: str
    rows: int
    test_rows: int
    features: int | None
    classes: int | None
    licence: str
    source: str
    content_sha256: str | None
    note: str
    files: tuple[DataFile, ...]

    @property
    def collection(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]


def select(names: list[str]) -> list[DataSet]:
    """The data sets with these names; a collection stands for all its sets, no name for everything.

    Examples:
        >>> [data_set.name for data_set in select(["mnist", "uci121/iris"])]
        ['mnist', 'uci121/iris']
        >>> len(select(["uci121"]))
        121
    """
    if not names:
        return list(MANIFEST.values())
    chosen: dict[str, DataSet] = {}
    for name in names:
        found = {key: value for key, value in MANIFEST.items() if name in (key, value.collection)}
        if not found:
            collections = ", ".join(dict.fromkeys(value.collection for value in MANIFEST.values()))
            raise DataError(f"no data set {name!r}; `squentropy data list` shows the names ({collections})")
        chosen |= found
    return list(chosen.values())


def _rows(table: str) -> Iterator[dict[str, str]]:
    with resources.files("squentropy.data").joinpath(table).open(encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


def _read() -> dict[str, DataSet]:
    files: dict[str, list[DataFile]] = {}
    for row in _rows("files.csv"):
        file = DataFile(
            path=row["path"],
            form=row["form"],
            bytes=int(row["bytes"]) if row["bytes"] else None,
            sha256=row["sha256"] or None,
            url=row["url"] or None,
        )
        files.setdefault(row["set"], []).append(file)
    manifest: dict[str, DataSet] = {}
    for row in _rows("sets.csv"):
        name = row["name"]
        own = files.get(name, [])
        # One archive holds all sets of a collection: its row names the collection instead of a set.
        shared = files.get(name.partition("/")[0], []) if "/" in name else []
        manifest[name] = DataSet(
            name=name,
            rows=int(row["rows"]),
            test_rows=int(row["test_rows"]),
            features=int(row["features"]) if row["features"] else None,
            classes=int(row["classes"]) if row["classes"] else None,
            licence=row["licence"],
            source=row["source"],
            content_sha256=row["content_sha256"] or None,
            note=row["note"],
            files=(*own, *shared),
        )
    return manifest


MANIFEST = _read()
"""All data sets by name."""
