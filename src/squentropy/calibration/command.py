"""`squentropy calibrate`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from squentropy import __version__

if TYPE_CHECKING:
    from rich.table import Table

    from squentropy.calibration.report.measures import Measured
    from squentropy.calibration.report.trial import Trial

_STYLES = {"helps": "green", "harms": "red", "no clear difference": "dim"}


def calibrate(
    file: Annotated[Path, typer.Argument(help="Predictions and labels: .npz, .safetensors, .csv or .parquet.")],
    logits: Annotated[bool, typer.Option("--logits", help="The scores are logits.")] = False,
    probs: Annotated[bool, typer.Option("--probs", help="The scores are probabilities.")] = False,
    scores: Annotated[
        str | None,
        typer.Option(help="Array of the scores; in a table, columns NAME_0, NAME_1, ... [default: logits or probs]"),
    ] = None,
    target: Annotated[str, typer.Option(help="Array or column of the class indices, from 0.")] = "target",
    weight: Annotated[str | None, typer.Option(help="Array or column of sample weights.")] = None,
    ignore_index: Annotated[int, typer.Option(help="Class index of rows to leave out.")] = -100,
    bins: Annotated[int, typer.Option(min=1, help="Number of bins of equal width.")] = 10,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Recalibrator to try, such as temperature; more than one may be given. [default: all]"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write a report as one HTML page.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the bins as a CSV file.")] = None,
    sample: Annotated[int, typer.Option(min=2, help="Most rows to keep in memory, chosen at random.")] = 100_000,
    resamples: Annotated[int, typer.Option(min=100, help="Number of resamples for the intervals.")] = 1000,
    confidence: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample, the halves and the resamples.")] = 0,
) -> None:
    """Measure how far the probabilities in a file can be trusted, and which recalibrator would help.

    Example: `squentropy calibrate predictions.npz --logits --out report.html`
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from squentropy.calibration.prediction_files import Batch, Columns, names_the_file, read_batches
    from squentropy.calibration.recalibration import RECALIBRATORS
    from squentropy.calibration.report import sentences
    from squentropy.calibration.report.assessment import Kind, assess
    from squentropy.calibration.report.bin_table import write_csv
    from squentropy.calibration.report.measures import measure
    from squentropy.calibration.report.page import to_html
    from squentropy.calibration.report.trial import try_recalibrators

    if logits == probs:
        raise ValueError("exactly one of --logits and --probs must be given: what the scores are is never guessed")
    if unknown := set(method or ()) - set(RECALIBRATORS):
        raise ValueError(f"--method must be one of {', '.join(RECALIBRATORS)}, got {min(unknown)}")
    if not 0 < confidence < 1:
        raise ValueError(f"--confidence must lie between 0 and 1, got {confidence}: 0.95 covers 95%")
    for path in (out, csv):
        if path is not None and not path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} into: make it first")
    kind: Kind = "logits" if logits else "probs"
    columns = Columns(scores or kind, target, weight)

    console = Console()
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("reading")

        def shown(batches: Iterator[Batch]) -> Iterator[Batch]:
            for batch in batches:
                progress.update(task, description=f"reading row {batch.first_row:,}")
                yield batch

        with names_the_file(file):
            batches = shown(read_batches(file, columns))
            found = assess(batches, kind, bins, ignore_index=ignore_index, keep=sample, seed=seed)
        measured = []
        for row in measure(found, confidence=confidence, n_resamples=resamples, seed=seed):
            progress.update(task, description=f"measuring: {row.name}")
            measured.append(row)
        progress.update(task, description="recalibrating")
        trial = try_recalibrators(found.sample, method, bins, confidence=confidence, n_resamples=resamples, seed=seed)

    console.print(sentences.calibration_sentence(found, measured, confidence), highlight=False)
    console.print(_measures(measured, confidence))
    console.print(sentences.recalibration_sentence(trial, confidence), highlight=False)
    console.print(_recalibrators(trial, confidence))
    for reason, names in trial.reasons.items():
        console.print(f"left out: {names}, as {reason}", highlight=False, markup=False)
    if not found.is_whole:
        console.print(sentences.sampling_sentence(found), highlight=False)
    if csv is not None:
        write_csv(found.bins, csv, confidence)
        console.print(f"bins: {csv}", highlight=False, soft_wrap=True, markup=False)
    if out is not None:
        facts = {
            "file": file.name,
            "scores": f"{columns.scores} ({'logits' if logits else 'probabilities'})",
            "bins": f"{bins} of equal width",
            "intervals": f"{confidence:.0%}, {resamples:,} resamples, seed {seed}",
            "made by": f"squentropy {__version__}",
        }
        out.write_text(to_html(file.name, found, measured, trial, facts, confidence), encoding="utf-8")
        console.print(f"report: {out}", highlight=False, soft_wrap=True, markup=False)


def _measures(measured: "list[Measured]", confidence: float) -> "Table":
    from rich.table import Table

    from squentropy.calibration.report.sentences import number, span

    table = Table("measure", box=None, header_style="bold")
    table.add_column("value", justify="right")
    table.add_column(f"{confidence:.0%} interval", no_wrap=True)
    table.add_column("what it says", style="dim")
    for row in measured:
        table.add_row(
            row.name, number(row.found.estimate, row.in_percent), span(row.found, row.in_percent), row.meaning
        )
    return table


def _recalibrators(trial: "Trial", confidence: float) -> "Table":
    from rich.table import Table

    from squentropy.calibration.report.sentences import described, number, span

    table = Table("recalibrator", box=None, header_style="bold")
    table.add_column("ECE", justify="right")
    table.add_column("Brier score", justify="right")
    table.add_column(f"its change, {confidence:.0%} interval", no_wrap=True)
    table.add_column("verdict")
    table.add_row("none", number(trial.before.ece), number(trial.before.brier, False), "", "")
    for outcome in trial.outcomes:
        scores, verdict = outcome.scores, outcome.verdict
        cells = (described(outcome), number(scores.ece), number(scores.brier, False), span(outcome.brier_change, False))
        table.add_row(*cells, f"[{_STYLES[verdict]}]{verdict}[/]")
    return table
