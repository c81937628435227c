"""One tiny task of each kind is trained with each loss of the paper, and learns what can be learnt."""

from dataclasses import replace

import pytest
import torch

from squentropy.study import plan
from squentropy.study.stacked import train_stacked
from squentropy.study.training import train
from tests.study.tiny_tasks import CLASSIFICATION, LANGUAGE, LOSSES, SPEECH, STACKED, TASKS


def trained(task, loss):
    (run,) = plan([task], [loss], 1, "small")
    data = task.load("small", None)
    return train(run, task, data if task.split is None else task.split(data, run.seed))


@pytest.mark.parametrize("loss", LOSSES)
def test_classification(loss):
    result = trained(CLASSIFICATION, loss)
    assert result.last["accuracy"] > 0.85
    assert result.logits.shape == (40, 3)


@pytest.mark.parametrize("loss", LOSSES)
def test_language_is_learnt_by_memory_and_padding_counts_nowhere(loss):
    result = trained(LANGUAGE, loss)
    assert result.last["accuracy"] > 0.95
    assert result.logits is None


def test_without_memory_it_cannot_be_told_which_text_it_is():
    (run,) = plan([LANGUAGE], ["cross_entropy"], 1, "small")
    data = replace(LANGUAGE.load("small", None), length=2)

    def forget(model, batch, carried):
        return LANGUAGE.forward(model, batch, None)

    assert train(run, replace(LANGUAGE, forward=forget), data).last["accuracy"] < 0.8


@pytest.mark.parametrize("loss", LOSSES)
def test_speech_is_judged_by_its_error_rate(loss):
    result = trained(SPEECH, loss)
    errors = result.curves["sequence_error"]
    assert result.last["sequence_error"] == errors[-1] < 0.5
    assert result.best["sequence_error"] == min(errors)
    assert {"accuracy", "nll", "ece"} < result.last.keys()


def test_the_extra_term_is_minimised_too():
    def without_extra(model, batch, carried):
        return replace(SPEECH.forward(model, batch, carried), extra=None)

    with_it, without = (trained(task, "squentropy") for task in (SPEECH, replace(SPEECH, forward=without_extra)))
    assert with_it.curves["train_loss"][0] > without.curves["train_loss"][0]
    assert not torch.equal(with_it.logits, without.logits)


def test_stacked():
    runs = plan([STACKED], LOSSES, 2, "small")
    table = STACKED.load("small", None)
    for result in train_stacked(runs, STACKED, [STACKED.split(table, run.seed) for run in runs]):
        assert result.last["accuracy"] > 0.85


def test_there_is_one_of_each_kind():
    assert {task.name for task in TASKS.values() if task.stacked} == {"tiny_stacked"}
    assert {task.name for task in TASKS.values() if task.measure is not None} == {"tiny_speech"}
