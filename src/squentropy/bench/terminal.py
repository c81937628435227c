"""The findings for the terminal: each contestant of each case, and the verdicts.

The spread is that of the middle half of the rounds, as a part of the median.
"""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from squentropy.bench.outcome import Outcome
from squentropy.bench.report import Report
from squentropy.bench.texts import bytes_text, seconds_text, verdict_texts


def show(report: Report, console: Console) -> None:
    """Print each contestant of each case, and the verdicts."""
    for group, outcomes in report.groups().items():
        table = Table(title=group, title_justify="left", box=None, header_style="bold")
        table.add_column(outcomes[0].case.partition("/")[0])
        for heading in ("time", "spread", "ratio", "memory", "ratio"):
            table.add_column(heading, justify="right")
        for outcome in outcomes:
            table.add_row(f"[bold]{outcome.case.partition('/')[2]}[/]")
            for name in outcome.seconds:
                table.add_row(f"  {name}", *_cells(outcome, name))
            for name, reason in outcome.missing.items():
                table.add_row(f"  [red]{name}[/]")
                table.add_row(f"    [red]{escape(reason)}[/]")
        console.print(table)
    if report.verdicts():
        table = Table(title="to be reached", title_justify="left", box=None, header_style="bold")
        for heading in ("case", "contestant", "against", "at most", "measured", ""):
            table.add_column(heading, justify="right" if heading in ("at most", "measured") else "left")
        for verdict in report.verdicts():
            table.add_row(*verdict_texts(verdict), "[green]reached[/]" if verdict.is_reached else "[red]missed[/]")
        console.print(table)


def _cells(outcome: Outcome, name: str) -> tuple[str, ...]:
    time, ratio = outcome.time(name), outcome.time_ratio(name, outcome.baseline)
    memory_ratio = outcome.memory_ratio(name, outcome.baseline)
    return (
        seconds_text(time.median),
        f"{(time.high - time.low) / time.median:.0%}",
        f"{ratio.median:.3f}",
        bytes_text(outcome.extra_bytes[name]),
        "" if memory_ratio is None else f"{memory_ratio:.2f}",
    )
