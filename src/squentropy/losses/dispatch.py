"""Which way a loss is computed: by the formula, or by a kernel where one can."""

import torch
from torch import Tensor

from squentropy.losses.arguments import check_target_range
from squentropy.losses.formula import losses_of_samples, reduce_losses
from squentropy.losses.terms import Terms


def reduced_loss(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    terms: Terms,
) -> Tensor:
    """The loss of a batch, differentiable in every way that PyTorch knows. The arguments have been checked."""
    check_target_range(logits, target, ignore_index)
    losses = losses_of_samples(logits, target, weight, ignore_index, label_smoothing, terms)
    return reduce_losses(losses, logits, target, weight, ignore_index, reduction)


def loss_and_gradient(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    terms: Terms,
    *,
    scale: float | Tensor = 1.0,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return each sample's loss, and ``scale`` times the gradient of their sum, without a graph.

    What is built upon the losses of the paper, such as a linear head in chunks, calls this.

    Args:
        logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)`` with any strides.
        target: class indices or probabilities, as in :func:`squentropy.squentropy`.
        weight: ``(C,)`` or None.
        ignore_index: as in :func:`squentropy.squentropy`.
        label_smoothing: as there.
        terms: the factors of the loss's parts.
        scale: a factor on the gradient, a number or a tensor of one number.
        out: where to write the gradient; may be ``logits``.

    Returns:
        The losses, shaped as class indices are, in the dtype of the computation; the gradient, in that of the logits.

    Example:
        >>> rescaled_square_of_two = Terms(cross_entropy=0.0, wrong_square=0.5, true_square=0.5, M=1.0)
        >>> logits, target = torch.tensor([[3.0, 1.0]]), torch.tensor([0])
        >>> loss_and_gradient(logits, target, None, -100, 0.0, rescaled_square_of_two)
        (tensor([2.5000]), tensor([[2., 1.]]))
    """
    check_target_range(logits, target, ignore_index)
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        losses = losses_of_samples(leaf, target, weight, ignore_index, label_smoothing, terms)
        (gradient,) = torch.autograd.grad(losses.sum(), leaf)
    gradient *= scale
    return losses.detach(), gradient if out is None else out.copy_(gradient)
