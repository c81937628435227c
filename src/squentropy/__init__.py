"""Squentropy: cross entropy plus the mean squared logit of the wrong classes, for PyTorch."""

from typing import Any

from squentropy.losses import (
    LOSSES,
    LinearSquentropyLoss,
    RescaledSquareLoss,
    SquentropyLoss,
    linear_squentropy,
    linear_wrong_squares,
    rescaled_square,
    sharded_squentropy,
    squentropy,
)
from squentropy.losses.dispatch import kernels

__version__ = "0.1.0"

__all__ = [
    "LOSSES",
    "LinearSquentropyLoss",
    "RescaledSquareLoss",
    "SquentropyLoss",
    "compare",
    "kernels",
    "linear_squentropy",
    "linear_wrong_squares",
    "rescaled_square",
    "sharded_squentropy",
    "squentropy",
]


def __getattr__(name: str) -> Any:
    """Load what needs more than torch and numpy when it is first asked for."""
    if name == "SquentropyClassifier":
        from squentropy.integrations.sklearn import SquentropyClassifier

        return SquentropyClassifier
    if name == "compare":
        from squentropy.own_data.entry import compare

        return compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
