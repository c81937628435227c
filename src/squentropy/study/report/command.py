"""`squentropy report` and `squentropy bundle`."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    study: Annotated[Path, typer.Argument(help="Folder of a study, as `squentropy reproduce --out` names it.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the report, instead of report/ in that folder.")
    ] = None,
    focus: Annotated[str | None, typer.Option(help="The loss to compare with each other one.")] = None,
) -> None:
    """Write the report of a study again from its records: HTML, Markdown, LaTeX, CSV and JSON.

    Example: `squentropy report reproduction`
    """
    from rich.console import Console
    from rich.markup import escape

    from squentropy.study import Store
    from squentropy.study.report import write_report

    _check_folder(study)
    page = write_report(Store(study), out or study / "report", focus=focus)
    Console().print(f"report: {escape(str(page))}", highlight=False, soft_wrap=True)


def bundle(
    study: Annotated[Path, typer.Argument(help="Folder of a study, as `squentropy reproduce --out` names it.")],
    out: Annotated[Path, typer.Argument(help="Folder that gets the file records.jsonl.xz.")],
    curve_points: Annotated[int, typer.Option(min=1, help="Points of each training curve that are kept.")] = 20,
) -> None:
    """Put the records of a study into one small file, to keep or to commit, without predictions but for their bins.

    A folder with this file is a study like any other: it can be reported, and gone on with.

    Example: `squentropy bundle reproduction studies/mine`
    """
    from rich.console import Console
    from rich.markup import escape

    from squentropy.study import Store
    from squentropy.study.store import BUNDLE

    _check_folder(study)
    store = Store(study)
    if not store.run_ids():
        raise ValueError(f"{study} has no records: run a study there first, `squentropy reproduce --out {study}`")
    path = out / BUNDLE
    store.export_bundle(path, curve_points)
    size = f"{path.stat().st_size / 2**20:.2f} MiB"
    Console().print(f"{len(store.run_ids()):,} records: {escape(str(path))}, {size}", highlight=False, soft_wrap=True)


def _check_folder(study: Path) -> None:
    if not study.is_dir():
        raise FileNotFoundError(
            f"no folder {study}: run a study first, for example `squentropy reproduce --out {study}`"
        )
