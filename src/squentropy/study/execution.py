"""Carrying out a job in this process: from its data to a record for each of its runs, finished or failed."""

import math
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from squentropy.study.canonical import Json
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.devices import ONE_CPU, Devices, train_on
from squentropy.study.environment import environment
from squentropy.study.files import StorageError
from squentropy.study.plan import FindTask, Job
from squentropy.study.record import SCHEMA, CorruptFileError, Record
from squentropy.study.run import Run
from squentropy.study.samples import Data
from squentropy.study.stacked import train_stacked
from squentropy.study.store import Store
from squentropy.study.task import Task
from squentropy.study.training import NonFiniteLossError, Result

Progress: TypeAlias = Callable[[float], None]
_FRAMES_SHOWN = 3


class LostWorkerError(RuntimeError):
    """The process that computed a run was killed from outside, more than once."""


def execute(
    job: Job,
    progress: Progress | None = None,
    *,
    find: FindTask,
    store: Store,
    data_dir: Path | None = None,
    devices: Devices = ONE_CPU,
) -> str | None:
    """Computes the runs of a job and writes the records that are missing.

    What is wrong with a run (its data cannot be read, its loss is not finite, the task's code raises) makes a failed
    record. What can be mended from outside leaves no record, so that the same command does it later.

    Args:
        job: What to do.
        progress: Called with the finished share.
        find: Returns the task of a name.
        store: Where the records go.
        data_dir: The user's data directory.
        devices: What each run is trained on.

    Returns:
        Why there are no records, in a sentence; None if there are.

    Raises:
        StorageError: If the store cannot be written to. No other job could go on, either.
    """
    started = time.monotonic()
    task = find(job.runs[0].task)
    with _claimed(store, job) as is_ours:
        if not is_ours:
            return "it is being computed by another study on the same folder"
        checkpoint = Checkpoint(store.checkpoints / f"{job.job_id}.pt")
        try:
            if all(store.is_done(run.run_id) for run in job.missing):  # another study was faster
                return None
            parts = _split(job, task, _load(find, task.name, job.runs[0].scale, data_dir))
            results = _train(job, task, parts, checkpoint, progress, partial(train_on, devices, find))
            for run in job.missing:
                _write(store, run, task, parts[run.seed], results[run], devices)
        except (FileNotFoundError, CorruptFileError) as error:
            return str(error)
        checkpoint.remove()
    store.add_timing(task.name, job.runs[0].scale, len(job.runs), time.monotonic() - started)
    return None


def record_loss(job: Job, reason: str, *, find: FindTask, store: Store) -> None:
    """Writes failed records for a job whose processes were killed."""
    for run in job.missing:
        _write(store, run, find(run.task), None, LostWorkerError(reason))


@contextmanager
def _claimed(store: Store, job: Job) -> Iterator[bool]:
    """Whether this process may do a job. The operating system ends a claim with the process, however that ends.

    Where locks do not work, as on some network folders, a job is done twice, with the same result.
    """
    from filelock import FileLock, Timeout

    path = store.checkpoints / f"{job.job_id}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    claim = FileLock(path, blocking=False)
    try:
        claim.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        claim.release()


@lru_cache(maxsize=1)  # the jobs of a task come one after another
def _load(find: FindTask, name: str, scale: str, data_dir: Path | None) -> Any:
    try:
        return find(name).load(scale, data_dir)
    except (FileNotFoundError, StorageError):
        raise
    except Exception as error:
        return error


def _split(job: Job, task: Task, data: Any) -> dict[int, Data | Exception]:
    """Returns the data of each seed, or why there are none."""
    seeds = dict.fromkeys(run.seed for run in job.runs)
    if isinstance(data, Exception) or task.split is None:
        return dict.fromkeys(seeds, data)
    parts: dict[int, Data | Exception] = {}
    for seed in seeds:
        try:
            parts[seed] = task.split(data, seed)
        except Exception as error:
            parts[seed] = error
    return parts


def _train(
    job: Job,
    task: Task,
    parts: Mapping[int, Data | Exception],
    checkpoint: Checkpoint,
    progress: Progress | None,
    train: Callable[..., Result],
) -> dict[Run, Result | Exception]:
    """Returns what each run of a job gave, or why it failed."""
    runs: list[Run] = []
    datas: list[Data] = []
    results: dict[Run, Result | Exception] = {}
    for run in job.runs:
        part = parts[run.seed]
        if isinstance(part, Exception):
            results[run] = part
        else:
            runs.append(run)
            datas.append(part)
    trained: Sequence[Result | Exception]
    try:
        if not task.stacked:
            trained = [train(run, data, checkpoint, progress) for run, data in zip(runs, datas, strict=True)]
        else:
            trained = train_stacked(runs, task, datas, checkpoint, progress)
    except (StorageError, CorruptFileError):
        raise
    except Exception as error:
        trained = [error] * len(runs)
    return results | dict(zip(runs, trained, strict=True))


def _write(
    store: Store,
    run: Run,
    task: Task,
    data: Data | Exception | None,
    result: Result | Exception,
    devices: Devices = ONE_CPU,
) -> None:
    try:
        record = _record(run, task, data, result, devices)
    except NonFiniteLossError as error:
        result = error
        record = _record(run, task, data, error, devices)
    if isinstance(result, Exception) or result.logits is None or result.target is None:
        store.write(record)
    else:
        store.write(record, result.logits.numpy(), result.target.numpy())


def _record(
    run: Run, task: Task, data: Data | Exception | None, result: Result | Exception, devices: Devices
) -> Record:
    """Makes the record of a run; which parts there are is said in `squentropy.study.record`."""
    error = result if isinstance(result, Exception) else None
    finished = Result() if isinstance(result, Exception) else result
    return {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "run": run.to_json(),
        "paper_row": task.paper_row,
        "status": "done" if error is None else "failed",
        "error": None if error is None else _cause(error),
        "metric": {"name": task.metric, "higher_is_better": task.higher_is_better},
        "metrics": {
            "last": {name: _finite(name, value) for name, value in finished.last.items()},
            "best": {name: _finite(name, value) for name, value in finished.best.items()},
        },
        "curves": {name: [_finite(name, value) for value in curve] for name, curve in finished.curves.items()},
        "data": None if data is None or isinstance(data, Exception) else _description(data),
        "environment": {**environment(), **({} if devices == ONE_CPU else {"devices": str(devices)})},
        "predictions": None,
    }


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise NonFiniteLossError(f"the metric {name!r} became {value}")
    return value if isinstance(value, int) else float(value)


def _description(data: Data) -> dict[str, Json]:
    return {
        "name": data.name,
        "sha256": data.sha256,
        "train_rows": data.train_rows,
        "test_rows": data.test_rows,
        "num_classes": data.num_classes,
    }


def _cause(error: Exception) -> dict[str, str | list[str]]:
    """Says what was raised and where, without the folders of this machine."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_SHOWN:]
    where = [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]
    return {"type": type(error).__name__, "message": str(error), "where": where}
