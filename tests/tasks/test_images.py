"""Images as batches: every one once, in an order and with chances that depend on the seed alone."""

from pathlib import Path

import pytest
import torch

from squentropy.data.augmentation import CenterCrop, Normalisation, PadCropFlip, RandomResizedCrop
from squentropy.data.image_sets import load_images
from squentropy.data.images import ImageArray, ImageSet
from squentropy.study import Recipe, Shard
from squentropy.tasks.images import ImageData
from tests.data import image_files

HALVES = Normalisation((0.5,) * 3, (0.5,) * 3)


def numbered(count=20):
    """Images that say their number in every pixel."""
    pixels = torch.arange(count, dtype=torch.uint8)[:, None, None, None].expand(count, 3, 8, 8)
    return ImageSet(
        "numbered", ImageArray(pixels, torch.arange(count) % 2), ImageArray(pixels, torch.arange(count) % 2), 2
    )


def recipe(**settings):
    return Recipe(**{"epochs": 1, "batch_size": 6, "learning_rate": 0.1, **settings})


def batches(data, shard=Shard(), seed=0, **settings):  # noqa: B008 (frozen)
    return list(data.train_batches(recipe(**settings), torch.Generator().manual_seed(seed), shard))


def numbers(part):
    return (part.inputs[:, 0, 0, 0] * 127.5 + 127.5).round().int().tolist()


def test_an_epoch_has_every_image_once_with_its_class():
    data = ImageData(numbered(), HALVES)
    parts = [part for (part,) in batches(data)]
    assert [len(part.target) for part in parts] == [6, 6, 6, 2]
    assert data.steps(recipe()) == 4
    seen = [number for part in parts for number in numbers(part)]
    assert sorted(seen) == list(range(20))
    assert seen != sorted(seen)
    assert [number % 2 for number in seen] == [label for part in parts for label in part.target.tolist()]
    test = list(data.test_batches(recipe()))
    assert [number for part in test for number in numbers(part)] == list(range(20))


def test_parts_and_shares_together_are_the_batch():
    data = ImageData(numbered(), HALVES, PadCropFlip(2))
    whole = [part for (part,) in batches(data)]
    accumulated = batches(data, accumulate=2)
    for batch, parts in zip(whole, accumulated, strict=True):
        assert torch.equal(torch.cat([part.inputs for part in parts]), batch.inputs)
    shares = [batches(data, Shard(index, 2)) for index in (0, 1)]
    for batch, (first,), (second,) in zip(whole, *shares, strict=True):
        assert torch.equal(first.inputs, batch.inputs[0::2])
        assert torch.equal(second.target, batch.target[1::2])


def test_the_seed_decides_everything():
    data = ImageData(numbered(), HALVES, PadCropFlip(2))
    first, again, other = batches(data), batches(data), batches(data, seed=1)
    assert all(torch.equal(a.inputs, b.inputs) for (a,), (b,) in zip(first, again, strict=True))
    assert any(not torch.equal(a.inputs, b.inputs) for (a,), (b,) in zip(first, other, strict=True))


def test_files_are_decoded_ahead_and_come_in_their_order(tmp_path):
    image_files.write_class_folders(tmp_path / "imagenet", each=5, size=(60, 50))
    data = ImageData(load_images("imagenet", tmp_path), HALVES, RandomResizedCrop(16), CenterCrop(16))
    first, again = batches(data, batch_size=3), batches(data, batch_size=3)
    assert [part.inputs.shape for (part,) in first] == [(3, 3, 16, 16)] * 3 + [(1, 3, 16, 16)]
    assert all(torch.equal(a.inputs, b.inputs) for (a,), (b,) in zip(first, again, strict=True))
    for (part,) in first:  # 40 for the one class, 100 for the other
        assert ((part.inputs.mean((1, 2, 3)) * 127.5 + 127.5 > 70) == part.target.bool()).all()


def test_an_unreadable_file_stops_the_epoch_with_its_name(tmp_path):
    image_files.write_class_folders(tmp_path / "imagenet")
    broken = tmp_path / "imagenet" / "train" / "n02" / "n02_1.JPEG"
    broken.write_bytes(b"not an image")
    data = ImageData(load_images("imagenet", tmp_path), HALVES, RandomResizedCrop(16), CenterCrop(16))
    with pytest.raises(ValueError, match=r"n02_1.JPEG is not an image that can be decoded"):
        batches(data)
    assert Path(broken).read_bytes() == b"not an image"


def test_the_hash_is_of_both_parts():
    data = ImageData(numbered(), HALVES)
    swapped = ImageData(ImageSet("numbered", numbered().train, numbered(10).test, 2), HALVES)
    assert data.sha256 == ImageData(numbered(), HALVES).sha256
    assert data.sha256 != swapped.sha256
    assert data.num_classes == 2
