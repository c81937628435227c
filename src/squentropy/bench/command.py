"""`squentropy bench`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from squentropy.bench.case import Case
    from squentropy.bench.process import Settings
    from squentropy.bench.report import Report


def bench(
    what: Annotated[
        list[str] | None, typer.Argument(help="Groups (losses, heads, calibration, training), cases, or all.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write every round of every case.")] = None,
    markdown_file: Annotated[Path | None, typer.Option("--markdown", help="Write tables of the ratios.")] = None,
    plot_file: Annotated[Path | None, typer.Option("--plot", help="Draw the ratios: .svg, .pdf or .png.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of PyTorch; the targets are for two.")] = 2,
    quick: Annotated[bool, typer.Option(help="A few rounds, without what is compiled.")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Time the losses beside cross entropy and the ways to write squentropy by hand, and measure their memory.

    Example: `squentropy bench losses/128x10 --quick`
    """
    from squentropy.bench.cases import select
    from squentropy.bench.markdown import markdown
    from squentropy.bench.process import QUICK, Settings
    from squentropy.bench.terminal import show

    cases = select(what or ["all"])
    settings = replace(QUICK if quick else Settings(), threads=threads, device=device)
    for file in filter(None, (json_file, markdown_file, plot_file)):
        if not file.absolute().parent.is_dir():
            raise ValueError(f"there is no folder for {file}: make it first")
    if plot_file is not None and plot_file.suffix not in (".svg", ".pdf", ".png"):
        raise ValueError(f"--plot is {plot_file}: end the name in .svg, .pdf or .png")
    console = Console()
    report, failures = _measure(cases, settings, console)
    show(report, console)
    if json_file is not None:
        json_file.write_text(json.dumps(report.to_json(), indent=1) + "\n")
    if markdown_file is not None:
        markdown_file.write_text(markdown(report))
    if plot_file is not None:
        from squentropy.bench.plot import plot

        plot(report, plot_file)
    for failure in failures:
        console.print(f"[red]{escape(failure)}[/]", soft_wrap=True)
    if failures:
        raise typer.Exit(1)


def _measure(cases: "list[Case]", settings: "Settings", console: Console) -> "tuple[Report, list[str]]":
    """Measure the cases one after another; Ctrl-C leaves out the rest."""
    from squentropy.bench.process import measure
    from squentropy.bench.report import make_report

    outcomes, failures = [], []
    with console.status("") as status:
        for number, case in enumerate(cases, start=1):
            status.update(f"{case.name} ({number} of {len(cases)})")
            try:
                outcomes.append(measure(case, settings))
            except RuntimeError as error:
                failures.append(str(error))
            except KeyboardInterrupt:
                failures.append(f"stopped at {case.name}")
                break
    return make_report(outcomes, settings), failures
