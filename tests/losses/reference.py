"""The losses once more, from the formulas of the paper, one sample and one class at a time. Imports nothing of ours.

A row of ROWS is all that the tests need to know of a loss: its value ``L_k(f)`` for one sample whose true class
is k, in any arithmetic that has ``exp`` and ``log`` (``numpy`` or ``mpmath``), and parameters to try.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


def _cross_entropy(f: Sequence, k: int, m: Any) -> Any:
    top = max(f)
    return top - f[k] + m.log(sum(m.exp(z - top) for z in f))


def _squentropy(f, k, m, square_weight=1):
    return _cross_entropy(f, k, m) + square_weight * sum(z * z for j, z in enumerate(f) if j != k) / (len(f) - 1)


def _rescaled_square(f, k, m, t=1, M=1):  # noqa: N803
    return (t * (f[k] - M) ** 2 + sum(z * z for j, z in enumerate(f) if j != k)) / len(f)


def _focal(f, k, m, gamma=2):
    loss = _cross_entropy(f, k, m)
    return (1 - m.exp(-loss)) ** gamma * loss


def _logit_penalty(f, k, m, beta=5e-4):
    return _cross_entropy(f, k, m) + beta * sum(z * z for z in f)


@dataclass(frozen=True)
class Row:
    """One loss: its value for one sample and true class, and parameters to try beside the defaults."""

    of_class: Callable[..., Any]
    parameters: tuple[dict[str, float], ...] = ({},)
    label_smoothing: float = 0.0  # the default of the loss


ROWS = {
    "squentropy": Row(_squentropy, ({}, {"square_weight": 0.25})),
    "cross_entropy": Row(_cross_entropy),
    "rescaled_square": Row(_rescaled_square, ({}, {"t": 15.0, "M": 30.0})),
    "label_smoothing": Row(_cross_entropy, label_smoothing=0.1),
    "focal": Row(_focal, ({}, {"gamma": 0.0}, {"gamma": 1.0})),
    "logit_penalty": Row(_logit_penalty, ({}, {"beta": 0.25})),
}

CASES = [(name, parameters) for name, row in ROWS.items() for parameters in row.parameters]


def reference(
    name: str,
    logits: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float | None = None,
    **parameters: float,
) -> np.ndarray:
    """The loss of ``name`` in float64, written as the expectation over the target of the loss for one true class."""
    row = ROWS[name]
    smoothing = row.label_smoothing if label_smoothing is None else label_smoothing
    logits = np.asarray(logits, dtype=np.float64)
    unbatched = logits.ndim == 1
    if unbatched:
        logits, target = logits[None], np.asarray(target)[None]
    num_classes = logits.shape[1]
    samples = np.moveaxis(logits, 1, -1).reshape(-1, num_classes)
    soft = target.shape == logits.shape
    if soft:
        q = np.moveaxis(target.astype(np.float64), 1, -1).reshape(-1, num_classes)
        kept = np.ones(len(q), dtype=bool)
    else:
        index = target.reshape(-1)
        kept = index != ignore_index
        q = np.eye(num_classes)[np.where(kept, index, 0)]
    q = q * (1 - smoothing) + smoothing / num_classes
    w = np.ones(num_classes) if weight is None else np.asarray(weight, dtype=np.float64)
    losses = np.array(
        [
            math.fsum(
                w[k] * q_i[k] * row.of_class(list(f), k, np, **parameters) for k in range(num_classes) if q_i[k] != 0
            )
            if keep
            else 0.0
            for f, q_i, keep in zip(samples, q, kept, strict=True)
        ]
    )
    if reduction == "none":
        shape = logits.shape[:1] + logits.shape[2:]
        return losses.reshape(shape)[0] if unbatched else losses.reshape(shape)
    if reduction == "sum":
        return losses.sum()
    divisor = len(losses) if soft else (w[np.where(kept, index, 0)] * kept).sum()
    with np.errstate(invalid="ignore"):
        return np.float64(losses.sum()) / np.float64(divisor)
