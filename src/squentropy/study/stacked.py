"""Stacked training: many replicas of a small network, with different losses and seeds, as one batched network."""

from collections.abc import Callable, Sequence

from squentropy.study.checkpoint import Checkpoint
from squentropy.study.run import Run
from squentropy.study.samples import Data
from squentropy.study.task import Task
from squentropy.study.training import NonFiniteLossError, Result, train


def train_stacked(
    runs: Sequence[Run],
    task: Task,
    datas: Sequence[Data],
    checkpoint: Checkpoint | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Result | Exception]:
    """Trains the runs of one task and scale together, each as `train` would train it alone.

    Args:
        runs: What to train; the recipes agree in everything but the learning rate.
        task: Their task.
        datas: The data of each run, split for its seed; runs of one seed may share an object.
        checkpoint: Where to go on from and to save to.
        progress: Called with the finished share after each step.

    Returns:
        For each run its result, or why it failed while the others went on.
    """
    results: list[Result | Exception] = []
    for number, (run, data) in enumerate(zip(runs, datas, strict=True), start=1):
        try:
            results.append(train(run, task, data))
        except NonFiniteLossError as error:
            results.append(error)
        if progress is not None:
            progress(number / len(runs))
    return results
