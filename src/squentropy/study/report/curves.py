"""Curves along training: metrics on the test part, and the norm of the last layer's weights (the paper's Figure 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from squentropy.study.report import drawing, numbers
from squentropy.study.report.document import Figure
from squentropy.study.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 12
_COLUMNS = 4
_Curves = dict[str, list[dict[str, Any]]]  # of the seeds of each loss, with their epochs


class Curve(NamedTuple):
    """What is drawn along training.

    Attributes:
        metric: Key of the curves in the records.
        title: As it stands at the axis.
        factor: What the values are multiplied by.
        caption: What the curve shows; how it is drawn is added.
        is_median: Whether the median over tasks is taken where there are many, as a few tasks may exceed all others.
    """

    metric: str
    title: str
    factor: float
    caption: str
    is_median: bool = False


class _Panel(NamedTuple):
    title: str
    axis: str
    curve: Curve
    by_loss: _Curves


def curves(results: Results, scale: str, shown: Sequence[Curve]) -> list[Figure]:
    """A figure for each curve, with a panel for each task and the range over seeds; of many tasks one for all curves.

    Args:
        results: What was found.
        scale: The scale shown.
        shown: The curves; those that no run recorded are left out.
    """
    recorded = [(curve, tasks) for curve in shown if (tasks := _recorded(results, scale, curve.metric))]
    if any(len(tasks) > _MOST_PANELS for _, tasks in recorded):
        panels = [_over_tasks(curve, tasks) for curve, tasks in recorded]
        medians = [panel.curve.title for panel in panels if panel.curve.is_median]
        of_medians = f" (of the {numbers.listing(medians)} the median over tasks)" if medians else ""
        how = f"Lines are means over tasks and seeds{of_medians}, bands the range over seeds."
        caption = " ".join([*(panel.curve.caption for panel in panels), how])
        return [_draw(results, panels, f"curves-{scale}", caption)]
    return [
        _draw(
            results,
            [_Panel(task, curve.title, curve, by_loss) for task, by_loss in tasks.items()],
            f"curves-{curve.metric}-{scale}",
            f"{curve.caption} Lines are means over seeds, bands their range.",
        )
        for curve, tasks in recorded
    ]


def _draw(results: Results, panels: Sequence[_Panel], name: str, caption: str) -> Figure:
    import matplotlib.figure

    colours = drawing.colours(list(results.losses))
    rows = -(-len(panels) // _COLUMNS)
    columns = -(-len(panels) // rows)
    with drawing.style():
        figure = matplotlib.figure.Figure(figsize=(max(2.4 * columns, 3.6), 2.15 * rows + 0.35), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for number, (ax, panel) in enumerate(zip(grid, panels, strict=False)):
            for label, seeds in panel.by_loss.items():
                _draw_curve(ax, seeds, panel.curve, colours[label], label)
            ax.set_title(panel.title)
            ax.grid(axis="y")
            ax.set_xlabel("epoch")
            if number % columns == 0:
                ax.set_ylabel(panel.axis)
        for ax in grid[len(panels) :]:
            ax.set_visible(False)
        handles = {label: handle for ax in grid for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(
            handles.values(), handles.keys(), loc="outside upper left", ncols=min(len(handles), columns + 1, 4)
        )
        return drawing.render(figure, name, caption)


def _recorded(results: Results, scale: str, metric: str) -> dict[str, _Curves]:
    """The curves of the finished runs that recorded a metric, by task and loss."""
    found: dict[str, _Curves] = {}
    for label in results.losses:
        for (at, task, loss, _), record in results.records.items():
            if at == scale and loss == label and len(record["curves"].get(metric, ())) > 1:
                found.setdefault(task, {}).setdefault(label, []).append(record["curves"])
    return dict(sorted(found.items()))


def _over_tasks(curve: Curve, tasks: dict[str, _Curves]) -> _Panel:
    """The middle of the tasks that were measured at the same epochs, the commonest ones, seed by seed."""
    epochs = Counter(tuple(each["epoch"]) for by_loss in tasks.values() for seeds in by_loss.values() for each in seeds)
    common = epochs.most_common(1)[0][0]
    chosen = [
        by_loss
        for by_loss in tasks.values()
        if all(tuple(each["epoch"]) == common for seeds in by_loss.values() for each in seeds)
    ]
    middle = np.median if curve.is_median else np.mean
    found: _Curves = {}
    for label in dict.fromkeys(label for by_loss in chosen for label in by_loss):
        with_it = [by_loss[label] for by_loss in chosen if label in by_loss]
        found[label] = [
            {"epoch": list(common), curve.metric: middle([seeds[number][curve.metric] for seeds in with_it], axis=0)}
            for number in range(min(map(len, with_it)))
        ]
    return _Panel(f"{curve.title}, {numbers.count_of(len(chosen), 'task')}", "", curve, found)


def _draw_curve(ax: Axes, seeds: list[dict[str, Any]], curve: Curve, colour: str, label: str) -> None:
    shortest = min(len(each["epoch"]) for each in seeds)
    epochs = seeds[0]["epoch"][:shortest]
    values = curve.factor * np.array([each[curve.metric][:shortest] for each in seeds], float)
    ax.plot(epochs, values.mean(0), color=colour, label=label)
    if len(values) > 1:
        ax.fill_between(epochs, values.min(0), values.max(0), color=colour, alpha=0.15, linewidth=0)
