"""Every loss with every option that cross entropy has, against the reference and against PyTorch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from squentropy import LOSSES
from tests.losses.reference import CASES, reference

pytestmark = pytest.mark.usefixtures("path")

SHAPES = [(7,), (5, 4), (1, 3), (3, 2), (2, 4, 3), (2, 3, 2, 2), (2, 3, 2, 1, 2)]
REDUCTIONS = ["none", "mean", "sum"]


def _indices(shape, num_classes):
    return torch.randint(0, num_classes, shape[:1] + shape[2:] if len(shape) > 1 else ())


def _sample(shape, kind, dtype=torch.float64):
    num_classes = shape[0] if len(shape) == 1 else shape[1]
    logits = 3 * torch.randn(shape, dtype=dtype)
    if kind == "probabilities":
        return logits, torch.rand(shape, dtype=dtype).softmax(0 if len(shape) == 1 else 1)
    return logits, _indices(shape, num_classes)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", ["indices", "probabilities"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_equals_the_reference(name, parameters, shape, kind, reduction):
    logits, target = _sample(shape, kind)
    num_classes = shape[0] if len(shape) == 1 else shape[1]
    weight = torch.rand(num_classes, dtype=torch.float64) + 0.5
    for options in ({}, {"weight": weight}, {"label_smoothing": 0.2}, {"weight": weight, "label_smoothing": 0.2}):
        ours = LOSSES[name](logits, target, reduction=reduction, **options, **parameters)
        theirs = reference(name, logits.numpy(), target.numpy(), reduction=reduction, **options, **parameters)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("ignore_index", [-100, -1, 1])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.3])
@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_ignored_samples_count_for_nothing(name, parameters, ignore_index, label_smoothing, reduction):
    logits, target = _sample((2, 4, 5), "indices")
    target[0, :2] = target[1, 4] = ignore_index
    logits.requires_grad_()
    options = {"weight": torch.tensor([0.5, 1.0, 2.0, 3.0], dtype=torch.float64), "label_smoothing": label_smoothing}
    loss = LOSSES[name](logits, target, ignore_index=ignore_index, reduction=reduction, **options, **parameters)
    theirs = reference(
        name,
        logits.detach().numpy(),
        target.numpy(),
        ignore_index=ignore_index,
        reduction=reduction,
        **options,
        **parameters,
    )
    np.testing.assert_allclose(loss.detach().numpy(), theirs, rtol=1e-13, atol=1e-13)
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    ignored = (target == ignore_index).unsqueeze(1).expand_as(gradient)
    assert (gradient[ignored] == 0).all()
    assert (gradient[~ignored] != 0).all()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_indices_of_any_integer_dtype(name, dtype):
    if name in ("cross_entropy", "label_smoothing") and dtype is not torch.int64:
        pytest.skip("PyTorch's own function takes fewer dtypes")
    logits, target = _sample((6, 4), "indices")
    assert LOSSES[name](logits, target.to(dtype)) == LOSSES[name](logits, target)


@pytest.mark.parametrize("name", LOSSES)
def test_empty_and_all_ignored_as_in_pytorch(name):
    loss = LOSSES[name]
    empty, none = torch.empty(0, 3), torch.empty(0, dtype=torch.int64)
    for target in (none, torch.empty(0, 3)):
        assert loss(empty, target).isnan()
        assert loss(empty, target, reduction="sum") == 0
        assert loss(empty, target, reduction="none").shape == (0,)
    logits, ignored = torch.randn(4, 3, requires_grad=True), torch.full((4,), -100)
    assert loss(logits, ignored).isnan()
    assert loss(logits, ignored, reduction="sum") == 0
    loss(logits, ignored, reduction="sum").backward()
    assert (logits.grad == 0).all()


@pytest.mark.parametrize("name", LOSSES)
def test_memory_layouts(name):
    logits, target = _sample((3, 4, 5, 2), "indices")
    expected = LOSSES[name](logits, target)
    for same in (
        logits.contiguous(memory_format=torch.channels_last),
        logits.repeat_interleave(2, 1)[:, ::2],
        logits.transpose(0, 3).contiguous().transpose(0, 3),
    ):
        assert not same.is_contiguous()
        torch.testing.assert_close(LOSSES[name](same, target), expected, rtol=1e-14, atol=0)
    row, one = torch.randn(1, 4, dtype=torch.float64), torch.tensor([2])
    torch.testing.assert_close(LOSSES[name](row.expand(9, 4), one.expand(9)), LOSSES[name](row, one))


@pytest.mark.parametrize("name", LOSSES)
def test_inputs_are_not_changed(name):
    logits, target = _sample((5, 4), "indices")
    target[0] = -100
    before = logits.clone(), target.clone()
    logits.requires_grad_()
    LOSSES[name](logits, target).backward()
    assert torch.equal(logits, before[0])
    assert torch.equal(target, before[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_result_has_the_dtype_of_the_logits(name, dtype):
    logits, target = torch.randn(4, 3, dtype=dtype, requires_grad=True), torch.tensor([0, 1, 2, 0])
    for reduction in REDUCTIONS:
        loss = LOSSES[name](logits, target, reduction=reduction)
        assert loss.dtype == dtype
        (gradient,) = torch.autograd.grad(loss.sum(), logits)
        assert gradient.dtype == dtype


@pytest.mark.parametrize("name", ["squentropy", "rescaled_square", "focal", "logit_penalty"])
def test_autocast_computes_and_returns_float32(name):
    logits, target = (30 * torch.randn(8, 5)).bfloat16(), torch.randint(0, 5, (8,))
    expected = LOSSES[name](logits.float(), target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = LOSSES[name](logits, target)
    assert loss.dtype == torch.float32
    assert loss == expected


def test_weights_of_integers_repeat_samples():
    logits, target = _sample((4, 3), "indices")
    target = torch.tensor([0, 1, 2, 1])
    repeated = torch.tensor([0, 1, 1, 2, 2, 2, 3, 3])
    for name in LOSSES:
        if name == "label_smoothing":
            continue  # PyTorch's weights reach into the uniform part
        weighted = LOSSES[name](logits, target, weight=torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
        torch.testing.assert_close(weighted, LOSSES[name](logits[repeated], target[repeated]))


def test_one_hot_probabilities_are_indices():
    logits, target = _sample((6, 4, 2), "indices")
    one_hot = F.one_hot(target, 4).movedim(-1, 1).double()
    for name in LOSSES:
        torch.testing.assert_close(LOSSES[name](logits, one_hot), LOSSES[name](logits, target), rtol=1e-14, atol=0)
