"""Small tasks that are always at hand: the four classification data sets that come with scikit-learn."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from squentropy.data import TabularSet, load_tabular
from squentropy.models import mlp
from squentropy.study import Recipe, Task, TensorData
from squentropy.tasks.split import random_split, standardised

# The network and the training of the paper's 121 tables; `small` is shorter.
PAPER = Recipe(
    epochs=400,
    batch_size=64,
    learning_rate=0.01,
    optimizer="SGD",
    optimizer_options={"momentum": 0.9, "weight_decay": 5e-4},
    evaluate_every=20,
    loss_parameters={"rescaled_square": {"t": 1, "M": 5}},
    options={"hidden": [64, 128, 64]},
)
SMALL = replace(PAPER, epochs=60, evaluate_every=5)


def _load(scale: str, data_dir: Path | None, *, data_set: str) -> TabularSet:
    return load_tabular(data_set, data_dir)


def _split(table: TabularSet, seed: int) -> TensorData:
    return standardised(random_split(table, seed))


def _build(data: TensorData, recipe: Recipe) -> nn.Module:
    hidden: Any = recipe.options["hidden"]
    return mlp(data.train.inputs.shape[1], hidden, data.num_classes)


def _task(name: str, data_set: str, seconds: float, summary: str) -> Task:
    return Task(
        name=name,
        recipes={"paper": PAPER, "small": SMALL},
        load=partial(_load, data_set=data_set),
        split=_split,
        build=_build,
        stacked=True,
        data_sets=(data_set,),
        summary=summary,
        seconds={"paper": seconds * PAPER.epochs / SMALL.epochs, "small": seconds},
    )


IRIS = _task("iris", "sklearn/iris", 0.1, "150 flowers, 4 measurements, 3 kinds")
WINE = _task("wine", "sklearn/wine", 0.1, "178 wines, 13 measurements, 3 growers")
BREAST_CANCER = _task("breast_cancer", "sklearn/breast-cancer", 0.2, "569 tumours, 30 measurements, 2 kinds")
DIGITS = _task("digits", "sklearn/digits", 0.5, "1,797 handwritten digits of 8 x 8 pixels, 10 classes")
