"""The vision rows of Table 1: nine tasks, of which the two on ImageNet give two results each.

What the paper says of them: the learning rates on STL-10 and SVHN (0.1 for cross entropy, 0.02 for the others) and on
CIFAR-100 (0.1 for all), 200 epochs on STL-10 and CIFAR-100, there with batches of 128, depth 28 and widening factor 20,
t and M of the rescaled square loss, and five runs. Its script for SVHN has SGD with Nesterov momentum 0.9, no weight
decay, a cosine over all steps and batches of 256. The rest is unknown; at scale `paper` it is what the cited papers and
their reference implementations have, and each such choice has a comment below that begins with "unknown".

Scale `small` is another experiment: real images, but fewer and smaller ones, for a narrow network and few epochs. It
compares losses among themselves and says nothing about the published numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from squentropy.data.augmentation import CenterCrop, Normalisation, PadCropFlip, RandomResizedCrop
from squentropy.models import VGG11, ResNet18, TemporalConvNet, WideResNet, efficientnet_b0, resnet50, vit
from squentropy.study import Batch, Outputs, Recipe, Store, Task
from squentropy.tasks.images import ImageData
from squentropy.tasks.vision_images import Source, load_task_images

if TYPE_CHECKING:
    from squentropy.study.report.supplement import Supplement

_DIGITS = Normalisation((0.1307,), (0.3081,))
_HALVES = Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
_CIFAR = Normalisation(tuple(v / 255 for v in (125.3, 123.0, 113.9)), tuple(v / 255 for v in (63.0, 62.1, 66.7)))
_IMAGENET = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_NESTEROV: Mapping[str, object] = {"momentum": 0.9, "nesterov": True, "weight_decay": 0.0}
_WITHOUT_SCALING: Mapping[str, object] = {"rescaled_square": {"t": 1, "M": 1}}
_CIFAR_SCALING: Mapping[str, object] = {"rescaled_square": {"t": 1, "M": 10}}
_IMAGENET_SCALING: Mapping[str, object] = {"rescaled_square": {"t": 15, "M": 30}}
_SLOWER: Mapping[str, object] = {"squentropy": 0.02, "rescaled_square": 0.02}


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
    return make(data.num_classes, **settings.get("model", {}))


def _build_vit(data: ImageData, recipe: Recipe) -> nn.Module:
    settings: Any = recipe.to_json()["options"]
    return vit(data.num_classes, checkpoint=data.checkpoint, **settings.get("model", {}))


def _task(
    name: str,
    row: str,
    summary: str,
    *,
    sources: Mapping[str, Source],
    recipes: Mapping[str, Recipe],
    build: Callable[[Any, Recipe], nn.Module],
    seconds: Mapping[str, float],
    **options: Any,
) -> Task:
    return Task(
        name=f"vision/{name}",
        recipes=recipes,
        load=partial(load_task_images, sources=sources, recipes=recipes),
        build=build,
        data_sets=(sources["small"].data_set,),
        paper_row=f"Table 1: {row}",
        summary=summary,
        seconds=seconds,
        **options,
    )


_TCN = Recipe(  # unknown but for t and M: the reference's `mnist_pixel`
    epochs=20,
    batch_size=64,
    learning_rate=2e-3,
    optimizer="Adam",
    schedule="step",
    schedule_options={"milestones": [10], "gamma": 0.1},
    loss_parameters=_WITHOUT_SCALING,
    options={"pixels": "permuted"},  # unknown: 97.7 % is what the reference reaches with permuted pixels
)
TCN_MNIST = _task(
    "tcn-mnist",
    "TCNN, MNIST",
    "28 x 28 pixels one by one in a random order",
    sources=dict.fromkeys(("paper", "small"), Source("mnist", _DIGITS)),
    recipes={
        "paper": _TCN,
        "small": replace(
            _TCN,
            epochs=8,
            schedule_options={"milestones": [5], "gamma": 0.1},
            options={
                "pixels": "permuted",
                "pool": 2,
                "train_per_class": 400,
                "test_per_class": 200,
                "model": {"levels": 5},
            },
        ),
    },
    build=partial(_build, make=TemporalConvNet),
    forward=classify_sequences,
    seconds={"paper": 12_000.0, "small": 45.0},
)

_RESNET_CIFAR = Recipe(  # unknown but for t and M: 84.7 % is what it reaches without augmentation and weight decay
    epochs=200,
    batch_size=128,
    learning_rate=0.1,
    optimizer_options=_NESTEROV,
    schedule="cosine",
    loss_parameters=_CIFAR_SCALING,
    options={"model": {"stem": "cifar"}},
)
RESNET18_CIFAR10 = _task(
    "resnet18-cifar10",
    "ResNet-18, CIFAR-10",
    "stem for 32 x 32, no augmentation",
    sources=dict.fromkeys(("paper", "small"), Source("cifar10", _CIFAR)),
    recipes={
        "paper": _RESNET_CIFAR,
        "small": replace(
            _RESNET_CIFAR,
            epochs=10,
            batch_size=64,
            learning_rate=0.05,
            options={"train_per_class": 400, "test_per_class": 200, "model": {"stem": "cifar", "width": 8}},
        ),
    },
    build=partial(_build, make=ResNet18),
    seconds={"paper": 230_000.0, "small": 50.0},
)

_RESNET_STL = Recipe(  # unknown: batch, optimiser and all but learning rates, epochs, t and M; as in the SVHN script
    epochs=200,
    batch_size=256,
    learning_rate=0.1,
    loss_learning_rate=_SLOWER,
    optimizer_options=_NESTEROV,
    schedule="cosine",
    loss_parameters=_WITHOUT_SCALING,
)
RESNET18_STL10 = _task(
    "resnet18-stl10",
    "ResNet-18, STL-10",
    "5,000 images of 96 x 96, torchvision's stem, no augmentation",
    sources=dict.fromkeys(("paper", "small"), Source("stl10", _HALVES)),
    recipes={
        "paper": _RESNET_STL,
        "small": replace(
            _RESNET_STL,
            epochs=15,
            batch_size=64,
            options={"pool": 2, "train_per_class": 400, "test_per_class": 200, "model": {"width": 16}},
        ),
    },
    build=partial(_build, make=ResNet18),
    seconds={"paper": 30_000.0, "small": 45.0},
)

_WIDE = Recipe(
    epochs=200,
    batch_size=128,
    learning_rate=0.1,
    optimizer_options=_NESTEROV,  # unknown: weight decay is 5e-4 in the reference, but 76.7 % with ECE 17.9 fits 0
    schedule="cosine",  # unknown: as in the reference
    loss_parameters=_CIFAR_SCALING,
)
_WIDE_SMALL = replace(
    _WIDE,
    epochs=8,
    batch_size=64,
    learning_rate=0.05,
    options={"train_per_class": 50, "test_per_class": 20, "model": {"depth": 10, "widen": 1}},
)
_WIDE_SOURCES = {
    "paper": Source("cifar100", _CIFAR, PadCropFlip(4)),  # unknown: the reference's augmentation
    "small": Source("cifar100", _CIFAR),
}


def _figure1(store: Store) -> Supplement | None:
    from squentropy.tasks.vision_figure import figure1

    return figure1(store, WIDE_RESNET_CIFAR100.name)


WIDE_RESNET_CIFAR100 = _task(
    "wide-resnet-cifar100",
    "W-ResNet, CIFAR-100",
    "Wide ResNet 28-20, crops and flips",
    sources=_WIDE_SOURCES,
    recipes={"paper": _WIDE, "small": _WIDE_SMALL},
    build=partial(_build, make=WideResNet),
    supplement=_figure1,
    seconds={"paper": 5e7, "small": 50.0},
)
WIDE_RESNET_SUBSET = _task(
    "wide-resnet-cifar100-subset",
    "W-ResNet, CIFAR-100 (subset)",
    "the same on a tenth of the training images",
    sources=_WIDE_SOURCES,
    recipes={
        "paper": replace(_WIDE, options={"train_per_class": 50}),  # unknown: the size of the subset
        "small": replace(_WIDE_SMALL, epochs=30, options={**_WIDE_SMALL.options, "train_per_class": 10}),
    },
    build=partial(_build, make=WideResNet),
    seconds={"paper": 5e6, "small": 40.0},
)

_VIT = Recipe(  # unknown: checkpoint and all of the recipe; as Google fine-tunes, 10,000 steps
    epochs=102,
    batch_size=512,
    accumulate=16,
    learning_rate=0.03,
    optimizer_options={"momentum": 0.9},
    schedule="cosine",
    warmup_steps=500,
    clip_norm=1.0,
    evaluate_every=6,
    loss_parameters=_CIFAR_SCALING,  # unknown for this row
    options={"checkpoint": "vit-base-patch16-224-in21k"},
)
VIT_CIFAR10 = _task(
    "vit-cifar10",
    "Visual transformer, CIFAR-10",
    "ViT-B/16 from ImageNet-21k, fine-tuned at 224 x 224; at scale small a narrow one from scratch",
    sources={
        "paper": Source("cifar10", _HALVES, RandomResizedCrop(224), CenterCrop(224, share=1.0)),
        "small": Source("cifar10", _HALVES, PadCropFlip(4)),
    },
    recipes={
        "paper": _VIT,
        "small": Recipe(
            epochs=10,
            batch_size=64,
            learning_rate=1e-3,
            optimizer="Adam",
            schedule="cosine",
            warmup_steps=60,
            clip_norm=1.0,
            loss_parameters=_CIFAR_SCALING,
            options={
                "train_per_class": 400,
                "test_per_class": 200,
                "model": {
                    "image_size": 32,
                    "patch_size": 4,
                    "hidden_size": 64,
                    "num_hidden_layers": 4,
                    "num_attention_heads": 4,
                    "intermediate_size": 128,
                },
            },
        ),
    },
    build=_build_vit,
    forward=classify_by_transformers,
    seconds={"paper": 8e6, "small": 60.0},
)

_VGG = Recipe(  # the released script, with the paper's learning rates
    epochs=200,
    batch_size=256,
    learning_rate=0.1,
    loss_learning_rate=_SLOWER,
    optimizer_options=_NESTEROV,
    schedule="cosine",
    loss_parameters=_WITHOUT_SCALING,
)
VGG_SVHN = _task(
    "vgg-svhn",
    "VGG, SVHN",
    "VGG11 with batch normalisation, no augmentation",
    sources=dict.fromkeys(("paper", "small"), Source("svhn", _HALVES)),
    recipes={
        "paper": _VGG,
        "small": replace(
            _VGG,
            epochs=10,
            batch_size=64,
            options={"train_per_class": 400, "test_per_class": 200, "model": {"width": 16, "hidden": 256}},
        ),
    },
    build=partial(_build, make=VGG11),
    seconds={"paper": 300_000.0, "small": 40.0},
)

_IMAGENET_SOURCES = {
    "paper": Source("imagenet", _IMAGENET, RandomResizedCrop(224), CenterCrop(224)),
    "small": Source("tiny-imagenet", _IMAGENET),
}
_RESNET50 = Recipe(  # unknown but for t and M: torchvision's, which reaches the published 76.1 and 93.0
    epochs=90,
    batch_size=256,
    learning_rate=0.1,
    optimizer_options={"momentum": 0.9, "weight_decay": 1e-4},
    schedule="step",
    schedule_options={"milestones": [30, 60, 80], "gamma": 0.1},
    loss_parameters=_IMAGENET_SCALING,
)
RESNET50_IMAGENET = _task(
    "resnet50-imagenet",
    "ResNet-50, ImageNet (acc.)",
    "with (Top-5 acc.) as top5_accuracy; at scale small 200 classes of tiny-imagenet",
    sources=_IMAGENET_SOURCES,
    recipes={
        "paper": _RESNET50,
        "small": replace(
            _RESNET50,
            epochs=5,
            batch_size=64,
            learning_rate=0.05,
            schedule="cosine",
            schedule_options={},
            options={"model": {"embedding_size": 16, "hidden_sizes": [32, 64, 128, 256], "depths": [2, 2, 2, 2]}},
        ),
    },
    build=partial(_build, make=resnet50),
    forward=classify_by_transformers,
    scores={"top5_accuracy": is_among_top5},
    seconds={"paper": 2e8, "small": 50.0},
)

_EFFICIENTNET = Recipe(  # unknown: B0 is inferred from 77.0 and 93.3; its published recipe, without label smoothing
    epochs=350,
    batch_size=256,
    learning_rate=0.016,
    optimizer="RMSprop",
    optimizer_options={"alpha": 0.9, "momentum": 0.9, "eps": 1e-3, "weight_decay": 1e-5},
    schedule="step",
    schedule_options={"milestones": [round(2.4 * number, 1) for number in range(1, 146)], "gamma": 0.97},
    loss_parameters=_IMAGENET_SCALING,
)
EFFICIENTNET_IMAGENET = _task(
    "efficientnet-imagenet",
    "EfficientNet, ImageNet (acc.)",
    "B0, with (Top-5 acc.) as top5_accuracy; at scale small 200 classes of tiny-imagenet",
    sources=_IMAGENET_SOURCES,
    recipes={
        "paper": _EFFICIENTNET,
        "small": Recipe(
            epochs=5,
            batch_size=64,
            learning_rate=2e-3,
            optimizer="Adam",
            schedule="cosine",
            warmup_steps=60,
            loss_parameters=_IMAGENET_SCALING,
            options={
                "pool": 2,
                "model": {
                    "width_coefficient": 0.25,
                    "depth_coefficient": 0.5,
                    "hidden_dim": 320,
                    "batch_norm_momentum": 0.1,  # too few steps for 0.01
                },
            },
        ),
    },
    build=partial(_build, make=efficientnet_b0),
    forward=classify_by_transformers,
    scores={"top5_accuracy": is_among_top5},
    seconds={"paper": 1.2e8, "small": 50.0},
)

VISION = (
    TCN_MNIST,
    RESNET18_CIFAR10,
    RESNET18_STL10,
    WIDE_RESNET_CIFAR100,
    WIDE_RESNET_SUBSET,
    VIT_CIFAR10,
    VGG_SVHN,
    RESNET50_IMAGENET,
    EFFICIENTNET_IMAGENET,
)
