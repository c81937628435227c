"""The report of a comparison on a user's data: the answer on top, then the numbers, the data and the training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from squentropy.own_data.answer import answer
from squentropy.own_data.outcome import COMPARED, Outcome
from squentropy.study.report import numbers, tables, write_files
from squentropy.study.report.curves import Curve, curves
from squentropy.study.report.document import Block, Entry, Figure, Report, Section, Table
from squentropy.study.report.provenance import provenance
from squentropy.study.report.reliability import reliability
from squentropy.study.store import Store

_TITLES = {"accuracy": "accuracy", "ece": "ECE", "nll": "NLL"}
_COLUMNS = (
    ("accuracy", "accuracy (%)", 100.0, 1, True),
    ("balanced_accuracy", "balanced accuracy (%)", 100.0, 1, True),
    ("ece", "ECE (%)", 100.0, 1, False),
    ("ece_scaled", "ECE scaled (%)", 100.0, 1, False),
    ("nll", "NLL", 1.0, 3, False),
    ("nll_scaled", "NLL scaled", 1.0, 3, False),
)


@dataclass(frozen=True)
class Background:
    """What a report says of the data, beside what the comparison found.

    Attributes:
        title: Of the report.
        summary: Sentences after the answer.
        section: The data themselves.
        design: How rows were divided, and what intervals rest on, in sentences.
    """

    title: str
    summary: Sequence[str]
    section: Section
    design: Sequence[str]


def write_outcome(outcome: Outcome, background: Background, store: Store, out: Path) -> Path:
    """Writes the report.

    ::

        <out>/report.html, report.md, report.tex
        <out>/answer.json       the answer and every number behind it
        <out>/models.csv        a row for each loss and yardstick
        <out>/differences.csv   a row for each comparison
        <out>/runs.csv          a row for each model that was trained
        <out>/figures/

    Returns:
        The path of the page.
    """
    report = make_report(outcome, background, store)
    beside = {
        "answer.json": _json(outcome),
        "models.csv": outcome.means().to_csv(float_format="%.9g", lineterminator="\n"),
        "differences.csv": outcome.against().to_csv(index=False, float_format="%.9g", lineterminator="\n"),
        "runs.csv": outcome.runs().to_csv(index=False, float_format="%.9g", lineterminator="\n"),
    }
    return write_files(report, beside, out)


def make_report(outcome: Outcome, background: Background, store: Store) -> Report:
    """Puts what was found into sections."""
    found: list[Block] = [models(outcome)]
    if outcome.differences:
        found.append(against(outcome))
    sections = [
        Section("The models", found),
        background.section,
        Section("How sure this is", list(background.design)),
        Section("Reliability", [_RELIABILITY, *_reliability(outcome, store)]),
        Section("Training", _curves(outcome)),
    ]
    if outcome.results.failures:
        sections.append(Section("Failed runs", [tables.failures(outcome.results.failures)]))
    sections += [Section("Losses", [tables.losses(outcome.results)]), provenance(outcome.results)]
    return Report(background.title, [*answer(outcome), *background.summary], sections)


_RELIABILITY = (
    "The share of right answers against the confidence, over all test rows and seeds, before temperature scaling. "
    "Without gaps a model can be taken at its word; a gap above the bar is over-confidence."
)


def models(outcome: Outcome) -> Table:
    """Means over seeds of each loss and yardstick."""
    labels = [*outcome.networks, *outcome.yardsticks]
    best = {
        metric: _best([outcome.mean(label, metric) * factor for label in labels], decimals, is_high)
        for metric, _, factor, decimals, is_high in _COLUMNS
    }
    rows = []
    for label in labels:
        row = [Entry(label, "not a network" if label in outcome.yardsticks else "")]
        for metric, _, factor, decimals, _ in _COLUMNS:
            values = [factor * value for value in outcome.values(label, metric)]
            mean, deviation = factor * outcome.mean(label, metric), _deviation(values)
            row.append(Entry(numbers.spread(mean, deviation, decimals), is_best=round(mean, decimals) == best[metric]))
        rows.append(row)
    caption = (
        "Mean ± standard deviation over seeds on the test part, last epoch. Balanced accuracy is the mean over classes "
        "of their share of right answers. Scaled: after dividing the logits by a temperature that was fitted on "
        "held-out rows. Bold: no other model is better as printed."
    )
    return Table("models", caption, ["model", *(title for _, title, *_ in _COLUMNS)], rows)


def _best(means: Sequence[float], decimals: int, is_high: bool) -> float:
    rounded = [round(mean, decimals) for mean in means]
    return max(rounded) if is_high else min(rounded)


def _deviation(values: Sequence[float]) -> float | None:
    import numpy as np

    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def against(outcome: Outcome) -> Table:
    """The loss in focus minus each other model, with intervals."""
    corrected = {metric: outcome.corrected(metric) for metric in COMPARED}
    rows = []
    for other, found in outcome.differences.items():
        row = [Entry(other)]
        for metric in COMPARED:
            factor, decimals = (1.0, 3) if metric == "nll" else (100.0, 2)
            interval = found[metric].interval
            ends = replace(
                interval,
                low=None if interval.low is None else factor * interval.low,
                high=None if interval.high is None else factor * interval.high,
            )
            row += [
                Entry(
                    numbers.signed(factor * interval.estimate, decimals),
                    numbers.ends(ends, decimals) if interval.low is not None else "",
                    is_best=found[metric].is_sure,
                ),
                Entry(_p_values(found[metric].p_value, corrected[metric].get(other))),
            ]
        rows.append(row)
    header = ["minus", *(title for metric in COMPARED for title in (_TITLES[metric], "p"))]
    caption = (
        f"{outcome.focus.capitalize()} minus each other model, with 95 % intervals; accuracy and ECE in points. Bold: "
        "the interval leaves out zero. p: of no difference, after Holm's correction for the number of losses."
    )
    return Table("differences", caption, header, rows)


def _p_values(plain: float | None, corrected: float | None) -> str:
    return numbers.p_value(corrected if corrected is not None else plain)


def _reliability(outcome: Outcome, store: Store) -> list[Figure]:
    [task] = outcome.results.tasks
    return [replace(figure, caption=f"{task}: all seeds together.") for figure in reliability(outcome.results, store)]


def _curves(outcome: Outcome) -> list[Block]:
    [scale] = outcome.results.scales
    shown = [
        Curve("accuracy", "accuracy (%)", 100.0, "Accuracy on the test part during training."),
        Curve("ece", "ECE (%)", 100.0, "ECE on the test part during training."),
    ]
    note = "All losses have the same training, and the last epoch counts: nothing was chosen by the test part."
    return [note, *curves(outcome.results, scale, shown)]


def _json(outcome: Outcome) -> str:
    content: dict[str, Any] = {
        "answer": answer(outcome),
        "focus": outcome.focus,
        "baseline": outcome.baseline,
        "best_by_held_out_rows": outcome.best,
        "models": json.loads(outcome.means().to_json(orient="index")),
        "differences": json.loads(outcome.against().to_json(orient="records")),
        "failures": [vars(failure) for failure in outcome.results.failures],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
