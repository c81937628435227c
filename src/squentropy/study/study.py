"""A study: a plan, and a store in which each run of it gets a record."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from squentropy.study.devices import ONE_CPU, Devices
from squentropy.study.engines import ENGINES, Events, Lost
from squentropy.study.execution import execute, record_loss
from squentropy.study.plan import FindTask, Job, jobs
from squentropy.study.record import CorruptFileError, Record
from squentropy.study.run import Run
from squentropy.study.store import Store


@dataclass(frozen=True)
class Standing:
    """How far a study has come.

    Attributes:
        done: Records of finished runs.
        failed: Records of failed runs.
        missing: Runs without a record.
        corrupt: What is wrong with records that cannot be read. They are kept, and their runs wait.
    """

    done: list[Record] = field(default_factory=list)
    failed: list[Record] = field(default_factory=list)
    missing: list[Run] = field(default_factory=list)
    corrupt: list[CorruptFileError] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether every run has a record that can be read."""
        return not self.missing and not self.corrupt

    @property
    def records(self) -> list[Record]:
        """All records, finished and failed."""
        return [*self.done, *self.failed]


@dataclass(frozen=True)
class Study:
    """Runs, the tasks that they name, and the folder of their records.

    Going on after an interruption is nothing special: what has no record is done.

    Attributes:
        runs: The plan, as `plan` makes it.
        find: Returns the task of a name. Worker processes call it, too, so it must be possible to pickle it: a function
            of a module, not a lambda.
        store: Where the records go.
        data_dir: The user's data directory.
        devices: What each run is trained on.

    Examples:
        >>> import tempfile
        >>> from squentropy.study import plan
        >>> study = Study(plan([], ["squentropy"], seeds=5, scale="small"), find=dict, store=Store(tempfile.mkdtemp()))
        >>> study.standing().is_complete
        True
    """

    runs: Sequence[Run]
    find: FindTask
    store: Store
    data_dir: Path | None = None
    devices: Devices = ONE_CPU

    def standing(self) -> Standing:
        """Reads the records of all runs."""
        standing = Standing()
        present = self.store.run_ids()
        for run in self.runs:
            if run.run_id not in present:
                standing.missing.append(run)
                continue
            try:
                record = self.store.get(run.run_id)
            except CorruptFileError as error:
                standing.corrupt.append(error)
            else:
                (standing.done if record["status"] == "done" else standing.failed).append(record)
        return standing

    def fitting_workers(self) -> int:
        """Returns how many jobs at a time there are processor cores for."""
        return max(1, available_cores() // self.devices.count)

    def jobs(self, retry_failed: bool = False) -> list[Job]:
        """Returns what is still to be done, the longest first."""
        standing = self.standing()
        failed = {record["run_id"] for record in standing.failed} if retry_failed else set()
        todo = [*standing.missing, *(run for run in self.runs if run.run_id in failed)]
        return jobs(self.runs, todo, self.find, self.store.seconds_per_run())

    def carry_out(self, todo: Sequence[Job], engine: str = "local", workers: int | None = None) -> Events:
        """Does jobs, and yields what becomes of them. Closing the generator ends the workers.

        Args:
            todo: What `jobs` returned.
            engine: A key of `squentropy.study.engines.ENGINES`.
            workers: How many jobs at a time; as many as there are processor cores for if None.

        Raises:
            StorageError: If the disk is full.
        """
        work = partial(execute, find=self.find, store=self.store, data_dir=self.data_dir, devices=self.devices)
        with closing(ENGINES[engine](todo, work, workers or self.fitting_workers())) as events:
            for event in events:
                if isinstance(event, Lost):
                    record_loss(event.job, event.reason, find=self.find, store=self.store)
                yield event


def available_cores() -> int:
    """Returns how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
