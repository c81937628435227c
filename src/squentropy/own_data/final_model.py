"""Training the model that is saved: with the loss that the held-out rows chose, on more rows than the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from squentropy.own_data.outcome import Outcome
from squentropy.own_data.saved_model import SavedModel
from squentropy.own_data.table import Table
from squentropy.study import Data, Recipe, Run, Task, TensorData
from squentropy.study.training import train

_SEED = 0


def train_final(table: Table, task: Task, outcome: Outcome, runs: list[Run]) -> SavedModel:
    """Trains a model with the best loss. More rows than in the comparison: those that were tested then are trained on.

    Args:
        table: The table.
        task: Its task.
        outcome: What the comparison found.
        runs: Its runs.
    """
    run = _run_of(outcome, runs)
    fitted_on, held_out = table.splitter.held_out(_SEED)
    preprocessing = table.fit(fitted_on)
    train_rows, held_out_rows = table.rows(preprocessing, fitted_on), table.rows(preprocessing, held_out)
    data = TensorData(table.name, train_rows, held_out_rows, len(table.target.classes), validation=held_out_rows)
    trained: dict[str, Tensor] = {}

    def keep(model: nn.Module, data: Data, recipe: Recipe) -> Mapping[str, float]:
        trained.update({name: tensor.detach().clone() for name, tensor in model.state_dict().items()})
        return {}

    alone = replace(task, stacked=False, measure=keep, keep_predictions=False, measure_held_out=False)
    result = train(replace(run, recipe=replace(run.recipe, evaluate_every=run.recipe.epochs)), alone, data)
    hidden: Any = run.recipe.options["hidden"]
    return SavedModel(
        target=table.target.name,
        classes=table.target.classes,
        preprocessing=preprocessing,
        hidden=tuple(hidden),
        temperature=result.last["temperature"],
        weights=trained,
        training={
            "loss": run.loss.to_json(),
            "recipe": run.recipe.to_json(),
            "seed": run.seed,
            "rows": len(fitted_on),
            "rows_for_temperature": len(held_out),
            "expected": {
                metric: outcome.mean(outcome.best, metric) for metric in ("accuracy", "ece_scaled", "nll_scaled")
            },
        },
    )


def _run_of(outcome: Outcome, runs: list[Run]) -> Run:
    """The first run of the best loss."""
    for (_, _, label, _), record in outcome.results.records.items():
        if label == outcome.best:
            return next(run for run in runs if run.loss.to_json() == record["run"]["loss"])
    raise AssertionError("the best loss has records")
