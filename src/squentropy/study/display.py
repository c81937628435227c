"""What a terminal shows while a study runs: a bar with the time left, or a line now and then in a file."""

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from squentropy.study.engines import Event, Finished, Lost
from squentropy.study.forecast import Forecast
from squentropy.study.plan import Job

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_UPDATES = 0.1


class Display:
    """Shows the progress of jobs, as a context manager.

    Args:
        jobs: What is to be done.
        workers: How many jobs are done at a time.
        console: Where to write; one that is quiet shows nothing.
    """

    def __init__(self, jobs: Sequence[Job], workers: int, console: Console) -> None:
        self._forecast = Forecast(jobs, workers)
        self._runs_done, self._runs = 0, sum(len(job.missing) for job in jobs)
        self._console, self._told = console, set[str]()
        self._line_written, self._updated = time.monotonic(), 0.0
        columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._all = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> "Display":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, event: Event) -> None:
        """Takes in what became of a job."""
        now = time.monotonic()
        self._forecast.take_in(event, now)
        if isinstance(event, Finished | Lost):
            self._runs_done += len(event.job.missing)
            self._tell(event.job, event.reason if isinstance(event, Lost) else event.problem)
        if now - self._updated >= _SECONDS_BETWEEN_UPDATES:
            self._updated = now
            self._update(now)

    def _update(self, now: float) -> None:
        left = self._forecast.seconds_left(now)
        text = f"{self._runs_done} of {self._runs} runs" + ("" if left is None else f", {duration(left)} left")
        self._bar.update(self._all, completed=self._forecast.share, description=text)
        if not self._console.is_terminal and now - self._line_written >= _SECONDS_BETWEEN_LINES:
            self._line_written = now
            self._console.print(text, highlight=False)

    def _tell(self, job: Job, reason: str | None) -> None:
        if reason is not None and reason not in self._told:
            self._told.add(reason)
            self._console.print(f"[yellow]{escape(str(job))}[/]: {escape(reason)}", highlight=False)


def duration(seconds: float) -> str:
    """Says a time roughly.

    Examples:
        >>> duration(42.3), duration(90), duration(7300), duration(10**8)
        ('42 s', '1 min 30 s', '2 h 1 min', '1,157 days')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400:,} days"
