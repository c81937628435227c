"""`squentropy compare`, for a table or for tasks in a Python file, and `squentropy predict`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Shown

    from squentropy.own_data.result import LossComparison
    from squentropy.own_data.table import Options, Table

_TABLE, _TASKS = "For tables", "For tasks of your own"
_TASK_LOSSES, _TASK_SEEDS = "squentropy,cross_entropy,rescaled_square", 5

Names = list[str] | None


def compare(
    source: Annotated[
        Path, typer.Argument(help="A table (.csv, .tsv, .parquet), or a Python file that defines TASK or TASKS.")
    ],
    target: Annotated[str | None, typer.Option(help="Column to predict.", rich_help_panel=_TABLE)] = None,
    losses: Annotated[
        str | None,
        typer.Option(
            help="Losses with commas between them: name, or name:parameter=value. Default: squentropy, cross_entropy "
            "and rescaled_square, of tables also focal and label_smoothing."
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many seeds each loss gets; 10 for tables, 5 for tasks.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the comparison.")] = Path("comparison"),
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Say only the answer, what went wrong, and where the report is.")
    ] = False,
    delimiter: Annotated[
        str | None, typer.Option(help="What stands between values, if not a comma.", rich_help_panel=_TABLE)
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Take so many rows at random.", rich_help_panel=_TABLE)
    ] = None,
    drop: Annotated[Names, typer.Option(help="Column to leave out; may be repeated.", rich_help_panel=_TABLE)] = None,
    keep: Annotated[
        Names, typer.Option(help="Column to use although it looks like names of rows.", rich_help_panel=_TABLE)
    ] = None,
    category: Annotated[
        Names, typer.Option(help="Column of numbers that stand for categories.", rich_help_panel=_TABLE)
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="Column whose groups are never divided, such as patients.", rich_help_panel=_TABLE),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column of times; the last rows are tested.", rich_help_panel=_TABLE)
    ] = None,
    min_class_rows: Annotated[
        int | None, typer.Option(min=2, help="Leave out classes with fewer rows.", rich_help_panel=_TABLE)
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Passes over the rows; by their number if not given.", rich_help_panel=_TABLE),
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(help="Widths of the hidden layers; 64,128,64 if not given.", rich_help_panel=_TABLE)
    ] = None,
    scale: Annotated[
        Literal["small", "paper"] | None,
        typer.Option(help="Which of the task's recipes; needed if it has both.", rich_help_panel=_TASKS),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"] | None,
        typer.Option(help="Processes of this machine (default), or a Ray cluster.", rich_help_panel=_TASKS),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="How many processes; one for each core if not given.", rich_help_panel=_TASKS),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data", help="Your data directory, instead of SQUENTROPY_DATA.", rich_help_panel=_TASKS),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Do failed runs again.", rich_help_panel=_TASKS)
    ] = False,
) -> None:
    """Compare losses on a table or on a task of your own: the answer, a report, and of a table the best model.

    Example: `squentropy compare data.csv --target species`
    """
    for_tables = {
        "--target": target, "--delimiter": delimiter, "--sample": sample, "--drop": drop, "--keep": keep,
        "--category": category, "--group": group, "--time": time, "--min-class-rows": min_class_rows,
        "--epochs": epochs, "--hidden": hidden,
    }  # fmt: skip
    for_tasks = {
        "--scale": scale, "--engine": engine, "--workers": workers, "--data": data_dir, "--retry-failed": retry_failed
    }  # fmt: skip
    if source.suffix == ".py":
        from squentropy.tasks.command import compare_tasks

        _refuse(for_tables, "a table", source)
        compare_tasks(
            source, losses or _TASK_LOSSES, seeds or _TASK_SEEDS, scale, engine or "local", workers, data_dir, out,
            retry_failed, quiet,
        )  # fmt: skip
        return
    from rich.console import Console

    from squentropy.own_data.table import Options

    _refuse(for_tasks, "tasks in a Python file", source)
    console = Console(quiet=quiet, soft_wrap=True, highlight=False)
    options = Options(drop or (), keep or (), category or (), group, time, min_class_rows)
    table = _read(source, target, delimiter, sample, options, console)
    _compare(table, losses, seeds, epochs, hidden, out, console)


def _refuse(options: Mapping[str, object], kind: str, source: Path) -> None:
    for name, value in options.items():
        if value not in (None, False):
            raise ValueError(f"{name} is for {kind}, and {source} is none: leave it out")


def _read(
    source: Path, target: str | None, delimiter: str | None, sample: int | None, options: Options, console: Console
) -> Table:
    from rich.markup import escape

    from squentropy.own_data.read import read_table
    from squentropy.own_data.table import make_table

    with console.status(f"reading {source}"):
        raw = read_table(source, delimiter=_unescaped(delimiter), sample=sample)
        if target is None:
            columns = ", ".join(map(str, raw.frame.columns))
            raise ValueError(f"--target must name the column to predict: choose among {columns}")
        name = re.sub(r"[\s/]+", "-", source.name.partition(".")[0]) or "table"
        table = make_table(raw.frame, target, name, options, raw.notices)
    counts = table.counts
    console.print(
        f"{escape(str(source))}: {len(table.values):,} rows, {len(table.columns)} columns used, {len(counts)} classes "
        f"of {counts.min():,} to {counts.max():,} rows"
    )
    for notice in table.notices:
        console.print(f"[yellow]note[/]: {escape(notice)}")
    return table


def _unescaped(delimiter: str | None) -> str | None:
    return "\t" if delimiter in (r"\t", "tab") else delimiter


def _compare(
    table: Table,
    losses: str | None,
    seeds: int | None,
    epochs: int | None,
    hidden: str | None,
    out: Path,
    console: Console,
) -> None:
    from squentropy.own_data.compare_table import LOSSES, SEEDS, compare_table
    from squentropy.own_data.recipe import HIDDEN
    from squentropy.tasks.command import parse_losses

    try:
        result = compare_table(
            table,
            losses=LOSSES if losses is None else parse_losses(losses),
            seeds=seeds or SEEDS,
            epochs=epochs,
            hidden=HIDDEN if hidden is None else _widths(hidden),
            out=out,
            console=console,
        )
        console.print(_table(result))
        page = result.report(out / "report")
    except KeyboardInterrupt:
        command = shlex.join(["squentropy", *sys.argv[1:]])
        print(f"stopped; finished runs are kept. To go on, give the same command: {command}", file=sys.stderr)
        raise SystemExit(130) from None
    for sentence in result.answer:
        print(sentence)
    print(f"report: {page}")
    if result.model is not None:
        print(f"model: {result.model.save(out / 'model')} ({result.best_loss}); squentropy predict uses it")


def _widths(text: str) -> list[int]:
    try:
        widths = [int(part) for part in text.split(",")]
    except ValueError:
        widths = []
    if not widths or min(widths) < 1:
        raise ValueError(f"--hidden must be widths such as 64,128,64, got {text!r}")
    return widths


def _table(result: LossComparison) -> Shown:
    from rich.table import Table as Shown

    shown = Shown(box=None, header_style="bold")
    shown.add_column("", no_wrap=True)
    columns = (
        ("accuracy", "accuracy", 100.0, 1), ("balanced_accuracy", "balanced", 100.0, 1), ("ece", "ECE", 100.0, 1),
        ("ece_scaled", "scaled", 100.0, 1), ("nll", "NLL", 1.0, 3), ("nll_scaled", "scaled", 1.0, 3),
    )  # fmt: skip
    for _, title, _, _ in columns:
        shown.add_column(title, justify="right", no_wrap=True)
    for label, row in result.models.iterrows():
        cells = [f"{factor * row[metric]:.{decimals}f}" for metric, _, factor, decimals in columns]
        shown.add_row(str(label), *cells, style="dim" if label in result.outcome.yardsticks else None)
    return shown


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a model, as `squentropy compare` writes it.")],
    data: Annotated[Path, typer.Argument(help="Table with the columns that the model was trained on.")],
    out: Annotated[Path | None, typer.Option(help="CSV file to write, instead of the terminal.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What stands between values, if not a comma.")] = None,
) -> None:
    """Predict the class of each row with a saved model, and how probable each class is.

    Example: `squentropy predict comparison/model data.csv --out predictions.csv`
    """
    from squentropy.own_data.predictions import write_predictions, written_whole
    from squentropy.own_data.read import open_table
    from squentropy.own_data.saved_model import SavedModel

    loaded = SavedModel.load(model)
    file = open_table(data, _unescaped(delimiter))
    with nullcontext(sys.stdout) if out is None else written_whole(out) as text:
        known = write_predictions(loaded, file.parts(), text)
    for notice in file.notices:
        print(f"note: {notice}", file=sys.stderr)
    if known.rows:
        print(
            f"{known.right / known.rows:.1%} of the {known.rows:,} rows with a known {loaded.target!r} are predicted "
            "rightly; this says little if the model was trained on them",
            file=sys.stderr,
        )
