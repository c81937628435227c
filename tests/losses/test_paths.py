"""Every path against float64, for random shapes, layouts, dtypes and options; and in training, step by step."""

import random

import pytest
import torch
from torch import nn

import squentropy as sq
from squentropy.losses.dispatch import loss_and_gradient, use
from tests.losses.configurations import ROUNDING, assert_close, configuration, expected
from tests.losses.conftest import KERNELS

PATHS = ["formula", *KERNELS, "triton"]
# Beside those of the other tests: around the widths of vectors, several blocks of a row, several tiles.
SHAPES = [(1, 31), (3, 32), (9, 33), (40, 17), (6, 64), (4, 100), (300, 2), (2, 257), (2, 9000), (2, 21, 9, 5)]


@pytest.fixture(params=PATHS)
def any_path(request):
    if request.param == "triton":
        pytest.importorskip("triton")
    with use(request.param):
        yield request.param


def _assert_right(choice, logits, target, weight, ignore_index, label_smoothing, terms, scale, in_place):
    """Values and gradients without a graph, and those of the public functions with every reduction."""
    is_soft = target.shape == logits.shape
    ignore_index = -100 if is_soft else ignore_index  # which public functions refuse
    options = (target, weight, ignore_index, label_smoothing, terms)
    true_losses, true_gradient = expected(logits, *options)
    if not isinstance(scale, float) and scale.ndim:
        scale = 0.5
    out = logits.clone() if in_place else None
    losses, gradient = loss_and_gradient(logits if out is None else out, *options, scale=scale, out=out)
    # Of a loss near 0, the logarithm of a sum near 1, test_precision.py asks for more.
    assert_close(losses, true_losses, ROUNDING[losses.dtype], losses.dtype, 1.0)
    # Where all parts of a gradient cancel, their rounding stays: probabilities are at most 1.
    assert_close(gradient, float(scale) * true_gradient, ROUNDING[losses.dtype], logits.dtype, float(scale))

    divisor = 1.0
    reduction, upstream = choice(["none", "mean", "sum"]), torch.tensor(choice([1.0, -2.0]))
    if reduction == "mean" and true_losses.numel() > 0:
        kept = torch.ones_like(true_losses) if is_soft else (target != ignore_index).double()
        if weight is not None and not is_soft:
            kept *= weight.double()[target.where(target != ignore_index, 0).long()]
        divisor = float(kept.sum())
        true_losses, true_gradient = true_losses.sum() / divisor, true_gradient / divisor
    elif reduction != "none":
        true_losses = true_losses.sum() if reduction == "sum" else torch.tensor(torch.nan)
    leaf = logits.clone().requires_grad_()
    shared = (target, weight, ignore_index, reduction, label_smoothing)
    if terms.cross_entropy:
        square_weight = terms.wrong_square * (logits.shape[1] - 1)
        loss = sq.squentropy(leaf, *shared, square_weight=square_weight, inplace_backward=in_place)
    else:
        t = terms.true_square * logits.shape[1]
        loss = sq.rescaled_square(leaf, *shared, t=t, M=terms.M, inplace_backward=in_place)
    if true_losses.isnan().any():  # nothing counts, or nothing is there
        assert loss.isnan().all()
        return
    assert_close(loss.detach(), true_losses, ROUNDING[losses.dtype], loss.dtype, 1.0)
    (gradient,) = torch.autograd.grad(loss, leaf, upstream.to(loss.dtype).expand_as(loss))
    summands = float(upstream.abs() / divisor)
    assert_close(gradient, upstream * true_gradient, ROUNDING[losses.dtype], loss.dtype, summands)


def _run(configurations, path):
    generator = random.Random(path)
    torch.manual_seed(generator.randrange(2**31))
    for _ in range(configurations):
        more = SHAPES if path != "triton" else ()
        _assert_right(generator.choice, **configuration(generator, more))


def test_random_configurations(any_path):
    _run(60 if any_path == "triton" else 150, any_path)


@pytest.mark.slow
def test_two_thousand_random_configurations(any_path):
    _run(2000, any_path + ", again")


def _train(path, loss, dtype):
    """The losses of 200 steps of a small network."""
    torch.manual_seed(0)
    inputs, target = torch.randn(400, 20, dtype=dtype), torch.randint(5, (400,))
    model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 5)).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with use(path):
        for step in range(200):
            rows = slice(step % 8 * 50, step % 8 * 50 + 50)
            optimizer.zero_grad()
            value = loss(model(inputs[rows]), target[rows])
            value.backward()
            optimizer.step()
            losses.append(value.detach())
    return torch.stack(losses)


@pytest.mark.parametrize("loss", [sq.SquentropyLoss(), sq.RescaledSquareLoss(t=2.0, M=3.0)], ids=repr)
@pytest.mark.parametrize("path", [*KERNELS, pytest.param("triton", marks=pytest.mark.slow)])
def test_training_by_kernel_is_training_by_formula(path, loss):
    if path == "triton":
        pytest.importorskip("triton")
    for dtype, rtol in ((torch.float64, 1e-11), (torch.float32, 1e-3)):
        by_formula = _train("formula", loss, dtype)
        torch.testing.assert_close(_train(path, loss, dtype), by_formula, rtol=rtol, atol=0)
        assert by_formula[-8:].mean() < by_formula[:8].mean()  # there was something to learn
