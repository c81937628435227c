"""A linear head in chunks: the loss and the gradients of all logits at once, in a part of the memory."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

import squentropy as sq
from tests.losses.reference import reference

CHUNKS = [1, 5, 37, 1000, "auto"]


def head(rows=37, in_features=8, num_classes=11, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)  # noqa: E731
    target = torch.randint(num_classes, (rows,), generator=generator)
    return draw(rows, in_features), draw(num_classes, in_features), draw(num_classes), target


def soft(rows, num_classes):
    return torch.rand(rows, num_classes, dtype=torch.float64).softmax(1)


@pytest.mark.parametrize("chunk_size", CHUNKS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("is_soft", [False, True], ids=["indices", "probabilities"])
def test_value_is_the_formula(is_soft, reduction, chunk_size):
    features, linear_weight, bias, target = head()
    if is_soft:
        target = soft(37, 11)
    else:
        target[[3, 20]] = -100
    weight = torch.rand(11, dtype=torch.float64)
    options = {"weight": weight, "reduction": reduction, "label_smoothing": 0.1, "square_weight": 0.5}
    ours = sq.linear_squentropy(features, linear_weight, target, bias, chunk_size=chunk_size, **options)
    logits = features.numpy() @ linear_weight.numpy().T + bias.numpy()
    expected = reference("squentropy", logits, target.numpy(), **{**options, "weight": weight.numpy()})
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("chunk_size", CHUNKS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("needed", [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)])
def test_gradients_are_those_of_all_logits_and_only_those_asked_for(needed, reduction, chunk_size):
    features, linear_weight, bias, target = head()
    inputs = [
        tensor.requires_grad_(bool(need)) for tensor, need in zip((features, linear_weight, bias), needed, strict=True)
    ]
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    loss = sq.linear_squentropy(features, linear_weight, target, bias, reduction=reduction, chunk_size=chunk_size)
    expected = sq.squentropy(F.linear(*inputs), target, reduction=reduction)
    upstream = torch.rand_like(loss)
    theirs = torch.autograd.grad(expected, wanted, upstream)
    for retain in (True, False):  # the second call computes what the first one has given away
        ours = torch.autograd.grad(loss, wanted, upstream, retain_graph=retain)
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-13)
    loss = sq.linear_squentropy(features, linear_weight, target, bias, reduction=reduction, chunk_size=chunk_size)
    loss.sum().backward()
    assert [tensor.grad is not None for tensor in inputs] == [bool(need) for need in needed]


def test_without_gradients_there_is_no_graph():
    loss = sq.linear_squentropy(*head()[:2], head()[3])
    assert not loss.requires_grad


@given(st.integers(2, 9), st.integers(1, 6), st.integers(0, 7), st.integers(1, 8), st.booleans())
def test_any_sizes(num_classes, in_features, rows, chunk_size, has_bias):
    features, linear_weight, bias, target = head(rows, in_features, num_classes, seed=rows)
    bias = bias if has_bias else None
    ours = sq.linear_squentropy(features, linear_weight, target, bias, reduction="sum", chunk_size=chunk_size)
    theirs = sq.squentropy(F.linear(features, linear_weight, bias), target, reduction="sum")
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)


def test_leading_dimensions_are_samples():
    features, linear_weight, bias, target = head(24)
    flat = sq.linear_squentropy(features, linear_weight, target, bias, reduction="none")
    shaped = sq.linear_squentropy(
        features.view(2, 3, 4, 8), linear_weight, target.view(2, 3, 4), bias, reduction="none", chunk_size=5
    )
    torch.testing.assert_close(shaped, flat.view(2, 3, 4))
    one = sq.linear_squentropy(features[0], linear_weight, target[0], bias, reduction="none")
    torch.testing.assert_close(one, flat[0])
    probabilities = soft(24, 11)
    torch.testing.assert_close(
        sq.linear_squentropy(features.view(4, 6, 8), linear_weight, probabilities.view(4, 6, 11), bias),
        sq.squentropy(F.linear(features, linear_weight, bias), probabilities),
    )


def test_first_and_second_derivatives():
    features, linear_weight, bias, target = head(4, 3, 5)
    target[1] = -100
    inputs = [tensor.requires_grad_() for tensor in (features, linear_weight, bias)]
    for reduction in ("mean", "none"):

        def loss(f, w, b, reduction=reduction):
            return sq.linear_squentropy(f, w, target, b, reduction=reduction, chunk_size=3)

        assert torch.autograd.gradcheck(loss, inputs)
        assert torch.autograd.gradgradcheck(loss, inputs)


def test_transforms_and_compile_take_the_formula():
    features, linear_weight, bias, target = head(6, 3, 5)
    loss = lambda f: sq.linear_squentropy(f, linear_weight, target, bias)  # noqa: E731
    leaf = features.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(leaf), leaf)
    torch.testing.assert_close(torch.func.grad(loss)(features), expected)
    tangent = torch.randn_like(features)
    torch.testing.assert_close(torch.func.jvp(loss, (features,), (tangent,))[1], (expected * tangent).sum())
    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(features), loss(features))


def test_nothing_counts():
    features, linear_weight, bias, target = (tensor.clone() for tensor in head(4))
    target.fill_(-100)
    inputs = [tensor.requires_grad_() for tensor in (features, linear_weight, bias)]
    loss = sq.linear_squentropy(features, linear_weight, target, bias)
    assert loss.isnan()
    assert all((gradient == 0).all() for gradient in torch.autograd.grad(loss, inputs))
    assert sq.linear_squentropy(features[:0], linear_weight, target[:0]).isnan()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_no_less_accurate_than_all_at_once(dtype):
    exact = [tensor.requires_grad_() for tensor in head(300, 16, 40)[:3]]
    target = head(300, 16, 40)[3]
    ours = [tensor.detach().to(dtype).requires_grad_() for tensor in exact]
    exact = [tensor.detach().double().requires_grad_() for tensor in ours]
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    truth = torch.autograd.grad(sq.squentropy(F.linear(*exact), target), exact)
    naive = torch.autograd.grad(sq.squentropy(F.linear(*theirs), target), theirs)
    chunked = torch.autograd.grad(sq.linear_squentropy(ours[0], ours[1], target, ours[2], chunk_size=64), ours)
    for mine, other, true in zip(chunked, naive, truth, strict=True):
        assert mine.dtype == dtype
        error, allowed = ((each.double() - true).norm() for each in (mine, other))
        assert error <= 1.5 * allowed  # each chunk's product is rounded once


def test_autocast_computes_as_a_linear_layer_does():
    features, linear_weight, bias, target = head(dtype=torch.float32)
    linear_weight.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = sq.linear_squentropy(features, linear_weight, target, bias)
        theirs = sq.squentropy(F.linear(features, linear_weight, bias), target)
    assert ours.dtype == theirs.dtype == torch.float32
    torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=0)
    (gradient,) = torch.autograd.grad(ours, linear_weight)
    assert gradient.dtype == torch.float32


def test_module_is_its_function_with_a_layer_of_its_own():
    features, _, _, target = head(dtype=torch.float32)
    module = sq.LinearSquentropyLoss(
        8, 11, weight=torch.rand(11), ignore_index=2, label_smoothing=0.1, square_weight=0.5
    )
    expected = sq.squentropy(module.logits(features), target, module.weight, 2, label_smoothing=0.1, square_weight=0.5)
    torch.testing.assert_close(module(features, target), expected)
    assert torch.equal(copy.deepcopy(module)(features, target), module(features, target))
    assert list(module.state_dict()) == ["weight", "linear.weight", "linear.bias"]
    assert "in_features=8, out_features=11" in repr(module)
    assert "square_weight=0.5" in repr(module)


def test_training_goes_the_same_way():
    features, _, _, target = head(64, dtype=torch.float64)
    ours = sq.LinearSquentropyLoss(8, 11, dtype=torch.float64, chunk_size=10)
    theirs = copy.deepcopy(ours.linear)
    optimizers = [torch.optim.SGD(module.parameters(), lr=0.5, momentum=0.9) for module in (ours, theirs)]
    for _ in range(50):
        losses = ours(features, target), sq.squentropy(theirs(features), target)
        torch.testing.assert_close(*losses, rtol=1e-10, atol=0)
        for loss, optimizer in zip(losses, optimizers, strict=True):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert losses[0] < 2.2


MEMORY = """
import sys, torch, squentropy as sq
import torch.nn.functional as F
torch.set_num_threads(1)
features = torch.randn(2048, 64, requires_grad=True)
linear_weight = torch.randn(16000, 64, requires_grad=True)
target = torch.randint(16000, (2048,))
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
sq.linear_squentropy(features[:2], linear_weight, target[:2]).backward()
features.grad = linear_weight.grad = None
before = peak()
if sys.argv[1] == "chunked":
    sq.linear_squentropy(features, linear_weight, target).backward()
else:
    F.cross_entropy(F.linear(features, linear_weight), target).backward()
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of the memory from /proc")
def test_memory_is_that_of_a_chunk():
    extra = {
        how: int(subprocess.run([sys.executable, "-c", MEMORY, how], capture_output=True, check=True).stdout)
        for how in ("chunked", "at once")
    }
    logits = 2048 * 16000 * 4
    assert extra["at once"] > 2 * logits
    assert extra["chunked"] < 0.25 * logits


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"features": torch.zeros(4, 7)}, ValueError, r"features have shape \(4, 7\) and linear_weight \(5, 3\)"),
        ({"features": torch.zeros(4, 3).double()}, TypeError, "features are torch.float64 and linear_weight is"),
        (
            {"linear_bias": torch.zeros(4)},
            ValueError,
            r"linear_bias has shape \(4,\); use one number for each of the 5",
        ),
        (
            {"target": torch.zeros(3, dtype=torch.long)},
            ValueError,
            r"target has shape \(3,\).*use class indices of shape",
        ),
        ({"target": torch.zeros(4)}, TypeError, "target has dtype torch.float32"),
        ({"target": torch.tensor([0, 1, 2, 5])}, ValueError, "is 5, but logits have 5 classes"),
        ({"linear_weight": torch.zeros(1, 3), "linear_bias": None}, ValueError, "have 1 class,"),
        ({"chunk_size": 0}, ValueError, "chunk_size is 0; use a number of rows"),
        ({"chunk_size": "half"}, ValueError, "chunk_size is 'half'"),
        ({"square_weight": -1.0}, ValueError, "square_weight is -1.0"),
        ({"reduction": "avg"}, ValueError, "reduction is 'avg'"),
        ({"weight": torch.ones(4)}, ValueError, r"weight has shape \(4,\)"),
    ],
)
def test_bad_input(changed, error, message):
    arguments = {
        "features": torch.zeros(4, 3),
        "linear_weight": torch.zeros(5, 3),
        "target": torch.zeros(4, dtype=torch.long),
        "linear_bias": torch.zeros(5),
    }
    with pytest.raises(error, match=message):
        sq.linear_squentropy(**{**arguments, **changed})
