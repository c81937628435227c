"""Curves along training: metrics on the test part, and the norm of the last layer's weights (the paper's Figure 4)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from squentropy.study.report import drawing
from squentropy.study.report.document import Figure
from squentropy.study.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 12
_COLUMNS = 4
_Curves = dict[str, list[dict[str, Any]]]


def curves(results: Results, scale: str, metric: str, title: str, factor: float, caption: str) -> Figure | None:
    """One recorded curve for each task and loss, with the range over seeds; of many tasks the mean over tasks.

    Args:
        results: What was found.
        scale: The scale shown.
        metric: Key of the curves.
        title: As it stands at the axis.
        factor: What the values are multiplied by.
        caption: What the curve shows; how it is drawn is added.

    Returns:
        The figure, or None where no run recorded the curve.
    """
    import matplotlib.figure

    tasks = _recorded(results, scale, metric)
    if not tasks:
        return None
    panels = tasks if len(tasks) <= _MOST_PANELS else _mean_over_tasks(tasks, metric)
    colours = drawing.colours(list(results.losses))
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with drawing.style():
        figure = matplotlib.figure.Figure(figsize=(max(2.4 * columns, 3.6), 2.15 * rows + 0.35), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, (task, by_loss) in zip(grid, panels.items(), strict=False):
            for label, seeds in by_loss.items():
                _curve(ax, seeds, metric, factor, colours[label], label)
            ax.set_title(task)
            ax.grid(axis="y")
            ax.set_xlabel("epoch")
        for ax in grid[len(panels) :]:
            ax.set_visible(False)
        for ax in grid[::columns]:
            ax.set_ylabel(title)
        handles = {label: handle for ax in grid for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(
            handles.values(), handles.keys(), loc="outside upper left", ncols=min(len(handles), columns + 1, 4)
        )
        spread = "Lines are means over seeds, bands their range."
        if panels is not tasks:
            spread = "Lines are means over tasks and seeds, bands the range over seeds of the mean over tasks."
        return drawing.render(figure, f"curves-{metric}-{scale}", f"{caption} {spread}")


def _recorded(results: Results, scale: str, metric: str) -> dict[str, _Curves]:
    """The curves of the finished runs that recorded a metric, by task and loss."""
    found: dict[str, _Curves] = {}
    for label in results.losses:
        for (at, task, loss, _), record in results.records.items():
            if at == scale and loss == label and len(record["curves"].get(metric, ())) > 1:
                found.setdefault(task, {}).setdefault(label, []).append(record["curves"])
    return dict(sorted(found.items()))


def _mean_over_tasks(tasks: dict[str, _Curves], metric: str) -> dict[str, _Curves]:
    """The mean over the tasks that were measured at the same epochs, the commonest ones, seed by seed."""
    epochs = Counter(
        tuple(curve["epoch"]) for by_loss in tasks.values() for seeds in by_loss.values() for curve in seeds
    )
    common = epochs.most_common(1)[0][0]
    chosen = {
        task: by_loss
        for task, by_loss in tasks.items()
        if all(tuple(curve["epoch"]) == common for seeds in by_loss.values() for curve in seeds)
    }
    losses = list(dict.fromkeys(label for by_loss in chosen.values() for label in by_loss))
    means: _Curves = {}
    for label in losses:
        seeds = min(len(by_loss[label]) for by_loss in chosen.values() if label in by_loss)
        means[label] = [
            {
                "epoch": list(common),
                metric: np.mean(
                    [by_loss[label][seed][metric] for by_loss in chosen.values() if label in by_loss], axis=0
                ),
            }
            for seed in range(seeds)
        ]
    return {f"mean over {len(chosen)} tasks": means}


def _curve(ax: Axes, seeds: list[dict[str, Any]], metric: str, factor: float, colour: str, label: str) -> None:
    shortest = min(len(curve["epoch"]) for curve in seeds)
    epochs = seeds[0]["epoch"][:shortest]
    values = factor * np.array([curve[metric][:shortest] for curve in seeds], float)
    ax.plot(epochs, values.mean(0), color=colour, label=label)
    if len(values) > 1:
        ax.fill_between(epochs, values.min(0), values.max(0), color=colour, alpha=0.15, linewidth=0)
