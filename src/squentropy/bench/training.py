"""Stacked training against one model after another, and the planning of a large study."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from squentropy.bench.case import Case, Step, Target
from squentropy.data import MANIFEST
from squentropy.models import mlp
from squentropy.study import Recipe, Rows, Run, Task, TensorData, plan
from squentropy.study.evaluation import Evaluation
from squentropy.study.stacked import train_stacked

_SEEDS = 5
_LOSSES = ("squentropy", "cross_entropy", "rescaled_square:t=1,M=5")
BASELINE, OURS = "one after another, DataLoader", "train_stacked"
PRODUCTS = "matrix products of as many operations"

_RECIPE = Recipe(
    epochs=2,
    batch_size=64,
    learning_rate=0.01,
    optimizer_options={"momentum": 0.9, "weight_decay": 5e-4},
    evaluate_every=2,
)


_HIDDEN = (64, 128, 64)
_MATRIX = 2048


class _Shape(NamedTuple):
    """A table of noise: its rows, a fifth of which are tested on, its features and its classes."""

    rows: int
    features: int
    classes: int


_AT_HAND = sorted(
    _Shape(each.rows, each.features or 0, each.classes or 0)
    for each in MANIFEST.values()
    if each.collection == "uci121" and each.name != "uci121/miniboone"  # of which there is no copy to be had
)
_EVERY_TWELFTH = _AT_HAND[6::12]
_TEN_LARGEST = _AT_HAND[-10:]


def _noise(shape: _Shape) -> TensorData:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(shape.rows, shape.features, generator=generator)
    target = torch.randint(shape.classes, (shape.rows,), generator=generator)
    tested = -(-shape.rows // 5)
    test, train = Rows(inputs[:tested], target[:tested]), Rows(inputs[tested:], target[tested:])
    return TensorData("noise", train, test, num_classes=shape.classes)


def _network(data: TensorData) -> nn.Sequential:
    return mlp(data.train.inputs.shape[1], _HIDDEN, data.num_classes)


def train_as_users_do(run: Run, data: TensorData) -> dict[str, float]:
    """Train the network for tables alone, with a `DataLoader` and autograd, and return its metrics."""
    torch.manual_seed(run.seed)
    model, loss, recipe = _network(data), run.loss.function(), run.recipe
    optimizer = torch.optim.SGD(model.parameters(), recipe.learning_rate, momentum=0.9, weight_decay=5e-4)
    loader = DataLoader(TensorDataset(*data.train), batch_size=recipe.batch_size, shuffle=True)
    for epoch in range(1, recipe.epochs + 1):
        for inputs, target in loader:
            optimizer.zero_grad()
            torch.autograd.backward(loss(model(inputs), target))
            optimizer.step()
        if epoch % recipe.evaluate_every == 0:
            evaluation = Evaluation()
            with torch.no_grad():
                for inputs, target in DataLoader(TensorDataset(*data.test), batch_size=1024):
                    evaluation.add(model(inputs), target)
    return evaluation.metrics()


def _runs(losses: Sequence[str], epochs: int) -> tuple[Task, list[Run]]:
    task = Task(
        name="noise",
        recipes={"paper": replace(_RECIPE, epochs=epochs, evaluate_every=epochs)},
        load=lambda scale, data_dir: None,
        build=lambda data, recipe: _network(data),
        stacked=True,
    )
    return task, plan([task], losses, _SEEDS, "paper")


def _training_steps(
    shapes: Sequence[_Shape], losses: Sequence[str], epochs: int, device: torch.device
) -> dict[str, Step]:
    """Some epochs on each table, with five seeds of each loss."""
    tables = [_noise(shape) for shape in shapes]
    task, runs = _runs(losses, epochs)
    return {
        BASELINE: lambda: [[train_as_users_do(run, data) for run in runs] for data in tables],
        OURS: lambda: [train_stacked(runs, task, [data] * len(runs)) for data in tables],
    }


def _arithmetic_steps(shapes: Sequence[_Shape], device: torch.device) -> dict[str, Step]:
    """An epoch of squentropy on each table, and matrix products of as many operations."""
    tables = [_noise(shape) for shape in shapes]
    task, runs = _runs(["squentropy"], 1)
    operations = sum(_operations(shape) * data.train_rows for shape, data in zip(shapes, tables, strict=True))
    left = torch.rand(_MATRIX, _MATRIX)
    out = torch.empty(_MATRIX, _MATRIX)
    rows = round(operations * len(runs) / (2 * _MATRIX**2))

    def multiply() -> Tensor:
        for start in range(0, rows, _MATRIX):
            count = min(_MATRIX, rows - start)
            torch.mm(left[:count], left, out=out[:count])
        return out

    return {PRODUCTS: multiply, OURS: lambda: [train_stacked(runs, task, [data] * len(runs)) for data in tables]}


def _operations(shape: _Shape) -> int:
    """Multiplications and additions for one row: forward, gradients of the weights, and of all inputs but the first."""
    layers = list(pairwise((shape.features, *_HIDDEN, shape.classes)))
    with_bias = sum((rows + 1) * columns for rows, columns in layers)
    return 2 * (2 * with_bias + sum(rows * columns for rows, columns in layers[1:]))


def _planning_steps(runs: int, device: torch.device) -> dict[str, Step]:
    """The runs of a study with their ids, which say what is still to do."""
    tasks = [
        Task(name=f"task-{i}", recipes={"paper": _RECIPE}, load=lambda *_: None, build=lambda *_: nn.Identity())
        for i in range(100)
    ]
    seeds = runs // (len(tasks) * 4)
    losses = (*_LOSSES, "focal")
    return {"plan": lambda: [run.run_id for run in plan(tasks, losses, seeds, "paper")]}


TRAINING_CASES = [
    Case(
        "training/15x64-128-64",
        partial(_training_steps, [_Shape(5000, 20, 5)], _LOSSES, 2),
        BASELINE,
        (Target(OURS, 1 / 6, BASELINE),),
    ),
    # Of the tables at hand in the order of their rows, every twelfth: what holds of their sum holds of all, roughly.
    Case(
        "training/every-twelfth-of-121",
        partial(_training_steps, _EVERY_TWELFTH, ["squentropy"], 2),
        BASELINE,
        (Target(OURS, 1 / 6, BASELINE),),
    ),
    Case(
        "training/ten-largest-of-121",
        partial(_arithmetic_steps, _TEN_LARGEST),
        PRODUCTS,
        (Target(OURS, 1 / 0.4, PRODUCTS), Target(OURS, 4 * 2**30, quantity="memory")),
    ),
    Case(
        "training/plan-100000",
        partial(_planning_steps, 100_000),
        "plan",
        (Target("plan", 5.0), Target("plan", 2**30, quantity="memory")),
    ),
]
