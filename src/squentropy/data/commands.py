"""What `squentropy data list`, `verify` and `fetch` do and show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
    track,
)
from rich.table import Table

from squentropy.data.directories import cache_dir
from squentropy.data.download import Progress as OnBytes
from squentropy.data.fetch import fetch
from squentropy.data.manifest import DataFile, select
from squentropy.data.verify import is_at_hand, verify

_STYLES = {"right": "green", "wrong": "bold red", "unknown": "yellow", "missing": "dim"}


def show_list(names: list[str], data_dir: Path | None, console: Console) -> None:
    """Print the data sets with their size and licence, and whether they are at hand."""
    table = Table("data set", "at hand", box=None, header_style="bold")
    for heading in ("rows", "features", "classes"):
        table.add_column(heading, justify="right")
    table.add_column("licence or terms", max_width=30, no_wrap=True)
    table.add_column("source", overflow="fold", style="dim")
    data_sets = select(names)
    at_hand = 0
    for data_set in data_sets:
        here = is_at_hand(data_set, data_dir)
        at_hand += here
        rows = f"{data_set.rows:,}" + (f" + {data_set.test_rows:,}" if data_set.test_rows else "")
        size = [rows, *("" if count is None else f"{count:,}" for count in (data_set.features, data_set.classes))]
        mark = "[green]yes[/]" if here else "no"
        table.add_row(data_set.name, mark, *size, data_set.licence, data_set.source)
    console.print(table)
    console.print(f"{at_hand} of {len(data_sets)} data sets are at hand; downloads go to {cache_dir()}")


def show_verify(names: list[str], data_dir: Path | None, console: Console) -> bool:
    """Check the data sets at hand against the manifest and print what was found.

    Returns:
        Whether no copy is wrong.
    """
    table = Table("data set", "status", "detail", box=None, header_style="bold")
    counts: Counter[str] = Counter()
    for data_set in track(select(names), "verifying", console=console, transient=True):
        verdict = verify(data_set, data_dir)
        counts[verdict.status] += 1
        table.add_row(verdict.name, f"[{_STYLES[verdict.status]}]{verdict.status}[/]", verdict.detail)
    console.print(table)
    console.print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return counts["wrong"] == 0


def show_fetch(names: list[str], console: Console) -> None:
    """Download the data sets into the cache, with progress bars, and print where they are."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bars:

        def progress(file: DataFile) -> OnBytes:
            bar = bars.add_task(file.path, total=file.bytes)
            return lambda done, total: bars.update(bar, completed=done, total=total or file.bytes)

        paths = fetch(select(names), progress)
    for path in paths:
        console.print(f"[green]right[/] {path}")
    if not paths:
        console.print("nothing to fetch: these data sets come with scikit-learn")
