"""What an engine is: it takes jobs in their order and tells what becomes of them."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from squentropy.study.plan import Job


@dataclass(frozen=True)
class Running:
    """A job has come so far; `share` is from 0 to 1, and 0 when it begins."""

    job: Job
    share: float


@dataclass(frozen=True)
class Finished:
    """A job has ended: its records are written, or `problem` says in a sentence why not."""

    job: Job
    problem: str | None


@dataclass(frozen=True)
class Lost:
    """The process of a job was killed, and that of the second attempt, too."""

    job: Job
    reason: str


Event: TypeAlias = Running | Finished | Lost
Events: TypeAlias = Generator[Event, None, None]


class Work(Protocol):
    """What workers do with a job; see `squentropy.study.execution.execute`. It must be possible to pickle it."""

    def __call__(self, job: Job, progress: Callable[[float], None] | None = None) -> str | None:
        """Carries out a job; returns why it could not, or None."""
        ...


class Engine(Protocol):
    """A generator of events. When it is closed, or anything is raised in it, it ends its workers."""

    def __call__(self, jobs: Sequence[Job], work: Work, workers: int) -> Events:
        """Carries out jobs, as many at a time as there are workers.

        What `work` raises ends everything and is raised here.
        """
        ...
