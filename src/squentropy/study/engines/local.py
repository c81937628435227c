"""The local engine: worker processes with one thread each."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait

import torch

from squentropy.study.engines.engine import Event, Events, Finished, Lost, Running, Work
from squentropy.study.plan import Job

# Workers are forked from a server that has imported PyTorch once: they begin at once, and share its memory. Elsewhere
# than on Linux the system's libraries do not stand it.
_PROCESSES = (
    multiprocessing.get_context("forkserver") if sys.platform == "linux" else multiprocessing.get_context("spawn")
)
_IMPORTED_ONCE = ["squentropy.study.execution"]
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
    _PROCESSES.set_forkserver_preload(_IMPORTED_ONCE)
    staff = [_Worker(work) for _ in range(min(workers, len(jobs)))]
    try:
        while True:
            yield from [worker.begin(waiting.popleft()) for worker in staff if worker.job is None and waiting]
            busy = [(worker, worker.job) for worker in staff if worker.job is not None]
            if not busy:
                return
            heard = wait([worker.connection for worker, _ in busy])
            for worker, job in [pair for pair in busy if pair[0].connection in heard]:
                try:
                    event = worker.hear(job)
                except _ProcessEndedError:
                    reason = worker.end()
                    if not worker.is_ready and (worker.process.exitcode or 0) >= 0:  # another one would end so, too
                        raise RuntimeError(f"a worker could not begin, {reason}; {_HINT}") from None
                    staff[staff.index(worker)] = _Worker(work)
                    attempts[job.job_id] += 1
                    if attempts[job.job_id] < _ATTEMPTS:
                        waiting.appendleft(job)
                        continue
                    event = Lost(job, reason)
                if event is not None:
                    yield event
    finally:
        for worker in staff:
            worker.process.terminate()
        deadline = time.monotonic() + _SECONDS_TO_END
        for worker in staff:
            worker.end(max(0.0, deadline - time.monotonic()))


class _ProcessEndedError(Exception):
    """The process of a worker has ended before its job."""


class _Worker:
    """A process, the connection to it, and the job that it does."""

    def __init__(self, work: Work) -> None:
        self.job: Job | None = None
        self.is_ready = False
        self.connection, theirs = _PROCESSES.Pipe()
        self.process = _PROCESSES.Process(target=_serve, args=(theirs, work, dict(os.environ)))
        with _interrupts_held_back():
            self.process.start()
        theirs.close()

    def begin(self, job: Job) -> Running:
        self.job = job
        with suppress(BrokenPipeError):  # its end is noticed where its answer is awaited
            self.connection.send(job)
        return Running(job, 0.0)

    def hear(self, job: Job) -> Event | None:
        """What it has to say of its job, if anything; what `work` raised is raised."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            raise _ProcessEndedError from None
        if isinstance(message, Exception):
            raise message
        if message is _READY:
            self.is_ready = True
            return None
        if isinstance(message, float):
            return Running(job, message)
        self.job = None
        return Finished(job, message)

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


def _serve(connection: Connection, work: Work, environment: Mapping[str, str]) -> None:
    """What a worker process does: it takes jobs until its parent closes the connection or ends."""
    os.environ.update(environment)  # that of the server may be older
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends its workers
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
