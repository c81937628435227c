"""The findings as Markdown: the ratios of each group, contestants down and cases across, and the verdicts."""

from collections.abc import Iterable

from squentropy.bench.outcome import Outcome
from squentropy.bench.report import Report
from squentropy.bench.texts import bytes_text, seconds_text, verdict_texts


def markdown(report: Report) -> str:
    """Return the tables, whose first line of ratios, the baseline's, has times and bytes instead."""
    machine = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    parts = [f"Measured on: {machine}; {report.settings.threads} threads.\n"]
    for group, outcomes in report.groups().items():
        names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.seconds))
        cases = [outcome.case.partition("/")[2] for outcome in outcomes]
        parts.append(f"### {group}\n")
        parts.append(_table(["time", *cases], ([name, *(_time(each, name) for each in outcomes)] for name in names)))
        parts.append(
            _table(["memory", *cases], ([name, *(_memory(each, name) for each in outcomes)] for name in names))
        )
    if report.verdicts():
        heading = ["case", "contestant", "against", "at most", "measured", "reached"]
        rows = ([*verdict_texts(each), "yes" if each.is_reached else "**no**"] for each in report.verdicts())
        parts.append(f"### To be reached\n\n{_table(heading, rows, words=3)}")
    return "\n".join(parts)


def _time(outcome: Outcome, name: str) -> str:
    if name not in outcome.seconds:
        return ""
    if name == outcome.baseline:
        return seconds_text(outcome.time(name).median)
    return f"{outcome.time_ratio(name, outcome.baseline).median:.2f}"


def _memory(outcome: Outcome, name: str) -> str:
    if name not in outcome.extra_bytes:
        return ""
    ratio = outcome.memory_ratio(name, outcome.baseline)
    return bytes_text(outcome.extra_bytes[name]) if name == outcome.baseline or ratio is None else f"{ratio:.2f}"


def _table(heading: list[str], rows: Iterable[list[str]], words: int = 1) -> str:
    """A table whose first columns hold words, and the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(heading) - words)
    return "".join(f"| {' | '.join(row)} |\n" for row in [heading, rule, *rows])
