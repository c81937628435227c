"""What studies of the 121 tables say, from their records alone, as sections of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from squentropy.data import MANIFEST
from squentropy.study import Store, statistics
from squentropy.study.findings import Comparison, Measure, MeasureComparison, Pair
from squentropy.study.record import Record
from squentropy.study.report import numbers
from squentropy.study.report.document import Entry, Section, Table
from squentropy.study.results import SELECTIONS
from squentropy.study.statistics import Interval, Values, WinTieLoss
from squentropy.tasks.tabular121_failures import failures
from squentropy.tasks.tabular121_published import PAPER_TEXT, published_table
from squentropy.tasks.tabular121_study import (
    ACCURACY,
    CROSS_ENTROPY,
    ECE,
    SQUENTROPY,
    Kind,
    TabularStudy,
    read_kinds,
    set_name,
)

KINDS = "commonest_class.csv"
STUDIES = ("tabular121", "tabular121-plain", "tabular121-folds", "tabular121-ablations", "tabular121-temperature")
_ECE_SCALED = Measure("ece_scaled", "ECE after scaling", higher_is_better=False)
_NLL = Measure("nll", "NLL", higher_is_better=False, factor=1, decimals=3, rope=0.01)
_NLL_SCALED = Measure("nll_scaled", "NLL after scaling", higher_is_better=False, factor=1, decimals=3, rope=0.01)


def sections(studies: Path) -> list[Section]:
    """All that the studies in a folder say; a study that is not there is left out, but for the main one.

    Args:
        studies: The folder with `tabular121/records.jsonl.xz` and its neighbours.
    """
    found = {name: list(Store(studies / name).read()) for name in STUDIES if (studies / name).is_dir()}
    main = TabularStudy.of(found.get("tabular121", []))
    parts = [_headline(main), _wins(main), _distance(main), _seeds(main)]
    if found.get("tabular121-temperature"):
        parts.append(_temperature(TabularStudy.of(found["tabular121-temperature"])))
    if found.get("tabular121-ablations"):
        parts.append(_ablations(found["tabular121"], found["tabular121-ablations"]))
    others = {name: found[name] for name in ("tabular121-plain", "tabular121-folds") if found.get(name)}
    if others:
        parts.append(_protocols(found["tabular121"], others))
    kinds = read_kinds(studies / "tabular121" / KINDS)
    return [*parts, _kinds(main, kinds), failures(found, kinds), published_table()]


def headline_table(study: TabularStudy) -> Table:
    """Means of the three losses, last and best epoch, beside what the paper says."""
    header = ["loss", "accuracy, paper", "last epoch", "best test epoch", "ECE, paper", "last epoch", "best test epoch"]
    rows = []
    for loss, (accuracy, ece) in PAPER_TEXT.items():
        label = study.label(loss)
        if label is not None:
            ours = [_average(each, label) for at in (study.last, study.best) for each in at.measures]
            texts = [f"{accuracy}", ours[0], ours[2], f"{ece}", ours[1], ours[3]]
            rows.append([Entry(label), *map(Entry, texts)])
    caption = (
        f"Means over {_common_tasks(study.last)} data sets and five seeds in percent, with 95 % intervals; the paper's "
        "are over 121."
    )
    return Table("headline", caption, header, rows)


def _headline(study: TabularStudy) -> Section:
    return Section("Accuracy and ECE", [headline_table(study)])


def _average(each: MeasureComparison, label: str) -> str:
    if each.ranking is None or label not in each.ranking.averages:
        return numbers.NOTHING
    return _interval(each.ranking.averages[label], each.measure.decimals)


def _interval(interval: Interval, decimals: int, *, signed: bool = False) -> str:
    write = numbers.signed if signed else numbers.fixed
    ends = "" if interval.low is None else f" [{numbers.ends(interval, decimals)}]"
    return f"{write(interval.estimate, decimals)}{ends}"


def _common_tasks(comparison: Comparison) -> int:
    return max((each.ranking.tasks for each in comparison.measures if each.ranking), default=0)


def _sets(comparison: Comparison) -> str:
    """How many data sets each loss has a result on, and how large they are."""
    return f"{_common_tasks(comparison)} data sets of up to {_most_rows(map(set_name, comparison.tasks)):,} rows"


def _most_rows(names: Iterable[str]) -> int:
    return max(MANIFEST[f"uci121/{name}"].rows for name in names)


def _wins(study: TabularStudy) -> Section:
    """Wins, ties and losses as the paper counts and strictly."""
    header = ["epoch", "against", "measure", "win / tie / loss", "strictly", "paper", "mean difference", "Wilcoxon p"]
    rows = [
        [
            Entry(SELECTIONS[comparison.selection]),
            Entry(pair.other),
            Entry(each.measure.title),
            Entry(numbers.record_of(pair.rounded)),
            Entry(numbers.record_of(pair.strict)),
            Entry(numbers.record_of(pair.published)),
            _difference(pair),
            Entry(numbers.p_value(pair.p_value)),
        ]
        for comparison in (study.last, study.best)
        for each in comparison.measures
        for pair in each.pairs
    ]
    caption = (
        "On how many data sets squentropy is better, the same as printed with one decimal, or worse; then without "
        "rounding; then the same for the numbers that the paper prints, on these data sets. The paper's own counts add "
        "its ties to its wins. Differences in points with 95 % intervals over data sets and seeds, positive where "
        "squentropy is better, bold where the interval leaves out zero."
    )
    return Section("Wins, ties and losses of squentropy", [Table("wins", caption, header, rows, text_columns=(1, 2))])


def _difference(pair: Pair) -> Entry:
    return Entry(_interval(pair.difference, 2, signed=True), is_best=pair.difference.excludes_zero)


def _distance(study: TabularStudy) -> Section:
    """Our means minus the published ones, at both epochs."""
    rows = []
    for first, second in zip(study.last.measures, study.best.measures, strict=True):
        for label in study.last.losses:
            if label in first.gaps and label in second.gaps:
                last, best, decimals = first.gaps[label], second.gaps[label], first.measure.decimals
                rows.append(
                    [
                        Entry(first.measure.title),
                        Entry(label),
                        Entry(numbers.fixed(last.published, decimals)),
                        Entry(numbers.signed(last.mean, decimals)),
                        Entry(numbers.fixed(last.mean_absolute, decimals)),
                        Entry(numbers.signed(best.mean, decimals)),
                        Entry(numbers.fixed(best.mean_absolute, decimals)),
                    ]
                )
    header = ["measure", "loss", "published", "last − published", "mean distance", "best − published", "mean distance"]
    caption = (
        "Our means minus the published ones over the data sets that have both, in points, at the last epoch and at the "
        "epoch that is best on the test part; the mean distance is that of the single data sets."
    )
    return Section(
        "Distance to the published means", [Table("distance", caption, header, rows, text_columns=(1,)), _PEAK]
    )


_PEAK = (
    "Where the published accuracies are those of the best test epoch, ours of that epoch come near them, and ours of "
    "the last epoch lie below."
)


def _seeds(study: TabularStudy) -> Section:
    header = ["against", "measure", "spread smaller / equal / larger", "ratio", "sign test p", "clearly"]
    rows = [
        [
            Entry(pair.other),
            Entry(each.measure.title),
            Entry(f"{pair.spread.smaller} / {pair.spread.equal} / {pair.spread.larger}"),
            Entry(numbers.fixed(pair.spread.median_ratio, 2)),
            Entry(numbers.p_value(pair.spread.p_value)),
            Entry(f"{pair.spread.clearly_smaller} / {pair.spread.clearly_larger}"),
        ]
        for each in study.last.measures
        for pair in each.pairs
    ]
    caption = (
        "On how many data sets squentropy's standard deviation over seeds is smaller, equal or larger, last epoch, the "
        "median of the ratio, and on how many a Brown-Forsythe test finds it clearly smaller / larger. Seeds have "
        "splits of their own, so the spread is mostly that of the splits."
    )
    return Section("Spread over seeds", [Table("spread", caption, header, rows, text_columns=(1,))])


def _temperature(study: TabularStudy) -> Section:
    """ECE and NLL before and after temperature scaling, and whether squentropy stays ahead."""
    comparison = study.compared("last", (ACCURACY, ECE, _ECE_SCALED, _NLL, _NLL_SCALED))
    accuracy, ece, ece_scaled, nll, nll_scaled = comparison.measures
    temperatures = study.results.runs[study.results.runs["selection"] == "last"].groupby("loss")["temperature"]
    rows = [
        [
            Entry(label),
            Entry(_average(accuracy, label)),
            Entry(_average(ece, label)),
            Entry(_average(ece_scaled, label)),
            Entry(_median_of_tasks(nll, label)),
            Entry(_median_of_tasks(nll_scaled, label)),
            Entry(numbers.fixed(float(temperatures.get_group(label).median()), 2)),
        ]
        for label in comparison.losses
    ]
    header = ["loss", "accuracy", "ECE", "ECE scaled", "NLL", "NLL scaled", "temperature"]
    caption = (
        f"Before and after temperature scaling on {_sets(comparison)}, last epoch, trained on four fifths of the "
        "training part; the temperature is fitted on the remaining fifth, and stays 1 where that has one class or no "
        "mistake. Means with 95 % intervals, for NLL and temperature medians."
    )
    table = Table("temperature", caption, header, rows)
    counts = [
        [
            Entry(pair.other),
            Entry(each.measure.title),
            Entry(numbers.record_of(pair.rounded)),
            Entry(numbers.record_of(pair.strict)),
            _difference(pair),
            Entry(numbers.p_value(pair.p_value)),
        ]
        for each in (ece, ece_scaled)
        for pair in each.pairs
    ]
    columns = ["against", "measure", "win / tie / loss", "strictly", "mean difference", "Wilcoxon p"]
    caption = "Squentropy against each other loss, positive where squentropy is better; after scaling, both are scaled."
    pairs = Table("temperature-pairs", caption, columns, counts, text_columns=(1,))
    return Section("After temperature scaling", [table, pairs, _crossed(study)])


def _median_of_tasks(each: MeasureComparison, label: str) -> str:
    means = [cells[label].mean for cells in each.cells.values()]
    present = [mean for mean in means if mean is not None]
    return numbers.fixed(float(np.median(present)), each.measure.decimals) if present else numbers.NOTHING


def _crossed(study: TabularStudy) -> str:
    """Scaled cross entropy against squentropy as it is: what would a user gain who only knows the first?"""
    by_task = study.differences((CROSS_ENTROPY, "ece_scaled"), (SQUENTROPY, "ece"))
    mean = statistics.bootstrap_mean(list(by_task.values()))
    counts = _signs(by_task)
    return (
        "Cross entropy with a temperature against squentropy without one: squentropy has the lower ECE on "
        f"{counts.wins} and the higher on {counts.losses} of {len(by_task)} data sets; the mean difference is "
        f"{_interval(mean, 2, signed=True)} points, positive where squentropy is better."
    )


def _signs(by_task: dict[str, Values]) -> WinTieLoss:
    means = [round(float(values.mean()), 9) for values in by_task.values()]
    return statistics.win_tie_loss(means, np.zeros(len(means)))


def _ablations(main: Sequence[Record], ablations: Sequence[Record]) -> Section:
    tasks = {record["run"]["task"] for record in ablations}
    study = TabularStudy.of([*(record for record in main if record["run"]["task"] in tasks), *ablations])
    rows = []
    for label in study.last.losses:
        row = [Entry(label)]
        for each in study.last.measures:
            pair = next((pair for pair in each.pairs if pair.other == label), None)
            row += [
                Entry(_average(each, label)),
                Entry(numbers.NOTHING) if pair is None else Entry(numbers.record_of(pair.rounded)),
                Entry(numbers.NOTHING) if pair is None else _difference(pair),
            ]
        rows.append(row)
    header = ["loss", "accuracy", "win / tie / loss", "difference", "ECE", "win / tie / loss", "difference"]
    caption = (
        f"All losses on {_sets(study.last)}, last epoch, same seeds. Wins, ties and losses are squentropy's against "
        "the loss of the row, and differences positive where squentropy is better."
    )
    return Section("Other losses", [Table("ablations", caption, header, rows)])


def _protocols(main: Sequence[Record], others: dict[str, list[Record]]) -> Section:
    """Momentum 0 and the archive's folds beside the main protocol on the same data sets."""
    names = {
        "tabular121": "momentum 0.9",
        "tabular121-plain": "momentum 0",
        "tabular121-folds": "the archive's folds, momentum 0.9",
    }
    sets = set.intersection(*({set_name(record["run"]["task"]) for record in records} for records in others.values()))
    rows = []
    for study_name, records in {"tabular121": main, **others}.items():
        study = TabularStudy.of([record for record in records if set_name(record["run"]["task"]) in sets])
        square = study.label("rescaled_square") or ""
        for each in study.last.measures:
            pair = next(pair for pair in each.pairs if pair.other == CROSS_ENTROPY)
            rows.append(
                [
                    Entry(names[study_name]),
                    Entry(each.measure.title),
                    *(Entry(_average(each, loss)) for loss in (SQUENTROPY, CROSS_ENTROPY, square)),
                    Entry(numbers.record_of(pair.rounded)),
                    _difference(pair),
                    Entry(numbers.p_value(pair.p_value)),
                ]
            )
    header = ["protocol", "measure", "squentropy", "cross entropy", "rescaled square"]
    header += ["win / tie / loss against cross entropy", "mean difference", "Wilcoxon p"]
    caption = f"Protocols on the same {len(sets)} data sets of up to {_most_rows(sets):,} rows, last epoch."
    return Section("Without momentum, and on the archive's folds", [
        Table("protocols", caption, header, rows, text_columns=(1,))
    ])  # fmt: skip


_KINDS: tuple[tuple[str, Callable[[Kind], bool]], ...] = (
    ("2 classes", lambda kind: kind.classes == 2),
    ("3 to 5 classes", lambda kind: 3 <= kind.classes <= 5),
    ("6 classes and more", lambda kind: kind.classes >= 6),
    ("fewer than 300 rows", lambda kind: kind.rows < 300),
    ("300 to 1,000 rows", lambda kind: 300 <= kind.rows <= 1000),
    ("1,001 to 5,000 rows", lambda kind: 1000 < kind.rows <= 5000),
    ("more than 5,000 rows", lambda kind: kind.rows > 5000),
    ("balanced: commonest class at most 1.2 / C", lambda kind: kind.commonest <= 1.2),
    ("commonest class 1.2 / C to 1.6 / C", lambda kind: 1.2 < kind.commonest <= 1.6),
    ("commonest class above 1.6 / C", lambda kind: kind.commonest > 1.6),
)


def _kinds(study: TabularStudy, kinds: dict[str, Kind]) -> Section:
    """Where squentropy wins or loses against cross entropy."""
    by_measure = [
        study.differences((SQUENTROPY, "accuracy"), (CROSS_ENTROPY, "accuracy")),
        study.differences((CROSS_ENTROPY, "ece"), (SQUENTROPY, "ece")),
    ]
    rows = []
    for title, belongs in _KINDS:
        row = [Entry(title)]
        for differences in by_measure:
            chosen = {task: values for task, values in differences.items() if belongs(kinds[set_name(task)])}
            if not chosen:
                break
            mean, counts = statistics.bootstrap_mean(list(chosen.values())), _signs(chosen)
            row += [
                Entry(numbers.record_of(counts)),
                Entry(_interval(mean, 2, signed=True), is_best=mean.excludes_zero),
            ]
            sets = len(chosen)
        else:
            rows.append([row[0], Entry(f"{sets}"), *row[1:]])
    header = ["data sets", "number", "accuracy: win / tie / loss", "difference", "ECE: win / tie / loss", "difference"]
    caption = (
        "Squentropy against cross entropy by kind of data, last epoch, strict counts; C is the number of classes. "
        "Differences in points, positive where squentropy is better."
    )
    return Section("On which data", [Table("kinds", caption, header, rows)])
