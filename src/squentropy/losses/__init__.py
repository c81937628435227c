"""What is minimised: the losses of the paper, and those that a user would compare them with."""

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from squentropy.losses.comparisons import focal, label_smoothing, logit_penalty
from squentropy.losses.gram import linear_wrong_squares
from squentropy.losses.linear import LinearSquentropyLoss, linear_squentropy
from squentropy.losses.rescaled_square import RescaledSquareLoss, rescaled_square
from squentropy.losses.sharded import sharded_squentropy
from squentropy.losses.squentropy import SquentropyLoss, squentropy

__all__ = [
    "LOSSES",
    "LinearSquentropyLoss",
    "RescaledSquareLoss",
    "SquentropyLoss",
    "cross_entropy",
    "focal",
    "label_smoothing",
    "linear_squentropy",
    "linear_wrong_squares",
    "logit_penalty",
    "rescaled_square",
    "sharded_squentropy",
    "squentropy",
]

#: Name -> loss: the one list that the command line, the studies and the tests read. Each takes
#: ``(logits, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=...)`` by these
#: names, and keyword parameters of its own.
LOSSES: dict[str, Callable[..., torch.Tensor]] = {
    "squentropy": squentropy,
    "cross_entropy": cross_entropy,
    "rescaled_square": rescaled_square,
    "label_smoothing": label_smoothing,
    "focal": focal,
    "logit_penalty": logit_penalty,
}
