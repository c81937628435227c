"""The square term from the Gram matrix: exact where it cancels, and squentropy when added to cross entropy."""

import pytest
import torch
import torch.nn.functional as F

import squentropy as sq


def head(rows=20, in_features=6, num_classes=40, dtype=torch.float64):
    torch.manual_seed(1)
    target = torch.randint(num_classes, (rows,))
    return (
        torch.randn(rows, in_features, dtype=dtype),
        torch.randn(num_classes, in_features, dtype=dtype),
        target,
        torch.randn(num_classes, dtype=dtype),
    )


def from_logits(features, linear_weight, target, bias):
    logits = features.double() @ linear_weight.double().T + bias.double()
    return logits.scatter(1, target[:, None], 0.0).square().sum(1) / (logits.shape[1] - 1)


def test_added_to_cross_entropy_it_is_squentropy():
    features, linear_weight, target, bias = head()
    target[[0, 7]] = -100
    entropy = F.cross_entropy(F.linear(features, linear_weight, bias), target, reduction="none")
    squares = sq.linear_wrong_squares(features, linear_weight, target, bias)
    expected = sq.squentropy(F.linear(features, linear_weight, bias), target, reduction="none")
    torch.testing.assert_close(entropy + squares, expected, rtol=1e-12, atol=0)
    assert squares[0] == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("factor", [1.0, 1e2, 1e4, 1e6, 1e9], ids=str)
def test_a_true_logit_that_dominates(dtype, factor):
    """The guard: with the true logit 1e9 times the wrong ones, float64's difference of sums has no digit left."""
    features, linear_weight, target, bias = head(dtype=dtype)
    features = features.abs().clamp(min=0.1)
    linear_weight, bias = linear_weight * 0.25, bias * 0
    target.fill_(3)
    linear_weight = linear_weight.float()
    linear_weight[3] = factor if dtype != torch.float16 else min(factor, 1e4)
    squares = sq.linear_wrong_squares(features, linear_weight.to(dtype), target)
    expected = from_logits(features, linear_weight.to(dtype), target, bias)
    assert squares.dtype == torch.float32
    torch.testing.assert_close(squares.double(), expected, rtol=1e-6, atol=0)


def test_without_the_guard_nothing_would_be_left(monkeypatch):
    features, linear_weight, target, bias = head()
    linear_weight[:], features[:], bias[:], target[:] = 1e-2, 1.0, 0.0, 3
    linear_weight[3] = 1e9
    expected = from_logits(features, linear_weight, target, bias)
    torch.testing.assert_close(sq.linear_wrong_squares(features, linear_weight, target), expected, rtol=1e-9, atol=0)
    monkeypatch.setattr("squentropy.losses.gram._SMALLEST_SHARE", -1.0)
    assert ((sq.linear_wrong_squares(features, linear_weight, target) - expected).abs() > 0.9 * expected).any()


def test_derivatives():
    features, linear_weight, target, bias = head(3, 2, 4)
    features[0] = torch.tensor([1e-3, 1.0])
    linear_weight[target[0]] = torch.tensor([0.0, 1e6])  # row 0 takes the guarded way
    inputs = [tensor.requires_grad_() for tensor in (features, linear_weight, bias)]
    ours = sq.linear_wrong_squares(features, linear_weight, target, bias)
    theirs = from_logits(features, linear_weight, target, bias)
    for mine, other in zip(
        torch.autograd.grad(ours.sum(), inputs), torch.autograd.grad(theirs.sum(), inputs), strict=True
    ):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"features": torch.zeros(3)}, r"features have shape \(3,\)"),
        ({"linear_weight": torch.zeros(1, 3), "linear_bias": None}, "linear_weight has 1 row"),
        ({"target": torch.zeros(4)}, "target has shape"),
        ({"target": torch.tensor([0, 1, 2, 9])}, r"target\[3\] is 9, but logits have 5 classes"),
        ({"linear_bias": torch.zeros(2)}, "linear_bias has shape"),
    ],
)
def test_bad_input(changed, message):
    arguments = {
        "features": torch.zeros(4, 3),
        "linear_weight": torch.zeros(5, 3),
        "target": torch.zeros(4, dtype=torch.long),
        "linear_bias": torch.zeros(5),
    }
    with pytest.raises(ValueError, match=message):
        sq.linear_wrong_squares(**{**arguments, **changed})
