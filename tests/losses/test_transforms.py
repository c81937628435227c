"""What PyTorch does with functions and modules: compile, vmap, grad, copies, pickles, state."""

import copy
import inspect
import io

import pytest
import torch
from torch import nn

import squentropy as sq
from squentropy import LOSSES

pytestmark = pytest.mark.usefixtures("path")

MODULES = [
    (sq.SquentropyLoss, sq.squentropy, {"square_weight": 0.5}),
    (sq.RescaledSquareLoss, sq.rescaled_square, {"t": 2.0, "M": 3.0}),
]


@pytest.fixture
def batch():
    logits, target = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, -100, 1])
    return logits, target, {"weight": torch.rand(4, dtype=torch.float64), "label_smoothing": 0.1}


@pytest.mark.parametrize("name", ["squentropy", "rescaled_square", "focal", "logit_penalty"])
def test_compile_fullgraph(name, batch):
    logits, target, options = batch
    torch._dynamo.reset()

    def value_and_gradient(logits):
        leaf = logits.detach().requires_grad_()
        losses = LOSSES[name](leaf, target) + LOSSES[name](leaf, target, **options)
        return losses, torch.autograd.grad(losses, leaf)[0]

    eager = value_and_gradient(logits)
    leaf = logits.clone().requires_grad_()
    compiled = torch.compile(
        lambda f: LOSSES[name](f, target) + LOSSES[name](f, target, **options), fullgraph=True, backend="aot_eager"
    )(leaf)
    torch.testing.assert_close(compiled, eager[0])
    torch.testing.assert_close(torch.autograd.grad(compiled, leaf)[0], eager[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squentropy", "rescaled_square"])
def test_compile_fullgraph_with_inductor(name, batch):
    logits, target, options = batch
    torch._dynamo.reset()
    leaf, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    compiled = torch.compile(LOSSES[name], fullgraph=True)(leaf, target, **options)
    eager = LOSSES[name](other, target, **options)
    torch.testing.assert_close(compiled, eager)
    torch.testing.assert_close(torch.autograd.grad(compiled, leaf), torch.autograd.grad(eager, other))


@pytest.mark.parametrize("name", LOSSES)
def test_func_grad_and_vmap(name, batch):
    logits, target, _ = batch
    target = target.clamp(min=0)
    alone = torch.stack([LOSSES[name](f, y) for f, y in zip(logits, target, strict=True)])
    together = torch.func.vmap(LOSSES[name])(logits, target)
    torch.testing.assert_close(together, alone, rtol=1e-13, atol=1e-14)
    gradients = torch.func.vmap(torch.func.grad(LOSSES[name]))(logits, target)
    for gradient, f, y in zip(gradients, logits, target, strict=True):
        leaf = f.clone().requires_grad_()
        torch.testing.assert_close(
            gradient, torch.autograd.grad(LOSSES[name](leaf, y), leaf)[0], rtol=1e-12, atol=1e-14
        )


@pytest.mark.parametrize("name", LOSSES)
def test_hessian_and_jvp(name, batch):
    logits, target, _ = batch
    tangent = torch.randn_like(logits)
    value, derivative = torch.func.jvp(lambda f: LOSSES[name](f, target), (logits,), (tangent,))
    leaf = logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(LOSSES[name](leaf, target), leaf)
    torch.testing.assert_close(value, LOSSES[name](logits, target))
    torch.testing.assert_close(derivative, (gradient * tangent).sum(), rtol=1e-12, atol=1e-14)
    row, y = logits[0], target[0]
    hessian = torch.func.hessian(lambda f: LOSSES[name](f, y))(row)
    torch.testing.assert_close(hessian, hessian.T, rtol=1e-12, atol=1e-14)
    columns = [
        torch.func.jvp(torch.func.grad(lambda f: LOSSES[name](f, y)), (row,), (e,))[1] for e in torch.eye(4).double()
    ]
    torch.testing.assert_close(hessian, torch.stack(columns), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("module_class", "function", "own"), MODULES)
def test_module_is_its_function(module_class, function, own, batch):
    logits, target, options = batch
    for reduction in ("none", "mean", "sum"):
        module = module_class(**options, ignore_index=3, reduction=reduction, **own)
        expected = function(logits, target.clamp(min=0), **options, ignore_index=3, reduction=reduction, **own)
        assert torch.equal(module(logits, target.clamp(min=0)), expected)


@pytest.mark.parametrize(("module_class", "function", "own"), MODULES)
def test_signatures_are_those_of_cross_entropy(module_class, function, own):
    theirs = list(inspect.signature(nn.CrossEntropyLoss).parameters)
    ours = inspect.signature(module_class).parameters
    assert list(ours)[: len(theirs)] == theirs
    assert set(list(ours)[len(theirs) :]) == {*own, "inplace_backward"}
    assert all(ours[name].kind is inspect.Parameter.KEYWORD_ONLY for name in list(ours)[len(theirs) :])
    of_function = inspect.signature(function).parameters
    for name, default in own.items():
        assert ours[name].default == of_function[name].default != default


@pytest.mark.parametrize(("module_class", "function", "own"), MODULES)
def test_copies_and_pickles(module_class, function, own, batch):
    logits, target, options = batch
    module = module_class(**options, **own)
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    expected = module(logits, target)
    for same in (copy.deepcopy(module), torch.load(buffer, weights_only=False)):
        assert torch.equal(same(logits, target), expected)
    other = module_class(torch.ones(4, dtype=torch.float64), label_smoothing=0.1, **own)
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(logits, target), expected)
    assert list(module.state_dict()) == ["weight"]


@pytest.mark.parametrize(("module_class", "function", "own"), MODULES)
def test_repr_says_what_differs(module_class, function, own):
    values = ", ".join(f"{k}={v}" for k, v in own.items())
    assert repr(module_class(**own)) == f"{module_class.__name__}({values})"
    full = module_class(torch.ones(3), ignore_index=0, reduction="sum", label_smoothing=0.1, **own)
    for part in ("weight=tensor of 3", "ignore_index=0", "reduction='sum'", "label_smoothing=0.1", values):
        assert part in repr(full)
    assert repr(module_class(inplace_backward=True)).endswith(", inplace_backward=True)")


def test_is_cross_entropy_to_whoever_asks():
    assert isinstance(sq.SquentropyLoss(), nn.CrossEntropyLoss)
    assert isinstance(sq.RescaledSquareLoss(), nn.CrossEntropyLoss)


def test_module_moves_with_its_weight():
    module = sq.SquentropyLoss(torch.ones(3)).double()
    assert module.weight.dtype == torch.float64
    assert module.to("meta").weight.device.type == "meta"
