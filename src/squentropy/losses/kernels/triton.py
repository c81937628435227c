"""The loss and its gradient in one pass over the logits on the GPU, as Triton kernels.

A program holds a tile of the logits: some samples, and all their classes or a block of them. Where a tile holds
all classes, each logit is read once and its gradient written once, which is the least that can be done. With more
classes a first loop keeps the softmax's running maximum and sum, and a second one writes the gradient; the second
reading mostly comes from the cache.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from squentropy.losses.arguments import is_probabilities
from squentropy.losses.formula import computed_in
from squentropy.losses.kernels.triton_indices import loss_of_indices
from squentropy.losses.kernels.triton_masses import loss_of_masses
from squentropy.losses.terms import Terms

_COMPUTED = {torch.float32: tl.float32, torch.float64: tl.float64}


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
    """Return each sample's loss, and ``scale`` times the gradient of their sum.

    Args:
        logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)`` with any strides, on a CUDA device.
        target: class indices or probabilities, as in :func:`squentropy.squentropy`. An index out of range, of
            which a kernel cannot complain, makes its sample's loss and gradient NaN.
        weight: ``(C,)`` or None.
        ignore_index: as in :func:`squentropy.squentropy`.
        label_smoothing: as there.
        terms: the factors of the loss's parts.
        scale: a factor on the gradient; a tensor of one number saves waiting for the device.
        out: where to write the gradient; may be ``logits``.

    Returns:
        The losses, shaped as class indices are, in the dtype of the computation, and the gradient in the dtype of
        the logits.
    """
    dtype = computed_in(logits)
    sample_shape = logits.shape[:1] + logits.shape[2:] if logits.ndim > 1 else logits.shape[:0]
    losses = torch.empty(sample_shape, dtype=dtype, device=logits.device)
    gradient = torch.empty_like(logits) if out is None else out
    if logits.numel() == 0:
        return losses, gradient
    source, written = _rows(logits), _rows(gradient)
    outer, num_classes, inner = source.shape
    tile = _tile(source)
    arguments = (
        losses,
        written,
        source,
        None if weight is None else weight.to(dtype).contiguous(),
        _numbers(logits.device, *terms, label_smoothing),
        scale.to(torch.float64) if isinstance(scale, Tensor) else _numbers(logits.device, scale),
        num_classes,
        inner,
        *source.stride(),
        *written.stride(),
        ignore_index,
    )
    constants = {
        "DTYPE": _COMPUTED[dtype],
        "HAS_ENTROPY": terms.cross_entropy != 0.0,
        "HAS_WRONG_SQUARE": terms.wrong_square != 0.0,
        "HAS_TRUE_SQUARE": terms.true_square != 0.0,
        "IS_WHOLE": num_classes <= tile.classes,
        "SAMPLES": tile.samples,
        "CLASSES": tile.classes,
        "num_warps": tile.warps,
    }
    grid = (outer * triton.cdiv(inner, tile.samples),)
    with torch.cuda.device(logits.get_device()):  # for Triton's interpreter -1, which is none
        if is_probabilities(logits, target):
            masses = _rows(target)
            smoothed = {"IS_SOFT": True, "IS_SMOOTHED": label_smoothing > 0.0}
            loss_of_masses[grid](*arguments, masses, *masses.stride(), **smoothed, **constants)
        elif label_smoothing > 0.0:
            loss_of_masses[grid](*arguments, target.contiguous(), 0, 0, 0, IS_SOFT=False, IS_SMOOTHED=True, **constants)
        else:
            loss_of_indices[grid](*arguments, target.contiguous(), **constants)
    if written.data_ptr() != gradient.data_ptr():  # the samples of `gradient` have no common stride
        gradient.copy_(written.view(gradient.shape))
    return losses, gradient


def _rows(logits: Tensor) -> Tensor:
    """The logits as (outer, classes, inner), where all samples of the inner dimension have one stride.

    A view, unless d1, ..., dK have no common stride.
    """
    if logits.ndim <= 2:
        return logits.reshape(-1, logits.shape[-1]).T.unsqueeze(0)
    return logits.flatten(2)


class _Tile(NamedTuple):
    samples: int
    classes: int
    warps: int


def _tile(rows: Tensor) -> _Tile:
    """The tile of a program; its longer side lies along the dimension in which neighbours are adjacent in memory."""
    _, num_classes, inner = rows.shape
    classes, samples = triton.next_power_of_2(num_classes), triton.next_power_of_2(inner)
    # Sizes at which the compiler keeps everything in registers, with some programs at a time on a multiprocessor.
    if rows.stride(1) <= rows.stride(2):
        classes = min(classes, 4096)
        samples = min(samples, max(1, 1024 // classes))
    else:
        samples = min(samples, 64)
        classes = min(classes, 2048 // samples)
    return _Tile(samples, classes, warps=max(4, samples * classes // 512))


@lru_cache(maxsize=256)
def _numbers(device: torch.device, *values: float) -> Tensor:
    """Values on the device, in double precision, which a kernel's float arguments have not."""
    return torch.tensor(values, dtype=torch.float64, device=device)
