"""One way in to the data sets of texts: by name, from whatever form is at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from squentropy.data.directories import data_directories
from squentropy.data.download import check_sha256
from squentropy.data.errors import DataError, MissingDataError
from squentropy.data.manifest import MANIFEST
from squentropy.data.newsgroups import GROUPS, rows_of_archive, rows_of_folder
from squentropy.data.text_files import Row, read_jsonl, read_parquet, read_saved, read_tsv, texts_of
from squentropy.data.texts import Texts, TextSet


class Form(NamedTuple):
    """One pair of files that hold the training and the test part; `whole` is False for a cut."""

    train: str
    test: str
    whole: bool = True
    columns: tuple[str, ...] | None = None
    damaged: str = "strict"


@dataclass(frozen=True)
class Layout:
    """What the files of a data set look like.

    Attributes:
        texts: For each text of a row the names that its column may have.
        label: The names that the column of labels may have.
        classes: Names of the classes.
        forms: Files that may hold it, in its folder.
        size: Of what is to be downloaded.
        test_part: What Hugging Face calls the part that is tested on.
        skips_empty: Whether rows without a text occur as published, and are left out.
    """

    texts: tuple[tuple[str, ...], ...]
    label: tuple[str, ...]
    classes: tuple[str, ...]
    forms: tuple[Form, ...]
    size: str
    test_part: str = "validation"
    skips_empty: bool = False


class Part(NamedTuple):
    """The rows of a training or test part, read when they are asked for, and where they come from."""

    rows: Iterator[Row]
    source: str


class Found(NamedTuple):
    """A data set in a folder."""

    train: Part
    test: Part
    is_whole: bool = True


_GLUE = (Form("train.tsv", "dev.tsv"), Form("train.tsv.xz", "dev.tsv.xz"))
LAYOUTS = {
    "glue/MRPC": Layout(
        texts=(("#1 String", "sentence1"), ("#2 String", "sentence2")),
        label=("Quality", "label"),
        classes=("not_equivalent", "equivalent"),
        forms=_GLUE,
        size="1.5 MB",
    ),
    "glue/SST-2": Layout(
        texts=(("sentence", "content"),),
        label=("label",),
        classes=("negative", "positive"),
        forms=_GLUE,
        size="7 MB",
    ),
    "glue/QNLI": Layout(
        texts=(("question",), ("sentence",)),
        label=("label",),
        classes=("entailment", "not_entailment"),
        forms=(*_GLUE, Form("train_part_10475.tsv.xz", "dev.tsv.xz", whole=False)),
        size="11 MB",
    ),
    # The published pairs have a few empty questions. The compact files are two of the three parts of another
    # partition (Wang et al. 2017): one is trained on, one tested on.
    "glue/QQP": Layout(
        texts=(("question1",), ("question2",)),
        label=("is_duplicate", "label"),
        classes=("not_duplicate", "duplicate"),
        forms=(
            *_GLUE,
            Form("dev_10k.tsv.xz", "test_10k.tsv.xz", False, ("label", "question1", "question2", "id"), "replace"),
        ),
        size="42 MB",
        skips_empty=True,
    ),
    "20news": Layout(
        texts=(("text",),),
        label=("group", "label_text", "label"),
        classes=GROUPS,
        forms=(
            Form("20news-bydate-train.jsonl.xz", "20news-bydate-test.jsonl.xz"),
            Form("train.jsonl", "test.jsonl"),
        ),
        size="14 MB",
        test_part="test",
        skips_empty=True,
    ),
}
_BYDATE = "20news-bydate"
_GLUE_PAGE = "https://gluebenchmark.com/tasks"


def load_texts(name: str, data_dir: Path | None = None, *, whole: bool = True) -> TextSet:
    """Loads a data set of texts of the manifest.

    It is looked for in the data directory and then in the cache, in a folder with the set's name, alone or within its
    collection (`QNLI`, `glue/QNLI` or `glue/qnli`): as GLUE's `train.tsv` and `dev.tsv`, as the compact files of the
    manifest, as JSON lines, as Parquet files of the Hugging Face hub (`train-*.parquet`, `validation-*.parquet`) or as
    saved by `datasets.DatasetDict.save_to_disk`. 20 Newsgroups may be the archive `20news-bydate.tar.gz` or the folders
    in it.

    Args:
        name: "glue/MRPC", "glue/SST-2", "glue/QNLI", "glue/QQP" or "20news".
        data_dir: The user's data directory; the one in `SQUENTROPY_DATA` if None.
        whole: Whether a cut of the published data will not do.

    Raises:
        MissingDataError: No copy is at hand, or only a cut where the whole is asked for.
        DataError: The copy cannot be read.

    Examples:
        >>> load_texts("glue/CoLA")
        Traceback (most recent call last):
        squentropy.data.errors.DataError: 'glue/CoLA' is no data set of texts: choose among glue/MRPC, glue/SST-2, ...
    """
    if name not in LAYOUTS:
        raise DataError(f"{name!r} is no data set of texts: choose among {', '.join(LAYOUTS)}")
    layout, cut = LAYOUTS[name], None
    for folder in _folders(name, data_dir):
        found = _find(name, folder, layout)
        if found is not None and (found.is_whole or not whole):
            return TextSet(name, _texts(found.train, layout), _texts(found.test, layout), layout.classes)
        cut = folder if found else cut
    raise MissingDataError(_where_to_get(name, layout, cut))


def _where_to_get(name: str, layout: Layout, cut: Path | None) -> str:
    about = MANIFEST[name]
    files = f"{_BYDATE}.tar.gz from {about.source}" if name == "20news" else f"train.tsv and dev.tsv from {_GLUE_PAGE}"
    problem = f"{cut} holds only a part of {name}, enough for scale small" if cut else f"{name} is not at hand"
    fetch = f", or run `squentropy data fetch {name}`" if any(file.url for file in about.files) else ""
    return (
        f"{problem}: put {files} ({layout.size}; {about.licence}) into the folder {name} of a "
        f"directory and name that with --data or SQUENTROPY_DATA{fetch}"
    )


def are_texts_at_hand(name: str, data_dir: Path | None = None) -> bool:
    """Whether there is a copy of a data set of texts, whole or cut, right or wrong."""
    return any(_find(name, folder, LAYOUTS[name]) for folder in _folders(name, data_dir))


def _folders(name: str, data_dir: Path | None) -> Iterator[Path]:
    last = name.rpartition("/")[2]
    lower = last.lower().replace("-", "")  # as on the Hugging Face hub
    for directory in data_directories(data_dir):
        places = [directory / place for place in dict.fromkeys((name, last, f"glue/{lower}", lower))]
        yield from (place for place in places if place.is_dir())
        if name == "20news":
            yield directory


def _find(name: str, folder: Path, layout: Layout) -> Found | None:
    """Returns the parts of a data set in a folder, none of which is read yet; None if it is not there."""
    for form in layout.forms:
        paths = [folder / form.train, folder / form.test]
        if all(path.is_file() for path in paths):
            train, test = (Part(_rows(name, path, form), str(path)) for path in paths)
            return Found(train, test, form.whole)
    if (folder / "dataset_dict.json").is_file():
        return _found(Part(read_saved(folder, part), f"{folder}/{part}") for part in ("train", layout.test_part))
    shards = [sorted(folder.glob(f"{part}-*.parquet")) for part in ("train", layout.test_part)]
    if all(shards):
        return _found(Part(read_parquet(paths), str(paths[0])) for paths in shards)
    if name != "20news":
        return None
    folders = [folder / f"{_BYDATE}-{part}" for part in ("train", "test")]
    if all(each.is_dir() for each in folders):
        return _found(Part(rows_of_folder(each), str(each)) for each in folders)
    archive = folder / f"{_BYDATE}.tar.gz"
    if archive.is_file():
        return _found(Part(rows_of_archive(archive, each.name), str(archive)) for each in folders)
    return None


def _found(parts: Iterable[Part]) -> Found:
    train, test = parts
    return Found(train, test)


def _rows(name: str, path: Path, form: Form) -> Iterator[Row]:
    for file in MANIFEST[name].files:
        if path.parts[-len(Path(file.path).parts) :] == Path(file.path).parts and file.sha256:
            check_sha256(path, file.sha256)
    yield from read_jsonl(path) if ".jsonl" in path.name else read_tsv(path, form.columns, damaged=form.damaged)


def _texts(part: Part, layout: Layout) -> Texts:
    return texts_of(
        part.rows,
        part.source,
        texts=layout.texts,
        label=layout.label,
        classes=layout.classes,
        skips_empty=layout.skips_empty,
    )
