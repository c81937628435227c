"""The report of a study: one HTML page, and the same as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from squentropy.study.files import write_atomically
from squentropy.study.record import Record
from squentropy.study.report.contents import Findings, make_report
from squentropy.study.report.document import Report
from squentropy.study.report.latex import to_latex
from squentropy.study.report.markdown import to_markdown
from squentropy.study.report.page import to_html
from squentropy.study.report.reliability import reliability
from squentropy.study.report.supplement import read_supplements, write_supplements
from squentropy.study.report.values import means_csv, runs_csv, to_json
from squentropy.study.results import collect
from squentropy.study.store import Store

__all__ = ["write_files", "write_report", "write_supplements"]


def write_report(records: Store | Iterable[Record], out: Path, *, focus: str | None = None) -> Path:
    """Writes the report of a study; the same records give the same bytes.

    ::

        <out>/report.html    the page, which needs nothing beside it
        <out>/report.md      the same as Markdown
        <out>/report.tex     and as LaTeX (booktabs)
        <out>/report.json    every number of the report
        <out>/means.csv      a row for each mean of the tables
        <out>/runs.csv       a row for each run and selection of its epoch
        <out>/<task>.csv     the measurements behind a task's supplement
        <out>/figures/       each figure as SVG and PDF

    Args:
        records: The store of a study, or records from anywhere. Only a store has what stands beside them:
            the predictions for reliability diagrams, and the supplements.
        out: A folder, made if it does not exist.
        focus: Label of the loss that is compared with each other one; the first of the table if None.

    Returns:
        The path of the page.

    Raises:
        ValueError: If there are no records, or if they mix settings.
    """
    store = records if isinstance(records, Store) else None
    results = collect(records.read() if isinstance(records, Store) else records)
    findings = Findings.of(results, focus)
    supplements = read_supplements(store, results.tasks) if store else []
    diagrams = reliability(results, store) if store else []
    report = make_report(findings, [each.section() for each in supplements], diagrams)
    beside = {
        "report.json": to_json(report, findings),
        "means.csv": means_csv(findings),
        "runs.csv": runs_csv(results),
        **{f"{each.name}.csv": each.csv for each in supplements},
    }
    return write_files(report, beside, out)


def write_files(report: Report, beside: Mapping[str, str], out: Path) -> Path:
    """Writes a report in its formats with its figures, and texts by their names beside it; returns the page."""
    texts = {
        "report.html": to_html(report),
        "report.md": to_markdown(report),
        "report.tex": to_latex(report),
        **beside,
    }
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for figure in report.figures:
        write_atomically(out / "figures" / f"{figure.name}.svg", figure.svg.encode())
        write_atomically(out / "figures" / f"{figure.name}.pdf", figure.pdf)
    for name, text in texts.items():
        write_atomically(out / name, text.encode())
    return out / "report.html"
