"""How far a study has come, and how long it will still take."""

from collections.abc import Sequence

from squentropy.study.engines import Event, Running
from squentropy.study.plan import Job


class Forecast:
    """Takes in events and estimates the time left.

    Jobs say how long they take in proportion to each other; how fast this machine is, shows from the first event on.

    Args:
        jobs: All jobs that are to be done.
        workers: How many are done at a time.

    Examples:
        >>> from squentropy.study.engines import Finished
        >>> jobs = [Job((), (), seconds) for seconds in (20.0, 10.0, 5.0)]
        >>> forecast = Forecast(jobs, workers=1)
        >>> for job, now in zip(jobs[:2], (100.0, 120.0)):
        ...     forecast.take_in(Finished(job, None), now)
        >>> forecast.seconds_left(now=120.0)  # what should have taken 10 seconds took 20
        10.0
    """

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        self._left = {job: job.seconds for job in jobs}
        self._total = sum(self._left.values())
        self._workers = workers
        self._first: tuple[float, float] | None = None

    def take_in(self, event: Event, now: float) -> None:
        """Notes how far a job has come at a time in seconds."""
        share = event.share if isinstance(event, Running) else 1.0
        self._left[event.job] = event.job.seconds * (1 - share)
        if self._first is None:
            self._first = now, self.left

    @property
    def left(self) -> float:
        """What is left, in seconds as the jobs count them."""
        return sum(self._left.values())

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        return 1 - self.left / self._total if self._total else 1.0

    def seconds_left(self, now: float) -> float | None:
        """Estimates the time left; None while nothing is known."""
        if self._first is None:
            return None
        since, left_then = self._first
        done = left_then - self.left
        if done <= 0 or now <= since:
            return None
        # At the end the longest job that is left keeps one worker busy, and the others have nothing to do.
        return max(self.left, self._workers * max(self._left.values())) * (now - since) / done
