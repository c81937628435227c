"""How far a study has come, and how long it will still take."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from squentropy.study.engines import Event, Running
from squentropy.study.plan import Job

_RECENT = 20


@dataclass
class _Begun:
    """A job that is being done: when it was first heard of, how far it was then, and how far it is."""

    at: float
    share_then: float
    share: float


class Forecast:
    """Takes in events and estimates the time left.

    Jobs say how long they take, but only roughly, and small ones err otherwise than large ones. So what is being done
    is judged by its own progress, and what waits by what the last jobs took against what they had said.

    Args:
        jobs: All jobs that are to be done.
        workers: How many are done at a time.

    Examples:
        >>> jobs = [Job((), (), seconds) for seconds in (20.0, 10.0, 5.0)]
        >>> forecast = Forecast(jobs, workers=1)
        >>> forecast.take_in(Running(jobs[0], 0.0), now=100.0)
        >>> forecast.take_in(Running(jobs[0], 0.25), now=110.0)
        >>> forecast.seconds_left(now=110.0)  # a quarter of what should take 20 seconds took 10
        60.0
    """

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        self._workers = workers
        self._total = self._waiting = sum(job.seconds for job in jobs)
        self._running: dict[Job, _Begun] = {}
        self._recent: deque[tuple[float, float]] = deque(maxlen=_RECENT)  # as the job had said, as it was

    def take_in(self, event: Event, now: float) -> None:
        """Notes how far a job has come at a time in seconds."""
        job = event.job
        if isinstance(event, Running):
            if job not in self._running:
                self._waiting -= job.seconds
            begun = self._running.get(job)
            if begun is None or event.share < begun.share:  # from the start again, after its process was killed
                self._running[job] = _Begun(now, event.share, event.share)
            else:
                begun.share = event.share
            return
        begun = self._running.pop(job, None)
        if begun is None:
            self._waiting -= job.seconds
        else:
            self._recent.append((job.seconds * (1 - begun.share_then), now - begun.at))

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1, as the jobs count it."""
        left = self._waiting + sum(job.seconds * (1 - begun.share) for job, begun in self._running.items())
        return 1 - left / self._total if self._total else 1.0

    def seconds_left(self, now: float) -> float | None:
        """Estimates the time left; None while nothing is known."""
        observed = [
            *self._recent,
            *(
                (job.seconds * (begun.share - begun.share_then), now - begun.at)
                for job, begun in self._running.items()
                if begun.share > begun.share_then
            ),
        ]
        said, taken = sum(each for each, _ in observed), sum(each for _, each in observed)
        if said <= 0 or taken <= 0:
            return None
        running = [self._seconds_left_of(job, begun, now, taken / said) for job, begun in self._running.items()]
        # At the end the longest job keeps one worker busy, and the others have nothing to do.
        return max((sum(running) + self._waiting * taken / said) / self._workers, *running, 0.0)

    def _seconds_left_of(self, job: Job, begun: _Begun, now: float, factor: float) -> float:
        done = begun.share - begun.share_then
        if done > 0:
            return (now - begun.at) * (1 - begun.share) / done
        return max(0.0, job.seconds * factor * (1 - begun.share) - (now - begun.at))
