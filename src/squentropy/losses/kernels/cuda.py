"""The Triton kernels on a GPU, called as the CPU kernel is."""

from torch import Tensor

from squentropy.losses.arguments import class_dim, is_probabilities
from squentropy.losses.formula import computed_in, sample_weight
from squentropy.losses.kernels.triton import loss_and_gradient
from squentropy.losses.terms import Terms


def cuda_kernel(
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
) -> None:
    """Write the loss to ``value``, and ``scale`` times its gradient to ``out``; see :class:`CpuKernel`.

    Nothing here waits for the device: a scale and a divisor stay on it.
    """
    divisor: float | Tensor = 1.0
    if reduction == "mean":
        if is_probabilities(logits, target):
            divisor = logits.numel() / logits.shape[class_dim(logits)]
        else:
            divisor = sample_weight(target, weight, ignore_index, computed_in(logits)).sum()
    of_samples = scale if isinstance(scale, Tensor) and scale.ndim > 0 else None
    losses, gradient = loss_and_gradient(
        logits,
        target,
        weight,
        ignore_index,
        label_smoothing,
        terms,
        scale=(1.0 if of_samples is not None else scale) / divisor,
        out=out,
    )
    if of_samples is not None:
        gradient *= of_samples.unsqueeze(class_dim(logits))
    if value is not None:
        value.copy_(losses if reduction == "none" else losses.sum() / divisor)
