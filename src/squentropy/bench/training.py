"""Stacked training against one model after another, and the planning of a large study."""

from functools import partial

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from squentropy.bench.case import Case, Step, Target
from squentropy.models import mlp
from squentropy.study import Recipe, Rows, Run, Task, TensorData, plan
from squentropy.study.stacked import train_stacked

_ROWS, _FEATURES, _CLASSES, _SEEDS = 4000, 20, 5, 5
_LOSSES = ("squentropy", "cross_entropy", "rescaled_square:t=1,M=5")
BASELINE, OURS = "one after another, DataLoader", "train_stacked"

_RECIPE = Recipe(
    epochs=2,
    batch_size=64,
    learning_rate=0.01,
    optimizer_options={"momentum": 0.9, "weight_decay": 5e-4},
    evaluate_every=2,
)


def _network() -> nn.Sequential:
    return mlp(_FEATURES, (64, 128, 64), _CLASSES)


def _train_as_users_do(run: Run, rows: Rows, test: Rows) -> float:
    torch.manual_seed(run.seed)
    model, loss, recipe = _network(), run.loss.function(), run.recipe
    optimizer = torch.optim.SGD(model.parameters(), recipe.learning_rate, momentum=0.9, weight_decay=5e-4)
    loader = DataLoader(TensorDataset(*rows), batch_size=recipe.batch_size, shuffle=True)
    for _ in range(recipe.epochs):
        for inputs, target in loader:
            optimizer.zero_grad()
            torch.autograd.backward(loss(model(inputs), target))
            optimizer.step()
    with torch.no_grad():
        return int((model(test.inputs).argmax(1) == test.target).sum()) / len(test.target)


def _training_steps(device: torch.device) -> dict[str, Step]:
    """Two epochs of 15 networks: three losses, five seeds."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(_ROWS + 1000, _FEATURES, generator=generator)
    target = torch.randint(_CLASSES, (len(inputs),), generator=generator)
    train, test = Rows(inputs[:_ROWS], target[:_ROWS]), Rows(inputs[_ROWS:], target[_ROWS:])
    data = TensorData("noise", train, test, num_classes=_CLASSES)
    task = Task(
        name="noise",
        recipes={"paper": _RECIPE},
        load=lambda scale, data_dir: data,
        build=lambda data, recipe: _network(),
        stacked=True,
    )
    runs = plan([task], _LOSSES, _SEEDS, "paper")
    return {
        BASELINE: lambda: [_train_as_users_do(run, train, test) for run in runs],
        OURS: lambda: train_stacked(runs, task, [data] * len(runs)),
    }


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
    Case(f"training/{len(_LOSSES) * _SEEDS}x64-128-64", _training_steps, BASELINE, (Target(OURS, 1 / 6, BASELINE),)),
    Case(
        "training/plan-100000",
        partial(_planning_steps, 100_000),
        "plan",
        (Target("plan", 5.0), Target("plan", 2**30, quantity="memory")),
    ),
]
