"""The tables of a report."""

from __future__ import annotations

from collections.abc import Iterable

from squentropy.study.findings import Cell, Comparison, MeasureComparison
from squentropy.study.report import numbers
from squentropy.study.report.document import Entry, Table
from squentropy.study.results import SELECTIONS, Failure, Results

_TIE_RULE = "Two means are a tie when they agree as printed"


def averages(comparison: Comparison) -> Table:
    """Each loss over all tasks: its means, on how many tasks it is best, and its average rank."""
    header, columns = ["loss"], []
    for each in comparison.measures:
        if each.ranking is None:
            continue
        title = each.measure.title
        header += [title, "95 % interval"]
        if each.gaps:
            header += ["published", "difference"]
        header += ["best or tied", "average rank"]
        columns.append(each)
    rows = [
        [Entry(label), *(entry for each in columns for entry in _average(each, label))] for label in comparison.losses
    ]
    tasks = max((each.ranking.tasks for each in columns if each.ranking), default=0)
    caption = (
        f"All losses together, {SELECTIONS[comparison.selection]}: means over the {numbers.count_of(tasks, 'task')} on which "
        "every loss has a result, in percent, with bootstrap intervals over tasks and seeds. The best rank is 1."
    )
    return Table(f"averages-{comparison.scale}-{comparison.selection}", caption, header, rows)


def _average(each: MeasureComparison, label: str) -> list[Entry]:
    ranking, decimals = each.ranking, each.measure.decimals
    assert ranking is not None
    best_rank = min(ranking.ranks.values())
    average = ranking.averages.get(label)
    entries = [
        Entry(numbers.fixed(average.estimate if average else None, decimals)),
        Entry(numbers.ends(average, decimals) if average else numbers.NOTHING),
    ]
    if each.gaps:
        gap = each.gaps.get(label)
        entries += [
            Entry(numbers.fixed(gap.published if gap else None, decimals)),
            Entry(numbers.signed(gap.mean if gap else None, decimals)),
        ]
    rank = ranking.ranks[label]
    return [
        *entries,
        Entry(f"{ranking.best[label]}"),
        Entry(numbers.fixed(rank, 2), is_best=rank == best_rank),
    ]


def over_tasks(comparison: Comparison) -> Table:
    """The loss in focus against each other one, with the tests over tasks."""
    has_published = any(pair.published for each in comparison.measures for pair in each.pairs)
    header = ["measure", "against", "tasks", "win / tie / loss", "strictly"]
    header += ["as published"] if has_published else []
    header += ["mean difference", "95 % interval", "p (Wilcoxon)", "p (Holm)", "better / same / worse"]
    rows = []
    for each in comparison.measures:
        for pair in each.pairs:
            same = pair.equivalence
            rows.append(
                [
                    Entry(each.measure.title),
                    Entry(pair.other),
                    Entry(f"{len(pair.differences)}"),
                    Entry(numbers.record_of(pair.rounded)),
                    Entry(numbers.record_of(pair.strict)),
                    *([Entry(numbers.record_of(pair.published))] if has_published else []),
                    Entry(numbers.signed(pair.difference.estimate, 2), is_best=pair.difference.excludes_zero),
                    Entry(numbers.ends(pair.difference, 2)),
                    Entry(numbers.p_value(pair.p_value)),
                    Entry(numbers.p_value(pair.p_holm)),
                    Entry(
                        " / ".join(f"{share:.2f}" for share in (same.better, same.equivalent, same.worse))
                        if same
                        else numbers.NOTHING
                    ),
                ]
            )
    ropes = numbers.listing([f"{each.measure.rope:g} for {each.measure.title}" for each in comparison.measures])
    caption = (
        f"{comparison.focus} against each other loss over tasks, {SELECTIONS[comparison.selection]}. {_TIE_RULE}; "
        "strictly: without rounding. Differences in percentage points, positive where "
        f"{comparison.focus} is better, bold where the bootstrap interval over tasks and seeds leaves out zero. Wilcoxon's "
        "signed-rank test from six tasks on, corrected by Holm over the other losses. Last column: posterior "
        f"probabilities of the Bayesian signed-rank test, where differences of at most a region count as none ({ropes})."
    )
    name = f"over-tasks-{comparison.scale}-{comparison.selection}"
    return Table(name, caption, header, rows, text_columns=(1,))


def over_seeds(comparison: Comparison) -> Table:
    """The loss in focus against each other one, with the tests over seeds."""
    header = [
        "measure", "against", "better", "undecided", "worse", "not tested",
        "smaller spread", "equal", "larger", "ratio", "p (sign test)", "clearly smaller", "clearly larger",
    ]  # fmt: skip
    rows = []
    for each in comparison.measures:
        for pair in each.pairs:
            seeds, spread = pair.seeds, pair.spread
            counts = [seeds.better, seeds.undecided, seeds.worse, seeds.untested]
            order = [spread.smaller, spread.equal, spread.larger]
            clear = [spread.clearly_smaller, spread.clearly_larger]
            rows.append(
                [
                    Entry(each.measure.title),
                    Entry(pair.other),
                    *(Entry(f"{count}") for count in (*counts, *order)),
                    Entry(numbers.fixed(spread.median_ratio, 2)),
                    Entry(numbers.p_value(spread.p_value)),
                    *(Entry(f"{count}") for count in clear),
                ]
            )
    caption = (
        f"{comparison.focus} against each other loss over seeds, in numbers of tasks, {SELECTIONS[comparison.selection]}. "
        "Better or worse: paired t-tests over seeds, corrected by Holm over tasks, level 0.05. Spread: standard "
        "deviation over seeds, the median of its ratios, the sign test over tasks, and the tasks on which the "
        "Brown-Forsythe test finds the spread clearly smaller or larger (Holm over tasks, level 0.05)."
    )
    return Table(f"over-seeds-{comparison.scale}-{comparison.selection}", caption, header, rows, text_columns=(1,))


def by_task(comparison: Comparison, each: MeasureComparison, notes: Iterable[str] = ()) -> Table:
    """One measure on each task: ours, and where there is one, the published value and the difference."""
    measure = each.measure
    has_published = any(cell.published is not None for cells in each.cells.values() for cell in cells.values())
    beside = "; below it the published value and ours minus it" if has_published else ""
    caption = (
        f"{measure.title} by task, {SELECTIONS[comparison.selection]}: mean ± standard deviation over seeds, in percent"
        f"{beside}. Bold: no other loss is better as printed."
    )
    metrics = set(comparison.metrics.values())
    is_mixed = measure.key == "performance" and len(metrics) > 1
    rows = [
        [
            Entry(task, comparison.metrics[task].replace("_", " ") if is_mixed else ""),
            Entry(_seeds(cells.values())),
            *(_entry(cells[label], measure.decimals) for label in comparison.losses),
        ]
        for task, cells in each.cells.items()
    ]
    name = f"{measure.key}-{comparison.scale}-{comparison.selection}"
    return Table(name, caption, ["task", "seeds", *comparison.losses], rows, notes=tuple(notes))


def _seeds(cells: Iterable[Cell]) -> str:
    """The number of seeds that finished, as a range where losses differ."""
    counts = sorted({cell.n for cell in cells})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _entry(cell: Cell, decimals: int) -> Entry:
    failed = f"{numbers.count_of(cell.failed, 'seed')} failed" if cell.failed else ""
    published = "" if cell.published is None else numbers.spread(cell.published, cell.published_deviation, decimals)
    difference = f"({numbers.signed(cell.gap, decimals)})" if cell.gap is not None else ""
    detail = " ".join(filter(None, (published, difference)))
    text = numbers.spread(cell.mean, cell.deviation, decimals)
    return Entry(text, ", ".join(filter(None, (detail, failed))), cell.is_best)


def failures(failed: list[Failure]) -> Table:
    """The runs that ended without a result."""
    rows = [
        [Entry(each.task), Entry(each.loss), Entry(f"{each.seed}"), Entry(each.scale), Entry(each.reason)]
        for each in failed
    ]
    caption = "Runs that failed. They count in no mean; their losses are compared on the seeds that finished."
    return Table("failures", caption, ["task", "loss", "seed", "scale", "reason"], rows, text_columns=(1, 3, 4))


def losses(results: Results) -> Table:
    """The losses with their parameters."""
    rows = [
        [
            Entry(label),
            Entry(variant.name),
            Entry("; ".join(_settings(each) for each in variant.parameters)),
        ]
        for label, variant in results.losses.items()
    ]
    caption = "Losses and their parameters; more than one set where tasks prescribe their own."
    return Table("losses", caption, ["label", "loss", "parameters"], rows, text_columns=(1, 2))


def _settings(parameters: dict[str, object]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in sorted(parameters.items())) or "defaults"
