"""The loss and its gradient in one pass over the logits on the CPU, by the C++ library."""

import math

import torch
from torch import Tensor

from squentropy.losses.arguments import check_target_range, is_probabilities
from squentropy.losses.formula import computed_in
from squentropy.losses.kernels.library import ARGUMENTS, VARIANTS, Library
from squentropy.losses.terms import Terms

#: The dtypes that the library knows, with their numbers there.
DTYPES = {torch.float32: 0, torch.float64: 1, torch.bfloat16: 2, torch.float16: 3}

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_NO_ROWS = (0,) * 6
_DONE, _TARGET_OUT_OF_RANGE = 0, 1


class CpuKernel:
    """The library with one of its variants."""

    def __init__(self, library: Library, variant: str) -> None:
        """Keep what is called; ``variant`` is one of VARIANTS."""
        self._run = library.run
        self._variant = VARIANTS.index(variant)

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

        Args:
            logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)`` with any strides.
            target: class indices or probabilities, as in :func:`squentropy.squentropy`.
            weight: ``(C,)`` or None.
            ignore_index: as in :func:`squentropy.squentropy`.
            reduction: as there.
            label_smoothing: as there.
            terms: the factors of the loss's parts.
            value: contiguous; one number, or with ``reduction="none"`` one for each sample.
            out: shaped and typed as ``logits``; may be ``logits``.
            scale: a number, or a tensor of one, or of one for each sample.
            softmax: two float64 numbers for each sample, which a call with ``value`` alone leaves there and a later
                one with ``out`` alone, for the same arguments, need not compute again.

        Raises:
            ValueError: a class index is out of range. Nothing has been written then.
        """
        if logits.numel() == 0:
            if value is not None:
                value.fill_(math.nan if reduction == "mean" else 0.0)
            return
        dtype = computed_in(logits)
        is_soft = is_probabilities(logits, target)
        logits, rows = _with_rows(logits)
        target, target_rows = _with_rows(target.to(dtype)) if is_soft else (target.long().contiguous(), _NO_ROWS)
        gradient, gradient_rows = (out, rows) if out is None or out.stride() == logits.stride() else _with_rows(out)
        if weight is not None:
            weight = weight.to(dtype).contiguous()
        factor, factors = 1.0, None
        if isinstance(scale, Tensor) and scale.ndim > 0:
            factors = scale.to(dtype).contiguous()
        else:
            factor = float(scale)
        status = self._run(
            ARGUMENTS.pack(
                logits.data_ptr(),
                0 if gradient is None else gradient.data_ptr(),
                target.data_ptr(),
                0 if weight is None else weight.data_ptr(),
                0 if factors is None else factors.data_ptr(),
                0 if value is None or reduction != "none" else value.data_ptr(),
                0 if value is None or reduction == "none" else value.data_ptr(),
                0 if softmax is None else softmax.data_ptr(),
                DTYPES[logits.dtype],
                DTYPES[dtype if value is None else value.dtype],
                is_soft,
                _REDUCTIONS[reduction],
                self._variant,
                torch.get_num_threads(),
                *rows,
                *gradient_rows[3:],
                *target_rows[3:],
                ignore_index,
                label_smoothing,
                *terms,
                factor,
            )
        )
        if status == _TARGET_OUT_OF_RANGE:
            check_target_range(logits, target, ignore_index)
        if status != _DONE:
            raise MemoryError("the CPU kernel found no memory for its scratch area")
        if out is not None and gradient is not None and gradient is not out:
            out.copy_(gradient)


def _with_rows(tensor: Tensor) -> tuple[Tensor, tuple[int, ...]]:
    """A tensor and its sizes and strides as :func:`_rows` gives them; a copy where it has none."""
    rows = _rows(tensor)
    if rows is None:
        tensor = tensor.contiguous()
        rows = _rows(tensor)
        assert rows is not None
    return tensor, rows


def _rows(logits: Tensor) -> tuple[int, ...] | None:
    """Sizes and strides ``(outer, classes, inner)``, where all samples of the inner dimension have one stride.

    None where d1, ..., dK have no common stride.
    """
    shape, stride = logits.shape, logits.stride()
    if len(shape) == 2:
        return 1, shape[1], shape[0], 0, stride[1], stride[0]
    if len(shape) == 1:
        return 1, shape[0], 1, 0, stride[0], 0
    inner, inner_stride = 1, 0
    for size, step in zip(reversed(shape[2:]), reversed(stride[2:]), strict=True):
        if size == 1:
            continue
        if inner == 1:
            inner_stride = step
        elif step != inner * inner_stride:
            return None
        inner *= size
    if inner == 1:
        return 1, shape[1], shape[0], 0, stride[1], stride[0]
    return shape[0], shape[1], inner, stride[0], stride[1], inner_stride
