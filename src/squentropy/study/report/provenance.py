"""Where the numbers come from: data, recipes, seeds and the machines that computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from squentropy.study.canonical import canonical_json
from squentropy.study.report import numbers
from squentropy.study.report.document import Entry, Section, Table
from squentropy.study.results import Results

_SHOWN_TASKS = 6


def provenance(results: Results) -> Section:
    """Everything that one needs to know to compute the numbers again."""
    return Section("Provenance", [_environment(results), _recipes(results), _data(results)])


def _environment(results: Results) -> Table:
    """Each fact with its values; more than one where machines differed."""
    values: dict[str, dict[str, int]] = {}
    for record in results.records.values():
        for name, value in _flat(record["environment"]):
            counts = values.setdefault(name, {})
            counts[str(value)] = counts.get(str(value), 0) + 1
    seeds = sorted({seed for *_, seed in results.records})
    facts = {"scale": numbers.listing(results.scales), "seeds": ", ".join(map(str, seeds))}
    facts |= {
        name: "; ".join(
            value if len(counts) == 1 else f"{value} ({numbers.count_of(n, 'run')})"
            for value, n in sorted(counts.items())
        )
        for name, counts in sorted(values.items())
    }
    rows = [[Entry(name.replace("_", " ")), Entry(value)] for name, value in facts.items()]
    caption = (
        "Circumstances of the runs. The same versions, platform, threads and seed give the same numbers bit for bit."
    )
    return Table("environment", caption, ["what", "value"], rows, text_columns=(1,))


def _flat(environment: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, object]]:
    for name, value in environment.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value


def _recipes(results: Results) -> Table:
    tasks: dict[tuple[str, str], dict[str, None]] = {}
    for (scale, task, _, _), record in results.records.items():
        tasks.setdefault((scale, canonical_json(record["run"]["recipe"])), {})[task] = None
    recipe_of = {
        (record["run"]["scale"], canonical_json(record["run"]["recipe"])): record["run"]["recipe"]
        for record in results.records.values()
    }
    rows = [
        [Entry(_names(list(names))), Entry(key[0]), Entry(_settings(recipe_of[key]))] for key, names in tasks.items()
    ]
    caption = "How the tasks were trained, the same for each loss but for what the recipe prescribes for one."
    return Table("recipes", caption, ["tasks", "scale", "recipe"], rows, text_columns=(1, 2))


def _names(names: list[str]) -> str:
    if len(names) <= _SHOWN_TASKS:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN_TASKS])} and {len(names) - _SHOWN_TASKS} more"


def _settings(recipe: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_plain(value)}" for name, value in recipe.items() if value not in (None, {}, []))


def _plain(value: object) -> str:
    return canonical_json(value).replace('"', "").replace(",", ", ").replace(":", " ")


def _data(results: Results) -> Table:
    data = {task: record["data"] for (_, task, _, _), record in results.records.items() if record["data"]}
    rows = [
        [
            Entry(task),
            Entry(str(each.get("name", task))),
            Entry(f"{each['train_rows']:,} / {each['test_rows']:,}"),
            Entry(str(each["num_classes"])),
            Entry(str(each["sha256"])[:16]),
        ]
        for task, each in data.items()
    ]
    caption = (
        "Data: rows to train and to test on, and the first 16 digits of the SHA-256 of their content. Where each seed "
        "has a split of its own, those of one seed."
    )
    return Table(
        "data", caption, ["task", "data", "train / test rows", "classes", "SHA-256"], rows, text_columns=(1, 4)
    )
