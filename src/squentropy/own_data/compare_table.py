"""A comparison of losses on a table: task, runs, yardsticks, report and saved model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console

from squentropy.own_data.carry_out import carry_out, study_folder
from squentropy.own_data.describe import background
from squentropy.own_data.final_model import train_final
from squentropy.own_data.memory import check_memory
from squentropy.own_data.outcome import Outcome, Score, Scores
from squentropy.own_data.recipe import HIDDEN, build, make_recipe, seconds_per_run
from squentropy.own_data.result import LossComparison
from squentropy.own_data.table import Table
from squentropy.own_data.yardsticks import YARDSTICKS, predict
from squentropy.study import LossSpec, Recipe, Store, Task, TensorData, plan
from squentropy.study.canonical import digest

LOSSES = ("squentropy", "cross_entropy", "rescaled_square", "focal", "label_smoothing")
SEEDS = 10
SCALE = "small"
_BYTES_KEPT = _BYTES_TOGETHER = 2e9
_COPIES = 3.0  # of a seed's inputs: its own, those in the stack of seeds, and while one is made of the other


def compare_table(
    table: Table,
    *,
    losses: Sequence[LossSpec | str] = LOSSES,
    seeds: int = SEEDS,
    epochs: int | None = None,
    hidden: Sequence[int] = HIDDEN,
    out: Path | None = None,
    console: Console | None = None,
) -> LossComparison:
    """Compares losses on a table.

    Args:
        table: The table.
        losses: The losses, as specs or as they are written, "squentropy:square_weight=0.5".
        seeds: How many seeds each loss gets.
        epochs: Passes over the training rows; chosen by their number if None.
        hidden: Widths of the network's hidden layers.
        out: Folder of the study, where it goes on if it was stopped; a temporary one if None.
        console: Where progress is shown; nowhere if None.
    """
    console = console or Console(quiet=True)
    together = _seeds_together(table, seeds)
    splits = _Splits(table)
    data = splits(0)
    task = _task(table, make_recipe(data.train_rows, epochs, hidden), splits, data)
    runs = plan([task], losses, seeds, SCALE)
    test_share = data.test_rows / data.train_rows if table.splitter.is_anew else None
    with study_folder(out) as folder, torch.random.fork_rng(devices=[]):
        store = Store(folder)
        records = carry_out(task, runs, store, console, together)
        with console.status("logistic regression and gradient boosting"):
            yardsticks = {name: _yardstick(name, splits, seeds, folder) for name in YARDSTICKS}
        outcome = Outcome.of(records, store, yardsticks, test_share)
        with console.status("training the model that is saved"):
            model = train_final(table, task, outcome, runs)
    return LossComparison(outcome, background(table, data, seeds), store, model, is_temporary=out is None)


def _seeds_together(table: Table, seeds: int) -> int:
    """Returns how many seeds train at a time, by the size of the table alone; refuses what does not fit into memory."""
    size = _COPIES * 4.0 * len(table.values) * table.num_inputs
    together = max(1, min(seeds, int(_BYTES_TOGETHER / size)))
    check_memory(
        f"{len(table.values):,} rows with {table.num_inputs:,} inputs of the network each",
        together * size,
        "take a random part of the rows, on the command line with --sample 200000, or leave columns with many "
        "categories out",
    )
    return together


class _Splits:
    """The data of each seed, kept for the next loss where there is room."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._kept: dict[int, TensorData] = {}

    def __call__(self, seed: int) -> TensorData:
        if seed in self._kept:
            return self._kept[seed]
        data = self.table.data(seed)
        size = sum(tensor.nbytes for rows in (data.train, data.test) for tensor in rows)
        if size * (len(self._kept) + 1) <= _BYTES_KEPT:
            self._kept[seed] = data
        return data


def _task(table: Table, recipe: Recipe, splits: _Splits, data: TensorData) -> Task:
    # The hash of the table: with other data all runs are new ones.
    recipe = Recipe(**{**recipe.to_json(), "options": {**recipe.options, "table": _hash(table)}})  # type: ignore[arg-type]
    return Task(
        name=table.name,
        recipes={SCALE: recipe},
        load=lambda scale, data_dir: table,
        split=lambda table, seed: splits(seed),
        build=build,
        stacked=True,
        measure_held_out=True,
        seconds={SCALE: seconds_per_run(recipe, data.train_rows, data.train.inputs.shape[1], data.num_classes)},
    )


def _hash(table: Table) -> str:
    """A hash of all that the data of a seed are made of."""
    import pandas as pd

    values = pd.util.hash_pandas_object(table.values, index=False).to_numpy()
    by = b"" if table.splitter.by is None else table.splitter.by.tobytes()
    described = repr((table.columns, table.widths, table.target.classes, table.splitter.way))
    return digest(described.encode() + values.tobytes() + table.target.codes.tobytes() + by)[:16]


def _yardstick(name: str, splits: _Splits, seeds: int, folder: Path) -> Scores:
    scores: Scores = {}
    for seed in range(seeds):
        predictions = predict(name, splits(seed), seed, folder / "yardsticks")
        scores[seed] = Score.of(predictions.metrics(), predictions.logits, predictions.target)
    return scores
