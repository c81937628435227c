"""The losses and their gradient in one pass over the logits on the GPU, as Triton kernels.

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

from squentropy.losses.arguments import is_probabilities, sample_shape
from squentropy.losses.formula import computed_in
from squentropy.losses.kernels.triton_indices import loss_of_indices
from squentropy.losses.kernels.triton_masses import loss_of_masses
from squentropy.losses.terms import Terms

_COMPUTED = {torch.float32: tl.float32, torch.float64: tl.float64}


def losses_of_samples(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    terms: Terms,
    *,
    out: Tensor | None = None,
    scale: float | Tensor = 1.0,
) -> Tensor:
    """Return each sample's loss, and write ``scale`` times the gradient of their sum to ``out``.

    Args:
        logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)`` with any strides, on a CUDA device.
        target: class indices or probabilities, as in :func:`squentropy.squentropy`. An index out of range, of
            which a kernel cannot complain, makes its sample's loss and gradient NaN.
        weight: ``(C,)`` or None.
        ignore_index: as in :func:`squentropy.squentropy`.
        label_smoothing: as there.
        terms: the factors of the loss's parts.
        out: shaped and typed as ``logits``; may be ``logits``. Without it no gradient is computed.
        scale: a factor on the gradient. A tensor, of one number or one for each sample, saves waiting for the device.

    Returns:
        The losses, shaped as class indices are, in the dtype of the computation.
    """
    dtype = computed_in(logits)
    losses = torch.empty(sample_shape(logits), dtype=dtype, device=logits.device)
    if logits.numel() == 0:
        return losses
    source, written = _rows(logits), None if out is None else _rows(out)
    outer, num_classes, inner = source.shape
    tile = _tile(source)
    factor = scale if isinstance(scale, Tensor) else _numbers(logits.device, scale)
    arguments = (
        losses,
        written,
        source,
        None if weight is None else weight.to(dtype).contiguous(),
        _numbers(logits.device, *terms, label_smoothing),
        factor.contiguous(),
        int(factor.numel() > 1),
        num_classes,
        inner,
        *source.stride(),
        *((0, 0, 0) if written is None else written.stride()),
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
    if out is not None and written is not None and written.data_ptr() != out.data_ptr():
        out.copy_(written.view(out.shape))  # its samples have no common stride
    return losses


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
