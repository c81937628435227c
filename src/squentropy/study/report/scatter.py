"""Loss against loss: a point for each task (the paper's Figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from squentropy.study.findings import Cell, Comparison, MeasureComparison, Pair
from squentropy.study.report import drawing, numbers
from squentropy.study.report.document import Figure
from squentropy.study.results import SELECTIONS
from squentropy.study.statistics import Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY = 30  # tasks; from there on points are smaller


def scatter(comparison: Comparison) -> Figure | None:
    """The loss in focus against each other one; None where there is no other."""
    import matplotlib.figure

    others = [loss for loss in comparison.losses if any(loss == pair.other for _, pair in _pairs(comparison))]
    measures = [each for each in comparison.measures if each.pairs]
    if not others:
        return None
    # With one other loss the measures stand side by side, with more below one another.
    rows, columns = (len(measures), len(others)) if len(others) > 1 else (1, len(measures))
    with drawing.style():
        figure = matplotlib.figure.Figure(figsize=(3.1 * columns, 3.2 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax in panels:
            ax.set_visible(False)
        for each, pair in _pairs(comparison):
            ax = panels[measures.index(each) * len(others) + others.index(pair.other)]
            ax.set_visible(True)
            _draw(ax, comparison, each, pair)
        caption = (
            f"{comparison.focus.capitalize()} against each other loss, {SELECTIONS[comparison.selection]}: a point for "
            f"each task, with bars of a standard deviation over seeds. In the shaded half {comparison.focus} is "
            "better; the counts are wins, ties and losses of means as printed."
        )
        if any(pair.published for _, pair in _pairs(comparison)):
            caption += " Hollow: the published values."
        return drawing.render(figure, f"scatter-{comparison.scale}-{comparison.selection}", caption)


def _pairs(comparison: Comparison) -> list[tuple[MeasureComparison, Pair]]:
    return [(each, pair) for each in comparison.measures for pair in each.pairs]


def _draw(ax: Axes, comparison: Comparison, each: MeasureComparison, pair: Pair) -> None:
    colour = drawing.colours(comparison.losses)[comparison.focus]
    cells = [(each.cells[task][pair.other], each.cells[task][comparison.focus]) for task in pair.differences]
    means, deviations, published = (_points(cells, field) for field in ("mean", "deviation", "published"))
    many = len(means) > _MANY
    low, high = _limits(means, published, 0 * deviations if many else deviations)
    if each.measure.higher_is_better is not None:
        better = high if each.measure.higher_is_better else low
        ax.fill_between([low, high], [low, high], better, color=colour, alpha=0.08, linewidth=0, zorder=0)
    ax.plot([low, high], [low, high], color=drawing.QUIET, linewidth=0.8, zorder=1)
    x, y = published.T
    ax.scatter(x, y, s=16, facecolor="none", edgecolor=drawing.QUIET, linewidth=0.7, zorder=2)
    x, y = means.T
    xerr, yerr = np.nan_to_num(deviations).T
    ax.errorbar(
        x, y, yerr, xerr, fmt="o", color=colour, markersize=3.5 if many else 5.5, elinewidth=0.5 if many else 0.9,
        alpha=0.8, zorder=3,
    )  # fmt: skip
    ax.set_title(f"{each.measure.title}: {numbers.record_of(pair.rounded)}")
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel=pair.other, ylabel=comparison.focus)


def _points(cells: list[tuple[Cell, Cell]], field: str) -> Values:
    """A number of the other loss and of the loss in focus for each task (T, 2), NaN where there is none."""
    return np.array([[getattr(cell, field) for cell in row] for row in cells], float)


def _limits(means: Values, published: Values, deviations: Values) -> tuple[float, float]:
    """The ends of both axes: all points with their bars, but of a percentage nothing that there cannot be."""
    bars = np.nan_to_num(deviations)
    low, high = float(np.nanmin([means - bars, published])), float(np.nanmax([means + bars, published]))
    most = 100.0 if np.nanmax([means, published]) <= 100 else high
    low, high = max(0.0, low), min(most, high)
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin
