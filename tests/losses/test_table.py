"""A loss is added by one function, one line of LOSSES and one row of the tests; CONTRIBUTING says so."""

import inspect
from pathlib import Path

import pytest
import torch

from squentropy import LOSSES
from tests.losses.reference import CASES, ROWS, Row, reference

SHARED = ["logits", "target", "weight", "ignore_index", "reduction", "label_smoothing"]


def test_each_loss_has_its_row():
    assert list(LOSSES) == list(ROWS)


@pytest.mark.parametrize("name", LOSSES)
def test_signature(name):
    """Names and order are shared, so that one call fits all; own parameters are keywords with defaults."""
    parameters = inspect.signature(LOSSES[name]).parameters
    if name != "cross_entropy":  # PyTorch's, whose names and deprecated arguments are its own
        assert list(parameters)[: len(SHARED)] == SHARED
        for own in list(parameters.values())[len(SHARED) :]:
            assert own.kind is inspect.Parameter.KEYWORD_ONLY
            assert own.default is not inspect.Parameter.empty
    tried = {key for case, values in CASES for key in values if case == name}
    assert tried == set(list(parameters)[len(SHARED) :]) - {"inplace_backward"} or name == "cross_entropy"


def test_adding_a_loss_takes_three_lines(monkeypatch):
    """Follow CONTRIBUTING: the function, the table's line, the test's row."""

    def hinge(logits, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        true = logits.gather(1, target.unsqueeze(1))
        losses = (1 + logits - true).clamp(min=0).sum(1) - 1
        return losses.mean() if reduction == "mean" else losses

    monkeypatch.setitem(LOSSES, "hinge", hinge)
    monkeypatch.setitem(ROWS, "hinge", Row(lambda f, k, m: sum(max(0, 1 + z - f[k]) for z in f) - 1))
    test_each_loss_has_its_row()
    test_signature("hinge")
    logits, target = torch.randn(5, 4, dtype=torch.float64), torch.tensor([0, 3, 1, 2, 0])
    assert LOSSES["hinge"](logits, target).item() == pytest.approx(
        reference("hinge", logits.numpy(), target.numpy()), rel=1e-13
    )
    contributing = Path(__file__).parents[2].joinpath("CONTRIBUTING.md").read_text()
    for place in ("src/squentropy/losses/__init__.py", "tests/losses/reference.py", "LOSSES", "ROWS"):
        assert place in contributing
