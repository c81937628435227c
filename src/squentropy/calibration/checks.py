"""What predictions, targets and weights must be: each error names the argument, the value, the row and the cure."""

from collections.abc import Callable

import torch
from torch import Tensor

LARGEST_WEIGHT = 2.0**36
# A softmax in half precision rounds each probability to a relative 2^-9; a table is written with a few decimals.
ROW_SUM_TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 1e-2, torch.float32: 1e-3, torch.float64: 1e-3}
_TWO_COLUMNS = "two classes need two columns, torch.stack([1 - p, p], dim=1)"
_SKIP = "leave the row out, or mark it with ignore_index"

Where = Callable[[int], str]


def check_shapes(scores: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Types and shapes, before anything is computed."""
    for name, value in {"predictions": scores, "target": target}.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a tensor, got {type(value).__name__}: use torch.as_tensor")
    if scores.dtype not in ROW_SUM_TOLERANCE:
        raise TypeError(
            f"predictions must be float16, bfloat16, float32 or float64, got {scores.dtype}: pass scores, not classes"
        )
    shape = tuple(scores.shape)
    if scores.ndim < 2:
        raise ValueError(f"predictions must have shape (N, C) or (N, C, d1, ...), got {shape}: {_TWO_COLUMNS}")
    if scores.numel() == 0:
        raise ValueError(f"predictions must not be empty, got shape {shape}: pass at least one row")
    if shape[1] < 2:
        raise ValueError(f"predictions must have at least two classes in dimension 1, got {shape}: {_TWO_COLUMNS}")
    if target.dtype == torch.bool or target.is_complex():
        raise TypeError(f"target must be class indices or probabilities, got {target.dtype}: use target.long()")
    sample_shape = (shape[0], *shape[2:])
    expected = shape if target.is_floating_point() else sample_shape
    if tuple(target.shape) != expected:
        kind = "probabilities" if target.is_floating_point() else "class indices"
        raise ValueError(
            f"target of {kind} must have shape {expected} for predictions of shape {shape}, got {tuple(target.shape)}"
        )
    if weight is not None and tuple(weight.shape) != sample_shape:
        raise ValueError(f"weight must have one value a sample, shape {sample_shape}, got {tuple(weight.shape)}")


def check_target(target: Tensor, num_classes: int, where: Where) -> None:
    """Class indices (n,) in range, or probabilities (C, n) that are a distribution for each sample."""
    if target.ndim == 1:
        low, high = target.aminmax()
        if int(low) < 0 or int(high) >= num_classes:
            column = _first((target < 0) | (target >= num_classes))
            raise ValueError(
                f"target must lie in 0..{num_classes - 1}, got {int(target[column])} in {where(column)}: "
                "number the classes from 0, or mark the row with ignore_index"
            )
        return
    wrong = ~((target >= 0).all(0) & ((target.sum(0) - 1).abs() <= ROW_SUM_TOLERANCE[torch.float32]))
    if bool(wrong.any()):
        column = _first(wrong)
        values = target[:, column]
        raise ValueError(
            f"target probabilities must be at least 0 and sum to 1, got a sum of {float(values.sum()):g} and a "
            f"lowest value of {float(values.min()):g} in {where(column)}: divide each row by its sum"
        )


def check_weight(weight: Tensor, where: Where) -> None:
    """Finite, not negative, and small enough for the exact sums."""
    wrong = ~((weight >= 0) & (weight < LARGEST_WEIGHT))
    if bool(wrong.any()):
        column = _first(wrong)
        raise ValueError(
            f"weight must lie in 0..2^36, got {float(weight[column]):g} in {where(column)}: "
            "divide all weights by the largest"
        )


def check_logits(logits: Tensor, where: Where) -> None:
    """Finite logits (C, n)."""
    wrong = ~torch.isfinite(logits).all(0)
    if bool(wrong.any()):
        column = _first(wrong)
        value = _first_nonfinite(logits[:, column])
        raise ValueError(f"logits must be finite, got {value} in {where(column)}: {_SKIP}")


def check_probabilities(probs: Tensor, dtype: torch.dtype, where: Where) -> None:
    """Probabilities (C, n) that are a distribution for each sample, as nearly as their type can hold one."""
    wrong = ~((probs.amin(0) >= 0) & ((probs.sum(0) - 1).abs() <= ROW_SUM_TOLERANCE[dtype]))
    if not bool(wrong.any()):
        return
    column = _first(wrong)
    values, row = probs[:, column], where(column)
    if not bool(torch.isfinite(values).all()):
        raise ValueError(f"probs must be finite, got {_first_nonfinite(values)} in {row}: {_SKIP}")
    cure = "if these are logits, use from_logits (--logits)"
    if float(values.min()) < 0:
        raise ValueError(f"probs must not be negative, got {float(values.min()):g} in {row}: {cure}")
    raise ValueError(f"probs must sum to 1 in every row, got {float(values.sum()):.6g} in {row}: {cure}")


def check_confidences(confidence: Tensor, correct: Tensor, weight: Tensor | None) -> None:
    """Probabilities, outcomes and weights (N,) of an event: one length, in range."""
    for name, values in {"confidence": confidence, "correct": correct}.items():
        if not isinstance(values, Tensor):
            raise TypeError(f"{name} must be a tensor, got {type(values).__name__}: use torch.as_tensor")
    if not confidence.is_floating_point():
        raise TypeError(f"confidence must be of a floating type, got {confidence.dtype}: pass probabilities")
    if confidence.ndim != 1 or confidence.numel() == 0:
        raise ValueError(f"confidence must have shape (N,) with N > 0, got {tuple(confidence.shape)}")
    for name, values in {"confidence": confidence, "correct": correct}.items():
        if values.shape != confidence.shape:
            raise ValueError(f"{name} must have shape {tuple(confidence.shape)}, got {tuple(values.shape)}")
        wrong = ~((values >= 0) & (values <= 1))
        if bool(wrong.any()):
            row = _first(wrong)
            raise ValueError(f"{name} must lie in 0..1, got {float(values[row]):g} in row {row}")
    if weight is not None:
        if weight.shape != confidence.shape:
            raise ValueError(f"weight must have shape {tuple(confidence.shape)}, got {tuple(weight.shape)}")
        check_weight(weight, lambda row: f"row {row}")


def _first(mask: Tensor) -> int:
    return int(mask.nonzero()[0, 0])


def _first_nonfinite(values: Tensor) -> float:
    return float(values[~torch.isfinite(values)][0])
