"""A plan: all runs of a study, and the jobs that the missing ones make, the longest first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product
from typing import TypeAlias

from squentropy.study.canonical import digest
from squentropy.study.run import LossSpec, Run
from squentropy.study.task import Task

FindTask: TypeAlias = Callable[[str], Task]

_SECONDS_UNKNOWN = 60.0


def plan(tasks: Iterable[Task], losses: Iterable[LossSpec | str], seeds: int | Iterable[int], scale: str) -> list[Run]:
    """Lists the runs of a study: every task with every loss and seed, the same for all but the loss.

    Args:
        tasks: The tasks.
        losses: Losses or how they are written, "squentropy" or "rescaled_square:t=1,M=5". Parameters that are not
            given come from the recipe.
        seeds: The seeds, or how many, from 0.
        scale: "paper" or "small".

    Example:
        >>> from squentropy.study import Recipe
        >>> task = Task(name="none", load=None, build=None,
        ...             recipes={"small": Recipe(epochs=1, batch_size=8, learning_rate=0.1)})
        >>> [(str(run.loss), run.seed) for run in plan([task], ["squentropy", "cross_entropy"], 2, "small")]
        [('squentropy', 0), ('squentropy', 1), ('cross_entropy', 0), ('cross_entropy', 1)]
    """
    given = [LossSpec.parse(loss) if isinstance(loss, str) else loss for loss in losses]
    seed_list = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    runs = []
    for task, loss in product(tasks, given):
        recipe = task.recipe(scale)
        settled_loss = LossSpec(loss.name, {**recipe.parameters_for(loss.name), **loss.parameters})
        settled_recipe = recipe.for_loss(loss.name)
        runs += [Run(task.name, scale, settled_loss, seed, settled_recipe) for seed in seed_list]
    return runs


@dataclass(frozen=True)
class Job:
    """Runs that are computed together by one worker: one, or all of a stacked task.

    Attributes:
        runs: The runs, all of one task and scale.
        seconds: Roughly how long they take.
    """

    runs: tuple[Run, ...]
    seconds: float

    @cached_property
    def job_id(self) -> str:
        """Names the job's checkpoint: the id of a single run, or a hash of the ids of all."""
        if len(self.runs) == 1:
            return self.runs[0].run_id
        return digest("".join(run.run_id for run in self.runs))[:16]


def jobs(runs: Sequence[Run], find: FindTask) -> list[Job]:
    """Groups runs into jobs, the longest first, so that no worker is left with a long one at the end.

    Args:
        runs: What is to be done.
        find: Returns the task of a name.
    """
    tasks = {name: find(name) for name in {run.task for run in runs}}
    single = [Job((run,), _seconds(tasks[run.task], run)) for run in runs if not tasks[run.task].stacked]
    stacked = []
    together = sorted((run for run in runs if tasks[run.task].stacked), key=lambda run: (run.task, run.scale))
    for _, group in groupby(together, key=lambda run: (run.task, run.scale)):
        members = tuple(group)
        stacked.append(Job(members, sum(_seconds(tasks[run.task], run) for run in members)))
    return sorted(single + stacked, key=lambda job: -job.seconds)


def _seconds(task: Task, run: Run) -> float:
    return task.seconds.get(run.scale, _SECONDS_UNKNOWN)
