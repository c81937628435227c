"""What a report says, in its order: findings, tables, figures, failures, supplements and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from squentropy.study.comparison import compare
from squentropy.study.findings import Comparison, Measure, MeasureComparison
from squentropy.study.measured import ACCURACY_AND_ECE
from squentropy.study.published import PublishedRow, errata_for, find_row
from squentropy.study.report import sentences, tables
from squentropy.study.report.curves import Curve, curves
from squentropy.study.report.document import Block, Figure, Report, Section
from squentropy.study.report.method import method
from squentropy.study.report.provenance import provenance
from squentropy.study.report.ranks import critical_difference
from squentropy.study.report.scatter import scatter
from squentropy.study.results import SELECTIONS, Results

_PERFORMANCE, _ECE = ACCURACY_AND_ECE
_ECE_SCALED = Measure("ece_scaled", "ECE after temperature scaling", higher_is_better=False)


@dataclass(frozen=True)
class Findings:
    """All that was computed from the records, before it is put into words.

    Attributes:
        results: The records as one table.
        comparisons: For each scale the comparison at the last and at the best epoch.
        published: The published row by task, where the task reproduces one.
    """

    results: Results
    comparisons: dict[str, dict[str, Comparison]]
    published: dict[str, PublishedRow]

    @classmethod
    def of(cls, results: Results, focus: str | None = None) -> Findings:
        """Compares the losses at each scale and selection of the epoch."""
        rows = {task: find_row(record["paper_row"]) for (_, task, _, _), record in results.records.items()}
        published = {task: row for task, row in rows.items() if row is not None}
        comparisons = {
            scale: {
                selection: compare(
                    results, scale, selection, focus=focus, measures=_measures(results, scale),
                    published=published if scale == "paper" else {},
                )
                for selection in SELECTIONS
            }
            for scale in results.scales
        }  # fmt: skip
        return cls(results, comparisons, published)


def _measures(results: Results, scale: str) -> list[Measure]:
    """The headline metric under its own name, if the tasks share one, and ECE, also after scaling where it was."""
    calibration = [_ECE, _ECE_SCALED] if _ECE_SCALED.key in results.runs else [_ECE]
    metrics = {
        (record["metric"]["name"], record["metric"]["higher_is_better"])
        for (at, *_), record in results.records.items()
        if at == scale
    }
    if len(metrics) > 1:
        return [Measure("performance", "headline metric"), *calibration]
    [(name, higher_is_better)] = metrics
    return [Measure("performance", name.replace("_", " "), higher_is_better), *calibration]


def make_report(findings: Findings, supplements: Sequence[Section], reliability: Sequence[Figure]) -> Report:
    """Puts findings into words, tables and figures.

    Args:
        findings: What was computed.
        supplements: Sections of the tasks themselves.
        reliability: Reliability diagrams, where predictions are at hand.
    """
    results = findings.results
    headlines = [
        sentence
        for scale in results.scales
        for sentence in sentences.what_was_found(findings.comparisons[scale]["last"])
    ]
    last = findings.comparisons[results.scales[0]]["last"]
    sections = [_scale(findings, scale) for scale in results.scales]
    if reliability:
        sections.append(Section("Reliability", [_RELIABILITY, *reliability]))
    sections += supplements
    if results.failures:
        sections.append(Section("Failed runs", [tables.failures(results.failures)]))
    sections += [method(last), Section("Losses", [tables.losses(results)]), provenance(results)]
    return Report(sentences.title(results), [sentences.what_was_compared(results), *headlines], sections)


_RELIABILITY = (
    "The share of right answers against the confidence, over all test rows and seeds. Without gaps a model can be "
    "taken at its word; a gap above the bar is over-confidence."
)


def _scale(findings: Findings, scale: str) -> Section:
    last, best = findings.comparisons[scale]["last"], findings.comparisons[scale]["best"]
    blocks: list[Block | None] = [
        tables.averages(last),
        scatter(last),
        *_tests(last),
        *_task_tables(findings, last),
        critical_difference(last),
        *_curves(findings.results, scale),
        _best_epoch(findings, best),
    ]
    return Section(
        f"Scale {scale}: {sentences.SCALES[scale].partition(',')[0]}", [block for block in blocks if block is not None]
    )


def _tests(comparison: Comparison) -> list[Block]:
    if not any(each.pairs for each in comparison.measures):
        return []
    return [tables.over_tasks(comparison), tables.over_seeds(comparison)]


def _task_tables(findings: Findings, comparison: Comparison) -> list[Block]:
    notes = [erratum.text for erratum in errata_for(findings.published.values())] if comparison.scale == "paper" else []
    return [tables.by_task(comparison, each, notes) for each in comparison.measures if _has_values(each)]


def _has_values(each: MeasureComparison) -> bool:
    return any(cell.mean is not None for cells in each.cells.values() for cell in cells.values())


def _curves(results: Results, scale: str) -> list[Figure]:
    names = {record["metric"]["name"] for (at, *_), record in results.records.items() if at == scale}
    metrics = [
        Curve(name, f"{title} (%)", 100.0, f"{title[:1].upper()}{title[1:]} on the test part during training.")
        for name, title in sorted((name, name.replace("_", " ")) for name in names)
    ]
    ece = Curve("ece", "ECE (%)", 100.0, "ECE on the test part during training.")
    caption = "Frobenius norm of the weights of the last linear layer during training (the paper's Figure 4)."
    return curves(results, scale, [*metrics, ece, Curve("weight_norm", "norm", 1.0, caption, is_median=True)])


def _best_epoch(findings: Findings, best: Comparison) -> Section:
    note = (
        "The epoch of each run that is best on the test part, as the paper's vision script selects it: it has seen "
        "the test part, so it is too good, and stands here only because published numbers may be of this kind."
    )
    blocks = [
        note,
        *sentences.what_was_found(best),
        tables.averages(best),
        *_tests(best),
        *_task_tables(findings, best),
    ]
    return Section("The same at the best test epoch", blocks)
