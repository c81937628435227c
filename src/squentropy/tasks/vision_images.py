"""The images of the vision rows: which data set at which scale, how it is cut, and pretrained weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from squentropy.data import MissingDataError
from squentropy.data.augmentation import Framing, Normalisation, Unchanged
from squentropy.data.directories import data_directories
from squentropy.data.image_sets import load_images
from squentropy.data.images import ImageArray, ImageSet, reduced
from squentropy.study import Recipe
from squentropy.tasks.images import ImageData

_PIXEL_SEED = 1111  # of the reference, for the order of the pixels


@dataclass(frozen=True)
class Source:
    """Which images a task takes at one scale, and how they are shown.

    Attributes:
        data_set: Name in the manifest.
        normalisation: Mean and standard deviation of the channels.
        framing: What of an image is shown in training.
        test_framing: What of it is shown in the test.
    """

    data_set: str
    normalisation: Normalisation
    framing: Framing = field(default_factory=Unchanged)
    test_framing: Framing = field(default_factory=Unchanged)


def load_task_images(
    scale: str, data_dir: Path | None, *, sources: Mapping[str, Source], recipes: Mapping[str, Recipe]
) -> ImageData:
    """Loads the images of a scale, with the cut that its recipe's options describe.

    The options are `train_per_class` and `test_per_class`, the number of images of each class, the first in the files;
    `pool`, the side of the squares of pixels that are averaged; `pixels`, the order of a sequence of pixels; and
    `checkpoint`, the weights to start from.
    """
    source, options = sources[scale], recipes[scale].options
    images = load_images(source.data_set, data_dir, whole=scale == "paper")
    train, test = images.train, images.test
    pool: Any = options.get("pool", 1)
    if pool > 1 or "train_per_class" in options:
        train = reduced(train, _count(options.get("train_per_class")), pool)
    if pool > 1 or "test_per_class" in options:
        test = reduced(test, _count(options.get("test_per_class")), pool)
    if "pixels" in options:
        train, test = (as_sequences(part, permuted=options["pixels"] == "permuted") for part in (train, test))
    checkpoint = options.get("checkpoint")
    return ImageData(
        ImageSet(images.name, train, test, images.num_classes),
        source.normalisation,
        source.framing,
        source.test_framing,
        None if checkpoint is None else find_checkpoint(str(checkpoint), data_dir),
    )


def _count(option: Any) -> int | None:
    return option if option is None else int(option)


def as_sequences(images: Any, *, permuted: bool) -> ImageArray:
    """Returns images whose pixels stand in one row, in their order or in a fixed random one.

    Examples:
        >>> images = ImageArray(torch.zeros(2, 1, 28, 28, dtype=torch.uint8), torch.tensor([0, 1]))
        >>> as_sequences(images, permuted=True).pixels.shape
        torch.Size([2, 1, 1, 784])
    """
    pixels = images.pixels.flatten(2)[:, :, None]
    if permuted:
        order = torch.randperm(pixels.shape[3], generator=torch.Generator().manual_seed(_PIXEL_SEED))
        pixels = pixels[..., order]
    return ImageArray(pixels, images.target)


def find_checkpoint(name: str, data_dir: Path | None) -> Path:
    """Finds a folder of Google's weights in the data directory, or in the cache of the Hugging Face hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    for directory in data_directories(data_dir):
        if (directory / name / "model.safetensors").is_file():
            return directory / name
    try:
        return Path(snapshot_download(f"google/{name}", local_files_only=True))
    except LocalEntryNotFoundError:
        raise MissingDataError(
            f"the weights {name} are not at hand: download config.json and model.safetensors (346 MB) from "
            f"https://huggingface.co/google/{name}, into a folder {name} of a directory that you name with --data or "
            "SQUENTROPY_DATA (terms: Apache-2.0)"
        ) from None
