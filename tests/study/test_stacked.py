"""Stacked training gives each run what training it alone gives, and no run can disturb another."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from squentropy.losses import LOSSES
from squentropy.study import LossSpec, plan
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.evaluation import Evaluation, evaluate_stacked
from squentropy.study.stacked import train_stacked
from squentropy.study.stacked_network import StackedNetwork, linear_layers, with_ones
from squentropy.study.training import NonFiniteLossError, train
from tests.study.tiny_tasks import STACKED, points_task

SGD = {"optimizer": "SGD", "optimizer_options": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}}
ADAM = {"optimizer": "Adam", "optimizer_options": {"weight_decay": 0.01}, "learning_rate": 0.01}
ADAMW = {"optimizer": "AdamW", "optimizer_options": {}, "learning_rate": 0.01}


def prepared(losses=("squentropy",), seeds=2, task=None, **changes):
    task = task or points_task("points", stacked=True, **changes)
    runs = plan([task], losses, seeds, "small")
    table = task.load("small", None)
    return runs, task, [task.split(table, run.seed) for run in runs]


def assert_same_bits(first, second):
    assert (first.last, first.best, first.curves) == (second.last, second.best, second.curves)
    assert torch.equal(first.logits, second.logits)
    assert torch.equal(first.target, second.target)


def assert_equal_but_for_rounding(stacked, alone):
    torch.testing.assert_close(stacked.logits, alone.logits, rtol=1e-4, atol=1e-4)
    assert torch.equal(stacked.target, alone.target)
    assert stacked.best["epoch"] == alone.best["epoch"]
    assert stacked.curves.keys() == alone.curves.keys()
    assert stacked.last == pytest.approx(alone.last, rel=1e-3)
    for name, values in alone.curves.items():
        assert stacked.curves[name] == pytest.approx(values, rel=1e-3), name


@pytest.mark.parametrize("loss", [*LOSSES, "squentropy:square_weight=0.3,label_smoothing=0.1"])
def test_each_loss_as_alone(loss):
    runs, task, datas = prepared([loss], options={"hidden": [8, 16]})
    for run, data, result in zip(runs, datas, train_stacked(runs, task, datas), strict=True):
        assert_equal_but_for_rounding(result, train(run, task, data))


@pytest.mark.parametrize(
    "changes",
    [
        SGD,
        ADAM,
        ADAMW,
        {"batch_size": 150},
        {"batch_size": 149},  # a last batch of one row
        {"batch_size": 1000},
        {"schedule": "cosine", "warmup_steps": 3},
        {"clip_norm": 0.1},
        {"loss_weight": 0.5},
        {"accumulate": 3},
        {"evaluate_every": 3},
    ],
    ids=str,
)
def test_each_setting_as_alone(changes):
    runs, task, datas = prepared(["squentropy", "rescaled_square"], seeds=3, **changes)
    for run, data, result in zip(runs, datas, train_stacked(runs, task, datas), strict=True):
        assert_equal_but_for_rounding(result, train(run, task, data))


def test_runs_with_recipes_and_rows_of_their_own():
    runs, task, datas = prepared(["squentropy", "cross_entropy"], seeds=4)
    runs[0] = replace(runs[0], recipe=replace(runs[0].recipe, learning_rate=0.03))
    datas[1] = replace(datas[1], train=type(datas[1].train)(*(each[:-7] for each in datas[1].train)))
    for run, data, result in zip(runs, datas, train_stacked(runs, task, datas), strict=True):
        assert_equal_but_for_rounding(result, train(run, task, data))


def test_one_run_that_diverges_fails_alone():
    runs, task, datas = prepared(["squentropy", "rescaled_square"], seeds=3)
    spoiled = datas[4].train.inputs.clone()
    spoiled[7] = 1e30
    datas[4] = replace(datas[4], train=type(datas[4].train)(spoiled, datas[4].train.target))
    outcomes = train_stacked(runs, task, datas)
    assert isinstance(outcomes[4], NonFiniteLossError)
    assert "in epoch 1" in str(outcomes[4])
    undisturbed = train_stacked(*prepared(["squentropy", "rescaled_square"], seeds=3))
    for number in (0, 1, 2, 3, 5):
        assert_same_bits(outcomes[number], undisturbed[number])


def test_when_all_diverge_training_ends():
    runs, task, datas = prepared(["rescaled_square:M=1e30"], seeds=2, epochs=10**9)
    assert [type(outcome) for outcome in train_stacked(runs, task, datas)] == [NonFiniteLossError] * 2


def test_who_trains_along_changes_no_bit():
    runs, task, datas = prepared(["squentropy", "cross_entropy"], seeds=7)
    together = train_stacked(runs, task, datas)
    for numbers in ([0], [3, 6], [13, 2, 5]):
        chosen = train_stacked([runs[number] for number in numbers], task, [datas[number] for number in numbers])
        for number, result in zip(numbers, chosen, strict=True):
            assert_same_bits(result, together[number])


def test_the_number_of_threads_changes_no_bit():
    runs, task, datas = prepared(["squentropy", "cross_entropy", "rescaled_square"], seeds=2)
    one = train_stacked(runs, task, datas)
    torch.set_num_threads(2)
    try:
        two = train_stacked(runs, task, datas)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    for first, second in zip(one, two, strict=True):
        assert_same_bits(first, second)


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.mark.parametrize("changes", [SGD, ADAM], ids=["SGD", "Adam"])
@pytest.mark.parametrize("killed_at", [0.1, 0.5, 0.9])
def test_resumes_to_the_same_bits(tmp_path, changes, killed_at):
    arguments = prepared(["squentropy", "cross_entropy"], seeds=2, **changes)
    reported = []

    def kill(share):
        reported.append(share)
        if share >= killed_at:
            raise Killed

    checkpoint = Checkpoint(tmp_path / "job.pt", every=0)
    with pytest.raises(Killed):
        train_stacked(*arguments, checkpoint, kill)
    resumed = []
    outcomes = train_stacked(*arguments, checkpoint, resumed.append)
    for outcome, undisturbed in zip(outcomes, train_stacked(*arguments), strict=True):
        assert_same_bits(outcome, undisturbed)
    assert resumed[0] == reported[-1]  # what was done before the last checkpoint was not done again
    assert resumed[-1] == 1


def test_a_failed_run_stays_failed_after_a_resume(tmp_path):
    runs, task, datas = prepared(["squentropy", "rescaled_square:M=1e30"], seeds=1)
    checkpoint = Checkpoint(tmp_path / "job.pt", every=0)

    def kill(share):
        if share >= 0.75:
            raise Killed

    with pytest.raises(Killed):
        train_stacked(runs, task, datas, checkpoint, kill)
    good, failed = train_stacked(runs, task, datas, checkpoint)
    assert_same_bits(good, train_stacked(runs, task, datas)[0])
    assert "in epoch 1" in str(failed)


def test_curves_hold_each_evaluated_epoch_and_the_last():
    runs, task, datas = prepared(epochs=5, evaluate_every=2)
    result = train_stacked(runs, task, datas)[0]
    assert result.curves["epoch"] == [2, 4, 5]
    assert result.curves["accuracy"][-1] == result.last["accuracy"]
    assert result.best["accuracy"] == max(result.curves["accuracy"])
    assert len(result.curves["weight_norm"]) == 3


def test_predictions_are_kept_on_request_only():
    runs, task, datas = prepared()
    assert train_stacked(runs, task, datas)[0].logits.shape == (40, 3)
    assert train_stacked(runs, replace(task, keep_predictions=False), datas)[0].logits is None


def test_a_score_of_the_task_is_measured():
    scores = {"true_logit": lambda logits, target: logits.gather(1, target[:, None])[:, 0]}
    runs, task, datas = prepared(task=replace(STACKED, scores=scores))
    result = train_stacked(runs, task, datas)[1]
    expected = result.logits.gather(1, result.target[:, None]).double().mean()
    assert result.last["true_logit"] == pytest.approx(float(expected), rel=1e-6)


def test_measures_what_the_exact_evaluation_measures():
    logits = 3 * torch.randn(4, 1000, 5)
    logits[0, :, 1:] = 0
    logits[0, :, 0] = 0.5108256  # confidences near an edge
    logits[1, :10] = 1.0  # ties
    target = torch.randint(0, 5, (4, 1000))
    for number, measured in enumerate(evaluate_stacked(logits, target, {})):
        evaluation = Evaluation()
        evaluation.add(logits[number], target[number])
        assert measured == pytest.approx(evaluation.metrics(), rel=1e-5)


def test_the_gradient_is_that_of_autograd():
    models = [nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 6), nn.ReLU(), nn.Linear(6, 3)) for _ in range(3)]
    network, inputs, gradient = StackedNetwork(models), torch.randn(3, 10, 4), torch.randn(3, 10, 3)
    logits = network.forward(with_ones(inputs))
    network.backward(with_ones(inputs), gradient)
    flat = network.gradient[: 3 * (35 + 48 + 21)].split([3 * 35, 3 * 48, 3 * 21])
    for number, model in enumerate(models):
        expected = model(inputs[number])
        torch.testing.assert_close(logits[number], expected)
        expected.backward(gradient[number])
        for layer, part in zip(linear_layers(model), flat, strict=True):
            found = part.view(3, layer.in_features + 1, layer.out_features)[number]
            torch.testing.assert_close(found, torch.cat([layer.weight.grad.T, layer.bias.grad[None]]))


@pytest.mark.parametrize(
    "model",
    [
        nn.Linear(2, 2),
        nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2), nn.ReLU()),
        nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2, bias=False)),
        nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2)),
    ],
    ids=str,
)
def test_refuses_other_networks(model):
    with pytest.raises(ValueError, match="set stacked=False"):
        StackedNetwork([model])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"optimizer": "Adadelta", "optimizer_options": {}}, "got 'Adadelta'"),
        ({"precision": "bf16-mixed"}, "'bf16-mixed'"),
    ],
)
def test_refuses_other_recipes(changes, told):
    with pytest.raises(ValueError, match=told):
        train_stacked(*prepared(**changes))


def test_refuses_parameters_that_the_loss_refuses():
    with pytest.raises(ValueError, match="square_weight"):
        train_stacked(*prepared(["squentropy:square_weight=-1"]))


def test_refuses_other_tasks_and_data():
    runs, task, datas = prepared()
    with pytest.raises(ValueError, match="forward or measure"):
        train_stacked(runs, replace(task, measure=lambda model, data, recipe: {}), datas)
    with pytest.raises(ValueError, match="without augment"):
        train_stacked(runs, task, [replace(data, augment=lambda inputs, generator: inputs) for data in datas])


def test_the_loss_has_its_parameters():
    weak, strong = (LossSpec("squentropy", {"square_weight": value}) for value in (0.0, 3.0))
    runs, task, datas = prepared([weak, strong, "cross_entropy"], seeds=1)
    first, second, third = train_stacked(runs, task, datas)
    torch.testing.assert_close(first.logits, third.logits, rtol=1e-4, atol=1e-4)
    assert second.last["nll"] != pytest.approx(first.last["nll"], rel=1e-2)
