"""Records as one table: a row for each run and each way to choose its epoch, a column for each metric."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from squentropy.losses import LOSSES
from squentropy.study.canonical import canonical_json
from squentropy.study.record import Record

if TYPE_CHECKING:
    import pandas as pd

SELECTIONS = {"last": "last epoch", "best": "best test epoch"}
_PAPER_ORDER = ("squentropy", "cross_entropy", "rescaled_square")
_Parameters: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class LossVariant:
    """A column of the tables: a loss by name, with the parameters that it had.

    Attributes:
        name: Key of `squentropy.LOSSES`.
        parameters: The distinct parameter sets; more than one where tasks prescribe their own.
        is_published: Whether it may stand beside what the paper printed under this name.
    """

    name: str
    parameters: list[dict[str, Any]]
    is_published: bool


@dataclass(frozen=True)
class Failure:
    """A run that ended without a result."""

    scale: str
    task: str
    loss: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Results:
    """What a study found, from its records alone.

    Attributes:
        runs: A row for each finished run and selection of its epoch; columns `scale`, `selection`, `task`, `loss`,
            `seed`, `metric`, `higher_is_better`, `performance` (the task's headline metric) and all other metrics, in
            the units of the records.
        failures: The runs that failed.
        losses: Columns of the tables by label, in their order.
        records: All records by (scale, task, label, seed), in this order.
    """

    runs: pd.DataFrame
    failures: list[Failure]
    losses: dict[str, LossVariant]
    records: dict[tuple[str, str, str, int], Record] = field(repr=False)

    @property
    def scales(self) -> list[str]:
        """Scales that occur, in alphabetical order."""
        return sorted({scale for scale, *_ in self.records})

    @property
    def tasks(self) -> list[str]:
        """Tasks that occur at any scale, in alphabetical order."""
        return sorted({task for _, task, *_ in self.records})


def collect(records: Iterable[Record]) -> Results:
    """Arrange records for comparison.

    Args:
        records: As `Store.read` yields them, in any order.

    Raises:
        ValueError: If there are no records, if a run occurs twice, or if runs that differ only in their recipe would be
            averaged.

    Examples:
        >>> collect([])
        Traceback (most recent call last):
        ValueError: records is empty: run a study first, for example `squentropy reproduce`
    """
    import pandas as pd

    records = list(records)
    if not records:
        raise ValueError("records is empty: run a study first, for example `squentropy reproduce`")
    labels = _labels([record["run"] for record in records])
    by_run: dict[tuple[str, str, str, int], Record] = {}
    for record in records:
        run = record["run"]
        label = labels[_cell(run)]
        key = run["scale"], run["task"], label, run["seed"]
        if key in by_run:
            raise ValueError(
                f"records hold two runs of task {run['task']!r}, scale {run['scale']!r}, loss {label!r}, "
                f"seed {run['seed']}: settings are never mixed, so pass the records of one recipe"
            )
        by_run[key] = record
    by_run = {key: by_run[key] for key in sorted(by_run)}
    _refuse_mixed_recipes(by_run)
    return Results(
        runs=pd.DataFrame(
            [row for key, record in by_run.items() for row in _rows(key, record)], columns=_columns(records)
        ),
        failures=[
            Failure(*key[:3], seed=key[3], reason=f"{record['error']['type']}: {record['error']['message']}")
            for key, record in by_run.items()
            if record["status"] == "failed"
        ],
        losses=_variants(by_run),
        records=by_run,
    )


def _rows(key: tuple[str, str, str, int], record: Record) -> list[dict[str, Any]]:
    """One row for each selection of the epoch; none for a failed run."""
    if record["status"] == "failed":
        return []
    scale, task, loss, seed = key
    metric = record["metric"]
    cell = {"scale": scale, "task": task, "loss": loss, "seed": seed, "metric": metric["name"]}
    return [
        {
            **metrics,
            **cell,
            "selection": selection,
            "higher_is_better": metric["higher_is_better"],
            "performance": metrics[metric["name"]],
        }
        for selection in SELECTIONS
        if (metrics := record["metrics"].get(selection))
    ]


def _columns(records: list[Record]) -> list[str]:
    metrics = {
        name
        for record in records
        for selection in SELECTIONS
        for name in (record["metrics"] or {}).get(selection) or {}
    }
    fixed = ["scale", "selection", "task", "loss", "seed", "metric", "higher_is_better", "performance"]
    return fixed + sorted(metrics)


def _cell(run: Mapping[str, Any]) -> tuple[str, str, str]:
    return run["scale"], run["task"], canonical_json(run["loss"])


def _parameters(loss: Mapping[str, Any]) -> _Parameters:
    return {key: value for key, value in loss.items() if key != "name"}


def _changed(loss: Mapping[str, Any]) -> _Parameters:
    """The parameters that differ from the defaults of the loss."""
    defaults = inspect.signature(LOSSES[loss["name"]]).parameters if loss["name"] in LOSSES else {}
    return {
        key: value for key, value in _parameters(loss).items() if key not in defaults or defaults[key].default != value
    }


def _labels(runs: list[Mapping[str, Any]]) -> dict[tuple[str, str, str], str]:
    """The label of each (scale, task, loss): its name and the parameters that are not the defaults.

    The paper gives the square loss other parameters on other tasks. Where each task has one parameter set, and not all
    the same, the parameters belong to the tasks and the name alone is the label.
    """
    losses = {_cell(run): run["loss"] for run in runs}
    by_name: dict[str, dict[tuple[str, str], list[_Parameters]]] = {}
    for (scale, task, _), loss in losses.items():
        by_name.setdefault(loss["name"], {}).setdefault((scale, task), []).append(_changed(loss))
    prescribed = {
        name
        for name, tasks in by_name.items()
        if all(len(sets) == 1 for sets in tasks.values()) and len({canonical_json(sets) for sets in tasks.values()}) > 1
    }
    return {
        cell: _label(loss["name"], {} if loss["name"] in prescribed else _changed(loss))
        for cell, loss in losses.items()
    }


def _label(name: str, parameters: _Parameters) -> str:
    title = name.replace("_", " ")
    settings = ", ".join(f"{key}={value}" for key, value in sorted(parameters.items()))
    return f"{title} ({settings})" if settings else title


def _variants(by_run: Mapping[tuple[str, str, str, int], Record]) -> dict[str, LossVariant]:
    losses: dict[str, list[Mapping[str, Any]]] = {}
    for (_, _, label, _), record in by_run.items():
        losses.setdefault(label, []).append(record["run"]["loss"])
    labels_of: dict[str, set[str]] = {}
    for label, seen in losses.items():
        labels_of.setdefault(seen[0]["name"], set()).add(label)

    def position(label: str) -> tuple[int, str, str]:
        name = losses[label][0]["name"]
        return (_PAPER_ORDER.index(name) if name in _PAPER_ORDER else len(_PAPER_ORDER)), name, label

    def variant(label: str) -> LossVariant:
        name = losses[label][0]["name"]
        distinct = {canonical_json(loss): _parameters(loss) for loss in losses[label]}
        # The paper sets parameters for the square loss only.
        as_published = len(labels_of[name]) == 1 if name == "rescaled_square" else not any(map(_changed, losses[label]))
        return LossVariant(name, [distinct[text] for text in sorted(distinct)], name in _PAPER_ORDER and as_published)

    return {label: variant(label) for label in sorted(losses, key=position)}


def _refuse_mixed_recipes(by_run: Mapping[tuple[str, str, str, int], Record]) -> None:
    recipes: dict[tuple[str, str, str], str] = {}
    for (scale, task, label, _), record in by_run.items():
        recipe = canonical_json(record["run"]["recipe"])
        if recipes.setdefault((scale, task, label), recipe) != recipe:
            raise ValueError(
                f"records of task {task!r}, scale {scale!r}, loss {label!r} come from more than one recipe: "
                "settings are never mixed, so pass the records of one recipe"
            )
