"""A group of stacked training: the seeds of one loss as one network, from an epoch's batches to its metrics."""

import math
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from squentropy.losses.dispatch import loss_and_gradient
from squentropy.losses.terms import TERMS
from squentropy.study.canonical import derived_seed
from squentropy.study.evaluation import IGNORED, evaluate_stacked, scaled_metrics
from squentropy.study.optimization import learning_rate, make_optimizer
from squentropy.study.run import LossSpec, Run
from squentropy.study.samples import Rows, TensorData
from squentropy.study.stacked_network import StackedNetwork, with_ones
from squentropy.study.task import Task
from squentropy.study.training import NonFiniteLossError, Result

_ROWS_GATHERED = 2048
_ROWS_EVALUATED = 512


class Group:
    """Runs that differ in their seed only: one network, one optimiser, and for each replica an order of the data."""

    def __init__(self, task: Task, members: Sequence[tuple[Run, TensorData]]) -> None:
        self.task, self.runs = task, [run for run, _ in members]
        self.recipe = self.runs[0].recipe
        self.loss = _loss_and_gradient(self.runs[0].loss, members[0][1].num_classes)
        self.network = StackedNetwork([_seeded_model(run, task, data) for run, data in members])
        self.parameters = nn.Parameter(self.network.parameters)
        self.parameters.grad = self.network.gradient
        self.optimizer = make_optimizer(self.recipe, [self.parameters], fused=True)
        self.orders = [torch.Generator().manual_seed(derived_seed(run.seed, "order")) for run in self.runs]
        self.rows = members[0][1].train_rows
        self.steps_per_epoch = members[0][1].steps(self.recipe)
        self.first_rows = torch.arange(len(members))[:, None] * self.rows
        self.train = Rows(*(each.flatten(0, 1) for each in _stacked([data.train for _, data in members])))
        self.test = _stacked([data.test for _, data in members])
        held_out = [data.validation for _, data in members if data.validation is not None]
        self.held_out = _stacked(held_out) if held_out else None
        self.epoch = 0
        self.results = [Result() for _ in members]
        self.errors: dict[int, str] = {}

    @property
    def share_done(self) -> float:
        """How much of the training is done, from 0 to 1; all of it where every run has failed."""
        return 1.0 if len(self.errors) == len(self.runs) else self.epoch / self.recipe.epochs

    def outcomes(self) -> list[tuple[Run, Result | Exception]]:
        """Returns what each run gave, or why it failed."""
        if self.held_out is not None:
            self._scale(self.held_out)
        errors = {number: NonFiniteLossError(message) for number, message in self.errors.items()}
        return [(run, errors.get(number, self.results[number])) for number, run in enumerate(self.runs)]

    def train_epoch(self) -> None:
        """Trains all runs for one epoch, and evaluates them if it is time."""
        step = self.epoch * self.steps_per_epoch
        loss_sum = torch.zeros(len(self.runs), dtype=torch.float64)
        for batch in self._batches():
            loss_sum += self._step(step, batch)
            step += 1
        self.epoch += 1
        train_loss: list[float] = (loss_sum / self.rows).tolist()
        for number, value in enumerate(train_loss):
            if not math.isfinite(value):
                self._fail(number, f"the training loss became {value} in epoch {self.epoch}")
        if self.epoch % self.recipe.evaluate_every == 0 or self.epoch == self.recipe.epochs:
            self._evaluate(train_loss)

    def _fail(self, number: int, message: str) -> None:
        self.errors.setdefault(number, message)

    def _batches(self) -> Iterator[Rows]:
        """Yields an epoch's batches, inputs (R, B, d + 1) and classes (R, B): each replica has its own order."""
        order = torch.stack([torch.randperm(self.rows, generator=generator) for generator in self.orders])
        index, size = order + self.first_rows, self.recipe.batch_size
        # Many batches are gathered at once, but not so many that they leave the cache before they are used.
        for part in torch.split(index, math.ceil(_ROWS_GATHERED / size) * size, dim=1):
            gathered = [tensor[part] for tensor in self.train]
            yield from map(Rows, *(torch.split(tensor, size, dim=1) for tensor in gathered))

    def _step(self, step: int, batch: Rows) -> Tensor:
        """Makes one optimiser step on the mean of the batch and returns the sum of its losses (R,) for each replica."""
        rows = batch.target.shape[1]
        logits = self.network.forward(batch.inputs)
        losses, gradient = self.loss(logits.flatten(0, 1), batch.target.flatten(), self.recipe.loss_weight / rows)
        self.network.backward(batch.inputs, gradient.view_as(logits))
        if self.recipe.clip_norm is not None:
            self.network.clip(self.recipe.clip_norm)
        self.optimizer.param_groups[0]["lr"] = learning_rate(self.recipe, step, self.steps_per_epoch)
        self.optimizer.step()
        return self.recipe.loss_weight * losses.view(batch.target.shape).sum(1, dtype=torch.float64)

    def _evaluate(self, train_loss: list[float]) -> None:
        logits = self._logits(self.test.inputs)
        for number, is_finite in enumerate(logits.isfinite().all(2).all(1).tolist()):
            if not is_finite:
                self._fail(number, f"the logits on the test part were not finite after epoch {self.epoch}")
        going_on = [number for number in range(len(self.runs)) if number not in self.errors]
        measured = evaluate_stacked(logits[going_on], self.test.target[going_on], self.task.scores)
        norms = self.network.last_layer_norms()
        for number, metrics in zip(going_on, measured, strict=True):
            result, curve = self.results[number], {"train_loss": train_loss[number], "weight_norm": norms[number]}
            result.add_epoch(self.epoch, metrics, curve, self.task)
            if self.epoch == self.recipe.epochs and self.task.keep_predictions:
                result.logits, result.target = logits[number], self.test.target[number]

    def _logits(self, inputs: Tensor) -> Tensor:
        """Computes the logits (R, N, C) of inputs (R, N, d + 1)."""
        parts = torch.split(inputs, _ROWS_EVALUATED, dim=1)
        return torch.cat([self.network.forward(part).clone() for part in parts], dim=1)

    def _scale(self, held_out: Rows) -> None:
        """Adds what a temperature fitted on the held-out rows makes of the last epoch's metrics."""
        fitted, tested = self._logits(held_out.inputs), self._logits(self.test.inputs)
        for number, result in enumerate(self.results):
            if number in self.errors:
                continue
            if not fitted[number].isfinite().all():
                self._fail(number, "the logits on the validation part were not finite after the last epoch")
                continue
            result.last |= scaled_metrics(
                Rows(fitted[number], held_out.target[number]),
                Rows(tested[number], self.test.target[number]),
                self.task.measure_held_out,
            )

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to hold."""
        return {
            "parameters": self.network.parameters,
            "optimizer": self.optimizer.state_dict(),
            "orders": [generator.get_state() for generator in self.orders],
            "epoch": self.epoch,
            "results": [vars(result) for result in self.results],
            "errors": self.errors,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` gave."""
        self.network.parameters.copy_(state["parameters"])
        self.optimizer.load_state_dict(state["optimizer"])
        for generator, position in zip(self.orders, state["orders"], strict=True):
            generator.set_state(position)
        self.epoch, self.errors = state["epoch"], state["errors"]
        self.results = [Result(**result) for result in state["results"]]


def _seeded_model(run: Run, task: Task, data: TensorData) -> nn.Module:
    torch.manual_seed(derived_seed(run.seed, "weights"))
    return task.build(data, run.recipe)


def _loss_and_gradient(spec: LossSpec, num_classes: int) -> Callable[[Tensor, Tensor, float], tuple[Tensor, Tensor]]:
    """Returns what computes the losses (N,) of logits (N, C), and `scale` times the gradient of their sum.

    It may write the gradient over the logits. The paper's losses need one pass, others go through autograd.
    """
    loss = spec.function()
    loss(torch.zeros(1, num_classes), torch.zeros(1, dtype=torch.int64))  # refuses parameters that it does not take

    def by_autograd(logits: Tensor, target: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        leaf = logits.detach().requires_grad_()
        losses = loss(leaf, target, reduction="none")
        (gradient,) = torch.autograd.grad(losses, leaf, torch.full_like(losses, scale))
        return losses.detach(), gradient

    make_terms = TERMS.get(spec.name)
    if make_terms is None or not spec.parameters.keys() <= signature(make_terms).parameters.keys():
        return by_autograd
    terms = make_terms(num_classes, **spec.parameters)

    def in_one_pass(logits: Tensor, target: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        return loss_and_gradient(logits, target, None, IGNORED, 0.0, terms, scale=scale, out=logits)

    return in_one_pass


def _stacked(parts: Sequence[Rows]) -> Rows:
    """Stacks the same part of each replica's data, inputs (R, N, d + 1) and classes (R, N)."""
    inputs, target = zip(*parts, strict=True)
    return Rows(with_ones(torch.stack(inputs)), torch.stack(target))
