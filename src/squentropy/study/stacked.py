"""Stacked training: many replicas of a small network, with different losses and seeds, as one batched network."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from threading import Event
from typing import TypeAlias

import torch

from squentropy.study.checkpoint import Checkpoint
from squentropy.study.run import Run
from squentropy.study.samples import Data, TensorData
from squentropy.study.stacked_group import Group
from squentropy.study.task import Task, classify
from squentropy.study.training import Result

# Parameters, their gradients and momenta and the activations of so many replicas of a 64-128-64 network stay in the
# second-level cache of one core (2 MiB).
_REPLICAS_TOGETHER = 5
_ELEMENTWISE = ("SGD", "Adam", "AdamW")

_Member: TypeAlias = tuple[Run, TensorData]


def train_stacked(
    runs: Sequence[Run],
    task: Task,
    datas: Sequence[Data],
    checkpoint: Checkpoint | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Result | Exception]:
    """Trains the runs of one task together, each as `train` would train it alone.

    Runs of the same loss and recipe on as many rows go through their steps together, as batched matrix products. Such
    groups are spread over `torch.get_num_threads()` threads; how many there are changes no bit of a result.

    Args:
        runs: What to train.
        task: Their task, whose network is a stack of `Linear` and `ReLU`.
        datas: The data of each run, split for its seed; runs of one seed may share an object.
        checkpoint: Where to go on from and to save to. It stays: whoever has the results in safety removes it.
        progress: Called with the finished share after each epoch of a group, by the thread that trained it.

    Returns:
        For each run its result, or why it failed while the others went on.
    """
    return _StackedTraining(runs, task, datas, checkpoint, progress).fit()


class _StackedTraining:
    """All groups of a job, and the threads that train them."""

    def __init__(
        self,
        runs: Sequence[Run],
        task: Task,
        datas: Sequence[Data],
        checkpoint: Checkpoint | None,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.runs, self.checkpoint, self.progress = runs, checkpoint, progress
        members = sorted(((run, _checked(run, task, data)) for run, data in zip(runs, datas, strict=True)), key=_alike)
        self.groups = [Group(task, part) for _, alike in groupby(members, key=_alike) for part in _parts(list(alike))]
        self.stopping = Event()

    def fit(self) -> list[Result | Exception]:
        self._resume()
        while any(group.share_done < 1 for group in self.groups):
            self._advance()
            if self.checkpoint is not None and self.checkpoint.is_due:
                self.checkpoint.save({"groups": [group.state() for group in self.groups]})
        outcomes = {run: outcome for group in self.groups for run, outcome in group.outcomes()}
        return [outcomes[run] for run in self.runs]

    def _resume(self) -> None:
        state = None if self.checkpoint is None else self.checkpoint.load()
        if state is not None:
            for group, group_state in zip(self.groups, state["groups"], strict=True):
                group.load_state(group_state)

    def _advance(self) -> None:
        """Trains until all groups are done or it is time for a checkpoint."""
        waiting = deque(group for group in self.groups if group.share_done < 1)
        available = torch.get_num_threads()
        threads = min(available, len(waiting))
        if threads == 1:
            self._work(waiting)
            return
        try:
            with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                try:
                    for future in [pool.submit(self._work, waiting) for _ in range(threads)]:
                        future.result()
                except BaseException:
                    self.stopping.set()
                    raise
        finally:
            torch.set_num_threads(available)  # the threads set it for those that start later, too

    def _work(self, waiting: "deque[Group]") -> None:
        """Trains one group after another for an epoch each; all threads draw from the same queue."""
        while waiting and not self.stopping.is_set():
            group = waiting.popleft()
            group.train_epoch()
            if group.share_done < 1:
                waiting.append(group)
            if self.progress is not None:
                self.progress(sum(each.share_done for each in self.groups) / len(self.groups))
            if self.checkpoint is not None and self.checkpoint.is_due:
                return


def _checked(run: Run, task: Task, data: Data) -> TensorData:
    """Refuses, in a sentence, what is not trained stacked."""
    cure = "set stacked=False to train each run by itself"
    if not isinstance(data, TensorData) or data.train.inputs.ndim != 2 or data.augment is not None:
        raise ValueError(
            f"task {task.name!r} is stacked, so its data must be TensorData (N, d) without augment: {cure}"
        )
    if task.forward is not classify or task.measure is not None:
        raise ValueError(f"task {task.name!r} is stacked, so it cannot have a forward or measure of its own: {cure}")
    if run.recipe.optimizer not in _ELEMENTWISE or run.recipe.precision != "32-true":
        raise ValueError(
            f"task {task.name!r} is stacked, so its optimizer must be one of {', '.join(_ELEMENTWISE)} and its "
            f"precision 32-true, got {run.recipe.optimizer!r} and {run.recipe.precision!r}: {cure}"
        )
    return data


def _alike(member: _Member) -> tuple[object, ...]:
    """What the runs of a group have in common; seeds differ."""
    run, data = member
    held_out = 0 if data.validation is None else len(data.validation.target)
    return (run.loss.identity, run.recipe.identity, data.train.inputs.shape, data.test_rows, data.num_classes, held_out)


def _parts(members: list[_Member]) -> list[list[_Member]]:
    return [members[start : start + _REPLICAS_TOGETHER] for start in range(0, len(members), _REPLICAS_TOGETHER)]
