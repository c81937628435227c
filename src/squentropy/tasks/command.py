"""`squentropy tasks` and `squentropy reproduce`, and what `squentropy compare` does with a Python file."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from squentropy.study import LossSpec, Run, Store, Task

_LOSSES = "squentropy,cross_entropy,rescaled_square"
_SEEDS = 5
_MOST_SHOWN = 20  # of a group, in the list of all tasks; a larger one is a single line
_WIDTH_OF_A_FILE = 250

Losses = Annotated[str, typer.Option(help="Losses with commas between them: name, or name:parameter=value.")]
Seeds = Annotated[int, typer.Option(min=1, help="How many seeds each loss gets.")]
Engine = Annotated[Literal["local", "ray"], typer.Option(help="Processes of this machine, or a Ray cluster.")]
Workers = Annotated[int | None, typer.Option(min=1, help="How many processes; one for each core if not given.")]
DataDir = Annotated[Path | None, typer.Option("--data", help="Your data directory, instead of SQUENTROPY_DATA.")]
MaxRows = Annotated[int | None, typer.Option("--max-rows", min=2, help="Leave out data sets with more rows.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Do failed runs again.")]
OnDevices = Annotated[
    str, typer.Option("--devices", help="What each run is trained on: cpu, cuda, or several as in cuda:4 or cpu:2.")
]
Precision = Annotated[
    Literal["32-true", "bf16-mixed", "64-true"] | None,
    typer.Option(help="Instead of the recipe's own, which is 32-true."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say only what went wrong and where the report is.")]


def tasks(
    names: Annotated[list[str] | None, typer.Argument(help="Tasks or groups; a group shows its tasks.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List the tasks: their scales and times, what they reproduce, and whether their data are at hand.

    The times are those of three losses with five seeds on one core.

    Example: `squentropy tasks`
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from squentropy.tasks import TASKS, group_of, select_tasks

    sizes = Counter(group_of(name) for name in TASKS)
    rows: dict[str, list[Task]] = {}
    for task in select_tasks(names) if names else TASKS.values():
        group = group_of(task.name)
        is_folded = group is not None and not names and sizes[group] > _MOST_SHOWN
        rows.setdefault(group if group and is_folded else task.name, []).append(task)
    table = Table(box=None, header_style="bold")
    table.add_column("task", no_wrap=True)
    table.add_column("data")
    for scale in ("small", "paper"):
        table.add_column(scale, justify="right")
    table.add_column("what it is", style="dim", no_wrap=True)
    for name, members in rows.items():
        table.add_row(
            escape(name),
            _at_hand(members, data_dir),
            *(_time(members, scale) for scale in ("small", "paper")),
            escape(_summary(members)),
        )
    console = Console()
    (console if console.is_terminal else Console(width=_WIDTH_OF_A_FILE)).print(table)


def _at_hand(members: Sequence["Task"], data_dir: Path | None) -> str:
    at_hand = [_scales_at_hand(task, data_dir) for task in members]
    if len(members) > 1:
        return f"{sum(map(bool, at_hand))} of {len(members)}"
    (scales,) = at_hand
    if len(scales) == len(members[0].recipes):
        return "[green]yes[/]"
    return f"{scales[0]} only" if scales else "no"


def _scales_at_hand(task: "Task", data_dir: Path | None) -> list[str]:
    from squentropy.data import MANIFEST, is_at_hand

    return [
        scale
        for scale in task.recipes
        if all(is_at_hand(MANIFEST[each], data_dir) for each in task.data_sets_at(scale))
    ]


def _time(members: Sequence["Task"], scale: str) -> str:
    from squentropy.study.display import duration

    if not any(scale in task.recipes for task in members):
        return "-"
    return duration(sum(task.seconds.get(scale, 0.0) for task in members) * len(_LOSSES.split(",")) * _SEEDS)


def _summary(members: Sequence["Task"]) -> str:
    if len(members) > 1:
        return f"{len(members)} tasks"
    (task,) = members
    return f"{task.paper_row}: {task.summary}" if task.paper_row else task.summary


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Tasks or groups; without any, those embedded.")] = None,
    losses: Losses = _LOSSES,
    seeds: Seeds = _SEEDS,
    scale: Annotated[Literal["small", "paper"], typer.Option(help="The published recipe, or a short cut.")] = "paper",
    max_rows: MaxRows = None,
    engine: Engine = "local",
    workers: Workers = None,
    devices: OnDevices = "cpu",
    precision: Precision = None,
    data_dir: DataDir = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the study. Default: studies/NAME if it holds a finished one, else reproduction."),
    ] = None,
    retry_failed: RetryFailed = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's comparison of losses, and write the report.

    What is done already in the folder is not done again. Without names, the tasks run whose data come with the
    package. Tasks of a group are left out if their data are not at hand.

    Example: `squentropy reproduce spiral --seeds 3`
    """
    from squentropy.study import Store, plan
    from squentropy.study.devices import Devices
    from squentropy.study.session import work_on
    from squentropy.study.study import Study
    from squentropy.tasks import find_task, select_tasks

    out = out or _folder(names or [])
    store = Store(out.absolute())
    runs = _at_precision(precision, plan(select_tasks(names or [], max_rows), parse_losses(losses), seeds, scale))
    study = Study(_feasible(runs, names or [], store, data_dir), find_task, store, data_dir, Devices.parse(devices))
    if not work_on(study, out, engine=engine, workers=workers, retry_failed=retry_failed, quiet=quiet):
        raise typer.Exit(1)


def _at_precision(precision: str | None, runs: list["Run"]) -> list["Run"]:
    """Returns runs at another precision than that of their recipe; they are other runs, with ids of their own."""
    from squentropy.tasks import TASKS

    if precision is None:
        return runs
    stacked = next((run.task for run in runs if TASKS[run.task].stacked), None)
    if stacked is not None:
        raise ValueError(f"precision must be left out for {stacked!r}, whose runs are one batched model in 32 bits")
    return [replace(run, recipe=replace(run.recipe, precision=precision)) for run in runs]


def _feasible(runs: Sequence["Run"], names: Sequence[str], store: "Store", data_dir: Path | None) -> list["Run"]:
    """Leaves out what has neither record nor data, if it was not named itself and is not all that there is."""
    from squentropy.tasks import TASKS

    present = store.run_ids()
    open_tasks = {(run.task, run.scale) for run in runs if run.run_id not in present and run.task not in names}
    missing = {name for name, scale in open_tasks if scale not in _scales_at_hand(TASKS[name], data_dir)}
    feasible = [run for run in runs if run.task not in missing or run.run_id in present]
    if not feasible or not missing:
        return list(runs)
    print(f"left out, as their data are not at hand: {', '.join(sorted(missing))}", file=sys.stderr)
    return feasible


def compare_tasks(
    source: Path,
    losses: str,
    seeds: int,
    scale: str | None,
    engine: str,
    workers: int | None,
    data_dir: Path | None,
    out: Path,
    retry_failed: bool,
    quiet: bool,
) -> None:
    """Compares losses on the tasks of a Python file, and writes the report: `squentropy compare my_task.py`."""
    from squentropy.study import Store, plan
    from squentropy.study.session import work_on
    from squentropy.study.study import Study
    from squentropy.tasks.user import UserTasks

    find = UserTasks(source.absolute())
    runs = plan(find.all(), parse_losses(losses), seeds, scale or _only_scale(find.all()))
    study = Study(runs, find, Store(out.absolute()), data_dir)
    if not work_on(study, out, engine=engine, workers=workers, retry_failed=retry_failed, quiet=quiet):
        raise typer.Exit(1)


def _folder(names: Sequence[str]) -> Path:
    """A finished study that comes with the repository, or the folder for new ones."""
    from squentropy.study.store import BUNDLE

    finished = Path("studies", *names)
    return finished if len(names) == 1 and (finished / BUNDLE).is_file() else Path("reproduction")


def _only_scale(tasks: Sequence["Task"]) -> str:
    scales = {scale for task in tasks for scale in task.recipes}
    if len(scales) != 1:
        raise ValueError(f"scale must be given, as the recipes have {' and '.join(sorted(scales)) or 'none'}")
    return scales.pop()


def parse_losses(text: str) -> list["LossSpec"]:
    """Reads "squentropy,rescaled_square:t=1,M=5": a part with = but no colon belongs to the loss before it."""
    from squentropy.study import LossSpec

    written: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if written and "=" in part and ":" not in part:
            written[-1] += f",{part}"
        else:
            written.append(part)
    if not written:
        raise ValueError("losses must name at least one loss, such as squentropy,cross_entropy")
    return [LossSpec.parse(each) for each in dict.fromkeys(written)]
