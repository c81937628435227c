"""Carrying out a comparison in this process, so that it needs no main module that workers could import."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from rich.console import Console

from squentropy.study import Job, Run, Store, Task
from squentropy.study.display import Display
from squentropy.study.engines import Finished, Running
from squentropy.study.execution import execute
from squentropy.study.record import Record


class FixedTask:
    """Finds one task, whatever the name: what the study engine asks for tasks."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, name: str) -> Task:
        """Returns the task."""
        return self.task


def carry_out(
    task: Task, runs: Sequence[Run], store: Store, console: Console, together: int | None = None
) -> list[Record]:
    """Does the runs that have no record, the seeds of a loss together, and shows how it goes.

    Args:
        task: The runs' task.
        runs: All runs, those of a loss one after another.
        store: Where the records go, and what is done already.
        console: Where progress is shown.
        together: How many seeds at most train at a time, if the task is stacked; all if None.

    Returns:
        The records of all runs, in their order.

    Raises:
        ValueError: If runs cannot be done; or if all have failed, with the reason of the first.
    """
    find = FixedTask(task)
    jobs = _jobs(task, runs, store, together or len(runs))
    with Display(jobs, 1, console) as display:
        for job in jobs:
            problem = execute(job, _progress(display, job), find=find, store=store)
            if problem is not None:
                raise ValueError(f"{job} cannot be done: {problem}")
            display.show(Finished(job, None))
    records = [store.get(run.run_id) for run in runs]
    if all(record["status"] == "failed" for record in records):
        error = records[0]["error"]
        raise ValueError(f"every run failed, the first one so: {error['type']}: {error['message']}")
    return records


def _jobs(task: Task, runs: Sequence[Run], store: Store, most: int) -> list[Job]:
    """One job for each loss, whose seeds train together, at most so many; without stacking, one for each run."""
    present = store.run_ids()
    jobs = []
    size = most if task.stacked else 1
    for _, members in groupby(runs, key=lambda run: run.loss):
        seeds = tuple(members)
        for together in (seeds[start : start + size] for start in range(0, len(seeds), size)):
            missing = tuple(run for run in together if run.run_id not in present)
            if missing:
                each = task.seconds.get(together[0].scale, 1.0)
                jobs.append(Job(together, missing, each * len(together)))
    return jobs


def _progress(display: Display, job: Job) -> Callable[[float], None]:
    return lambda share: display.show(Running(job, share))


@contextmanager
def study_folder(out: Path | None) -> Iterator[Path]:
    """Gives a comparison its folder; a temporary one is removed if it fails, and otherwise with its result."""
    if out is not None:
        yield out.absolute()
        return
    folder = Path(tempfile.mkdtemp(prefix="squentropy-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
