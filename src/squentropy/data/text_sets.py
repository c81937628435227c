"""One way in to the data sets of texts: by name, from whatever form is at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from squentropy.data.archive import Archive
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

    Example:
        >>> load_texts("glue/CoLA")
        Traceback (most recent call last):
        squentropy.data.errors.DataError: 'glue/CoLA' is no data set of texts: choose among glue/MRPC, glue/SST-2, ...
    """
    if name not in LAYOUTS:
        raise DataError(f"{name!r} is no data set of texts: choose among {', '.join(LAYOUTS)}")
    layout, cut = LAYOUTS[name], None
    for directory in data_directories(data_dir):
        for folder in _folders(directory, name):
            if (found := _load_folder(name, folder, layout)) is None:
                continue
            texts, is_whole = found
            if is_whole or not whole:
                return texts
            cut = folder
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


def _folders(directory: Path, name: str) -> Iterator[Path]:
    last = name.rpartition("/")[2]
    lower = last.lower().replace("-", "")  # as on the Hugging Face hub
    for place in dict.fromkeys((name, last, f"glue/{lower}", lower)):
        if (directory / place).is_dir():
            yield directory / place
    if name == "20news":
        yield directory


def _load_folder(name: str, folder: Path, layout: Layout) -> tuple[TextSet, bool] | None:
    """Returns the data set of a folder and whether it is whole; None if it is not there."""

    def made(train: tuple[Iterator[Row], str], test: tuple[Iterator[Row], str]) -> TextSet:
        return TextSet(name, _texts(*train, layout), _texts(*test, layout), layout.classes)

    for form in layout.forms:
        paths = [folder / form.train, folder / form.test]
        if all(path.is_file() for path in paths):
            train, test = ((_rows(name, path, form), str(path)) for path in paths)
            return made(train, test), form.whole
    if (folder / "dataset_dict.json").is_file():
        train, test = ((read_saved(folder, part), f"{folder}/{part}") for part in ("train", layout.test_part))
        return made(train, test), True
    shards = [sorted(folder.glob(f"{part}-*.parquet")) for part in ("train", layout.test_part)]
    if all(shards):
        train, test = ((read_parquet(paths), str(paths[0])) for paths in shards)
        return made(train, test), True
    return _load_newsgroups(folder, made) if name == "20news" else None


def _load_newsgroups(
    folder: Path, made: Callable[[tuple[Iterator[Row], str], tuple[Iterator[Row], str]], TextSet]
) -> tuple[TextSet, bool] | None:
    parts = [folder / f"{_BYDATE}-{part}" for part in ("train", "test")]
    if all(part.is_dir() for part in parts):
        train, test = ((rows_of_folder(part), str(part)) for part in parts)
        return made(train, test), True
    path = folder / f"{_BYDATE}.tar.gz"
    if not path.is_file():
        return None
    with Archive(path) as archive:
        train, test = ((rows_of_archive(archive, f"{_BYDATE}-{part}"), str(path)) for part in ("train", "test"))
        return made(train, test), True


def _rows(name: str, path: Path, form: Form) -> Iterator[Row]:
    for file in MANIFEST[name].files:
        if path.parts[-len(Path(file.path).parts) :] == Path(file.path).parts and file.sha256:
            check_sha256(path, file.sha256)
    if ".jsonl" in path.name:
        return read_jsonl(path)
    return read_tsv(path, form.columns, damaged=form.damaged)


def _texts(rows: Iterator[Row], source: str, layout: Layout) -> Texts:
    names: Sequence[Sequence[str]] = layout.texts
    return texts_of(
        rows,
        source,
        texts=names,
        label=layout.label,
        classes=layout.classes,
        skips_empty=layout.skips_empty,
    )
