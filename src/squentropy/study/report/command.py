"""`squentropy report`."""

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

    if not study.is_dir():
        raise FileNotFoundError(
            f"no folder {study}: run a study first, for example `squentropy reproduce --out {study}`"
        )
    page = write_report(Store(study), out or study / "report", focus=focus)
    Console().print(f"report: {escape(str(page))}", highlight=False, soft_wrap=True)
