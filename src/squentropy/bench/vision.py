"""Vision: the row of ResNet-18 on CIFAR-10 beside a bare loop, and its input pipeline beside a training step."""

import torch
import torch.nn.functional as F

from squentropy.bench.case import Case, Step, Target
from squentropy.data.augmentation import Normalisation, PadCropFlip
from squentropy.data.images import ImageArray, ImageSet
from squentropy.models import ResNet18
from squentropy.study import Recipe, Shard, Task, plan
from squentropy.study.optimization import learning_rate
from squentropy.study.training import train
from squentropy.tasks.images import ImageData

BARE, STUDY = "bare loop, cross entropy", "study.training.train, squentropy"
STEP, INPUT = "training step", "batch of images, cropped and flipped"
_BATCH, _STEPS = 128, 3
_HALVES = Normalisation((0.5,) * 3, (0.5,) * 3)

_RECIPE = Recipe(
    epochs=1,
    batch_size=_BATCH,
    learning_rate=0.1,
    optimizer_options={"momentum": 0.9, "nesterov": True},
    schedule="cosine",
)


def _noise(rows: int) -> ImageArray:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (rows, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return ImageArray(pixels, torch.randint(10, (rows,), generator=generator))


def _training_steps(device: torch.device) -> dict[str, Step]:
    """A short epoch and its test. The bare loop has all images as numbers in memory and does nothing but train."""
    images, test = _noise(_BATCH * _STEPS), _noise(16)
    data = ImageData(ImageSet("noise", images, test, 10), _HALVES)
    task = Task(
        name="noise",
        recipes={"paper": _RECIPE},
        load=lambda scale, data_dir: data,
        build=lambda data, recipe: ResNet18(10, stem="cifar"),
    )
    (run,) = plan([task], ["squentropy"], 1, "paper")
    inputs, test_inputs = (_HALVES(each.pixels).to(device) for each in (images, test))
    target = images.target.to(device)

    def bare() -> torch.Tensor:
        torch.manual_seed(0)
        model = ResNet18(10, stem="cifar").to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        order = torch.randperm(len(target), device=device)
        for step, rows in enumerate(torch.split(order, _BATCH)):
            optimizer.param_groups[0]["lr"] = learning_rate(_RECIPE, step, _STEPS)
            torch.autograd.backward(F.cross_entropy(model(inputs[rows]), target[rows]))
            optimizer.step()
            optimizer.zero_grad()
        with torch.no_grad():
            return torch.as_tensor(model.eval()(test_inputs))

    return {BARE: bare, STUDY: lambda: train(run, task, data)}


def _input_steps(device: torch.device) -> dict[str, Step]:
    """A batch from bytes to normalised numbers, and the step that takes it."""
    images = _noise(_BATCH)
    data = ImageData(ImageSet("noise", images, images, 10), _HALVES, PadCropFlip(4))
    model = ResNet18(10, stem="cifar").to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    inputs, target = _HALVES(images.pixels).to(device), images.target.to(device)
    generator = torch.Generator().manual_seed(0)

    def step() -> None:
        torch.autograd.backward(F.cross_entropy(model(inputs), target))
        optimizer.step()
        optimizer.zero_grad()

    return {STEP: step, INPUT: lambda: next(data.train_batches(_RECIPE, generator, Shard()))}


VISION_CASES = [
    Case("vision/resnet18-cifar10", _training_steps, BARE, (Target(STUDY, 1 / 0.95, BARE),)),
    Case("vision/input", _input_steps, STEP, (Target(INPUT, 0.1, STEP),)),
]
