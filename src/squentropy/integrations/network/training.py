"""Training: batches, epochs, the optimiser, and when to stop."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from squentropy.integrations.network.batch_loss import BatchLoss
from squentropy.integrations.network.layers import FlatNetwork
from squentropy.integrations.network.rows import Rows

#: Those of torch.optim that treat each number by itself, and so can take all layers as one tensor.
OPTIMIZERS = ("Adam", "AdamW", "SGD", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "ASGD", "Rprop")

_NUMBERS_GATHERED = 2**17


@dataclass(frozen=True)
class Labelled:
    """Rows with what they should be.

    Attributes:
        rows: The inputs.
        target: Class indices (N,).
        weight: Weights (N,), or None for ones.
    """

    rows: Rows
    target: Tensor
    weight: Tensor | None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.target)

    def batches(self, order: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        """Yield inputs, target and weight of the rows of an order, `size` at a time."""
        # Many batches are gathered at once, but not so many that they leave the cache before they are used.
        together = max(1, _NUMBERS_GATHERED // (size * self.rows.num_features))
        for index in torch.split(order, together * size):
            inputs, target = torch.split(self.rows.take(index), size), torch.split(self.target[index], size)
            weight = [None] * len(target) if self.weight is None else torch.split(self.weight[index], size)
            yield from zip(inputs, target, weight, strict=True)


@dataclass(frozen=True)
class Course:
    """How long to train.

    Attributes:
        epochs: Epochs at most.
        patience: Stop after so many epochs without a better loss; None for never.
        tol: How much lower a better loss is.
    """

    epochs: int
    patience: int | None
    tol: float


@dataclass
class History:
    """What happened in training.

    Attributes:
        losses: Mean loss of each epoch's batches.
        validation_losses: Mean loss of the validation rows after each epoch, if there are any.
    """

    losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)


def make_optimizer(
    name: str, parameter: Tensor, learning_rate: float, weight_decay: float, options: Mapping[str, Any] | None
) -> torch.optim.Optimizer:
    """Build an optimiser of torch.optim for one flat tensor, fused where it can be.

    Examples:
        >>> make_optimizer("SGD", torch.zeros(64), 0.1, 0.0, {"momentum": 0.9}).defaults["momentum"]
        0.9
    """
    if name not in OPTIMIZERS:
        raise ValueError(f"optimizer is {name!r}; use one of {', '.join(OPTIMIZERS)}")
    kind = getattr(torch.optim, name)
    parameters = inspect.signature(kind).parameters
    settings: dict[str, Any] = {"lr": learning_rate, **(options or {})}
    if "weight_decay" in parameters:
        settings["weight_decay"] = weight_decay
    elif weight_decay:
        raise ValueError(f"weight_decay is {weight_decay}, but {name} has none: use 0.0 or another optimizer")
    unknown = [option for option in settings if option not in parameters]
    if unknown:
        raise ValueError(f"optimizer_params has {unknown[0]!r}; {name} takes {', '.join(list(parameters)[1:])}")
    if "fused" in parameters:
        settings.setdefault("fused", True)
    optimizer: torch.optim.Optimizer = kind([parameter], **settings)
    return optimizer


def run_epoch(
    network: FlatNetwork,
    optimizer: torch.optim.Optimizer,
    loss: BatchLoss,
    data: Labelled,
    batch_size: int,
    generator: torch.Generator,
) -> float:
    """Train on each row once, in random order, and return the mean loss of the batches on the way.

    Raises:
        ValueError: If the loss is no longer finite.
    """
    device = data.target.device
    if len(data) <= batch_size:  # one batch, whose order is all the same
        order = torch.arange(len(data), device=device)
    else:
        order = torch.randperm(len(data), generator=generator).to(device)
    total = torch.zeros((), dtype=torch.float64, device=device)
    for inputs, target, weight in data.batches(order, batch_size):
        value, gradient = loss.step(network.forward(inputs), target, weight, 1 / len(target))
        network.backward(inputs, gradient)
        optimizer.step()
        total += value
    mean = total.item() / len(data)
    if not math.isfinite(mean):
        raise ValueError(
            f"training diverged, its loss is {mean}: standardise the inputs, make_pipeline(StandardScaler(), ...), "
            "or use a smaller learning_rate"
        )
    return mean


def mean_loss(network: FlatNetwork, loss: BatchLoss, data: Labelled, batch_size: int) -> float:
    """Return the weighted mean loss of rows, without training on them."""
    total, start = 0.0, 0
    for inputs in data.rows.in_order(batch_size):
        part = slice(start, start + len(inputs))
        weight = None if data.weight is None else data.weight[part]
        values = loss.values(network.forward(inputs), data.target[part])
        total += loss.total(values, weight, len(inputs)).item()
        start = part.stop
    return total / (len(data) if data.weight is None else data.weight.sum().item())


def train(
    network: FlatNetwork,
    optimizer: torch.optim.Optimizer,
    loss: BatchLoss,
    data: Labelled,
    validation: Labelled | None,
    course: Course,
    batch_size: int,
    generator: torch.Generator,
    report: Callable[[History], None],
) -> History:
    """Train for the epochs of a course, or until the loss no longer falls.

    With validation rows their loss decides, and the network ends with the weights that had the lowest; the optimiser
    with its state from then. Else the loss of the training batches decides.

    Args:
        network: What is trained.
        optimizer: The optimiser of its parameter.
        loss: The loss.
        data: The rows to train on.
        validation: The rows to watch.
        course: How long.
        batch_size: Rows in a batch.
        generator: What the order of the rows is drawn from.
        report: Called after each epoch.
    """
    history, best, waited = History(), math.inf, 0
    kept: tuple[Tensor, dict[str, Any]] | None = None
    lowest = math.inf
    for _ in range(course.epochs):
        watched = run_epoch(network, optimizer, loss, data, batch_size, generator)
        history.losses.append(watched)
        if validation is not None:
            watched = mean_loss(network, loss, validation, max(batch_size, 1024))
            history.validation_losses.append(watched)
            if watched < lowest:
                lowest, kept = watched, (network.parameter.clone(), deepcopy(optimizer.state_dict()))
        report(history)
        waited = 0 if watched < best - course.tol else waited + 1
        best = min(best, watched)
        if course.patience is not None and waited >= course.patience:
            break
    if kept is not None:
        network.parameter.copy_(kept[0])
        optimizer.load_state_dict(kept[1])
    return history
