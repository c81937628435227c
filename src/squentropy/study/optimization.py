"""The optimiser and the learning rate that a recipe asks for."""

import math
from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch.optim import Optimizer

from squentropy.study.canonical import plain
from squentropy.study.recipe import Recipe


def make_optimizer(recipe: Recipe, parameters: Iterable[Any], **options: Any) -> Optimizer:
    """Builds the optimiser of a recipe.

    Args:
        recipe: The recipe.
        parameters: Parameters or parameter groups.
        options: Arguments that change the speed, not the result, such as `fused`.

    Examples:
        >>> recipe = Recipe(epochs=1, batch_size=8, learning_rate=0.1, optimizer_options={"momentum": 0.9})
        >>> make_optimizer(recipe, [torch.zeros(2, requires_grad=True)]).defaults["momentum"]
        0.9
    """
    kind: Any = getattr(torch.optim, recipe.optimizer, None)
    if not (isinstance(kind, type) and issubclass(kind, Optimizer)):
        raise ValueError(f"optimizer must name a class of torch.optim, got {recipe.optimizer!r}")
    make: Callable[..., Optimizer] = kind
    return make(parameters, lr=recipe.learning_rate, **cast(dict[str, Any], plain(recipe.optimizer_options)), **options)


def learning_rate(recipe: Recipe, step: int, steps_per_epoch: int) -> float:
    """Returns the learning rate of optimiser step `step`, counted from 0 over all epochs.

    Examples:
        >>> recipe = Recipe(epochs=2, batch_size=8, learning_rate=0.1, schedule="cosine")
        >>> [round(learning_rate(recipe, step, steps_per_epoch=2), 3) for step in range(4)]
        [0.1, 0.085, 0.05, 0.015]
    """
    return recipe.learning_rate * _factor(recipe, step, steps_per_epoch)


def _factor(recipe: Recipe, step: int, steps_per_epoch: int) -> float:
    warmup = recipe.warmup_steps
    if step < warmup:
        return (step + 1) / warmup
    if recipe.schedule == "step":
        return _step_factor(recipe, step // steps_per_epoch)
    if recipe.schedule == "inverse_sqrt":
        return math.sqrt(max(warmup, 1) / (step + 1))
    done = (step - warmup) / max(recipe.epochs * steps_per_epoch - warmup, 1)
    if recipe.schedule == "cosine":
        return (1 + math.cos(math.pi * done)) / 2
    return 1 - done if recipe.schedule == "linear" else 1.0


def _step_factor(recipe: Recipe, epoch: int) -> float:
    options = cast(dict[str, Any], plain(recipe.schedule_options))
    if set(options) != {"milestones", "gamma"}:
        raise ValueError(f"schedule_options of 'step' must be milestones and gamma, got {options}")
    return float(options["gamma"] ** sum(epoch >= milestone for milestone in options["milestones"]))
