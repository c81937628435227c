"""The tables of a report."""

from __future__ import annotations

from collections.abc import Iterable

from squentropy.study.findings import Cell, Comparison, MeasureComparison, Pair
from squentropy.study.report import numbers
from squentropy.study.report.document import Entry, Table
from squentropy.study.results import SELECTIONS, Failure, Results
from squentropy.study.statistics import PracticalEquivalence


def averages(comparison: Comparison) -> Table:
    """Each loss over all tasks: its means, on how many tasks it is best, and its average rank."""
    shown = [each for each in comparison.measures if each.ranking is not None]
    header = ["loss", *(title for each in shown for title in (each.measure.title, "best or tied", "rank"))]
    rows = [
        [Entry(label), *(entry for each in shown for entry in _average(each, label))] for label in comparison.losses
    ]
    tasks = max((each.ranking.tasks for each in shown if each.ranking), default=0)
    published = (
        "; below it the published mean over the same tasks and ours minus it" if any(e.gaps for e in shown) else ""
    )
    caption = (
        f"Means over {numbers.count_of(tasks, 'task')}, {SELECTIONS[comparison.selection]}, in percent, with 95 % "
        f"intervals{published}. On how many tasks no other loss is better, and the average rank, 1 being the best."
    )
    return Table(f"averages-{comparison.scale}-{comparison.selection}", caption, header, rows)


def _average(each: MeasureComparison, label: str) -> list[Entry]:
    ranking, decimals = each.ranking, each.measure.decimals
    assert ranking is not None
    mean, gap, rank = ranking.averages.get(label), each.gaps.get(label), ranking.ranks[label]
    published = f"{numbers.fixed(gap.published, decimals)} ({numbers.signed(gap.mean, decimals)})" if gap else ""
    text = numbers.NOTHING
    if mean is not None:
        text = numbers.fixed(mean.estimate, decimals) + (
            "" if mean.low is None else f" [{numbers.ends(mean, decimals)}]"
        )
    return [
        Entry(text, published),
        Entry(f"{ranking.best[label]}"),
        Entry(numbers.fixed(rank, 2), is_best=rank == min(ranking.ranks.values())),
    ]


def over_tasks(comparison: Comparison) -> Table:
    """The loss in focus against each other one, with the tests over tasks."""
    header = ["against", "measure", "win / tie / loss", "mean difference", "Wilcoxon p", "better / same / worse"]
    rows = [
        [
            Entry(pair.other, numbers.count_of(len(pair.differences), "task")),
            Entry(each.measure.title),
            Entry(numbers.record_of(pair.rounded), _other_counts(pair)),
            Entry(
                numbers.signed(pair.difference.estimate, 2),
                f"{numbers.ends(pair.difference, 2)}",
                is_best=pair.difference.excludes_zero,
            ),
            Entry(numbers.p_value(pair.p_value), "" if pair.p_holm is None else f"Holm {numbers.p_value(pair.p_holm)}"),
            Entry(numbers.NOTHING if pair.equivalence is None else _shares(pair.equivalence)),
        ]
        for each, pair in _by_other(comparison)
    ]
    caption = (
        f"Over tasks, {SELECTIONS[comparison.selection]}: {comparison.focus} against each other loss. Differences in "
        f"percentage points with 95 % intervals, positive where {comparison.focus} is better."
    )
    return Table(f"over-tasks-{comparison.scale}-{comparison.selection}", caption, header, rows, text_columns=(1,))


def _by_other(comparison: Comparison) -> list[tuple[MeasureComparison, Pair]]:
    pairs = [(each, pair) for each in comparison.measures for pair in each.pairs]
    return sorted(pairs, key=lambda found: comparison.losses.index(found[1].other))


def _other_counts(pair: Pair) -> str:
    strict = f"strictly {numbers.record_of(pair.strict)}" if pair.strict != pair.rounded else ""
    published = "" if pair.published is None else f"published {numbers.record_of(pair.published)}"
    return ", ".join(filter(None, (strict, published)))


def _shares(equivalence: PracticalEquivalence) -> str:
    shares = equivalence.better, equivalence.equivalent, equivalence.worse
    return " / ".join(f"{share:.2f}" for share in shares)


def over_seeds(comparison: Comparison) -> Table:
    """The loss in focus against each other one, with the tests over seeds."""
    header = [
        "against",
        "measure",
        "better / undecided / worse",
        "spread smaller / equal / larger",
        "ratio",
        "sign test p",
        "clearly",
    ]
    rows = [
        [
            Entry(pair.other),
            Entry(each.measure.title),
            Entry(
                f"{pair.seeds.better} / {pair.seeds.undecided} / {pair.seeds.worse}",
                f"{pair.seeds.untested} not tested" if pair.seeds.untested else "",
            ),
            Entry(f"{pair.spread.smaller} / {pair.spread.equal} / {pair.spread.larger}"),
            Entry(numbers.fixed(pair.spread.median_ratio, 2)),
            Entry(numbers.p_value(pair.spread.p_value)),
            Entry(f"{pair.spread.clearly_smaller} / {pair.spread.clearly_larger}"),
        ]
        for each, pair in _by_other(comparison)
    ]
    caption = (
        f"Over seeds, {SELECTIONS[comparison.selection]}: on how many tasks {comparison.focus} is significantly "
        "better or worse, and on how many it spreads less or more over seeds, clearly so in the last column."
    )
    return Table(f"over-seeds-{comparison.scale}-{comparison.selection}", caption, header, rows, text_columns=(1,))


def by_task(comparison: Comparison, each: MeasureComparison, notes: Iterable[str] = ()) -> Table:
    """One measure on each task: ours, and where there is one, the published value and the difference."""
    measure = each.measure
    has_published = any(cell.published is not None for cells in each.cells.values() for cell in cells.values())
    beside = "; below it the published value and ours minus it" if has_published else ""
    caption = (
        f"{measure.title[:1].upper()}{measure.title[1:]} by task, {SELECTIONS[comparison.selection]}: mean ± standard "
        f"deviation over seeds, in percent{beside}. Bold: no other loss is better as printed."
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
