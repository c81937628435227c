"""A session with a study in a terminal: what is to do, how far it is, what became of it, and the report."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from squentropy.study.display import Display, duration
from squentropy.study.engines import Finished
from squentropy.study.report import write_report, write_supplements
from squentropy.study.report.numbers import count_of
from squentropy.study.results import collect
from squentropy.study.study import Standing, Study
from squentropy.study.summary import summary

_FAILURES_SHOWN = 10


def work_on(
    study: Study, out: Path, *, engine: str, workers: int | None, retry_failed: bool = False, quiet: bool = False
) -> bool:
    """Does what is left of a study, shows how it goes, and writes the report of what there is.

    Args:
        study: The study; its records are in the folder `out`.
        out: Where the report goes, as `report/report.html`.
        engine: A key of `squentropy.study.engines.ENGINES`.
        workers: How many jobs at a time; as many as there are cores if None.
        retry_failed: Whether failed runs are done again.
        quiet: Whether to say only what went wrong and where the report is.

    Returns:
        Whether every run has its record now.
    """
    console = Console(quiet=quiet, soft_wrap=True, highlight=False)
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        undone = _carry_out(study, console, engine, workers or study.fitting_workers(), retry_failed)
        standing = study.standing()
        for line in _complaints(standing, undone):
            errors.print(line)
        if standing.is_complete:
            console.print(f"everything is done: {len(study.runs)} runs in {escape(str(out))}")
        if standing.done:
            write_supplements({run.task: study.find(run.task) for run in study.runs}.values(), study.store)
            page = write_report(study.store.limited_to(standing.records), out / "report")
            results = collect(standing.records)
            for scale in results.scales:
                console.print(summary(results, scale))
            print(f"report: {page}")
    except KeyboardInterrupt:
        command = shlex.join(["squentropy", *sys.argv[1:]])
        errors.print(f"stopped; finished runs are kept. To go on, give the same command: {escape(command)}")
        raise SystemExit(130) from None
    return standing.is_complete


def _carry_out(study: Study, console: Console, engine: str, workers: int, retry_failed: bool) -> list[Finished]:
    """Does what is left, and returns what became of the jobs that could not be done."""
    todo = study.jobs(retry_failed)
    undone = []
    if todo:
        runs, seconds = sum(len(job.missing) for job in todo), sum(job.seconds for job in todo)
        tasks = map(study.find, {job.runs[0].task for job in todo})
        estimate = f"; roughly {duration(seconds / workers)} by the estimates of the tasks"
        console.print(
            f"{runs} of {count_of(len(study.runs), 'run')} to do by {count_of(workers, 'worker')}"
            f"{estimate if all(task.seconds for task in tasks) else ''}. Ctrl-C stops, and the same command goes on."
        )
    with Display(todo, workers, console) as display:
        for event in study.carry_out(todo, engine, workers):
            display.show(event)
            if isinstance(event, Finished) and event.problem is not None:
                undone.append(event)
    return undone


def _complaints(standing: Standing, undone: Sequence[Finished]) -> list[str]:
    """What the user should know of runs that failed, could not be done, or have a damaged record."""
    lines = []
    for record in standing.failed[:_FAILURES_SHOWN]:
        run, error = record["run"], record["error"]
        name = f"{run['task']}, {run['loss']['name']}, seed {run['seed']}"
        lines.append(f"[red]failed[/]: {escape(name)}: {error['type']}: {escape(error['message'])}")
    if len(standing.failed) > _FAILURES_SHOWN:
        lines.append(f"[red]failed[/]: {len(standing.failed) - _FAILURES_SHOWN} more, which the report lists")
    if standing.failed:
        lines.append("the option --retry-failed does failed runs again")
    jobs_by_reason: dict[str, list[str]] = {}
    for event in undone:
        jobs_by_reason.setdefault(str(event.problem), []).append(event.job.runs[0].task)
    for reason, names in jobs_by_reason.items():
        lines.append(f"[yellow]not done[/]: {escape(', '.join(dict.fromkeys(names)))}: {escape(reason)}")
    return lines + [f"[red]damaged[/]: {escape(str(error))}" for error in standing.corrupt]
