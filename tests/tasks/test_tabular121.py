"""The 121 tables as tasks: the paper's recipe to the letter, splits of the stated sizes, runs of their own."""

import math

import numpy as np
import pytest
import torch

from squentropy.data import DataError, Split, TabularSet
from squentropy.study import plan
from squentropy.study.published import find_row
from squentropy.tasks import find_task, select_tasks
from squentropy.tasks.split import hold_out, publishers_fold, random_split
from squentropy.tasks.tabular121 import PROTOCOLS


def table_of(rows, folds=()):
    numbers = np.arange(rows, dtype=np.float32)
    return TabularSet("numbers", numbers.reshape(-1, 1), np.arange(rows) % 2, num_classes=3, folds=folds)


def test_the_recipe_is_the_papers():
    task = find_task("tabular121/abalone")
    recipe = task.recipe("paper")
    assert (recipe.epochs, recipe.batch_size, recipe.learning_rate, recipe.optimizer) == (400, 64, 0.01, "SGD")
    assert dict(recipe.optimizer_options) == {"momentum": 0.9, "weight_decay": 5e-4}
    assert dict(recipe.parameters_for("rescaled_square")) == {"t": 1, "M": 5}
    widths = [
        layer.weight.shape[0] for layer in task.build(random_split(table_of(10), 0), recipe) if hasattr(layer, "weight")
    ]
    assert widths == [64, 128, 64, 3]


def test_each_group_has_all_sets_and_each_its_published_row():
    for protocol in PROTOCOLS:
        tasks = select_tasks([protocol.group])
        assert len(tasks) == 121
        assert {find_row(task.paper_row).name for task in tasks} == {task.paper_row for task in tasks}


def test_protocols_have_no_run_in_common():
    tasks = [find_task(f"{protocol.group}/iris") for protocol in PROTOCOLS]
    runs = plan(tasks, ["squentropy", "cross_entropy", "rescaled_square"], 5, "paper")
    assert len({run.run_id for run in runs}) == len(PROTOCOLS) * 15


def test_the_released_network_has_no_relu_on_its_logits():
    model = find_task("tabular121-released/iris").build(
        random_split(table_of(10), 0), find_task("tabular121-released/iris").recipe("paper")
    )
    torch.nn.init.constant_(model[-1].bias, -50.0)
    assert model(torch.randn(8, 1)).max() < 0


@pytest.mark.parametrize("rows", [2, 5, 10, 171, 178])
def test_a_fifth_of_the_training_rows_is_held_out(rows):
    whole = random_split(table_of(rows), seed=3)
    if whole.train_rows == 1:
        with pytest.raises(ValueError, match="train part of 'numbers'"):
            hold_out(whole, seed=3)
        return
    parts = hold_out(whole, seed=3)
    assert len(parts.validation.target) == math.ceil(0.2 * whole.train_rows)
    assert torch.equal(parts.test.inputs, whole.test.inputs)
    together = torch.cat([parts.train.inputs, parts.validation.inputs])
    assert torch.equal(together.sort(0).values, whole.train.inputs.sort(0).values)


def test_seeds_take_the_publishers_folds_in_turn():
    folds = tuple(Split(np.array([0, 1, 2]) + k, np.array([6, 7]) - k) for k in range(4))[:2]
    table = table_of(8, folds)
    for seed in (0, 2):
        assert publishers_fold(table, seed).test.inputs.flatten().tolist() == [6, 7]
    assert publishers_fold(table, 1).train.inputs.flatten().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="comes without folds"):
        publishers_fold(table_of(8), 0)


def test_two_rows_are_the_least():
    data = random_split(table_of(2), seed=0)
    assert (data.train_rows, data.test_rows) == (1, 1)
    with pytest.raises(DataError, match="at least two are needed"):
        table_of(1)
