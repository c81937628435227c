"""How networks for a user's table are trained: the paper's network for tables, as long as the rows ask for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import nn

from squentropy.models import mlp
from squentropy.study import Recipe, TensorData

HIDDEN = (64, 128, 64)
_STEPS = 4000  # of the optimiser, where the number of rows allows it
_FEWEST_EPOCHS, _MOST_EPOCHS = 10, 400
_EVALUATIONS = 5
_FLOPS = 2e10  # of one core on networks of this size, for estimates of time


def make_recipe(rows: int, epochs: int | None = None, hidden: Sequence[int] = HIDDEN) -> Recipe:
    """Returns the recipe for a table.

    Args:
        rows: Rows that are trained on.
        epochs: Passes over them; chosen by their number if None.
        hidden: Widths of the hidden layers.

    Examples:
        >>> make_recipe(rows=500).epochs, make_recipe(rows=100_000).batch_size
        (400, 256)
    """
    batch_size = 64 if rows < 20_000 else 256
    steps = -(-rows // batch_size)
    epochs = epochs or min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, _STEPS // steps))
    return Recipe(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=0.01,
        optimizer="SGD",
        optimizer_options={"momentum": 0.9, "weight_decay": 5e-4},
        schedule="cosine",
        evaluate_every=max(1, epochs // _EVALUATIONS),
        loss_parameters={"rescaled_square": {"t": 1, "M": 5}},
        options={"hidden": list(hidden)},
    )


def build(data: TensorData, recipe: Recipe) -> nn.Module:
    """Builds the network of a recipe for inputs of some data."""
    hidden: Any = recipe.options["hidden"]
    return mlp(data.train.inputs.shape[1], hidden, data.num_classes)


def seconds_per_run(recipe: Recipe, rows: int, features: int, classes: int) -> float:
    """Estimates the time of one of many runs trained together."""
    hidden: Any = recipe.options["hidden"]
    weights = sum(a * b for a, b in pairwise((features, *hidden, classes)))
    seconds: float = recipe.epochs * (6 * weights * rows / _FLOPS + 5e-5 * rows / recipe.batch_size)
    return seconds
