"""The Triton kernels on a GPU, called as the CPU kernel is."""

import math

from torch import Tensor

from squentropy.losses.arguments import class_dim, is_probabilities
from squentropy.losses.formula import computed_in, sample_weight
from squentropy.losses.kernels.triton import losses_of_samples
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
    softmax: Tensor | None = None,
) -> None:
    """Write the loss to ``value``, and ``scale`` times its gradient to ``out``; see :class:`CpuKernel`.

    Nothing here waits for the device: a scale and a divisor stay on it. What the softmax of an earlier call has found
    is not used, as reading the logits takes longer than computing it.
    """
    if logits.numel() == 0:
        if value is not None:
            value.fill_(math.nan if reduction == "mean" else 0.0)
        return
    divisor: float | Tensor = 1.0
    if reduction == "mean":
        if is_probabilities(logits, target):
            divisor = logits.numel() / logits.shape[class_dim(logits)]
        else:
            divisor = sample_weight(target, weight, ignore_index, computed_in(logits)).sum()
    losses = losses_of_samples(
        logits, target, weight, ignore_index, label_smoothing, terms, out=out, scale=scale / divisor
    )
    if value is not None:
        value.copy_(losses if reduction == "none" else losses.sum() / divisor)
