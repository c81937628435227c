"""A plan: all runs of a study, and the jobs that the missing ones make, the longest first."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from squentropy.study.canonical import digest
from squentropy.study.run import LossSpec, Run
from squentropy.study.task import Task

FindTask: TypeAlias = Callable[[str], Task]

_SECONDS_UNKNOWN = 60.0
_SEEDS_TOGETHER = 5


def plan(tasks: Iterable[Task], losses: Iterable[LossSpec | str], seeds: int | Iterable[int], scale: str) -> list[Run]:
    """Lists the runs of a study: every task with every loss and seed, the same for all but the loss.

    Args:
        tasks: The tasks.
        losses: Losses or how they are written, "squentropy" or "rescaled_square:t=1,M=5". Parameters that are not
            given come from the recipe.
        seeds: The seeds, or how many, from 0.
        scale: "paper" or "small".

    Examples:
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
    """Runs that one worker computes together: one, or for a stacked task a few seeds of the same loss.

    The last bits of a replica's numbers depend on which replicas it is computed with. So a job has always the same
    runs, also when some of them have their record already.

    Attributes:
        runs: What is computed.
        missing: Those of them that are to be recorded.
        seconds: Roughly how long it takes.
    """

    runs: tuple[Run, ...]
    missing: tuple[Run, ...]
    seconds: float

    @cached_property
    def job_id(self) -> str:
        """Names the job's checkpoint: the id of a single run, or a hash of the ids of all."""
        if len(self.runs) == 1:
            return self.runs[0].run_id
        return digest("".join(run.run_id for run in self.runs))[:16]

    def __str__(self) -> str:
        first, last = self.runs[0], self.runs[-1]
        seeds = f"seed {first.seed}" if first is last else f"seeds {first.seed} to {last.seed}"
        return f"{first.task}, {first.loss}, {seeds}"


def jobs(
    runs: Sequence[Run],
    missing: Collection[Run],
    find: FindTask,
    seconds_per_run: Mapping[tuple[str, str], float] | None = None,
) -> list[Job]:
    """Makes jobs of the runs that are missing, the longest first, so that no worker is left with a long one at the end.

    Args:
        runs: All runs of the study.
        missing: Those to be done.
        find: Returns the task of a name.
        seconds_per_run: Measured times by task and scale. They go before what the tasks say of themselves, and what
            the others say is corrected as theirs was.
    """
    tasks = {name: find(name) for name in {run.task for run in runs}}
    seconds = _estimates(tasks, {(run.task, run.scale) for run in runs}, seconds_per_run or {})
    wanted = {run.run_id for run in missing}
    together: dict[object, list[Run]] = {}
    for run in runs:
        is_stacked = tasks[run.task].stacked
        key = (run.task, run.scale, run.loss, run.recipe, run.seed // _SEEDS_TOGETHER) if is_stacked else run.run_id
        together.setdefault(key, []).append(run)

    def job(members: list[Run]) -> Job:
        each = seconds[members[0].task, members[0].scale]
        return Job(tuple(members), tuple(run for run in members if run.run_id in wanted), each * len(members))

    made = [job(members) for members in together.values() if any(run.run_id in wanted for run in members)]
    return sorted(made, key=lambda job: -job.seconds)


def _estimates(
    tasks: Mapping[str, Task], kinds: Collection[tuple[str, str]], measured: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Returns the seconds of one run for each task and scale."""
    said = {(task, scale): tasks[task].seconds.get(scale, _SECONDS_UNKNOWN) for task, scale in kinds}
    both = said.keys() & measured.keys()
    factor = sum(measured[kind] for kind in both) / sum(said[kind] for kind in both) if both else 1.0
    return {kind: measured.get(kind, factor * seconds) for kind, seconds in said.items()}
