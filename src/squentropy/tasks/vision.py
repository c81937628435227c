"""The vision rows of Table 1: nine tasks, of which the two on ImageNet give two results each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from squentropy.data.augmentation import CenterCrop, Normalisation, PadCropFlip, RandomResizedCrop
from squentropy.models import VGG11, ResNet18, TemporalConvNet, WideResNet, efficientnet_b0, resnet50, vit
from squentropy.study import Batch, Outputs, Recipe, Store, Task
from squentropy.tasks.images import ImageData
from squentropy.tasks.vision_images import Source, load_task_images
from squentropy.tasks.vision_recipes import PAPER, SMALL

if TYPE_CHECKING:
    from squentropy.study.report.supplement import Supplement

_DIGITS = Normalisation((0.1307,), (0.3081,))
_HALVES = Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
_CIFAR = Normalisation(tuple(v / 255 for v in (125.3, 123.0, 113.9)), tuple(v / 255 for v in (63.0, 62.1, 66.7)))
_IMAGENET = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def classify_sequences(model: nn.Module, batch: Batch, carried: Any) -> Outputs:
    """The forward pass on images whose pixels are a sequence."""
    inputs, target = batch
    return Outputs(model(inputs.flatten(2)), target)


def classify_by_transformers(model: nn.Module, batch: Batch, carried: Any) -> Outputs:
    """The forward pass of a model of transformers, whose output holds the logits."""
    inputs, target = batch
    return Outputs(model(inputs).logits, target)


def is_among_top5(logits: Tensor, target: Tensor) -> Tensor:
    """Whether the class is among the five with the highest logits, (N,).

    Examples:
        >>> import torch
        >>> is_among_top5(torch.arange(7.0).expand(2, 7), torch.tensor([2, 1]))
        tensor([ True, False])
    """
    return (logits.topk(5, dim=1).indices == target[:, None]).any(dim=1)


def _build(data: ImageData, recipe: Recipe, *, make: Callable[..., nn.Module]) -> nn.Module:
    settings: Any = recipe.to_json()["options"]
    weights = {} if data.checkpoint is None else {"checkpoint": data.checkpoint}
    model: Any = make(data.num_classes, **weights, **settings.get("model", {}))
    return cast(nn.Module, model.to(memory_format=torch.channels_last))  # up to twice as fast on a CPU


def _figure1(store: Store) -> Supplement | None:
    from squentropy.tasks.vision_figure import figure1

    return figure1(store, "vision/wide-resnet-cifar100")


def _task(
    name: str,
    row: str,
    summary: str,
    make: Callable[..., nn.Module],
    paper: Source,
    small: Source | None = None,
    *,
    seconds: tuple[float, float],
    **options: Any,
) -> Task:
    """Makes the task of a row; `seconds` are those of one run at scale `paper` and at `small`."""
    sources = {"paper": paper, "small": small or paper}
    recipes = {"paper": PAPER[name], "small": SMALL[name]}
    return Task(
        name=f"vision/{name}",
        recipes=recipes,
        load=partial(load_task_images, sources=sources, recipes=recipes),
        build=partial(_build, make=make),
        data_sets=(sources["small"].data_set,),
        paper_row=f"Table 1: {row}",
        summary=summary,
        seconds=dict(zip(("paper", "small"), seconds, strict=True)),
        **options,
    )


_CROPPED_CIFAR100 = Source("cifar100", _CIFAR, PadCropFlip(4))  # unknown: the reference's augmentation
_IMAGENET_1K = Source("imagenet", _IMAGENET, RandomResizedCrop(224), CenterCrop(224))
_by_transformers = partial(_task, forward=classify_by_transformers)
_on_imagenet = partial(
    _by_transformers,
    paper=_IMAGENET_1K,
    small=Source("tiny-imagenet", _IMAGENET),
    scores={"top5_accuracy": is_among_top5},
)

VISION = (
    _task(
        "tcn-mnist",
        "TCNN, MNIST",
        "28 x 28 pixels one by one in a random order",
        TemporalConvNet,
        Source("mnist", _DIGITS),
        forward=classify_sequences,
        seconds=(12_000, 25),
    ),
    _task(
        "resnet18-cifar10",
        "ResNet-18, CIFAR-10",
        "stem for 32 x 32, no augmentation",
        ResNet18,
        Source("cifar10", _CIFAR),
        seconds=(230_000, 25),
    ),
    _task(
        "resnet18-stl10",
        "ResNet-18, STL-10",
        "5,000 images of 96 x 96, torchvision's stem, no augmentation",
        ResNet18,
        Source("stl10", _HALVES),
        seconds=(30_000, 25),
    ),
    _task(
        "wide-resnet-cifar100",
        "W-ResNet, CIFAR-100",
        "Wide ResNet 28-20, crops and flips",
        WideResNet,
        _CROPPED_CIFAR100,
        Source("cifar100", _CIFAR),
        supplement=_figure1,
        seconds=(5e7, 30),
    ),
    _task(
        "wide-resnet-cifar100-subset",
        "W-ResNet, CIFAR-100 (subset)",
        "the same on a tenth of the training images",
        WideResNet,
        _CROPPED_CIFAR100,
        Source("cifar100", _CIFAR),
        seconds=(5e6, 25),
    ),
    _by_transformers(
        "vit-cifar10",
        "Visual transformer, CIFAR-10",
        "ViT-B/16 from ImageNet-21k, fine-tuned at 224 x 224; at scale small a narrow one from scratch",
        vit,
        Source("cifar10", _HALVES, RandomResizedCrop(224), CenterCrop(224, share=1.0)),
        Source("cifar10", _HALVES, PadCropFlip(4)),
        seconds=(8e6, 25),
    ),
    _task(
        "vgg-svhn",
        "VGG, SVHN",
        "VGG11 with batch normalisation, no augmentation",
        VGG11,
        Source("svhn", _HALVES),
        seconds=(300_000, 30),
    ),
    _on_imagenet(
        "resnet50-imagenet",
        "ResNet-50, ImageNet (acc.)",
        "with (Top-5 acc.) as top5_accuracy; at scale small 200 classes of tiny-imagenet",
        resnet50,
        seconds=(2e8, 25),
    ),
    _on_imagenet(
        "efficientnet-imagenet",
        "EfficientNet, ImageNet (acc.)",
        "B0, with (Top-5 acc.) as top5_accuracy; at scale small 200 classes of tiny-imagenet",
        efficientnet_b0,
        seconds=(1.2e8, 25),
    ),
)
