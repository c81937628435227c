"""Training one run: the loop, with lightning-fabric for device, precision and several processes."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from squentropy.study.batch_norm import share_batch_norm
from squentropy.study.canonical import derived_seed
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.evaluation import IGNORED, evaluate, evaluate_scaled, last_layer_norm
from squentropy.study.optimization import learning_rate, make_optimizer
from squentropy.study.run import Run
from squentropy.study.samples import Batch, Data, Shard
from squentropy.study.task import Task

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class NonFiniteLossError(ArithmeticError):
    """The training loss of a run became infinite or NaN."""


@dataclass
class Result:
    """What training one run gave.

    Attributes:
        last: Metrics of the last epoch; with a validation part also those after temperature scaling.
        best: Metrics of the epoch with the best headline on the test part, with its `epoch`: what the paper's vision
            script reports, beside the honest `last`.
        curves: A list of numbers for each of `epoch`, `train_loss`, `weight_norm` and the metrics.
        logits: Logits (N, C) on the test part after the last epoch, if they are kept.
        target: Its classes (N,).
    """

    last: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    logits: Tensor | None = None
    target: Tensor | None = None

    def add_epoch(self, epoch: int, measured: dict[str, float], curve: dict[str, float], task: Task) -> None:
        """Takes in the metrics after an epoch, and what else its curves show."""
        self.last = measured
        if task.metric not in measured:
            raise ValueError(f"task {task.name!r} has the metric {task.metric!r}, but only measures {sorted(measured)}")
        if not self.best or _is_better(measured[task.metric], self.best[task.metric], task.higher_is_better):
            self.best = {"epoch": epoch, **measured}
        for name, value in {"epoch": epoch, **curve, **measured}.items():
            self.curves.setdefault(name, []).append(value)


def _is_better(value: float, best: float, higher_is_better: bool) -> bool:
    return value > best if higher_is_better else value < best


@dataclass
class _Position:
    """Where training stands: what a checkpoint has to hold beside the model, the optimiser and the random state."""

    epoch: int = 0
    step: int = 0
    loss_sum: Tensor = field(default_factory=partial(torch.zeros, (), dtype=torch.float64))
    loss_count: Tensor = field(default_factory=partial(torch.zeros, (), dtype=torch.float64))
    carried: dict[int, Any] = field(default_factory=dict)  # of each part of a batch


def train(
    run: Run,
    task: Task,
    data: Data,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[float], None] | None = None,
    fabric: "Fabric | None" = None,
) -> Result:
    """Trains one run from its seed to the end.

    Args:
        run: What to train. The global random state of PyTorch is seeded from it.
        task: The run's task.
        data: The run's data, split for its seed.
        checkpoint: Where to go on from and to save to. It stays: whoever has the result in safety removes it.
        progress: Called with the finished share after each step.
        fabric: Device, precision and processes; a single process on the CPU if None.

    Raises:
        NonFiniteLossError: If the training loss is infinite or NaN at the end of an epoch.
    """
    return _Training(run, task, data, checkpoint, progress, fabric or make_fabric(run.recipe.precision)).fit()


def make_fabric(precision: str, accelerator: str = "cpu", devices: int = 1) -> "Fabric":
    """Returns lightning-fabric's view of the devices; several processes are started by its `launch`."""
    from lightning_fabric import Fabric

    strategy = "ddp_spawn" if devices > 1 else "auto"
    return Fabric(accelerator=accelerator, devices=devices, strategy=strategy, precision=cast(Any, precision))


class _Training:
    """The state of one training, so that its steps can be short functions."""

    def __init__(
        self,
        run: Run,
        task: Task,
        data: Data,
        checkpoint: Checkpoint | None,
        progress: Callable[[float], None] | None,
        fabric: "Fabric",
    ) -> None:
        self.run, self.task, self.data, self.recipe = run, task, data, run.recipe
        self.checkpoint, self.progress, self.fabric = checkpoint, progress, fabric
        self.loss = run.loss.function()
        self.steps_per_epoch = data.steps(run.recipe)
        torch.manual_seed(derived_seed(run.seed, "weights"))
        self.module = task.build(data, run.recipe)
        if fabric.world_size > 1:
            share_batch_norm(self.module)
        self.model, self.optimizer = fabric.setup(self.module, make_optimizer(run.recipe, self.module.parameters()))
        self.order = torch.Generator().manual_seed(derived_seed(run.seed, "order"))
        self.order_before = self.order.get_state()  # as it was when the epoch began
        self.position = _Position()
        self.result = Result()

    def fit(self) -> Result:
        self._resume()
        while self.position.epoch < self.recipe.epochs:
            self._epoch()
        return self.result

    def _epoch(self) -> None:
        position = self.position
        rank, processes = self.fabric.global_rank, self.fabric.world_size
        if position.step == 0:
            torch.manual_seed(derived_seed(self.run.seed, f"dropout in epoch {position.epoch} on process {rank}"))
        self.model.train()
        batches = self.data.train_batches(self.recipe, self.order, Shard(rank, processes))
        # After a resume the finished batches are drawn again, so that order and augmentation go on as they were.
        for parts in itertools.islice(batches, position.step, None):
            self._step(parts)
            position.step += 1
            if self.progress is not None:
                done = position.epoch + position.step / self.steps_per_epoch
                self.progress(done / self.recipe.epochs)
            # What several processes carry differs, so these save between epochs only.
            if self.checkpoint is not None and self.checkpoint.is_due and processes == 1:
                self._save(self.checkpoint)
        self._finish_epoch()

    def _step(self, parts: list[Batch]) -> None:
        """Makes one optimiser step on the mean over all parts and processes together."""
        position = self.position
        rate = learning_rate(self.recipe, position.epoch * self.steps_per_epoch + position.step, self.steps_per_epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        count = torch.zeros((), dtype=torch.float64, device=self.fabric.device)
        for number, batch in enumerate(parts):
            with self.fabric.no_backward_sync(self.model, enabled=number < len(parts) - 1):
                total, rows = self._objective(number, self.fabric.to_device(batch))
                self.fabric.backward(total)
            position.loss_sum = position.loss_sum + total.detach()
            count += rows
        count = self._over_processes(count)
        position.loss_count = position.loss_count + count
        # Sums were differentiated, and averaged over the processes: this makes them the mean over all rows. Nothing
        # here asks for a value, so a GPU need not wait.
        gradients = [each.grad for each in self.module.parameters() if each.grad is not None]
        torch._foreach_mul_(gradients, (self.fabric.world_size / count.clamp(min=1)).float())
        if self.recipe.clip_norm is not None:
            self.fabric.clip_gradients(self.model, self.optimizer, max_norm=self.recipe.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def _objective(self, number: int, part: Batch) -> tuple[Tensor, Tensor | int]:
        """Returns the sum over the rows of a batch's part that is minimised, and how many rows that are."""
        outputs = self.task.forward(self.model, part, self.position.carried.get(number))
        self.position.carried[number] = outputs.carried
        total = self.recipe.loss_weight * self.loss(outputs.logits, outputs.target, reduction="sum")
        if outputs.extra is not None:
            total = total + outputs.extra
        return total, (outputs.target != IGNORED).sum() if outputs.count is None else outputs.count

    def _over_processes(self, total: Tensor) -> Tensor:
        if self.fabric.world_size == 1:
            return total
        return cast(Tensor, self.fabric.all_reduce(total, reduce_op="sum"))

    def _finish_epoch(self) -> None:
        epoch = self.position.epoch + 1
        train_loss = float(self._over_processes(self.position.loss_sum) / self.position.loss_count)
        if not math.isfinite(train_loss):
            raise NonFiniteLossError(f"the training loss became {train_loss} in epoch {epoch}")
        self.position = _Position(epoch=epoch)
        self.order_before = self.order.get_state()
        if self.fabric.is_global_zero:
            if epoch % self.recipe.evaluate_every == 0 or epoch == self.recipe.epochs:
                self._evaluate(epoch, train_loss)
            if self.checkpoint is not None and self.checkpoint.is_due:
                self._save(self.checkpoint)
        self.fabric.barrier()

    def _evaluate(self, epoch: int, train_loss: float) -> None:
        measured, evaluation = evaluate(self.module, self.task, self.data, self.recipe)
        curve = {"train_loss": train_loss}
        norm = last_layer_norm(self.module)
        if norm is not None:
            curve["weight_norm"] = norm
        self.result.add_epoch(epoch, measured, curve, self.task)
        if epoch == self.recipe.epochs:
            self.result.last = measured | evaluate_scaled(self.module, self.task, self.data, self.recipe)
            self.result.logits, self.result.target = evaluation.predictions() or (None, None)

    def _save(self, checkpoint: Checkpoint) -> None:
        state = {
            "model": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "order": self.order_before,
            "position": vars(self.position),
            "result": vars(self.result),
        }
        if self.fabric.device.type == "cuda":
            state["random_cuda"] = torch.cuda.get_rng_state(self.fabric.device)
        checkpoint.save(state)

    def _resume(self) -> None:
        state = None if self.checkpoint is None else self.checkpoint.load()
        if state is None:
            return
        self.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.position = _Position(**self.fabric.to_device(state["position"]))
        self.result = Result(**state["result"])
        self.order.set_state(state["order"])
        self.order_before = self.order.get_state()
        torch.set_rng_state(state["random"])
        if self.fabric.device.type == "cuda":
            torch.cuda.set_rng_state(state["random_cuda"], self.fabric.device)
