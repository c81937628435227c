"""Derivatives: numerical, second order, forward mode, and the closed form of the paper's gradient."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from squentropy import LOSSES
from tests.losses.reference import CASES

pytestmark = pytest.mark.usefixtures("path")

KINDS = ["indices", "ignored", "weighted", "smoothed", "probabilities"]


def _problem(kind):
    logits = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    target = torch.randint(0, 4, (3, 2))
    weight = torch.tensor([0.5, 1.0, 2.0, 3.0], dtype=torch.float64)
    if kind == "ignored":
        target[0, 0] = -100
    if kind == "probabilities":
        target = torch.randn(3, 4, 2, dtype=torch.float64).softmax(1)
    options = {"weight": weight} if kind in ("weighted", "probabilities") else {}
    return logits, target, options | ({"label_smoothing": 0.1} if kind == "smoothed" else {})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_gradcheck_and_gradgradcheck(name, parameters, kind):
    logits, target, options = _problem(kind)

    def loss(logits):
        return LOSSES[name](logits, target, reduction="none", **options, **parameters)

    assert gradcheck(loss, logits, check_forward_ad=True)
    assert gradgradcheck(loss, logits)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_of_probabilities(name):
    """Distillation differentiates the target, too."""
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    target = torch.randn(3, 4, dtype=torch.float64).softmax(1).requires_grad_()
    assert gradcheck(lambda f, q: LOSSES[name](f, q), (logits, target))


def test_closed_form():
    """d/df_y = p_y - 1 and d/df_j = p_j + 2 f_j / (C - 1)."""
    logits = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(LOSSES["squentropy"](logits, torch.tensor(1)), logits)
    p = logits.detach().exp() / logits.detach().exp().sum()
    expected = p + torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    expected[1] = p[1] - 1
    torch.testing.assert_close(gradient, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", LOSSES)
def test_frozen_logits_have_no_graph(name):
    logits, target = torch.randn(3, 4), torch.tensor([0, 1, 2])
    assert not LOSSES[name](logits, target).requires_grad
    with torch.no_grad():
        assert not LOSSES[name](logits.requires_grad_(), target).requires_grad


@pytest.mark.parametrize("name", LOSSES)
def test_backward_twice_and_scaled(name):
    logits, target = torch.randn(5, 4, dtype=torch.float64, requires_grad=True), torch.tensor([0, 1, 2, 3, 0])
    loss = LOSSES[name](logits, target)
    (first,) = torch.autograd.grad(loss, logits, retain_graph=True)
    kept = first.clone()
    (second,) = torch.autograd.grad(0.5 * loss, logits, retain_graph=True)
    torch.testing.assert_close(second, 0.5 * kept, rtol=1e-14, atol=0)
    loss.backward(retain_graph=True)
    loss.backward()
    torch.testing.assert_close(logits.grad, 2 * kept, rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_single_samples(name):
    """With reduction none, each sample's gradient takes its own factor."""
    logits, target = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True), torch.randint(0, 3, (4, 5))
    factors = torch.randn(4, 5, dtype=torch.float64)
    (together,) = torch.autograd.grad(LOSSES[name](logits, target, reduction="none"), logits, factors)
    alone = torch.zeros_like(together)
    for i in range(4):
        for d in range(5):
            row = logits.detach()[i, :, d].requires_grad_()
            (alone[i, :, d],) = torch.autograd.grad(factors[i, d] * LOSSES[name](row, target[i, d]), row)
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-14)
