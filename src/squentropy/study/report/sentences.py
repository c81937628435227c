"""What a study compared and what it found, in sentences."""

from __future__ import annotations

from squentropy.study.findings import Comparison, MeasureComparison, Pair
from squentropy.study.report import numbers
from squentropy.study.results import SELECTIONS, Results

SCALES = {
    "paper": "the published recipes",
    "small": "recipes cut to fit a small machine, which are compared among themselves only",
}


def title(results: Results) -> str:
    """The losses, the first against the others."""
    first, *others = results.losses
    if not others:
        return first.capitalize()
    return (
        f"{first.capitalize()} against {numbers.listing(others)}"
        if len(others) < 4
        else f"{first.capitalize()} against {len(others)} other losses"
    )


def what_was_compared(results: Results) -> str:
    """One sentence with the numbers of the study."""
    tasks = {(scale, task) for scale, task, *_ in results.records}
    seeds = {seed for *_, seed in results.records}
    failed = len(results.failures)
    ending = f"{failed:,} of which failed" if failed else "all of which finished"
    scales = numbers.listing([f"scale {scale} ({SCALES[scale]})" for scale in results.scales])
    return (
        f"Compared: {numbers.listing(list(results.losses))} on {numbers.count_of(len(tasks), 'task')} with "
        f"{numbers.count_of(len(seeds), 'seed')} each, {numbers.count_of(len(results.records), 'run')}, {ending}, at "
        f"{scales}."
    )


def what_was_found(comparison: Comparison) -> list[str]:
    """For each other loss one sentence with the wins, ties and losses on each measure and the mean differences."""
    others = [label for label in comparison.losses if label != comparison.focus]
    sentences = []
    for other in others:
        parts = [
            _finding(each, pair, comparison.focus)
            for each in comparison.measures
            for pair in each.pairs
            if pair.other == other
        ]
        if parts:
            sentences.append(f"Against {other}, {SELECTIONS[comparison.selection]}: {'; '.join(parts)}.")
    return sentences


def _finding(each: MeasureComparison, pair: Pair, focus: str) -> str:
    counts, mean = pair.rounded, pair.difference
    interval = "" if mean.low is None else f", 95\u00a0% interval {numbers.ends(mean, 2)}"
    return (
        f"{focus} has the better {each.measure.title} on {counts.wins}, the same on {counts.ties} and the worse on "
        f"{counts.losses} of {numbers.count_of(len(pair.differences), 'task')} (in points "
        f"{numbers.signed(mean.estimate, 2)}{interval})"
    )
