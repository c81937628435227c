"""Tiny files in the formats in which data sets of images are published, written by other code than that under test."""

import gzip
import io
import pickle
import tarfile
from pathlib import Path

import numpy as np


def pixels(count, height=32, width=32, seed=0):
    """Images (N, H, W, 3) of random bytes."""
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), dtype=np.uint8)


def idx(array):
    """MNIST's format: two zeros, the type 8, the number of dimensions, each of them, the bytes."""
    header = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return header + array.astype(np.uint8).tobytes()


def write_mnist(folder: Path, images, labels, *, compressed=True):
    folder.mkdir(parents=True)
    for part in ("train", "t10k"):
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            content = idx(array)
            path = folder / f"{part}-{kind}-ubyte{'.gz' if compressed else ''}"
            path.write_bytes(gzip.compress(content) if compressed else content)


def cifar_batch(images, **labels):
    """A batch as published: planes of red, green and blue, rows of 3,072 bytes, pickled by Python 2's protocol."""
    rows = images.transpose(0, 3, 1, 2).reshape(len(images), 3072)
    return pickle.dumps({"data": rows, "filenames": ["a.png"] * len(images), **labels}, protocol=2)


def tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def write_svhn(folder: Path, images, labels):
    """MATLAB's format with height, width, channel and number as dimensions; the digit 0 has the label 10."""
    from scipy.io import savemat

    folder.mkdir(parents=True)
    for part in ("train", "test"):
        content = {"X": images.transpose(1, 2, 3, 0), "y": np.array(labels, np.uint8)[:, None]}
        savemat(folder / f"{part}_32x32.mat", content)


def write_stl10(folder: Path, images, labels):
    """Planes of red, green and blue, each column by column; labels from 1."""
    folder.mkdir(parents=True)
    for part in ("train", "test"):
        (folder / f"{part}_X.bin").write_bytes(images.transpose(0, 3, 2, 1).tobytes())
        (folder / f"{part}_y.bin").write_bytes(bytes(labels))


def write_class_folders(root: Path, classes=("n01", "n02"), each=3, size=(40, 56), suffix="JPEG"):
    """`train/<class>/` and `val/<class>/` with images of several sizes."""
    from PIL import Image

    for part in ("train", "val"):
        for number, name in enumerate(classes):
            folder = root / part / name
            folder.mkdir(parents=True)
            for image, content in enumerate(pixels(each, *size, seed=number)):
                height = size[0] - 4 * image
                smooth = np.full_like(content[:height], 40 + 60 * number)  # compresses without artefacts
                Image.fromarray(smooth).save(folder / f"{name}_{image}.{suffix}")


def write_tiny(folder: Path, data_set: str):
    """A few images with ten classes, or two of ImageNet's, as the data set is published."""
    classes = [n % 10 for n in range(20)]
    if data_set == "svhn":
        write_svhn(folder / "svhn", pixels(20), [label + 1 for label in classes])
    elif data_set == "stl10":
        write_stl10(folder / "stl10_binary", pixels(20, 96, 96), [label + 1 for label in classes])
    elif data_set == "imagenet":
        write_class_folders(folder / "imagenet", each=2, size=(240, 300))
    else:
        place, kind = {"cifar10": ("cifar-10-batches-py", "labels"), "cifar100": ("cifar-100-python", "fine_labels")}[
            data_set
        ]
        parts = ["test_batch", *(f"data_batch_{n}" for n in range(1, 6))] if kind == "labels" else ["test", "train"]
        (folder / place).mkdir()
        for part in parts:
            (folder / place / part).write_bytes(cifar_batch(pixels(2), **{kind: [0, 1]}))
