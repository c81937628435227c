"""The local engine: worker processes with one thread each."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait

import torch

from squentropy.study.engines.engine import Events, Finished, Lost, Running, Work
from squentropy.study.plan import Job

_PROCESSES = multiprocessing.get_context("spawn")
_ATTEMPTS = 2
_SECONDS_BETWEEN_SHARES = 0.25
_SECONDS_TO_END = 0.5
_READY = True  # what a worker says first
_HINT = "what it printed says why. A script that carries out a study must do so under `if __name__ == '__main__':`"


def run_locally(jobs: Sequence[Job], work: Work, workers: int) -> Events:
    """Carries out jobs in processes of this machine, the first jobs first.

    A process that is killed, because memory runs out for instance, is replaced, and its job gets a second attempt.

    Args:
        jobs: What to do.
        work: Called with each job in a worker.
        workers: How many processes.

    Yields:
        What becomes of the jobs.
    """
    waiting = deque(jobs)
    attempts: Counter[str] = Counter()
    staff = [_Worker(work) for _ in range(min(workers, len(jobs)))]
    try:
        while True:
            for worker in staff:
                if worker.job is None and waiting:
                    worker.begin(waiting.popleft())
            busy = [(worker, worker.job) for worker in staff if worker.job is not None]
            if not busy:
                return
            heard = wait([worker.connection for worker, _ in busy])
            for worker, job in busy:
                if worker.connection not in heard:
                    continue
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    reason = worker.end()
                    if not worker.is_ready and (worker.process.exitcode or 0) >= 0:  # another one would end so, too
                        raise RuntimeError(f"a worker could not begin, {reason}; {_HINT}") from None
                    staff[staff.index(worker)] = _Worker(work)
                    attempts[job.job_id] += 1
                    if attempts[job.job_id] < _ATTEMPTS:
                        waiting.appendleft(job)
                    else:
                        yield Lost(job, reason)
                    continue
                if isinstance(message, Exception):
                    raise message
                if message is _READY:
                    worker.is_ready = True
                elif isinstance(message, float):
                    yield Running(job, message)
                else:
                    worker.job = None
                    yield Finished(job, message)
    finally:
        for worker in staff:
            worker.process.terminate()
        deadline = time.monotonic() + _SECONDS_TO_END
        for worker in staff:
            worker.end(max(0.0, deadline - time.monotonic()))


class _Worker:
    """A process, the connection to it, and the job that it does."""

    def __init__(self, work: Work) -> None:
        self.job: Job | None = None
        self.is_ready = False
        self.connection, theirs = _PROCESSES.Pipe()
        self.process = _PROCESSES.Process(target=_serve, args=(theirs, work))
        with _interrupts_held_back():
            self.process.start()
        theirs.close()

    def begin(self, job: Job) -> None:
        self.job = job
        with suppress(BrokenPipeError):  # its end is noticed where its answer is awaited
            self.connection.send(job)

    def end(self, seconds: float = _SECONDS_TO_END) -> str:
        """Makes sure that the process has ended, by force after some seconds, and says how it did."""
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.connection.close()
        code = self.process.exitcode or 0
        if code >= 0:
            return f"its process ended with status {code}"
        hint = "; is there enough memory? Fewer workers need less" if -code == signal.SIGKILL else ""
        return f"its process was killed by {signal.Signals(-code).name}{hint}"


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process that is started meanwhile never hears Ctrl-C, which a terminal sends to all; here it only waits."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, work: Work) -> None:
    """What a worker process does: it takes jobs until its parent closes the connection or ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # half-written files are removed on the way out
    threading.Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    reported = 0.0

    def progress(share: float) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _SECONDS_BETWEEN_SHARES:
            reported = time.monotonic()
            try:
                connection.send(float(share))
            except OSError:
                sys.exit()  # the parent is gone; no record may say that the run failed by itself

    with suppress(EOFError, ConnectionError, SystemExit):
        connection.send(_READY)
        while True:
            job = connection.recv()
            try:
                answer: str | Exception | None = work(job, progress)
            except Exception as error:
                answer = error
            connection.send(answer)
    os._exit(0)  # there is nothing to wait for, and to take down Python and PyTorch in order takes half a second


def end_with_parent() -> None:
    """A study that was killed leaves no worker behind that would compute for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
