"""What every recalibrator does: check what it is given, fit, predict, and keep its state in plain values."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from squentropy.calibration.checks import check_logits, check_shapes, check_target, check_weight


class Recalibrator(ABC):
    """A map from logits (N, C) to better probabilities (N, C), learnt on data that the model was not trained on.

    A subclass has a `name`, learns its parameters in `_learn` and applies them in `_apply`. Of a model that gives
    probabilities, pass their logarithms: softmax(log p) = p.

    Attributes:
        name: Name in `RECALIBRATORS` and in the state.
        title: Name in a sentence.
        parameters: What was learnt, float64 tensors by name; empty before `fit`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    # Only what is shared by all classes can be learnt without having seen each of them.
    needs_every_class: ClassVar[bool] = True
    parameters: dict[str, Tensor]

    def __init__(self) -> None:
        self.parameters = {}
        self._num_classes = 0

    def fit(self, logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Self:
        """Learns the parameters.

        Args:
            logits: Logits (N, C) of any floating type, of samples that the model was not trained on.
            target: Class indices (N,).
            weight: Sample weights (N,).

        Returns:
            The recalibrator itself.
        """
        logits = _checked_logits(logits)
        num_classes = logits.shape[1]
        check_shapes(logits, target, weight)
        if target.is_floating_point():
            raise TypeError(f"target must be class indices, got {target.dtype}: use probs.argmax(dim=1) of soft labels")
        target = target.detach().to(logits.device, torch.int64)
        check_target(target, num_classes, _row)
        weight = torch.ones(len(target)) if weight is None else weight.detach()
        weight = weight.to(logits)
        check_weight(weight, _row)
        self._check_enough(target[weight > 0], num_classes)
        self.parameters = {name: value.cpu() for name, value in self._learn(logits, target, weight).items()}
        self._num_classes = num_classes
        return self

    def predict_proba(self, logits: Tensor) -> Tensor:
        """Returns recalibrated probabilities (N, C) for logits (N, C), in their type, computed in float64."""
        if not self.parameters:
            raise ValueError(f"{type(self).__name__} is not fitted: call fit(logits, target) first")
        values = _checked_logits(logits)
        if values.shape[1] != self._num_classes:
            raise ValueError(
                f"logits must have the {self._num_classes} classes that {type(self).__name__} was fitted with, "
                f"got {values.shape[1]}: fit again for another model"
            )
        parameters = {name: value.to(values.device) for name, value in self.parameters.items()}
        return self._apply(values, **parameters).to(logits.dtype)

    def to_dict(self) -> dict[str, Any]:
        """Returns the state as values that JSON can hold; `recalibrator_from_dict` makes the recalibrator from it."""
        parameters = {name: value.tolist() for name, value in self.parameters.items()}
        return {"method": self.name, "num_classes": self._num_classes, "parameters": parameters}

    def load_dict(self, state: dict[str, Any]) -> Self:
        """Takes on a state from `to_dict`."""
        if state["method"] != self.name:
            raise ValueError(f"state must be one of method {self.name!r}, got {state['method']!r}")
        self._num_classes = int(state["num_classes"])
        self.parameters = {
            name: torch.tensor(value, dtype=torch.float64) for name, value in state["parameters"].items()
        }
        return self

    def _check_enough(self, target: Tensor, num_classes: int) -> None:
        missing = (torch.bincount(target, minlength=num_classes) == 0).nonzero()[:, 0].tolist()
        if num_classes - len(missing) < 2:
            raise ValueError(
                f"target must have at least two classes, got {num_classes - len(missing)} in {len(target)} samples: "
                "one class says nothing about mistakes"
            )
        if self.needs_every_class and missing:
            raise ValueError(
                f"target must have a sample of every class for {type(self).__name__}, got none of class {missing[0]} "
                f"({len(missing)} of {num_classes} missing): use more samples or TemperatureScaling"
            )

    @abstractmethod
    def _learn(self, logits: Tensor, target: Tensor, weight: Tensor) -> dict[str, Tensor]:
        """Returns the parameters for checked logits (N, C), classes (N,) and weights (N,) in float64."""

    @abstractmethod
    def _apply(self, logits: Tensor, **parameters: Tensor) -> Tensor:
        """Returns probabilities (N, C) for checked logits (N, C) in float64."""


def _checked_logits(logits: Tensor) -> Tensor:
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be a tensor, got {type(logits).__name__}: use torch.as_tensor")
    if logits.ndim != 2 or logits.shape[0] == 0 or logits.shape[1] < 2:
        raise ValueError(
            f"logits must have shape (N, C) with N >= 1 and C >= 2, got {tuple(logits.shape)}: "
            "for (N, C, d1, ...) use logits.movedim(1, -1).flatten(0, -2)"
        )
    values = logits.detach().double()
    check_logits(values.T, _row)
    return values


def _row(index: int) -> str:
    return f"row {index}"
