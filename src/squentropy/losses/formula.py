"""The losses of the paper in PyTorch's own operations: the definition, and what runs where no kernel does.

A sample's target puts a mass ``u_k = w_k q_k`` on class k (class weight times probability), in all
``W = sum_k u_k``. Its loss is the expectation of the loss for one true class, ``sum_k u_k L_k``, which gives
soft labels, label smoothing and class weights one meaning in every loss here: the one that they have in
cross entropy.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.losses.arguments import class_dim, is_eager, is_probabilities
from squentropy.losses.terms import Terms


def losses_of_samples(
    logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float, terms: Terms
) -> Tensor:
    """Each sample's loss, shaped as class indices are, in the dtype of the computation. PyTorch differentiates it.

    Args:
        logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)``.
        target: class indices or probabilities, as in :func:`squentropy.squentropy`.
        weight: ``(C,)`` or None.
        ignore_index: as in :func:`squentropy.squentropy`.
        label_smoothing: as there.
        terms: the factors of the loss's parts.

    Examples:
        >>> squentropy_of_three = Terms(cross_entropy=1.0, wrong_square=0.5, true_square=0.0, M=0.0)
        >>> losses_of_samples(torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0]), None, -100, 0.0, squentropy_of_three)
        tensor([1.3490])
    """
    logits = logits.to(computed_in(logits))
    sample = (target, weight, ignore_index, label_smoothing)
    losses = logits.new_zeros(())
    if terms.cross_entropy != 0.0:
        losses = terms.cross_entropy * cross_entropy_of_samples(logits, *sample)
    if terms.wrong_square != 0.0:
        losses = losses + terms.wrong_square * wrong_squares(logits, *sample)
    if terms.true_square != 0.0:
        losses = losses + terms.true_square * true_squares(logits, *sample, terms.M)
    return losses


def computed_in(logits: Tensor) -> torch.dtype:
    """The dtype of the computation: float32 for halves, whose squares overflow at 256."""
    return torch.float32 if logits.dtype in (torch.float16, torch.bfloat16) else logits.dtype


def returned_in(logits: Tensor) -> torch.dtype:
    """The dtype of the result: that of ``logits``, or float32 under autocast, as cross entropy has it."""
    return computed_in(logits) if torch.is_autocast_enabled(logits.device.type) else logits.dtype


def is_hard(logits: Tensor, target: Tensor, label_smoothing: float) -> bool:
    """Whether all of a sample's mass lies on one class."""
    return label_smoothing == 0.0 and not is_probabilities(logits, target)


def true_class(target: Tensor, ignore_index: int, dim: int) -> Tensor:
    """Indices ``(N, 1, d...)`` for gather and scatter; ignored samples point to class 0."""
    return target.masked_fill(target == ignore_index, 0).long().unsqueeze(dim)


def sample_weight(target: Tensor, weight: Tensor | None, ignore_index: int, dtype: torch.dtype) -> Tensor:
    """``w_y`` for each sample ``(N, d...)`` with class indices, and 0 for the ignored ones."""
    kept = target != ignore_index
    if weight is None:
        return kept.to(dtype)
    return weight.to(dtype)[target.masked_fill(~kept, 0).long()] * kept


def target_mass(
    logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float
) -> tuple[Tensor, Tensor]:
    """The masses ``u``, shaped as ``logits``, and their totals ``W``, with a class dimension of one."""
    dim, dtype = class_dim(logits), computed_in(logits)
    num_classes = logits.shape[dim]
    if is_probabilities(logits, target):
        probabilities = target.to(dtype)
        kept: Tensor | float = 1.0
    else:
        index = true_class(target, ignore_index, dim)
        probabilities = torch.zeros(logits.shape, dtype=dtype, device=logits.device).scatter(dim, index, 1.0)
        kept = (target != ignore_index).unsqueeze(dim)
    if label_smoothing > 0.0:
        probabilities = probabilities * (1.0 - label_smoothing) + label_smoothing / num_classes
    if weight is None:
        # The rows are taken to sum to 1, not summed: a sum's rounding error times a large square is no rounding error.
        return probabilities * kept, torch.ones((), dtype=dtype, device=logits.device) * kept
    per_class = weight.to(dtype).view([-1 if d == dim else 1 for d in range(logits.ndim)])
    mass = probabilities * per_class * kept
    return mass, mass.sum(dim, keepdim=True)


class WrongSquares(torch.autograd.Function):
    """``sum over j != y of f_j^2``, with half of the memory traffic of the same in tensor operations."""

    @staticmethod
    def forward(logits: Tensor, index: Tensor, dim: int) -> Tensor:
        """Sum the squares of ``logits`` along ``dim``, all but the one at ``index``."""
        return logits.scatter(dim, index, 0.0).square_().sum(dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int], output: Tensor) -> None:
        """Keep what the derivatives need."""
        logits, index, ctx.dim = inputs
        ctx.save_for_backward(logits, index)
        ctx.save_for_forward(logits, index)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        """``2 f_j`` for the wrong classes, 0 for the true one."""
        logits, index = ctx.saved_tensors
        return (logits * (2.0 * grad_outputs[0]).unsqueeze(ctx.dim)).scatter(ctx.dim, index, 0.0), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Tensor:
        """``sum over j != y of 2 f_j df_j``."""
        logits, index = ctx.saved_tensors
        derivative: Tensor = (2.0 * logits * tangents[0]).scatter(ctx.dim, index, 0.0).sum(ctx.dim)
        return derivative


def cross_entropy_of_samples(
    logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float
) -> Tensor:
    """PyTorch's cross entropy without reduction, for targets and weights of any dtype."""
    return F.cross_entropy(
        logits,
        target.to(logits.dtype) if is_probabilities(logits, target) else target.long(),
        None if weight is None else weight.to(logits.dtype),
        ignore_index=ignore_index,
        reduction="none",
        label_smoothing=label_smoothing,
    )


def wrong_squares(
    logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float
) -> Tensor:
    """``sum_j (W - u_j) f_j^2`` for each sample: the squares of the wrong logits, weighted."""
    dim = class_dim(logits)
    if is_hard(logits, target, label_smoothing):
        index = true_class(target, ignore_index, dim)
        if is_eager():
            squares = WrongSquares.apply(logits, index, dim)  # type: ignore[no-untyped-call]
        else:  # compilers and transforms see tensor operations, which they fuse and batch themselves
            squares = logits.scatter(dim, index, 0.0).square().sum(dim)
        return _where_kept(sample_weight(target, weight, ignore_index, logits.dtype), squares)
    mass, total = target_mass(logits, target, weight, ignore_index, label_smoothing)
    return _where_kept(total - mass, logits.square()).sum(dim)


def true_squares(
    logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float, M: float
) -> Tensor:
    """``sum_k u_k (f_k - M)^2`` for each sample: the squares of what the true logit lacks, weighted."""
    dim = class_dim(logits)
    if is_hard(logits, target, label_smoothing):
        true = logits.gather(dim, true_class(target, ignore_index, dim)).squeeze(dim)
        return _where_kept(sample_weight(target, weight, ignore_index, logits.dtype), (true - M).square())
    mass, _ = target_mass(logits, target, weight, ignore_index, label_smoothing)
    return _where_kept(mass, (logits - M).square()).sum(dim)


def _where_kept(factor: Tensor, values: Tensor) -> Tensor:
    """``factor * values``, and 0 where the factor is 0, even if the value has overflowed."""
    return torch.where(factor == 0, 0.0, factor * values)


def reduce_losses(
    losses: Tensor,
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
) -> Tensor:
    """Reduce the samples' losses as cross entropy does.

    The mean divides by the sum of the samples' class weights for class indices (with label smoothing, too), and
    by the number of samples for probabilities.
    """
    if reduction == "mean":
        if is_probabilities(logits, target):
            losses = losses.sum() / (logits.numel() / logits.shape[class_dim(logits)])
        else:
            losses = losses.sum() / sample_weight(target, weight, ignore_index, losses.dtype).sum()
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(returned_in(logits))
