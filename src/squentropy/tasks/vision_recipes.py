"""How the vision rows of Table 1 are trained: `PAPER` and `SMALL`, a recipe for each task.

What the paper says of them: the learning rates on STL-10 and SVHN (0.1 for cross entropy, 0.02 for the others) and on
CIFAR-100 (0.1 for all), 200 epochs on STL-10 and CIFAR-100, there with batches of 128, depth 28 and widening factor 20,
t and M of the rescaled square loss, and five runs. Its script for SVHN has SGD with Nesterov momentum 0.9, no weight
decay, a cosine over all steps and batches of 256. The rest is unknown; at scale `paper` it is what the cited papers and
their reference implementations have, and each such choice has a comment below that begins with "unknown".

Scale `small` is another experiment: real images, but fewer and smaller ones, for a narrow network and few epochs. It
compares losses among themselves and says nothing about the published numbers.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from squentropy.study import Recipe


def _scaled(t: int, largest: int) -> Mapping[str, object]:
    return {"rescaled_square": {"t": t, "M": largest}}


# As in the released script, which is the one for SVHN.
_sgd = partial(
    Recipe,
    epochs=200,
    learning_rate=0.1,
    optimizer_options={"momentum": 0.9, "nesterov": True, "weight_decay": 0.0},
    schedule="cosine",
)
_SLOWER: Mapping[str, object] = {"squentropy": 0.02, "rescaled_square": 0.02}
# unknown: weight decay is 5e-4 in the reference, but 76.7 % with ECE 17.9 fits 0; the cosine is the reference's
_WIDE = _sgd(batch_size=128, loss_parameters=_scaled(1, 10))

PAPER = {
    "tcn-mnist": Recipe(  # unknown but for t and M: the reference's `mnist_pixel`
        epochs=20,
        batch_size=64,
        learning_rate=2e-3,
        optimizer="Adam",
        schedule="step",
        schedule_options={"milestones": [10], "gamma": 0.1},
        loss_parameters=_scaled(1, 1),
        options={"pixels": "permuted"},  # unknown: 97.7 % is what the reference reaches with permuted pixels
    ),
    # unknown but for t and M: 84.7 % is what it reaches without augmentation and weight decay
    "resnet18-cifar10": _sgd(batch_size=128, loss_parameters=_scaled(1, 10), options={"model": {"stem": "cifar"}}),
    # unknown: batch and optimiser, which are those of the SVHN script
    "resnet18-stl10": _sgd(batch_size=256, loss_learning_rate=_SLOWER, loss_parameters=_scaled(1, 1)),
    "wide-resnet-cifar100": _WIDE,
    "wide-resnet-cifar100-subset": replace(_WIDE, options={"train_per_class": 50}),  # unknown: the size of the subset
    "vit-cifar10": Recipe(  # unknown: checkpoint and all of the recipe; as Google fine-tunes, 10,000 steps
        epochs=102,
        batch_size=512,
        accumulate=16,
        learning_rate=0.03,
        optimizer_options={"momentum": 0.9},
        schedule="cosine",
        warmup_steps=500,
        clip_norm=1.0,
        evaluate_every=6,
        loss_parameters=_scaled(1, 10),  # unknown for this row
        options={"checkpoint": "vit-base-patch16-224-in21k"},
    ),
    "vgg-svhn": _sgd(batch_size=256, loss_learning_rate=_SLOWER, loss_parameters=_scaled(1, 1)),
    "resnet50-imagenet": Recipe(  # unknown but for t and M: torchvision's, which reaches the published 76.1 and 93.0
        epochs=90,
        batch_size=256,
        learning_rate=0.1,
        optimizer_options={"momentum": 0.9, "weight_decay": 1e-4},
        schedule="step",
        schedule_options={"milestones": [30, 60, 80], "gamma": 0.1},
        loss_parameters=_scaled(15, 30),
    ),
    "efficientnet-imagenet": Recipe(  # unknown: B0 is inferred from 77.0 and 93.3; its recipe, without label smoothing
        epochs=350,
        batch_size=256,
        learning_rate=0.016,
        optimizer="RMSprop",
        optimizer_options={"alpha": 0.9, "momentum": 0.9, "eps": 1e-3, "weight_decay": 1e-5},
        schedule="step",
        schedule_options={"milestones": [round(2.4 * number, 1) for number in range(1, 146)], "gamma": 0.97},
        loss_parameters=_scaled(15, 30),
    ),
}


def _small(
    recipe: Recipe, *, epochs: int, model: Mapping[str, object], train: int, test: int, pool: int = 1, **changes: Any
) -> Recipe:
    """Cuts a recipe: the first images of each class, squares of pixels averaged, a narrower network."""
    cut = {"train_per_class": train, "test_per_class": test, "pool": pool, "model": model}
    return replace(recipe, epochs=epochs, batch_size=64, options={**recipe.options, **cut}, **changes)


# For networks that two cores cannot train with the published recipe in a minute.
_adam = partial(Recipe, epochs=1, batch_size=64, optimizer="Adam", schedule="cosine", warmup_steps=60)
_WIDE_MODEL = {"depth": 10, "widen": 2}

SMALL = {
    "tcn-mnist": _small(
        PAPER["tcn-mnist"],
        epochs=6,
        schedule_options={"milestones": [4], "gamma": 0.1},
        train=400,
        test=200,
        pool=2,
        model={"levels": 5},
    ),
    "resnet18-cifar10": _small(
        PAPER["resnet18-cifar10"],
        epochs=8,
        learning_rate=0.05,
        train=400,
        test=200,
        model={"stem": "cifar", "width": 8},
    ),
    "resnet18-stl10": _small(PAPER["resnet18-stl10"], epochs=12, train=400, test=200, pool=2, model={"width": 16}),
    "wide-resnet-cifar100": _small(
        PAPER["wide-resnet-cifar100"], epochs=12, train=50, test=20, pool=2, model=_WIDE_MODEL
    ),
    "wide-resnet-cifar100-subset": _small(
        PAPER["wide-resnet-cifar100-subset"], epochs=30, train=10, test=20, pool=2, model=_WIDE_MODEL
    ),
    "vit-cifar10": _small(
        _adam(learning_rate=1e-3, clip_norm=1.0, loss_parameters=_scaled(1, 10)),
        epochs=15,
        train=400,
        test=200,
        model={
            "image_size": 32,
            "patch_size": 8,
            "hidden_size": 64,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "intermediate_size": 128,
        },
    ),
    "vgg-svhn": _small(PAPER["vgg-svhn"], epochs=8, train=400, test=200, model={"width": 16, "hidden": 256}),
    "resnet50-imagenet": _small(
        PAPER["resnet50-imagenet"],
        epochs=10,
        learning_rate=0.05,
        schedule="cosine",
        schedule_options={},
        train=40,
        test=10,
        pool=2,
        model={"embedding_size": 16, "hidden_sizes": [32, 64, 128, 256], "depths": [2, 2, 2, 2]},
    ),
    "efficientnet-imagenet": _small(
        _adam(learning_rate=5e-3, loss_parameters=_scaled(15, 30)),
        epochs=6,
        train=40,
        test=10,
        pool=2,
        model={
            "width_coefficient": 0.25,
            "depth_coefficient": 0.5,
            "hidden_dim": 320,
            "batch_norm_momentum": 0.1,  # too few steps for 0.01
        },
    ),
}
