"""In each dtype: no less accurate than the obvious code, and never NaN from finite logits."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

import squentropy as sq

pytestmark = pytest.mark.usefixtures("path")

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
SCALES = [1e-3, 1.0, 30.0, 200.0]


def naive_squentropy(logits, target):
    """What one writes first, in the dtype of the logits."""
    wrong = logits.scatter(1, target.unsqueeze(1), 0.0)
    return F.cross_entropy(logits, target, reduction="none") + wrong.pow(2).sum(1) / (logits.shape[1] - 1)


def naive_rescaled_square(logits, target):
    one_hot = F.one_hot(target, logits.shape[1]).to(logits.dtype)
    return (logits - one_hot).pow(2).mean(1)


PAIRS = [(sq.squentropy, naive_squentropy), (sq.rescaled_square, naive_rescaled_square)]


def _logits(scale, confident, dtype, num_classes=50):
    logits = scale * torch.randn(64, num_classes)
    target = torch.randint(0, num_classes, (64,))
    if confident:
        logits[torch.arange(64), target] = logits.abs().amax(1) + 20.0
    return logits.to(dtype), target


@pytest.mark.parametrize("confident", [False, True], ids=["random", "confident"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("ours", "naive"), PAIRS, ids=["squentropy", "rescaled_square"])
def test_no_less_accurate_than_naive_code(ours, naive, dtype, scale, confident):
    logits, target = _logits(scale, confident, dtype)
    exact = logits.double().requires_grad_()
    truth = naive(exact, target)
    (true_gradient,) = torch.autograd.grad(truth.sum(), exact)
    parts = true_gradient.abs()  # of which the gradient is the sum
    if naive is naive_squentropy:  # p - 1 loses all digits of a p near 1, in float64, too
        wrong = exact.detach().softmax(1).scatter(1, target.unsqueeze(1), 0.0)
        true_gradient.scatter_(1, target.unsqueeze(1), -wrong.sum(1, keepdim=True))
        parts = wrong + (true_gradient - wrong).abs()

    leaf = logits.clone().requires_grad_()
    value = ours(leaf, target, reduction="none")
    (gradient,) = torch.autograd.grad(value.sum(), leaf)
    other = logits.clone().requires_grad_()
    naive_value = naive(other, target)
    (naive_gradient,) = torch.autograd.grad(naive_value.sum(), other)

    _assert_no_worse(value, naive_value, truth, truth, dtype)
    _assert_no_worse(gradient, naive_gradient, true_gradient, parts, dtype)


def _assert_no_worse(ours, naive, truth, parts, dtype):
    """Elementwise; two roundings to the dtype, of the parts and of their sum, are what any code must pay."""
    error, allowed = (ours.double() - truth).abs(), (naive.double() - truth).abs()
    rounding = 2 * torch.finfo(dtype).eps * parts.clamp(min=torch.finfo(dtype).smallest_normal)
    worst = (error - allowed - rounding).nan_to_num(nan=0.0, posinf=0.0)  # inf - inf: both overflow
    assert ours.isfinite()[naive.isfinite()].all()
    assert (worst <= 0).all(), f"ours {error.max():.3g}, naive {allowed.max():.3g}, excess {worst.max():.3g}"


@pytest.mark.parametrize("dtype", [torch.float64, *DTYPES], ids=str)
@pytest.mark.parametrize("loss", [sq.squentropy, sq.rescaled_square])
def test_true_logit_does_not_drown_the_wrong_ones(loss, dtype):
    """'All squares minus the true one' gives 0 here."""
    logits = torch.tensor([[30000.0, 1.0, -1.0]], dtype=dtype)
    wrong = loss(logits, torch.tensor([0])) - (loss(logits.new_tensor([[30000.0, 0.0, 0.0]]), torch.tensor([0])))
    if loss is sq.squentropy or dtype is torch.float64:
        assert wrong.item() == pytest.approx(1.0 if loss is sq.squentropy else 2 / 3, rel=1e-6)


FINITE = {dtype: torch.finfo(dtype).max for dtype in (torch.float64, *DTYPES)}


@given(
    st.sampled_from(list(FINITE)),
    st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=6),
    st.integers(0, 5),
    st.sampled_from([0.0, 0.1]),
)
def test_finite_logits_never_give_nan(dtype, fractions, true, label_smoothing):
    logits = (torch.tensor(fractions, dtype=torch.float64) * FINITE[dtype]).to(dtype).requires_grad_()
    target = torch.tensor(true % len(fractions))
    if label_smoothing and dtype in (torch.float64, torch.float32) and logits.detach().abs().max() > 1e30:
        return  # cross entropy with label smoothing is the difference of two infinities in PyTorch, too
    for loss in (sq.squentropy, sq.rescaled_square):
        value = loss(logits, target, label_smoothing=label_smoothing)
        assert not value.isnan()
        (gradient,) = torch.autograd.grad(value, logits)
        assert not gradient.isnan().any()


@pytest.mark.parametrize("num_classes", [3, 100, 9000])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("level", [-800.0, 800.0])
@pytest.mark.parametrize("dtype", FINITE, ids=str)
def test_equal_logits_far_from_zero(dtype, level, label_smoothing, num_classes):
    """Cross entropy is log C wherever they lie; the exponentials of the logits themselves cannot be represented."""
    logits = torch.full((2, num_classes), level, dtype=dtype, requires_grad=True)
    value = sq.squentropy(logits, torch.tensor([0, 1]), label_smoothing=label_smoothing, square_weight=0.0)
    rounding = max(2 * torch.finfo(dtype).eps, 1e-14 if dtype is torch.float64 else 1e-5)  # of a sum of 9000 numbers
    # Smoothing takes the mean of the logits from what is theirs and the sum's together: their rounding stays.
    of_logits = abs(level) * label_smoothing * (1e-14 if dtype is torch.float64 else 1e-5)
    assert value.item() == pytest.approx(math.log(num_classes), rel=rounding, abs=of_logits)
    (gradient,) = torch.autograd.grad(value, logits)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("loss", [sq.squentropy, sq.rescaled_square])
def test_overflow_is_infinite_and_its_gradient_right(loss):
    logits = torch.tensor([0.0, 1e20], requires_grad=True)
    value = loss(logits, torch.tensor(0))
    assert value == torch.inf
    (gradient,) = torch.autograd.grad(value, logits)
    torch.testing.assert_close(gradient[1].item(), 2e20 if loss is sq.squentropy else 1e20, rtol=1e-6, atol=0)


@pytest.mark.parametrize("loss", [sq.squentropy, sq.rescaled_square])
def test_nan_is_passed_on(loss):
    for row in ([torch.nan, 0.0, 1.0], [0.0, torch.nan, 1.0]):
        assert loss(torch.tensor([row]), torch.tensor([0])).isnan()
