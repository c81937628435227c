"""The numbers of a report for other programs: CSV, a row for each run and for each mean, and JSON with everything."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from squentropy.study.report.contents import Findings
from squentropy.study.report.document import Report
from squentropy.study.results import Results

if TYPE_CHECKING:
    import pandas as pd

_DIGITS = 9  # enough for any reader, few enough to be the same on each processor


def runs_csv(results: Results) -> str:
    """A row for each run and selection of its epoch, with all metrics in the units of the records."""
    return _csv(results.runs)


def means_csv(findings: Findings) -> str:
    """A row for each mean of the tables, in percent, with n, spread, and the published value beside it."""
    import pandas as pd

    rows = [
        {
            "scale": scale,
            "selection": selection,
            "measure": each.measure.key,
            "task": task,
            "loss": label,
            **asdict(cell),
        }
        for scale, by_selection in findings.comparisons.items()
        for selection, comparison in by_selection.items()
        for each in comparison.measures
        for task, cells in each.cells.items()
        for label, cell in cells.items()
    ]
    return _csv(pd.DataFrame(rows))


def _csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, lineterminator="\n", float_format=f"%.{_DIGITS}g")


def to_json(report: Report, findings: Findings) -> str:
    """Everything that the report says as one JSON object."""
    results = findings.results
    content = {
        "title": report.title,
        "summary": report.summary,
        "losses": {label: asdict(variant) for label, variant in results.losses.items()},
        "comparisons": [
            asdict(comparison) for by_selection in findings.comparisons.values() for comparison in by_selection.values()
        ],
        "failures": [asdict(failure) for failure in results.failures],
        "runs": [_circumstances(record) for record in results.records.values()],
    }
    return json.dumps(_rounded(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _circumstances(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("run_id", "run", "status", "data", "environment")}


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.{_DIGITS}g}")
        case dict():
            return {key: _rounded(item) for key, item in value.items()}
        case list() | tuple():
            return [_rounded(item) for item in value]
    return value
