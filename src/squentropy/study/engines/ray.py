"""The Ray engine: the jobs of a study as tasks on a cluster, or on a Ray of this machine's own."""

import logging
import os
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from squentropy.study.engines.engine import Events, Finished, Lost, Running, Work
from squentropy.study.plan import Job


def run_on_ray(jobs: Sequence[Job], work: Work, workers: int) -> Events:
    """Carries out jobs as Ray tasks with one processor core and one thread each, the first jobs first.

    The cluster is the one that `RAY_ADDRESS` names or this machine belongs to; without one, a Ray of this machine's own
    is started. All machines must see the folder of the study, and the data, under the same path. Ray gives a job whose
    process was killed a second attempt.

    Args:
        jobs: What to do.
        work: Called with each job.
        workers: How many jobs at a time.

    Yields:
        What becomes of the jobs.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.exceptions import OutOfMemoryError, RayTaskError, WorkerCrashedError

    was_initialized = ray.is_initialized()
    if not was_initialized:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    carry_out = ray.remote(num_cpus=1, max_retries=1)(_carry_out)
    shared_work = ray.put(work)
    waiting = deque(jobs)
    running: dict[Any, Job] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.popleft()
                running[carry_out.remote(shared_work, job)] = job
                yield Running(job, 0.0)
            (reference, *_), _ = ray.wait(list(running))
            job = running.pop(reference)
            try:
                yield Finished(job, ray.get(reference))
            except (WorkerCrashedError, OutOfMemoryError) as error:
                yield Lost(job, str(error))
            except RayTaskError as error:
                raise error.cause from None
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        if not was_initialized:
            ray.shutdown()


def _carry_out(work: Work, job: Job) -> str | None:
    torch.set_num_threads(1)
    return work(job)
