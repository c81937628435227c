"""The loss of a batch with sample weights, and its gradient, for a loss by name or any function."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from squentropy.losses import LOSSES
from squentropy.losses.dispatch import loss_and_gradient
from squentropy.losses.terms import TERMS, Terms

# What the classifier has parameters of its own for, or sets itself.
_TAKEN = {"weight": "use class_weight", "ignore_index": "leave such rows out", "reduction": "the classifier sets it"}


class BatchLoss:
    """A loss that gives each row's value, and the gradient of their weighted sum.

    Args:
        loss: A name of `LOSSES`, or a function `loss(logits, target, **params)` of logits (N, C) and class indices (N,)
            that returns each row's loss (N,), or their mean if no row has a weight. If it has a parameter `reduction`,
            it is called with `reduction="none"`.
        params: Further arguments of the loss.
        num_classes: Number of classes C.

    Examples:
        >>> loss = BatchLoss("squentropy", {"square_weight": 0.5}, num_classes=2)
        >>> loss.values(torch.tensor([[2.0, 1.0]]), torch.tensor([0]))
        tensor([0.8133])
    """

    def __init__(self, loss: str | Callable[..., Tensor], params: Mapping[str, Any] | None, num_classes: int) -> None:
        self._options = dict(params or {})
        self._name = loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
        if isinstance(loss, str):
            if loss not in LOSSES:
                raise ValueError(f"loss is {loss!r}; use one of {', '.join(LOSSES)}, or a function")
            self._check_options(LOSSES[loss])
        elif not callable(loss):
            raise TypeError(f"loss is {loss!r}; use one of {', '.join(LOSSES)}, or a function of logits and target")
        self._function = LOSSES[loss] if isinstance(loss, str) else loss
        if "reduction" not in self._options and "reduction" in _parameters(self._function):
            self._options["reduction"] = "none"
        if isinstance(loss, str):  # the losses check their own options
            self._function(torch.zeros(1, num_classes), torch.tensor([0]), **self._options)
        self._terms, self._label_smoothing = self._fast_form(loss, num_classes)

    def step(self, logits: Tensor, target: Tensor, weight: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the rows' losses, and `scale` times its gradient, which may overwrite the logits.

        Args:
            logits: Logits (N, C).
            target: Class indices (N,).
            weight: Weights (N,), or None for ones.
            scale: A factor on the gradient.
        """
        if self._terms is None:
            return self._step_by_autograd(logits, target, weight, scale)
        losses, gradient = loss_and_gradient(
            logits, target, None, -100, self._label_smoothing, self._terms, scale=scale, out=logits
        )
        if weight is None:
            return losses.sum(), gradient
        return losses @ weight, gradient.mul_(weight[:, None])

    def values(self, logits: Tensor, target: Tensor) -> Tensor:
        """Return each row's loss (N,), or the mean (1,) of a function that gives no more."""
        losses = self._function(logits, target, **self._options)
        if not isinstance(losses, Tensor) or losses.shape not in ((), target.shape):
            shape = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
            raise ValueError(
                f"loss {self._name} returned {shape}; use one that gives ({len(target)},), one for each row"
            )
        return losses.reshape(-1)

    def _step_by_autograd(
        self, logits: Tensor, target: Tensor, weight: Tensor | None, scale: float
    ) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            leaf = logits.detach().requires_grad_()
            total = self.total(self.values(leaf, target), weight, len(target))
            (gradient,) = torch.autograd.grad(total, leaf)
        return total.detach(), gradient * scale

    def total(self, losses: Tensor, weight: Tensor | None, rows: int) -> Tensor:
        """Return the weighted sum of what `values` gave for a number of rows."""
        if len(losses) == rows:
            return losses.sum() if weight is None else losses @ weight
        if weight is not None:
            raise ValueError(
                f"loss {self._name} returns one mean of all rows, so that rows cannot be weighted: "
                'return one value for each, as with reduction="none", or fit without sample_weight and class_weight'
            )
        return losses[0] * rows

    def _fast_form(self, loss: object, num_classes: int) -> tuple[Terms | None, float]:
        """The terms of a loss of the paper, which has a kernel, and its label smoothing."""
        if not isinstance(loss, str) or loss not in TERMS:
            return None, 0.0
        own = {name: value for name, value in self._options.items() if name not in ("reduction", "label_smoothing")}
        return TERMS[loss](num_classes, **own), float(self._options.get("label_smoothing", 0.0))

    def _check_options(self, function: Callable[..., Tensor]) -> None:
        known = [name for name in _parameters(function) if name not in ("logits", "input", "target", *_TAKEN, *_OTHER)]
        for name in self._options:
            if name in _TAKEN:
                raise ValueError(f"loss_params has {name!r}: {_TAKEN[name]}")
            if name not in known:
                raise ValueError(f"loss_params has {name!r}; {self._name} takes {', '.join(known)}")


# Arguments of losses that make no difference here: PyTorch's deprecated ones, and one that spares memory.
_OTHER = ("size_average", "reduce", "inplace_backward")


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # built into C without a signature
        return []
