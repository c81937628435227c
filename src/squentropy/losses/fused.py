"""A kernel as a function that PyTorch can differentiate."""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from squentropy.losses.arguments import sample_shape
from squentropy.losses.formula import losses_of_samples, reduce_losses, returned_in
from squentropy.losses.terms import Terms


class Kernel(Protocol):
    """What computes a loss and its gradient; see :class:`squentropy.losses.kernels.cpu.CpuKernel`."""

    def __call__(
        self,
        logits: Tensor,
        target: Tensor,
        weight: Tensor | None,
        ignore_index: int,
        reduction: str,
        label_smoothing: float,
        terms: Terms,
        *,
        value: Tensor | None = None,
        out: Tensor | None = None,
        scale: float | Tensor = 1.0,
        softmax: Tensor | None = None,
    ) -> None:
        """Write the loss to ``value``, and ``scale`` times its gradient to ``out``.

        A call with ``value`` alone may leave in ``softmax`` what a later one with ``out`` alone can use.
        """


class Options(NamedTuple):
    """The arguments of a loss that are no tensors."""

    ignore_index: int
    reduction: str
    label_smoothing: float
    terms: Terms


def fused_loss(
    kernel: Kernel, logits: Tensor, target: Tensor, weight: Tensor | None, options: Options, inplace_backward: bool
) -> Tensor:
    """The loss by ``kernel``, with a graph if one is wanted."""
    if logits.requires_grad and torch.is_grad_enabled():
        loss: Tensor = _FusedLoss.apply(logits, target, weight, kernel, options, inplace_backward)  # type: ignore[no-untyped-call]
        return loss
    loss = _empty_loss(logits, options)
    kernel(logits, target, weight, *options, value=loss)
    return loss


def _empty_loss(logits: Tensor, options: Options) -> Tensor:
    shape = sample_shape(logits) if options.reduction == "none" else ()
    return torch.empty(shape, dtype=returned_in(logits), device=logits.device)


class _FusedLoss(torch.autograd.Function):
    """Loss and gradient in one pass: forward computes both, so that backward has only to hand the gradient over.

    The gradient waits for backward where its factor must be known first: for float16, in which a mean's gradient would
    vanish before a gradient scaler could enlarge it; without reduction; and if it is to replace the logits.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        target: Tensor,
        weight: Tensor | None,
        kernel: Kernel,
        options: Options,
        inplace_backward: bool,
    ) -> Tensor:
        # Elements that share memory cannot be replaced one by one; a GPU computes the gradient with the loss.
        inplace_backward = inplace_backward and not logits.is_cuda and torch._debug_has_internal_overlap(logits) == 0
        waits = inplace_backward or options.reduction == "none" or logits.dtype is torch.float16
        loss, gradient = _empty_loss(logits, options), None if waits else torch.empty_like(logits)
        keeps = waits and not logits.is_cuda
        softmax = logits.new_empty((*sample_shape(logits), 2), dtype=torch.float64) if keeps else None
        kernel(logits, target, weight, *options, value=loss, out=gradient, softmax=softmax)
        ctx.save_for_backward(logits, target, weight, softmax)
        ctx.gradient, ctx.kernel, ctx.options, ctx.inplace_backward = gradient, kernel, options, inplace_backward
        return loss

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        nothing = (None,) * 5
        if torch.is_grad_enabled():  # somebody will differentiate once more, which the formula can
            logits, target, weight, _ = ctx.saved_tensors
            return _differentiable_gradient(logits, target, weight, ctx.options, grad_output), *nothing
        # Not kept: autograd may then take it over as `logits.grad` without a copy. A second backward computes it again.
        gradient, ctx.gradient = ctx.gradient, None
        if gradient is not None:
            if gradient.is_cuda or grad_output.item() != 1.0:  # a GPU is not waited for
                gradient *= grad_output
            return gradient, *nothing
        logits, target, weight, softmax = ctx.saved_tensors
        gradient = logits.detach() if ctx.inplace_backward else torch.empty_like(logits)
        ctx.kernel(logits, target, weight, *ctx.options, out=gradient, scale=grad_output, softmax=softmax)
        if ctx.inplace_backward:
            torch.autograd.graph.increment_version(logits)  # whoever else saved the logits for backward is told
        return gradient, *nothing


def _differentiable_gradient(
    logits: Tensor, target: Tensor, weight: Tensor | None, options: Options, grad_output: Tensor
) -> Tensor:
    ignore_index, reduction, label_smoothing, terms = options
    losses = losses_of_samples(logits, target, weight, ignore_index, label_smoothing, terms)
    loss = reduce_losses(losses, logits, target, weight, ignore_index, reduction)
    (gradient,) = torch.autograd.grad(loss, logits, grad_output, create_graph=True)
    return gradient
