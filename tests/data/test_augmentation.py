"""Framing and normalisation of batches, pixel by pixel against what is written out here, and against Pillow."""

import numpy as np
import pytest
import torch
from PIL import Image

from squentropy.data.augmentation import CenterCrop, Normalisation, PadCropFlip, RandomResizedCrop, Unchanged
from squentropy.data.images import Box, ImageArray
from tests.data import image_files


def images(count=40, size=12, channels=3):
    generator = torch.Generator().manual_seed(1)
    pixels = torch.randint(256, (count, channels, size, size), generator=generator, dtype=torch.uint8)
    return ImageArray(pixels, torch.zeros(count, dtype=torch.int64))


def test_crops_of_the_padded_image_are_those_of_numpy():
    source, framing = images(), PadCropFlip(padding=3)
    draws = framing.draw(40, torch.Generator().manual_seed(2))
    found = framing(source, torch.arange(40), draws)
    seen = set()
    for image, framed, (top, left, flip) in zip(source.pixels.numpy(), found.numpy(), draws.tolist(), strict=True):
        padded = np.pad(image, ((0, 0), (3, 3), (3, 3)), mode="reflect")
        y, x = int(top * 7), int(left * 7)
        seen.add((y, x))
        # A flipped image is padded and cropped after it was flipped or before: the offset is then the mirrored one.
        expected = padded[:, y : y + 12, x : x + 12]
        if flip >= 0.5:
            flipped = np.pad(image[:, :, ::-1], ((0, 0), (3, 3), (3, 3)), mode="reflect")
            candidates = [flipped[:, y : y + 12, x : x + 12], flipped[:, y : y + 12, 6 - x : 18 - x]]
            assert any(np.array_equal(framed, each) for each in candidates)
        else:
            assert np.array_equal(framed, expected)
    assert len(seen) > 20


def test_all_offsets_and_both_sides_are_drawn_alike():
    draws = PadCropFlip(padding=2).draw(20_000, torch.Generator().manual_seed(0))
    offsets = (draws[:, :2] * 5).long()
    counts = torch.bincount(offsets[:, 0] * 5 + offsets[:, 1], minlength=25)
    assert counts.min() > 650  # of 800 expected, with a standard deviation of 28
    assert counts.max() < 950
    assert (draws[:, 2] < 0.5).float().mean().item() == pytest.approx(0.5, abs=0.02)


def test_a_share_of_the_rows_gets_what_these_rows_get_together():
    source, index = images(10, size=16), torch.arange(10)
    for framing in (PadCropFlip(2), RandomResizedCrop(8), CenterCrop(8), Unchanged()):
        draws = framing.draw(10, torch.Generator().manual_seed(3))
        together = framing(source, index, draws)
        for part in (slice(0, None, 2), slice(1, None, 2)):
            assert torch.equal(framing(source, index[part], draws[part]), together[part])


class Recorder:
    """Images that only write down what is cut of them."""

    target = torch.zeros(1)
    sha256 = ""

    def __init__(self, height, width):
        self.size, self.boxes = (height, width), []

    def read(self, index):
        raise AssertionError("these framings cut")

    def cut(self, index, cuts, size):
        self.boxes += [cut(*self.size) for cut in cuts]
        return torch.zeros(len(index), 3, size, size, dtype=torch.uint8)


@pytest.mark.parametrize("size", [(64, 64), (375, 500), (200, 90)])
def test_random_parts_have_the_area_and_shape_that_torchvision_draws(size):
    recorder, framing = Recorder(*size), RandomResizedCrop(32)
    framing(recorder, torch.arange(2000), framing.draw(2000, torch.Generator().manual_seed(0)))
    height, width = size
    boxes = np.array(recorder.boxes, float)
    assert (boxes >= 0).all()
    assert (boxes[:, 0] + boxes[:, 2] <= height).all()
    assert (boxes[:, 1] + boxes[:, 3] <= width).all()
    area = boxes[:, 2] * boxes[:, 3] / (height * width)
    assert 0.07 <= area.min() <= 0.10
    assert 0.95 <= area.max() <= 1.0 or size == (200, 90)  # too long and narrow for a large part of that shape
    shape = boxes[:, 3] / boxes[:, 2]
    assert 0.7 <= shape.min() <= 0.78
    assert 1.28 <= shape.max() <= 1.4
    if size == (64, 64):
        # Uniform in 0.08 to 1, given that it fits: E[a | a <= exp(-|u|)], u uniform in +-log(4/3).
        assert area.mean() == pytest.approx(0.10845 / 0.22699, abs=0.02)


def test_where_no_attempt_fits_the_middle_is_taken():
    recorder, framing = Recorder(300, 30), RandomResizedCrop(32)
    framing(recorder, torch.arange(1), torch.full((1, 41), 0.999))
    assert recorder.boxes == [Box(130, 0, 40, 30)]


@pytest.mark.parametrize(("size", "box"), [((64, 64), Box(4, 4, 56, 56)), ((256, 341), Box(16, 58, 224, 224))])
def test_the_middle_square(size, box):
    recorder = Recorder(*size)
    CenterCrop(224)(recorder, torch.arange(1), torch.empty(1, 0))
    assert recorder.boxes == [box]


def test_images_in_memory_and_files_are_cut_alike(tmp_path):
    """By PyTorch and by Pillow, both bilinear with antialiasing."""
    from squentropy.data.images import ImageFiles

    smooth = np.asarray(Image.fromarray(image_files.pixels(1, 8, 8)[0]).resize((48, 48), Image.Resampling.BICUBIC))
    Image.fromarray(smooth).save(tmp_path / "a.png")
    files = ImageFiles([tmp_path / "a.png"], torch.tensor([0]), ["a.png"])
    memory = ImageArray(torch.from_numpy(smooth.transpose(2, 0, 1).copy())[None], torch.tensor([0]))
    cut = [lambda height, width: Box(3, 5, 40, 30)]
    ours, pillows = memory.cut(torch.tensor([0]), cut, 17), files.cut(torch.tensor([0]), cut, 17)
    assert (ours.int() - pillows.int()).abs().max() <= 1
    assert torch.equal(files.read(torch.tensor([0])), memory.read(torch.tensor([0])))


def test_normalisation_has_mean_0_and_deviation_1():
    pixels = images(200).pixels
    values = pixels.double() / 255
    mean, deviation = values.mean((0, 2, 3)), values.std((0, 2, 3))
    normalised = Normalisation(tuple(mean.tolist()), tuple(deviation.tolist()))(pixels)
    assert normalised.dtype == torch.float32
    torch.testing.assert_close(normalised.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(normalised.std((0, 2, 3)), torch.ones(3), atol=1e-5, rtol=0)
