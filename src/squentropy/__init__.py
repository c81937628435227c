"""Squentropy: cross entropy plus the mean squared logit of the wrong classes, for PyTorch."""

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

__version__ = "0.1.0"

__all__ = [
    "LOSSES",
    "LinearSquentropyLoss",
    "RescaledSquareLoss",
    "SquentropyLoss",
    "linear_squentropy",
    "linear_wrong_squares",
    "rescaled_square",
    "sharded_squentropy",
    "squentropy",
]
