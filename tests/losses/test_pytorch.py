"""With the square term off, squentropy is PyTorch's cross entropy: on PyTorch's own samples for it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

import squentropy as sq

pytestmark = pytest.mark.usefixtures("path")

CROSS_ENTROPY = next(op for op in op_db if op.name == "nn.functional.cross_entropy")
MODULE = next(info for info in module_db if info.module_cls is nn.CrossEntropyLoss)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_opinfo_samples(dtype):
    samples = list(CROSS_ENTROPY.sample_inputs("cpu", dtype, requires_grad=True))
    assert len(samples) >= 20
    for sample in samples:
        logits, (target,), options = sample.input, sample.args, sample.kwargs
        ours = sq.squentropy(logits, target, **options, square_weight=0.0)
        theirs = F.cross_entropy(logits, target, **options)
        torch.testing.assert_close(ours, theirs, equal_nan=True)
        ours, theirs = (torch.autograd.grad(x, logits, torch.ones_like(x))[0] for x in (ours, theirs))
        # PyTorch rounds p before it subtracts 1, so it is off by a rounding of 1, not of the gradient.
        rounding = 2 * torch.finfo(dtype).eps * max(1.0, theirs.abs().nan_to_num().max().item())
        torch.testing.assert_close(ours, theirs, rtol=rounding, atol=rounding, equal_nan=True)


def test_module_samples():
    inputs = MODULE.module_inputs_func(MODULE, "cpu", torch.float64, False, training=True)
    assert len(inputs) >= 30
    for sample in inputs:
        arguments = sample.constructor_input
        module = sq.SquentropyLoss(*arguments.args, **arguments.kwargs, square_weight=0.0)
        forward = sample.forward_input
        ours = module(*forward.args, **forward.kwargs)
        if sample.reference_fn is not None:
            theirs = sample.reference_fn(module, *forward.args, **forward.kwargs)
            torch.testing.assert_close(ours, theirs, equal_nan=True, msg=sample.desc)


@pytest.mark.parametrize("module_class", [sq.SquentropyLoss, sq.RescaledSquareLoss])
def test_modules_take_what_cross_entropy_takes(module_class):
    """The samples also say which arguments and shapes a cross entropy must run with."""
    for sample in MODULE.module_inputs_func(MODULE, "cpu", torch.float64, True, training=True):
        module = module_class(*sample.constructor_input.args, **sample.constructor_input.kwargs)
        expected = nn.CrossEntropyLoss(*sample.constructor_input.args, **sample.constructor_input.kwargs)
        loss, theirs = (m(*sample.forward_input.args, **sample.forward_input.kwargs) for m in (module, expected))
        assert loss.shape == theirs.shape
        assert torch.equal(loss.isnan(), theirs.isnan())  # NaN where the sample has nothing but ignored targets


@pytest.mark.parametrize("module_class", [sq.SquentropyLoss, sq.RescaledSquareLoss])
def test_what_cross_entropy_refuses_is_refused(module_class):
    wrong = MODULE.module_error_inputs_func(MODULE, "cpu", torch.float64, False, training=True)
    assert len(wrong) >= 2
    for error in wrong:
        arguments = error.module_error_input
        module = module_class(*arguments.constructor_input.args, **arguments.constructor_input.kwargs)
        with pytest.raises((ValueError, TypeError)):
            module(*arguments.forward_input.args, **arguments.forward_input.kwargs)
