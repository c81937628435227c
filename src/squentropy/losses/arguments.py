"""What a loss accepts: each wrong argument is named, with its value and the cure."""

import math

import torch
from torch import Tensor

_REDUCTIONS = ("none", "mean", "sum")


def class_dim(logits: Tensor) -> int:
    """The dimension that holds the classes: 0 for ``(C,)``, else 1, as in cross entropy."""
    return 0 if logits.ndim == 1 else 1


def sample_shape(logits: Tensor) -> torch.Size:
    """The shape of class indices and of unreduced losses: that of ``logits`` without the classes."""
    return logits.shape[:1] + logits.shape[2:] if logits.ndim > 1 else torch.Size()


def is_probabilities(logits: Tensor, target: Tensor) -> bool:
    """Whether ``target`` holds a probability for each class; PyTorch, too, tells it by the shape."""
    return target.shape == logits.shape


def check_arguments(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> None:
    """Raise ``ValueError`` or ``TypeError`` for what no loss can take."""
    _check_logits(logits)
    if is_probabilities(logits, target):
        _check_probabilities(target, ignore_index)
    else:
        _check_indices(logits, target)
    if weight is not None:
        _check_weight(logits, weight)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}; use one of {', '.join(map(repr, _REDUCTIONS))}")
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"label_smoothing is {label_smoothing}; it must lie between 0 and 1")


def check_target_range(logits: Tensor, target: Tensor, ignore_index: int) -> None:
    """Raise if a class index is outside ``0 .. C-1``.

    Only where looking at the values is possible and free: on the CPU, outside of ``torch.compile`` and
    ``torch.func``. On a GPU an index out of range is a device-side assertion, as it is in PyTorch.
    """
    if target.device.type != "cpu" or is_probabilities(logits, target) or not is_eager():
        return
    num_classes = logits.shape[class_dim(logits)]
    wrong = ((target < 0) | (target >= num_classes)) & (target != ignore_index)
    if wrong.any():
        first = wrong.nonzero()[0]
        value = target[tuple(first)].item()
        where = f"target[{', '.join(map(str, first.tolist()))}]" if target.ndim else "target"
        raise ValueError(
            f"{where} is {value}, but logits have {num_classes} classes: use indices from 0 to "
            f"{num_classes - 1}, or ignore_index={ignore_index} for what is to be left out"
        )


def is_eager() -> bool:
    """Whether values can be looked at: not while compiling, and not inside ``torch.func``."""
    return not torch.compiler.is_compiling() and torch._C._functorch.maybe_current_level() is None


def check_finite_positive(name: str, value: float) -> None:
    """Raise unless ``value`` is finite and above zero."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value}; it must be finite and positive")


def check_not_negative(name: str, value: float) -> None:
    """Raise unless ``value`` is finite and not below zero."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is {value}; it must be finite and not negative")


def _check_logits(logits: Tensor) -> None:
    if not logits.is_floating_point():
        raise TypeError(f"logits have dtype {logits.dtype}; use a floating-point tensor (logits.float())")
    if logits.ndim == 0:
        raise ValueError("logits have no dimension; use the shape (C,), (N, C) or (N, C, d1, ..., dK)")
    num_classes = logits.shape[class_dim(logits)]
    if num_classes < 2:
        raise ValueError(
            f"logits of shape {tuple(logits.shape)} have {num_classes} class{'' if num_classes == 1 else 'es'}, "
            "but wrong classes need at least 2: give a binary problem two logits"
        )


def _check_probabilities(target: Tensor, ignore_index: int) -> None:
    if not target.is_floating_point():
        raise TypeError(
            f"target has the shape of logits, {tuple(target.shape)}, and dtype {target.dtype}: use a "
            "floating-point target for class probabilities, or drop the class dimension for class indices"
        )
    if ignore_index >= 0:
        raise ValueError(
            f"ignore_index is {ignore_index}, but target holds probabilities: use class indices, or "
            "leave ignore_index at its default and give those samples a row of zeros"
        )


def _check_indices(logits: Tensor, target: Tensor) -> None:
    expected = sample_shape(logits)
    if target.shape != expected:
        raise ValueError(
            f"target has shape {tuple(target.shape)}, logits have {tuple(logits.shape)}: use class indices of "
            f"shape {tuple(expected)} or class probabilities of shape {tuple(logits.shape)}"
        )
    if target.is_floating_point() or target.is_complex() or target.dtype is torch.bool:
        raise TypeError(f"target has dtype {target.dtype}; use an integer dtype for class indices (target.long())")


def _check_weight(logits: Tensor, weight: Tensor) -> None:
    num_classes = logits.shape[class_dim(logits)]
    if weight.shape != (num_classes,):
        raise ValueError(
            f"weight has shape {tuple(weight.shape)}; use one number for each of the {num_classes} classes"
        )
    if not weight.is_floating_point():
        raise TypeError(f"weight has dtype {weight.dtype}; use a floating-point tensor (weight.float())")
