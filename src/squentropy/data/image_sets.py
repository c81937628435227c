"""One way in to the data sets of images: by name, from whatever form is at hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from squentropy.data import image_forms as forms
from squentropy.data.directories import data_directories
from squentropy.data.download import sha256_of
from squentropy.data.errors import DataError, MissingDataError, WrongHashError
from squentropy.data.image_forms import Form
from squentropy.data.images import ImageSet
from squentropy.data.manifest import MANIFEST


@dataclass(frozen=True)
class Layout:
    """How a data set of images is found.

    Attributes:
        forms: Its forms, the best first.
        hub: Its name at the Hugging Face hub.
        test_part: What the hub calls the part that is tested on.
        get: What to download and from where, for whoever has no copy.
    """

    forms: tuple[Form, ...]
    hub: str
    test_part: str
    get: str


LAYOUTS = {
    "mnist": Layout(
        (forms.mnist_form(".gz"), forms.mnist_form("")),
        "ylecun/mnist",
        "test",
        "its four idx files (12 MB) with `squentropy data fetch mnist`",
    ),
    "cifar10": Layout(
        (
            *forms.cifar_forms(
                "cifar-10-python.tar.gz",
                "cifar-10-batches-py",
                tuple(f"data_batch_{number}" for number in range(1, 6)),
                "test_batch",
            ),
            forms.SHEETS,
            forms.MOSAICS,
        ),
        "uoft-cs/cifar10",
        "test",
        "cifar-10-python.tar.gz (170 MB) with `squentropy data fetch cifar10`",
    ),
    "cifar100": Layout(
        (*forms.cifar_forms("cifar-100-python.tar.gz", "cifar-100-python", ("train",), "test"), forms.MOSAICS),
        "uoft-cs/cifar100",
        "test",
        "cifar-100-python.tar.gz (169 MB) with `squentropy data fetch cifar100`",
    ),
    "svhn": Layout(
        (forms.SVHN,),
        "ufldl-stanford/svhn",
        "test",
        "train_32x32.mat and test_32x32.mat (246 MB) from http://ufldl.stanford.edu/housenumbers/",
    ),
    "stl10": Layout(
        forms.STL10,
        "tanganke/stl10",
        "test",
        "stl10_binary.tar.gz (2.6 GB) from https://cs.stanford.edu/~acoates/stl10/",
    ),
    "tiny-imagenet": Layout(
        (forms.TINY_IMAGENET, forms.TINY_IMAGENET_BLOBS),
        "zh-plus/tiny-imagenet",
        "valid",
        "tiny-imagenet-200.zip (248 MB) from http://cs231n.stanford.edu/tiny-imagenet-200.zip and unpack it",
    ),
    "imagenet": Layout(
        (forms.CLASS_FOLDERS,),
        "ILSVRC/imagenet-1k",
        "validation",
        "ILSVRC 2012 (155 GB) from https://image-net.org, where one has to register, and unpack it as "
        "train/CLASS/*.JPEG and val/CLASS/*.JPEG",
    ),
}


def load_images(name: str, data_dir: Path | None = None, *, whole: bool = True) -> ImageSet:
    """Loads a data set of images of the manifest.

    It is looked for in the data directory and then in the cache, in a folder with the set's name or beside it: as its
    original files, as the compact files of the manifest, as a folder for each class, or as Parquet files of the Hugging
    Face hub (`train-*.parquet`); and at last among what `datasets.load_dataset` has downloaded under its name.

    Args:
        name: "mnist", "cifar10", "cifar100", "svhn", "stl10", "tiny-imagenet" or "imagenet".
        data_dir: The user's data directory; the one in `SQUENTROPY_DATA` if None.
        whole: Whether a copy with a part of the published training images will not do.

    Raises:
        MissingDataError: No copy is at hand.
        WrongHashError: A file is not the one that the manifest describes.
        DataError: A copy cannot be read.
    """
    if name not in LAYOUTS:
        raise DataError(f"{name!r} is not a data set of images: choose one of {', '.join(LAYOUTS)}")
    has_cut = False
    for form, place in _copies(name, data_dir):
        _check_hashes(name, form, place)
        parts = form.read(place)
        if not (whole and parts.is_cut):
            return ImageSet(name, parts.train, parts.test, MANIFEST[name].classes or 0)
        has_cut = True
    raise MissingDataError(
        f"{name} is {'only in part' if has_cut else 'not'} at hand: download {LAYOUTS[name].get}, into a folder {name} "
        f"of a directory that you name with --data or SQUENTROPY_DATA (terms: {MANIFEST[name].licence})"
    )


def are_images_at_hand(name: str, data_dir: Path | None = None) -> bool:
    """Whether there is a copy of a data set of images, right or wrong.

    Examples:
        >>> import tempfile
        >>> are_images_at_hand("imagenet", Path(tempfile.mkdtemp()))
        False
    """
    return next(_copies(name, data_dir), None) is not None


def _copies(name: str, data_dir: Path | None) -> Iterator[tuple[Form, Path]]:
    """The forms that are there, each with the folder that it lies in."""
    layout, own = LAYOUTS[name], [directory / name for directory in data_directories(data_dir)]
    places = [place for folder in own for place in (folder, folder.parent)]
    for form in layout.forms:
        for place in own if form is forms.CLASS_FOLDERS else places:
            if form.is_in(place):
                yield form, place
    downloads = _hub_cache() / layout.hub.replace("/", "___")
    for place, pattern in (*((place, ".parquet") for place in own), (downloads, ".arrow")):
        table = forms.table_form(place, pattern, layout.test_part)
        if table is not None:
            yield table, place


def _hub_cache() -> Path:
    """Where `datasets` keeps its downloads, found without loading it."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets")


def _check_hashes(name: str, form: Form, place: Path) -> None:
    for file in form.files:
        known = {each.sha256 for each in MANIFEST[name].files if each.path == f"{name}/{file}" and each.sha256}
        if known and (found := sha256_of(place / file)) not in known:
            raise WrongHashError(
                f"{place / file} has SHA-256 {found}, the manifest says {' or '.join(sorted(known))}; replace the file"
            )
