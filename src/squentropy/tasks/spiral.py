"""The spiral (Figure 3): the data, the task, and the decision boundaries of many seeds trained side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from squentropy.models import mlp
from squentropy.study import LossSpec, Recipe, Rows, Store, Task, TensorData
from squentropy.study.canonical import derived_seed
from squentropy.study.optimization import make_optimizer
from squentropy.study.stacked_network import StackedNetwork, with_ones
from squentropy.tasks.boundary import Boundary, find_boundary

if TYPE_CHECKING:
    from squentropy.study.report.supplement import Supplement

Model: TypeAlias = Callable[[Tensor], Tensor]

TURNS = 1.5
NOISE = 0.3
EPOCHS_SHOWN = (100, 500, 1000)
LOSSES_SHOWN = ("squentropy", "cross_entropy", "rescaled_square")
HALF_WIDTH = 11.0  # the arms end at 2 pi TURNS = 9.4

RECIPE = Recipe(
    epochs=1000,
    batch_size=1000,
    learning_rate=0.01,
    optimizer="Adam",
    evaluate_every=50,
    loss_parameters={"rescaled_square": {"t": 1, "M": 1}},
    options={"hidden": [12, 12, 12]},
)


def draw_spiral(rows: int, seed: int, *, turns: float = TURNS, noise: float = NOISE) -> Rows:
    """Draws points of two Archimedean spirals, one the other turned by half a turn.

    A point of class `y` has the angle `a = 2 pi turns sqrt(u)` with `u` uniform in [0, 1], so that the density over
    the disc is even, and lies at `a (cos(a + pi y), sin(a + pi y))` plus normal noise. The arms are `pi` apart: no
    boundary can be further than `pi / 2` from both.

    Args:
        rows: Number of points N; the classes take turns.
        seed: Seed of the draw.
        turns: Full turns of each arm. The paper does not say; its picture shows about this many.
        noise: Standard deviation of the noise. The paper does not say; 0.3 leaves the classes as separable as its
            accuracies of 100 % (training) and 99.7 to 99.9 % (test) ask for.

    Returns:
        Inputs (N, 2) and classes (N,).

    Examples:
        >>> inputs, target = draw_spiral(6, seed=0, noise=0.0)
        >>> target
        tensor([0, 1, 0, 1, 0, 1])
        >>> bool((inputs.norm(dim=1) <= 3 * math.pi).all())
        True
    """
    generator = torch.Generator().manual_seed(derived_seed(seed, "spiral"))
    target = torch.arange(rows) % 2
    radius = 2 * math.pi * turns * torch.rand(rows, generator=generator).sqrt()
    angle = radius + math.pi * target
    inputs = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return Rows(inputs + noise * torch.randn(rows, 2, generator=generator), target)


def load_spiral(seed: int) -> TensorData:
    """Draws the 1,000 training and 500 test points of one seed."""
    inputs, target = draw_spiral(1500, seed)
    return TensorData(f"spiral {seed}", Rows(inputs[:1000], target[:1000]), Rows(inputs[1000:], target[1000:]), 2)


def _load(scale: str, data_dir: Path | None) -> TensorData:
    return load_spiral(0)


def _split(data: TensorData, seed: int) -> TensorData:
    return load_spiral(seed)


def _build(data: TensorData, recipe: Recipe) -> nn.Module:
    hidden: Any = recipe.options["hidden"]
    return mlp(2, hidden, 2)


def _supplement(store: Store) -> Supplement:
    from squentropy.tasks.spiral_figure import supplement

    return supplement(spiral_study())


SPIRAL = Task(
    name="spiral",
    recipes={"paper": RECIPE, "small": RECIPE},
    load=_load,
    split=_split,
    build=_build,
    stacked=True,
    paper_row="Figure 3",
    summary="two spirals in the plane, 2-12-12-12-2, data redrawn for each seed",
    supplement=_supplement,
    seconds={"paper": 2.0, "small": 2.0},
)


class Snapshot(NamedTuple):
    """One model at one epoch."""

    loss: str
    seed: int
    epoch: int
    boundary: Boundary


@dataclass(frozen=True)
class Measurement:
    """The numbers of one model at one epoch.

    Attributes:
        loss: Name of its loss.
        seed: Seed of its data and initial weights.
        epoch: Epochs that it was trained.
        margin: Mean distance of the training points to the boundary, negative for points on the wrong side.
        length: Length of the boundary inside the square of half width 11.
        train_accuracy: Share of the training points on the right side.
        test_accuracy: The same of the test points.
    """

    loss: str
    seed: int
    epoch: int
    margin: float
    length: float
    train_accuracy: float
    test_accuracy: float


@dataclass(frozen=True)
class SpiralStudy:
    """What came out of training the spiral with several losses from the same data and initial weights.

    Attributes:
        measurements: One for each loss, seed and epoch.
        shown: The snapshots of the first seed, for the picture.
        data: The data of the first seed.
    """

    measurements: list[Measurement]
    shown: list[Snapshot]
    data: TensorData


def spiral_study(seeds: Sequence[int] = range(20), losses: Sequence[str] = LOSSES_SHOWN) -> SpiralStudy:
    """Trains the spiral with each loss, all seeds at once, and measures the boundaries.

    Args:
        seeds: Seeds of data and initial weights, the same for each loss.
        losses: Names of losses.
    """
    data = {seed: load_spiral(seed) for seed in seeds}
    measurements, shown = [], []
    for loss, seed, epoch, model in _train(data, losses):
        boundary = find_boundary(model, HALF_WIDTH)
        on_train, on_test = _is_correct(model, data[seed].train), _is_correct(model, data[seed].test)
        measurements.append(
            Measurement(
                loss=loss,
                seed=seed,
                epoch=epoch,
                margin=boundary.mean_margin(data[seed].train.inputs.double().numpy(), on_train),
                length=boundary.length,
                train_accuracy=float(on_train.mean()),
                test_accuracy=float(on_test.mean()),
            )
        )
        if seed == seeds[0]:
            shown.append(Snapshot(loss, seed, epoch, boundary))
    return SpiralStudy(measurements, shown, data[seeds[0]])


@torch.no_grad()
def _is_correct(model: Model, rows: Rows) -> NDArray[np.bool_]:
    is_correct: NDArray[np.bool_] = (model(rows.inputs).argmax(1) == rows.target).numpy()
    return is_correct


def _train(data: Mapping[int, TensorData], losses: Sequence[str]) -> Iterator[tuple[str, int, int, Model]]:
    """Trains all seeds of each loss as one stacked network; a step sees all rows, so there is no order to draw.

    The sum of the losses of all replicas has for each replica the gradient of its own loss, and Adam works number by
    number: the replicas do not touch one another.
    """
    inputs = with_ones(torch.stack([data[seed].train.inputs for seed in data]))
    target = torch.cat([data[seed].train.target for seed in data])
    for loss in losses:
        function = LossSpec(loss, RECIPE.parameters_for(loss)).function()
        network = StackedNetwork([_initial_model(seed) for seed in data])
        network.parameters.grad = network.gradient
        optimizer = make_optimizer(RECIPE, [network.parameters], fused=True)
        for epoch in range(1, RECIPE.epochs + 1):
            logits = network.forward(inputs).detach().requires_grad_()
            total = function(logits.flatten(0, 1), target, reduction="sum")
            (gradient,) = torch.autograd.grad(total / inputs.shape[1], logits)
            network.backward(inputs, gradient)
            optimizer.step()
            if epoch in EPOCHS_SHOWN:
                for number, seed in enumerate(data):
                    yield loss, seed, epoch, partial(_logits, [layer[number].clone() for layer in network.layers])


def _logits(layers: Sequence[Tensor], points: Tensor) -> Tensor:
    """The logits (N, 2) of points (N, 2) by one replica's layers, whose last row is the bias."""
    for layer in layers[:-1]:
        points = (with_ones(points) @ layer).clamp(min=0)
    return with_ones(points) @ layers[-1]


def _initial_model(seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(seed, "weights"))
        return _build(load_spiral(seed), RECIPE)
