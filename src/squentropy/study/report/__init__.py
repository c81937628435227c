"""The report of a study: one HTML page, and the same as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from squentropy.study.files import write_atomically
from squentropy.study.record import Record
from squentropy.study.report.contents import Findings, make_report
from squentropy.study.report.latex import to_latex
from squentropy.study.report.markdown import to_markdown
from squentropy.study.report.page import to_html
from squentropy.study.report.values import means_csv, runs_csv, to_json
from squentropy.study.results import collect
from squentropy.study.store import Store

__all__ = ["write_report"]


def write_report(records: Store | Iterable[Record], out: Path, *, focus: str | None = None) -> Path:
    """Writes the report of a study; the same records give the same bytes.

    ::

        <out>/report.html    the page, which needs nothing beside it
        <out>/report.md      the same as Markdown
        <out>/report.tex     and as LaTeX (booktabs)
        <out>/report.json    every number of the report
        <out>/means.csv      a row for each mean of the tables
        <out>/runs.csv       a row for each run and selection of its epoch
        <out>/figures/       each figure as SVG and PDF

    Args:
        records: The store of a study, or records from anywhere. Only a store has the predictions beside them that
            reliability diagrams need.
        out: A folder, made if it does not exist.
        focus: Label of the loss that is compared with each other one; the first of the table if None.

    Returns:
        The path of the page.

    Raises:
        ValueError: If there are no records, or if they mix settings.
    """
    results = collect(records.read() if isinstance(records, Store) else records)
    findings = Findings.of(results, focus)
    report = make_report(findings, supplements=[], reliability=[])
    texts = {
        "report.html": to_html(report),
        "report.md": to_markdown(report),
        "report.tex": to_latex(report),
        "report.json": to_json(report, findings),
        "means.csv": means_csv(findings),
        "runs.csv": runs_csv(results),
    }
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for figure in report.figures:
        write_atomically(out / "figures" / f"{figure.name}.svg", figure.svg.encode())
        write_atomically(out / "figures" / f"{figure.name}.pdf", figure.pdf)
    for name, text in texts.items():
        write_atomically(out / name, text.encode())
    return out / "report.html"
