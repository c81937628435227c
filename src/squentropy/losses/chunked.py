"""Loss and gradients of a linear head in one sweep over chunks of rows, so that a chunk's logits are all there is."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.losses.dispatch import loss_and_gradient, reduced_loss
from squentropy.losses.formula import computed_in, reduce_losses, sample_weight
from squentropy.losses.terms import Terms


class Head(NamedTuple):
    """A linear layer, what goes into it, and what should come out.

    Attributes:
        features: ``(N, D)``.
        linear_weight: ``(C, D)``.
        linear_bias: ``(C,)`` or None.
        target: class indices ``(N,)`` or probabilities ``(N, C)``.
    """

    features: Tensor
    linear_weight: Tensor
    linear_bias: Tensor | None
    target: Tensor

    def no_logits(self) -> Tensor:
        """A tensor with shape and type of the logits, and one number of memory."""
        return self.features.new_empty(()).expand(len(self.features), len(self.linear_weight))


class Options(NamedTuple):
    """What the loss of a head depends on beside its tensors, ordered as in `reduced_loss`, and the rows of a chunk."""

    weight: Tensor | None
    ignore_index: int
    reduction: str
    label_smoothing: float
    terms: Terms
    chunk: int


class _Gradients(NamedTuple):
    """Of the head's inputs; None where it is not asked for."""

    features: Tensor | None
    linear_weight: Tensor | None
    linear_bias: Tensor | None


class ChunkedHead(torch.autograd.Function):
    """The loss chunk by chunk; where it is one number, its gradients are ready before anybody asks for them."""

    @staticmethod
    def forward(ctx: Any, options: Options, *tensors: Tensor) -> Tensor:
        """The reduced loss of a head."""
        head = Head(*tensors)
        ctx.save_for_backward(*head)
        ctx.options, ctx.gradients, ctx.needed = options, None, ctx.needs_input_grad[1:4]
        if options.reduction == "none" or not any(ctx.needed):
            losses = _losses(head, options)
        else:
            losses, ctx.gradients = _losses_and_gradients(head, options, ctx.needed, _mean_factor(head, options))
        return reduce_losses(
            losses, head.no_logits(), head.target, options.weight, options.ignore_index, options.reduction
        )

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of features, weight and bias, as far as they are needed."""
        head, (grad_output,) = Head(*ctx.saved_tensors), grad_outputs
        if torch.is_grad_enabled():
            return None, *_differentiable_gradients(head, ctx.options, ctx.needed, grad_output), None
        # Handed over, not kept, so that autograd can make them the parameters' own; another call computes them again.
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            scale = grad_output * _mean_factor(head, ctx.options)
            _, gradients = _losses_and_gradients(head, ctx.options, ctx.needed, scale)
        elif grad_output.device.type != "cpu" or grad_output != 1:
            for gradient in gradients:
                if gradient is not None:
                    gradient.mul_(grad_output)
        return None, *gradients, None


def at_once(head: Head, options: Options) -> Tensor:
    """The definition: a linear layer and the loss of its logits."""
    logits = F.linear(head.features, head.linear_weight, head.linear_bias)
    weight, ignore_index, reduction, label_smoothing, terms, _ = options
    return reduced_loss(logits, head.target, weight, ignore_index, reduction, label_smoothing, terms)


def _losses(head: Head, options: Options) -> Tensor:
    """Each row's loss ``(N,)``."""
    chunks = zip(torch.split(head.features, options.chunk), torch.split(head.target, options.chunk), strict=True)
    per_row = options._replace(reduction="none")
    losses = [at_once(head._replace(features=rows, target=labels), per_row) for rows, labels in chunks]
    return torch.cat(losses).to(computed_in(head.features))


def _losses_and_gradients(
    head: Head, options: Options, needed: tuple[bool, ...], scale: Tensor
) -> tuple[Tensor, _Gradients]:
    """Each row's loss ``(N,)``, and the gradients of their sum with ``scale``, one number or ``(N,)``, as factors."""
    features, linear_weight, linear_bias, target = head
    dtype = computed_in(features)
    losses = features.new_zeros(len(features), dtype=dtype)
    gradients = _Gradients(
        torch.empty_like(features) if needed[0] else None,
        torch.zeros_like(linear_weight, dtype=dtype) if needed[1] else None,
        torch.zeros_like(linear_bias, dtype=dtype) if needed[2] and linear_bias is not None else None,
    )
    is_one_factor = scale.ndim == 0
    buffer = features.new_empty(min(options.chunk, len(features)), len(linear_weight))
    for start in range(0, len(features), options.chunk):
        part = slice(start, start + options.chunk)
        rows = features[part]
        logits = buffer[: len(rows)]
        if linear_bias is None:
            torch.mm(rows, linear_weight.T, out=logits)
        else:
            torch.addmm(linear_bias, rows, linear_weight.T, out=logits)
        losses[part], gradient = loss_and_gradient(
            logits,
            target[part],
            options.weight,
            options.ignore_index,
            options.label_smoothing,
            options.terms,
            scale=scale if is_one_factor else 1.0,
            out=logits,
        )
        if not is_one_factor:
            gradient.mul_(scale[part, None])
        if gradients.features is not None:
            torch.mm(gradient, linear_weight, out=gradients.features[part])
        if gradients.linear_weight is not None:
            _add_product(gradients.linear_weight, gradient.T, rows)
        if gradients.linear_bias is not None:
            gradients.linear_bias.add_(gradient.sum(0, dtype=dtype))
    return losses, _Gradients(*(None if each is None else each.to(features.dtype) for each in gradients))


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add a matrix product; that of halves comes in half precision, and is added up in single precision."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total.add_(left @ right)


def _mean_factor(head: Head, options: Options) -> Tensor:
    """What each row's loss is multiplied by: 1, or 1 over what the mean divides by, if that is not 0."""
    dtype = computed_in(head.features)
    divisor = head.features.new_ones((), dtype=dtype)
    if options.reduction == "mean" and head.target.ndim == 2:
        divisor = divisor * len(head.target)
    elif options.reduction == "mean":
        divisor = sample_weight(head.target, options.weight, options.ignore_index, dtype).sum()
    return torch.where(divisor == 0, 1.0, divisor).reciprocal()


def _differentiable_gradients(
    head: Head, options: Options, needed: tuple[bool, ...], grad_output: Tensor
) -> tuple[Tensor | None, ...]:
    """The gradients once more with a graph of their own, for second derivatives."""
    wanted = [tensor for tensor, is_needed in zip(head, needed, strict=False) if is_needed and tensor is not None]
    found = iter(torch.autograd.grad(at_once(head, options), wanted, grad_output, create_graph=True))
    return tuple(next(found) if is_needed else None for is_needed in needed)
