"""The figures of a report: loss against loss, average ranks, training curves, norms of weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from squentropy.study.findings import Comparison, MeasureComparison, Ranking
from squentropy.study.report import drawing, numbers
from squentropy.study.report.document import Figure
from squentropy.study.results import SELECTIONS, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 12
_COLUMNS = 4
_Curves = dict[str, list[dict[str, Any]]]


def scatter(comparison: Comparison) -> Figure:
    """The loss in focus against each other one, a point for each task (the paper's Figure 2)."""
    import matplotlib.figure

    pairs = sorted({pair.other for each in comparison.measures for pair in each.pairs}, key=comparison.losses.index)
    measures = [each for each in comparison.measures if each.pairs]
    with drawing.style():
        figure = matplotlib.figure.Figure(
            figsize=(3.1 * len(pairs), 3.2 * len(measures)) if len(pairs) > 1 else (3.3 * len(measures), 3.4),
            layout="constrained",
        )
        grid = (len(measures), len(pairs)) if len(pairs) > 1 else (1, len(measures))
        panels = figure.subplots(*grid, squeeze=False).ravel()
        for ax, (each, other) in zip(panels, [(each, other) for each in measures for other in pairs], strict=True):
            _scatter_panel(ax, comparison, each, other)
        for extra in panels[len(measures) * len(pairs) :]:
            extra.set_visible(False)
        caption = (
            f"{comparison.focus} against each other loss, {SELECTIONS[comparison.selection]}: a point for each task, with bars "
            "of a standard deviation over seeds. In the shaded half "
            f"{comparison.focus} is better; the counts are wins, ties and losses of means as printed."
        )
        if any(pair.published for each in measures for pair in each.pairs):
            caption += " Hollow: the published values."
        return drawing.render(figure, f"scatter-{comparison.scale}-{comparison.selection}", caption)


def _scatter_panel(ax: Axes, comparison: Comparison, each: MeasureComparison, other: str) -> None:
    colour, marker, _ = _styles(comparison.losses)[comparison.focus]
    cells = [
        (row[other], row[comparison.focus])
        for row in each.cells.values()
        if row[other].mean is not None and row[comparison.focus].mean is not None
    ]
    published = [
        (theirs.published, ours.published)
        for theirs, ours in cells
        if theirs.published is not None and ours.published is not None
    ]
    points = np.array([(theirs.mean, ours.mean) for theirs, ours in cells], float).reshape(-1, 2)
    bars = np.array([(theirs.deviation or 0.0, ours.deviation or 0.0) for theirs, ours in cells]).reshape(-1, 2)
    low, high = _limits(np.concatenate([points, np.array(published, float).reshape(-1, 2)]))
    if published:
        ax.scatter(*np.array(published).T, s=16, facecolor="none", edgecolor=drawing.QUIET, linewidth=0.7, zorder=2)
    many = len(points) > 30
    ax.errorbar(
        *points.T, xerr=bars[:, 0], yerr=bars[:, 1], linestyle="none", color=colour, marker=marker,
        markersize=3.5 if many else 5.5, elinewidth=0.5 if many else 0.9, alpha=0.8, zorder=3,
    )  # fmt: skip
    ax.plot([low, high], [low, high], color=drawing.QUIET, linewidth=0.8, zorder=1)
    higher = each.measure.higher_is_better is not False
    edge = high if higher else low
    ax.fill_between([low, high], [low, high], edge, color=colour, alpha=0.08, linewidth=0, zorder=0)
    pair = next((pair for pair in each.pairs if pair.other == other), None)
    counts = numbers.record_of(pair.rounded if pair else None)
    ax.set_title(f"{each.measure.title}: {counts}")
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel=other, ylabel=comparison.focus)


def _limits(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return max(0.0, low - margin), high + margin


def critical_difference(comparison: Comparison, each: MeasureComparison, ranking: Ranking) -> Figure:
    """Average ranks on a line; losses that Nemenyi's test does not tell apart are joined (Demšar 2006)."""
    import matplotlib.figure
    import pandas as pd
    from scikit_posthocs import critical_difference_diagram

    styles = _styles(comparison.losses)
    with drawing.style():
        figure = matplotlib.figure.Figure(figsize=(6.4, 1.1 + 0.16 * len(comparison.losses)), layout="constrained")
        ax = figure.subplots()
        critical_difference_diagram(
            ranking.ranks,
            pd.DataFrame(ranking.nemenyi),
            ax=ax,
            label_fmt_left="{label}  {rank:.2f}",
            label_fmt_right="{rank:.2f}  {label}",
            color_palette={label: colour for label, (colour, _, _) in styles.items()},
            crossbar_props={"color": drawing.INK, "linewidth": 3.5},
            marker_props={"s": 28},
        )
        caption = (
            f"{each.measure.title}, {SELECTIONS[comparison.selection]}: average ranks over "
            f"{numbers.count_of(ranking.tasks, 'task')}, the best on the left. Thick lines join losses that Nemenyi's test does not tell "
            f"apart at level 0.05 (critical difference {numbers.fixed(ranking.critical_difference, 2)}; Friedman's test: "
            f"p {_equals(ranking.friedman)})."
        )
        name = f"ranks-{each.measure.key}-{comparison.scale}-{comparison.selection}"
        return drawing.render(figure, name, caption)


def _equals(p: float | None) -> str:
    text = numbers.p_value(p)
    return text if text.startswith("<") else f"= {text}"


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
    panels = tasks if len(tasks) <= MOST_PANELS else _mean_over_tasks(tasks, metric)
    styles = _styles(list(results.losses))
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with drawing.style():
        figure = matplotlib.figure.Figure(figsize=(max(2.4 * columns, 3.6), 2.15 * rows + 0.35), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, (task, by_loss) in zip(grid, panels.items(), strict=False):
            for label, seeds in by_loss.items():
                _curve(ax, seeds, metric, factor, styles[label][0], label)
            ax.set_title(task)
            ax.grid(axis="y")
            ax.set_xlabel("epoch")
        for ax in grid[len(panels) :]:
            ax.set_visible(False)
        for ax in grid[::columns]:
            ax.set_ylabel(title)
        handles = {label: handle for ax in grid for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=min(len(handles), 4))
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


def _styles(losses: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    return {label: drawing.LOSS_STYLES[index % len(drawing.LOSS_STYLES)] for index, label in enumerate(losses)}
