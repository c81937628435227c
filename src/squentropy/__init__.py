"""Squentropy: cross entropy plus the mean squared logit of the wrong classes, for PyTorch."""

from squentropy.losses import (
    LOSSES,
    RescaledSquareLoss,
    SquentropyLoss,
    rescaled_square,
    squentropy,
)

__version__ = "0.1.0"

__all__ = ["LOSSES", "RescaledSquareLoss", "SquentropyLoss", "rescaled_square", "squentropy"]
