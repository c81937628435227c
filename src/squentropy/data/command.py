"""`squentropy data list`, `verify` and `fetch`."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
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
from squentropy.data.manifest import DataFile, DataSet, select
from squentropy.data.verify import is_at_hand, verify

_WIDE = 110  # columns of a terminal that have room for licences
_STYLES = {"right": "green", "wrong": "bold red", "unknown": "yellow", "missing": "dim"}

Names = Annotated[list[str] | None, typer.Argument(help="Data sets or collections, such as mnist or uci121.")]
DataDir = Annotated[Path | None, typer.Option("--data", help="Your data directory, instead of SQUENTROPY_DATA.")]

data_app = typer.Typer(no_args_is_help=True, help="List, check and download data sets.", rich_markup_mode="markdown")


@data_app.command("list")
def list_sets(
    names: Names = None,
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, with sources, files and hashes.")] = False,
) -> None:
    """Show the data sets with size and, in a wide terminal, licence, and whether they are at hand.

    Example: `squentropy data list sklearn`
    """
    found = [(data_set, is_at_hand(data_set, data_dir)) for data_set in select(names or [])]
    if as_json:
        print(json.dumps([_entry(data_set, at_hand) for data_set, at_hand in found], indent=1))
        return
    console = Console()
    is_wide = console.width >= _WIDE
    table = Table(box=None, header_style="bold")
    table.add_column("data set", no_wrap=True)
    table.add_column("here", min_width=4)
    for heading in ("rows", "features", "classes"):
        table.add_column(heading, justify="right", no_wrap=True)
    if is_wide:
        table.add_column("licence or terms", no_wrap=True)
    for data_set, at_hand in found:
        rows = f"{data_set.rows:,}" + (f" + {data_set.test_rows:,}" if data_set.test_rows else "")
        size = [rows, *("" if count is None else f"{count:,}" for count in (data_set.features, data_set.classes))]
        mark = "[green]yes[/]" if at_hand else "no"
        table.add_row(data_set.name, mark, *size, *([data_set.licence] if is_wide else []))
    console.print(table)
    console.print(f"{sum(at_hand for _, at_hand in found)} of {len(found)} data sets are at hand", highlight=False)
    console.print(f"downloads go to {escape(str(cache_dir()))}", highlight=False, soft_wrap=True)


def _entry(data_set: DataSet, at_hand: bool) -> dict[str, object]:
    columns = ("name", "rows", "test_rows", "features", "classes", "licence", "source", "content_sha256", "note")
    files = [{"path": file.path, "form": file.form, "sha256": file.sha256, "url": file.url} for file in data_set.files]
    return {**{column: getattr(data_set, column) for column in columns}, "at_hand": at_hand, "files": files}


@data_app.command("verify")
def verify_sets(names: Names = None, data_dir: DataDir = None) -> None:
    """Check the copies at hand against the hashes of the manifest; ends with status 1 if one is wrong.

    Example: `squentropy data verify sklearn`
    """
    console = Console()
    table = Table("data set", "status", "detail", box=None, header_style="bold")
    counts: Counter[str] = Counter()
    for data_set in track(select(names or []), "verifying", console=console, transient=True):
        verdict = verify(data_set, data_dir)
        counts[verdict.status] += 1
        table.add_row(verdict.name, f"[{_STYLES[verdict.status]}]{verdict.status}[/]", escape(verdict.detail))
    console.print(table)
    console.print(", ".join(f"{count} {status}" for status, count in counts.items()), highlight=False)
    if counts["wrong"]:
        raise typer.Exit(1)


@data_app.command("fetch")
def fetch_sets(names: Annotated[list[str], typer.Argument(help="Data sets or collections, such as mnist.")]) -> None:
    """Download data sets from where they are published into the cache, and check their hashes.

    Example: `squentropy data fetch sklearn/iris`
    """
    console = Console()
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
        console.print(f"[green]right[/] {escape(str(path))}", highlight=False, soft_wrap=True)
    if not paths:
        console.print("nothing to fetch: these data sets come with scikit-learn")
