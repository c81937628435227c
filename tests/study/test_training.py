"""The training loop against a loop written out in PyTorch, and that nothing can disturb what it gives."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, MultiStepLR

from squentropy.study import LossSpec, Recipe, plan
from squentropy.study.canonical import derived_seed
from squentropy.study.optimization import learning_rate, make_optimizer
from squentropy.study.training import NonFiniteLossError, train
from tests.study.tiny_tasks import CLASSIFICATION, LANGUAGE, SPEECH, points_task


def prepared(task, loss="squentropy", seed=0):
    """The first run of a task and its data."""
    run = replace(plan([task], [loss], 1, "small")[0], seed=seed)
    data = task.load("small", None)
    return run, task, data if task.split is None else task.split(data, seed)


def assert_same_bits(first, second):
    assert (first.last, first.best, first.curves) == (second.last, second.best, second.curves)
    if first.logits is None:
        assert second.logits is None
    else:
        assert torch.equal(first.logits, second.logits)
        assert torch.equal(first.target, second.target)


def plain_loop(run, task, data, *, clip_norm=None, scheduler=None):
    """Cross entropy training as a user would write it; returns the logits on the test part and all norms."""
    recipe = run.recipe
    torch.manual_seed(derived_seed(run.seed, "weights"))
    model = task.build(data, recipe)
    optimizer = torch.optim.SGD(model.parameters(), recipe.learning_rate, **recipe.optimizer_options)
    scheduler = scheduler and scheduler(optimizer)
    order = torch.Generator().manual_seed(derived_seed(run.seed, "order"))
    norms = []
    for _ in range(recipe.epochs):
        for rows in torch.randperm(data.train_rows, generator=order).split(recipe.batch_size):
            cross_entropy(model(data.train.inputs[rows]), data.train.target[rows]).backward()
            if clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
            optimizer.step()
            optimizer.zero_grad()
            if scheduler is not None:
                scheduler.step()
        norms.append(model[-1].weight.detach().norm().item())
    with torch.no_grad():
        return model(data.test.inputs), norms


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({}, {}),
        ({"batch_size": 150}, {}),
        ({"clip_norm": 0.05}, {"clip_norm": 0.05}),
        ({"accumulate": 4}, {}),
        ({"optimizer_options": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}}, {}),
        ({"schedule": "cosine"}, {"scheduler": lambda optimizer: CosineAnnealingLR(optimizer, 4 * 5)}),
        ({"schedule": "linear"}, {"scheduler": lambda optimizer: LinearLR(optimizer, 1.0, 0.0, 4 * 5)}),
        (
            {"schedule": "step", "schedule_options": {"milestones": [1, 3], "gamma": 0.1}},
            {"scheduler": lambda optimizer: MultiStepLR(optimizer, [1 * 5, 3 * 5], 0.1)},
        ),
    ],
    ids=lambda value: " ".join(value),
)
def test_equals_a_loop_written_out(changes, options):
    run, task, data = prepared(points_task("points", stacked=False, **changes), "cross_entropy", seed=3)
    result = train(run, task, data)
    expected, norms = plain_loop(run, task, data, **options)
    torch.testing.assert_close(result.logits, expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(result.target, data.test.target)
    assert result.curves["weight_norm"] == pytest.approx(norms, rel=1e-5)
    assert result.last["accuracy"] == float((expected.argmax(1) == data.test.target).double().mean())
    assert result.last["nll"] == pytest.approx(float(cross_entropy(expected, data.test.target)), rel=1e-5)


def test_learning_rates_written_out():
    recipe = Recipe(epochs=3, batch_size=1, learning_rate=0.5, warmup_steps=2)
    assert [learning_rate(recipe, step, 2) for step in range(6)] == [0.25, 0.5, 0.5, 0.5, 0.5, 0.5]
    recipe = replace(recipe, schedule="linear")
    assert [learning_rate(recipe, step, 2) for step in range(6)] == [0.25, 0.5, 0.5, 0.375, 0.25, 0.125]
    recipe = replace(recipe, schedule="inverse_sqrt")
    expected = [0.25, 0.5, *(0.5 * math.sqrt(2 / k) for k in (3, 4, 5, 6))]
    assert [learning_rate(recipe, step, 2) for step in range(6)] == pytest.approx(expected)


def test_bad_optimizers_and_schedules_are_named():
    recipe = Recipe(epochs=1, batch_size=1, learning_rate=0.5, optimizer="Module")
    with pytest.raises(ValueError, match="'Module'"):
        make_optimizer(recipe, [torch.zeros(1)])
    with pytest.raises(ValueError, match="milestones and gamma"):
        learning_rate(replace(recipe, schedule="step"), 0, 1)


@pytest.mark.parametrize("task", [CLASSIFICATION, LANGUAGE, SPEECH], ids=lambda task: task.name)
def test_parts_of_a_batch_make_the_step_of_the_whole(task):
    run, task, data = prepared(task)
    whole = train(run, task, data)
    parts = train(replace(run, recipe=replace(run.recipe, accumulate=3)), task, InParts(data, 3))
    assert parts.curves["train_loss"] == pytest.approx(whole.curves["train_loss"], rel=1e-3)
    assert parts.last == pytest.approx(whole.last, rel=1e-2, abs=1e-6)


class InParts:
    """Data whose batches come in parts of unequal size, also where the padding is unequal."""

    def __init__(self, data, count):
        self._data, self._count = data, count

    def __getattr__(self, name):
        return getattr(self._data, name)

    def train_batches(self, recipe, generator, shard):
        for (batch,) in self._data.train_batches(replace(recipe, accumulate=1), generator, shard):
            columns = (tensor.tensor_split(self._count) for tensor in batch)
            yield [type(batch)(*part) for part in zip(*columns, strict=True)]


def test_ignored_rows_change_nothing():
    run, task, data = prepared(LANGUAGE)
    longer = replace(data, train=nn.functional.pad(data.train, (0, 0, 0, 2), value=-100))
    assert train(run, task, longer).last == pytest.approx(train(run, task, data).last, rel=1e-3)


@pytest.mark.parametrize(("precision", "is_half"), [("bf16-mixed", True), ("32-true", False)])
def test_half_precision_is_for_the_forward_pass_only(precision, is_half):
    run, task, data = prepared(points_task("points", stacked=False, precision=precision), "cross_entropy")
    trained_on = []

    def forward(model, batch, carried):
        outputs = task.forward(model, batch, carried)
        if model.training:
            trained_on.append(outputs.logits)
        return outputs

    result = train(run, replace(task, forward=forward), data)
    fits_in_half = [torch.equal(logits, logits.bfloat16().float()) for logits in trained_on]
    assert len(fits_in_half) == 20
    assert set(fits_in_half) == {is_half}
    assert result.logits.dtype == torch.float32
    assert not torch.equal(result.logits, result.logits.bfloat16().float())
    expected, _ = plain_loop(run, task, data)
    assert result.last["nll"] == pytest.approx(cross_entropy(expected, data.test.target).item(), rel=0.05)


def test_double_precision():
    run, task, data = prepared(points_task("points", stacked=False, precision="64-true"), "cross_entropy")
    doubles = replace(data, train=type(data.train)(data.train.inputs.double(), data.train.target))
    doubles = replace(doubles, test=type(data.test)(data.test.inputs.double(), data.test.target))
    result = train(run, task, doubles)
    assert result.last == pytest.approx(train(*prepared(CLASSIFICATION, "cross_entropy")).last, rel=1e-4)


def test_same_seed_same_bits_other_seed_others():
    first, again, other = (train(*prepared(CLASSIFICATION, seed=seed)) for seed in (1, 1, 2))
    assert_same_bits(first, again)
    assert not torch.equal(first.logits, other.logits)


def test_a_diverging_loss_is_named_with_its_epoch():
    run, task, data = prepared(CLASSIFICATION, LossSpec("rescaled_square", {"M": 1e30}))
    with pytest.raises(NonFiniteLossError, match=r"the training loss became \w+ in epoch 1"):
        train(run, task, data)


def test_last_and_best_epoch():
    run, task, data = prepared(replace(CLASSIFICATION, metric="nll", higher_is_better=False))
    run = replace(run, recipe=replace(run.recipe, epochs=12, learning_rate=1.0))
    result = train(run, task, data)
    nll = result.curves["nll"]
    assert result.last["nll"] == nll[-1]
    assert result.best["nll"] == min(nll) < nll[-1]
    assert result.best["epoch"] == result.curves["epoch"][nll.index(min(nll))]


def test_a_headline_that_is_not_measured_is_named():
    run, task, data = prepared(replace(CLASSIFICATION, metric="error"))
    with pytest.raises(ValueError, match="'error'"):
        train(run, task, data)


def test_progress_is_the_share_of_steps():
    shares = []
    train(*prepared(CLASSIFICATION), progress=shares.append)
    assert shares == pytest.approx([step / 20 for step in range(1, 21)])
