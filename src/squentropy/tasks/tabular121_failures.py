"""Training that went wrong on the 121 tables: runs that diverged, and runs that learnt nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from squentropy.study.record import Record
from squentropy.study.report import numbers
from squentropy.study.report.document import Entry, Section, Table
from squentropy.tasks.tabular121_study import Kind, set_name

_FEW_ROWS = 1000  # of small data sets, the share of the commonest class in the test part says little
_NEAR = 0.005


def failures(found: Mapping[str, Sequence[Record]], kinds: Mapping[str, Kind]) -> Section:
    """What went wrong in which study, and what the means would be if each failed run counted as a guess.

    Args:
        found: Records by study; of `tabular121`, the main one, more is said.
        kinds: What there is to know of each data set.
    """
    rows = [
        [Entry(name), Entry(loss), Entry(f"{sum(sets.values())} of {total}"), Entry(_listing(sets))]
        for name, records in found.items()
        for loss, total, sets in _by_loss(records, lambda record: record["status"] == "failed")
        if sets
    ]
    main = found["tabular121"]
    stuck = [
        [Entry(loss), Entry(f"{sum(sets.values())}"), Entry(_listing(sets) or numbers.NOTHING)]
        for loss, _, sets in _by_loss(main, lambda record: _learnt_nothing(record, kinds))
    ]
    caption = "Runs whose training loss became infinite or NaN, by data set. They count in no mean above."
    header = ["study", "loss", "failed", "data sets (runs)"]
    diverged = Table("failed", caption, header, rows, text_columns=(1, 3)) if rows else "No run failed."
    caption = (
        f"Runs of the main study on data sets of more than {_FEW_ROWS:,} rows that ended no better than the commonest "
        "class alone (within half a point). They count in all means above."
    )
    nothing = Table("stuck", caption, ["loss", "runs", "data sets (runs)"], stuck, text_columns=(2,))
    return Section("Failed runs", [diverged, *([_as_guesses(main)] if rows else []), nothing])


def _by_loss(records: Sequence[Record], is_counted: Callable[[Record], bool]) -> list[tuple[str, int, Counter[str]]]:
    """Each loss with its number of runs, and with how many on which data set are counted."""
    totals = Counter(_written(record) for record in records)
    sets: dict[str, Counter[str]] = {loss: Counter() for loss in totals}
    for record in records:
        if is_counted(record):
            sets[_written(record)][set_name(record["run"]["task"])] += 1
    return [(loss, totals[loss], sets[loss]) for loss in sorted(totals)]


def _listing(sets: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted(sets.items()))


def _learnt_nothing(record: Record, kinds: Mapping[str, Kind]) -> bool:
    kind = kinds[set_name(record["run"]["task"])]
    if record["status"] != "done" or kind.rows <= _FEW_ROWS:
        return False
    accuracy: float = record["metrics"]["last"]["accuracy"]
    return accuracy <= kind.commonest / kind.classes + _NEAR


def _written(record: Record) -> str:
    loss = dict(record["run"]["loss"])
    name = str(loss.pop("name")).replace("_", " ")
    return f"{name} ({', '.join(f'{key}={value}' for key, value in loss.items())})" if loss else name


def _as_guesses(records: Iterable[Record]) -> str:
    by_loss: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if record["status"] == "done":
            accuracy = record["metrics"]["last"]["accuracy"]
        elif record["data"] is not None:
            accuracy = 1 / record["data"]["num_classes"]
        else:
            continue
        by_loss.setdefault(_written(record), {}).setdefault(record["run"]["task"], []).append(100 * accuracy)
    means = [
        f"{loss} {numbers.fixed(float(np.mean([np.mean(values) for values in tasks.values()])), 1)}"
        for loss, tasks in sorted(by_loss.items())
    ]
    return (
        "If each failed run of the main study counted as a guess among the C classes, the mean accuracies at the last "
        f"epoch over all its data sets would be: {numbers.listing(means)}."
    )
