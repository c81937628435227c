"""A comparison of losses for a user's own PyTorch model and data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn

from squentropy.own_data.carry_out import carry_out, study_folder
from squentropy.own_data.outcome import Outcome
from squentropy.own_data.report import Background
from squentropy.own_data.result import LossComparison
from squentropy.own_data.samples import Source, make_data
from squentropy.study import LossSpec, Outputs, Recipe, Store, Task, TensorData, classify, plan
from squentropy.study.report.document import Section
from squentropy.study.stacked_network import linear_layers

SCALE = "small"
_NAME = "model"
_EVALUATIONS = 5


def compare_model(
    make_model: Callable[[], nn.Module],
    train: Source,
    test: Source,
    validation: Source | None,
    *,
    losses: Sequence[LossSpec | str],
    seeds: int,
    num_classes: int | None,
    settings: Mapping[str, Any],
    out: Path | None,
    console: Console | None,
) -> LossComparison:
    """Compares losses on one model; see `squentropy.compare`."""
    data = make_data(_NAME, train, test, validation, num_classes)
    batch_size = getattr(train, "batch_size", None) or 64
    epochs = settings.get("epochs", 20)
    defaults = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": 1e-3,
        "optimizer": "AdamW",
        "evaluate_every": max(1, epochs // _EVALUATIONS),
    }
    recipe = Recipe(**{**defaults, **settings, "options": {"data": data.sha256[:16]}})
    with torch.random.fork_rng(devices=[]):
        model = make_model()
        _check_model(model, data, recipe)
        task = Task(
            name=_NAME,
            recipes={SCALE: recipe},
            load=lambda scale, data_dir: data,
            build=lambda data, recipe: make_model(),
            forward=_forward,
            measure_held_out=True,
        )
        if _can_be_stacked(model, data, recipe):
            task = replace(task, stacked=True, forward=classify)
        runs = plan([task], losses, seeds, SCALE)
        with study_folder(out) as folder:
            store = Store(folder)
            records = carry_out(task, runs, store, console or Console(quiet=True))
            outcome = Outcome.of(records, store, {}, test_share=None)
    return LossComparison(outcome, _background(model, data, recipe, seeds), store, is_temporary=out is None)


def _forward(model: nn.Module, batch: Any, carried: Any) -> Outputs:
    """Plain classification; of outputs (N, C, d1, ...) each place is classified."""
    inputs, target = batch
    logits: Tensor = model(inputs)
    if logits.ndim > 2:
        logits, target = logits.movedim(1, -1).flatten(0, -2), target.flatten()
    return Outputs(logits, target.long())


def _check_model(model: nn.Module, data: Any, recipe: Recipe) -> None:
    """Refuses, in a sentence and before anything is trained, what gives no logits for the classes."""
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"make_model must return a new nn.Module, got {type(model).__name__}: pass a function, not a model"
        )
    batch = next(iter(data.test_batches(recipe)))
    trial = copy.deepcopy(model).eval()
    with torch.no_grad():
        logits = _forward(trial, batch, None).logits
    if logits.ndim != 2 or logits.shape[1] != data.num_classes:
        raise ValueError(
            f"the model must return logits (N, {data.num_classes}), as there are {data.num_classes} classes, got "
            f"{tuple(logits.shape)}: give its last layer as many outputs, or give num_classes"
        )


def _can_be_stacked(model: nn.Module, data: Any, recipe: Recipe) -> bool:
    """Whether all seeds can train as one batched network."""
    if not isinstance(data, TensorData) or data.train.inputs.ndim != 2 or recipe.accumulate != 1:
        return False
    if recipe.optimizer not in ("SGD", "Adam", "AdamW") or recipe.precision != "32-true":
        return False
    try:
        linear_layers(model)
    except ValueError:
        return False
    return True


def _background(model: nn.Module, data: Any, recipe: Recipe, seeds: int) -> Background:
    parameters = sum(each.numel() for each in model.parameters())
    held_out = data.validation.target if isinstance(data, TensorData) and data.validation else data.validation
    sizes = (
        f"{data.train_rows:,} rows to train on, {len(held_out):,} held out to fit temperatures, {data.test_rows:,} to "
        "test"
    )
    return Background(
        title=f"Which loss suits {type(model).__name__} best?",
        summary=[],
        section=Section(
            "The model and its data",
            [
                f"{type(model).__name__} with {parameters:,} parameters; {sizes}; {data.num_classes} classes. "
                f"{recipe.epochs} epochs of {recipe.optimizer} with batches of {recipe.batch_size} and learning rate "
                f"{recipe.learning_rate:g}, the same for all losses."
            ],
        ),
        design=[
            f"{seeds} seed{'s' if seeds > 1 else ''}, all with the same test part. Seeds differ in initial weights and "
            "the order of the rows, the same for all losses. Intervals take in both the seeds and, by a bootstrap over "
            "them, the choice of the test rows."
        ],
    )
