"""What a study found, as the few lines that a terminal shows at its end."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from squentropy.study.findings import Cell
from squentropy.study.measured import cells_by_task
from squentropy.study.report.numbers import NOTHING, count_of, fixed, spread
from squentropy.study.results import Results

if TYPE_CHECKING:
    from rich.table import Table

_MOST_TASKS = 12
_DECIMALS = 1


def summary(results: Results, scale: str) -> Table:
    """Makes a table of the headline metric and ECE of each task and of their means, the losses side by side.

    Of many tasks only the means are shown.

    Args:
        results: What was found.
        scale: The scale shown.
    """
    from rich.table import Table

    performance, ece = cells_by_task(results, scale)
    metrics = {task: record["metric"]["name"] for (at, task, *_), record in results.records.items() if at == scale}
    losses = list(next(iter(ece.values())))
    table = Table(
        title=f"last epoch, scale {scale}: mean ± standard deviation over seeds, in percent; bold: the best",
        title_justify="left", title_style="", box=None, header_style="bold",
    )  # fmt: skip
    table.add_column("task", no_wrap=True)
    table.add_column("")
    for loss in losses:
        table.add_column(loss, justify="right")
    if len(ece) <= _MOST_TASKS:
        for task in ece:
            table.add_row(task, metrics[task].replace("_", " "), *map(_text, performance[task].values()))
            table.add_row("", "ECE", *map(_text, ece[task].values()))
    if len(ece) > 1:
        names = set(metrics.values())
        name = names.pop().replace("_", " ") if len(names) == 1 else None
        shown = [("ECE", ece)] if name is None else [(name, performance), ("ECE", ece)]
        for position, (title, cells) in enumerate(shown):
            first = "" if position else f"mean of {count_of(len(ece), 'task')}"
            table.add_row(first, title, *(_mean([row[loss] for row in cells.values()]) for loss in losses))
    return table


def _text(cell: Cell) -> str:
    text = spread(cell.mean, cell.deviation, _DECIMALS) + (f", {cell.failed} failed" if cell.failed else "")
    return f"[bold]{text}[/]" if cell.is_best else text


def _mean(cells: list[Cell]) -> str:
    """The mean over tasks; none where a task has no result, as the losses would be judged on different tasks."""
    means = [cell.mean for cell in cells if cell.mean is not None]
    return fixed(fmean(means), _DECIMALS) if len(means) == len(cells) else NOTHING
