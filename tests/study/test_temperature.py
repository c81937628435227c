"""A temperature fitted on held-out rows after training: the right one, beside metrics that it leaves as they were."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch.nn.functional import cross_entropy

from squentropy.study import Rows, TensorData, plan
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.evaluation import scaled_metrics
from squentropy.study.stacked import train_stacked
from squentropy.study.training import train
from tests.study.tiny_tasks import points_task

SCALED = {"temperature", "nll_scaled", "ece_scaled"}


def with_held_out(data, rows=40):
    few, most = (Rows(*(each[part] for each in data.train)) for part in (slice(rows), slice(rows, None)))
    return TensorData(data.name, most, data.test, data.num_classes, validation=few)


def without_held_out(data):
    return TensorData(data.name, data.train, data.test, data.num_classes)


def prepared(losses=("squentropy", "cross_entropy", "focal"), seeds=2):
    task = points_task("points", stacked=True)
    runs = plan([task], losses, seeds, "small")
    table = task.load("small", None)
    return runs, task, [with_held_out(task.split(table, run.seed)) for run in runs]


def best_temperature(logits, target):
    """By another method: the least negative log-likelihood by Brent's search, in float64."""

    def nll(log_temperature):
        return float(cross_entropy(logits.double() / np.exp(log_temperature), target))

    return np.exp(minimize_scalar(nll, bounds=(-6, 6), method="bounded", options={"xatol": 1e-10}).x)


def test_stacked_and_alone_find_the_same_temperature():
    runs, task, datas = prepared()
    for run, data, stacked in zip(runs, datas, train_stacked(runs, task, datas), strict=True):
        alone = train(run, task, data)
        assert stacked.last.keys() == alone.last.keys() == SCALED | {"accuracy", "ece", "nll"}
        assert stacked.last == pytest.approx(alone.last, rel=1e-3)


def test_it_is_the_temperature_of_the_held_out_rows():
    runs, task, datas = prepared(seeds=1)
    for run, data in zip(runs, datas, strict=True):
        result = train(run, task, data)
        # The same training, with the held-out rows as its test part, gives their logits.
        swapped = TensorData(data.name, data.train, data.validation, data.num_classes)
        held_out = train(run, task, swapped)
        expected = best_temperature(held_out.logits, held_out.target)
        assert result.last["temperature"] == pytest.approx(expected, rel=1e-4)
        nll = float(cross_entropy(result.logits.double() / expected, result.target))
        assert result.last["nll_scaled"] == pytest.approx(nll, rel=1e-4)


def test_all_else_is_as_without_a_validation_part():
    runs, task, datas = prepared()
    plain = train_stacked(runs, task, [without_held_out(data) for data in datas])
    for first, second in zip(train_stacked(runs, task, datas), plain, strict=True):
        assert {name: value for name, value in first.last.items() if name not in SCALED} == second.last
        assert first.best == second.best
        assert first.curves == second.curves
        assert torch.equal(first.logits, second.logits)


@pytest.mark.parametrize(
    ("logits", "target"),
    [
        ([[1.0, 2.0], [2.0, 1.0], [3.0, 1.0]], [1, 1, 1]),
        ([[1.0, 2.0], [2.0, 1.0], [3.0, 1.0]], [1, 0, 0]),
    ],
    ids=["one class", "no mistake"],
)
def test_rows_that_cannot_tell_leave_the_temperature_at_1(logits, target):
    test = Rows(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([1, 1]))
    scaled = scaled_metrics(Rows(torch.tensor(logits), torch.tensor(target)), test)
    assert scaled["temperature"] == 1.0
    assert scaled["nll_scaled"] == pytest.approx(float(cross_entropy(*test)), rel=1e-6)


def test_logits_that_are_worse_than_none_become_uniform():
    wrong = Rows(torch.tensor([[1.0, 2.0], [2.0, 1.0]]), torch.tensor([0, 1]))
    scaled = scaled_metrics(wrong, wrong)
    assert scaled["temperature"] == pytest.approx(1000)
    assert scaled["nll_scaled"] == pytest.approx(np.log(2), rel=1e-3)


def test_a_run_that_diverges_has_no_temperature_and_leaves_the_others_theirs():
    runs, task, datas = prepared(["rescaled_square"])
    spoiled = Rows(datas[0].train.inputs * 1e30, datas[0].train.target)
    outcomes = train_stacked(
        runs, task, [TensorData("bad", spoiled, datas[0].test, 3, validation=datas[0].validation), datas[1]]
    )
    assert isinstance(outcomes[0], ArithmeticError)
    assert outcomes[1].last == train_stacked(runs, task, datas)[1].last


def test_a_finished_checkpoint_gives_the_same_temperature(tmp_path):
    runs, task, datas = prepared(seeds=1)
    checkpoint = Checkpoint(tmp_path / "job.pt", every=0)
    first = train_stacked(runs, task, datas, checkpoint)
    second = train_stacked(runs, task, datas, checkpoint)  # whoever was killed before writing the records
    assert [result.last for result in first] == [result.last for result in second]


def test_the_held_out_rows_are_measured_where_a_task_asks_for_it():
    held_out = Rows(torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0, 1, 1]))
    scaled = scaled_metrics(held_out, Rows(*held_out), measure_held_out=True)
    assert scaled["accuracy_held_out"] == 0.75
    assert scaled["nll_held_out"] == pytest.approx(-(3 * np.log(0.75) + np.log(0.25)) / 4)  # three of four are right
    runs, task, datas = prepared(seeds=1)
    asked = replace(task, measure_held_out=True)
    for run, data, stacked in zip(runs, datas, train_stacked(runs, asked, datas), strict=True):
        assert stacked.last == pytest.approx(train(run, asked, data).last, rel=1e-3)
        assert stacked.last.keys() == SCALED | {"accuracy", "ece", "nll", "accuracy_held_out", "nll_held_out"}
