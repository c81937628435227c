"""The images of the vision rows: which data set at which scale, how it is cut, and pretrained weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from squentropy.data.augmentation import Framing, Normalisation, Unchanged
from squentropy.data.checkpoints import find_checkpoint
from squentropy.data.image_sets import load_images
from squentropy.data.images import ImageArray, Images, ImageSet, reduced
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
    train, test = (_cut(getattr(images, part), options, f"{part}_per_class") for part in ("train", "test"))
    if "pixels" in options:
        train, test = (as_sequences(part, permuted=options["pixels"] == "permuted") for part in (train, test))
    checkpoint = options.get("checkpoint")
    return ImageData(
        ImageSet(images.name, train, test, images.num_classes),
        source.normalisation,
        source.framing,
        source.test_framing,
        None if checkpoint is None else find_checkpoint(str(checkpoint), data_dir, architecture="vit"),
    )


def _cut(images: Images, options: Mapping[str, Any], per_class: str) -> Images:
    pool = options.get("pool", 1)
    is_whole = pool == 1 and per_class not in options
    return images if is_whole else reduced(images, options.get(per_class), pool)


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
