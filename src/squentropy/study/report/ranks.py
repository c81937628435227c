"""Critical-difference diagrams: average ranks over tasks on a line, joined where a test does not tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squentropy.study.findings import Comparison, Ranking
from squentropy.study.report import drawing, numbers
from squentropy.study.report.document import Figure
from squentropy.study.results import SELECTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 0.2  # inches between two labels, which are one unit apart


def critical_difference(comparison: Comparison) -> Figure | None:
    """A diagram for each measure (Demšar 2006); None below three tasks or losses."""
    import matplotlib.figure

    shown = [
        (each.measure.title, each.ranking) for each in comparison.measures if each.ranking and each.ranking.nemenyi
    ]
    if not shown:
        return None
    labels = (len(comparison.losses) + 1) // 2
    with drawing.style():
        figure = matplotlib.figure.Figure(figsize=(7.2, (1.3 + _LINE * labels) * len(shown)), layout="constrained")
        for ax, (title, ranking) in zip(figure.subplots(len(shown), squeeze=False).ravel(), shown, strict=True):
            _draw(ax, ranking, drawing.colours(comparison.losses))
            p, tasks = numbers.p_value(ranking.friedman), numbers.count_of(ranking.tasks, "task")
            ax.set_title(f"{title}, {tasks}, Friedman p {p if p.startswith('<') else f'= {p}'}")
        caption = (
            f"Average ranks, {SELECTIONS[comparison.selection]}; the best is on the left. Thick lines join losses "
            "that Nemenyi's test does not tell apart at level 0.05: their ranks differ by less than the critical "
            "difference (CD)."
        )
        return drawing.render(figure, f"ranks-{comparison.scale}-{comparison.selection}", caption)


def _draw(ax: Axes, ranking: Ranking, colours: dict[str, str]) -> None:
    ordered = sorted(ranking.ranks, key=lambda label: ranking.ranks[label])
    distance = ranking.critical_difference or 0.0
    joined = cliques([ranking.ranks[label] for label in ordered], distance)
    worst = len(ordered)
    _draw_axis(ax, worst, distance)
    for level, (first, last) in enumerate(joined):
        ends = ranking.ranks[ordered[first]] - 0.012 * worst, ranking.ranks[ordered[last]] + 0.012 * worst
        ax.hlines(-0.7 - 0.6 * level, *ends, color=drawing.INK, linewidth=3.5)
    first_line = -1.3 - 0.6 * len(joined)
    on_the_left = (worst + 1) // 2
    for position, label in enumerate(ordered):
        is_left = position < on_the_left
        line = first_line - (position if is_left else worst - 1 - position)
        _draw_label(ax, label, ranking.ranks[label], worst, line, colours[label], is_left=is_left)
    margin = 0.55 * (worst - 1)
    ax.set(xlim=(1 - margin, worst + margin), ylim=(first_line - on_the_left + 0.2, 3.2))
    ax.axis("off")


def _draw_axis(ax: Axes, worst: int, distance: float) -> None:
    """The line of ranks, and above it the critical difference."""
    ax.hlines(0, 1, worst, color=drawing.QUIET, linewidth=1)
    ax.vlines(range(1, worst + 1), 0, 0.35, color=drawing.QUIET, linewidth=1)
    for rank in range(1, worst + 1):
        ax.text(rank, 0.5, f"{rank}", ha="center", va="bottom", fontsize=8, color=drawing.QUIET)
    ax.errorbar([1 + distance / 2], [2.4], xerr=distance / 2, color=drawing.INK, capsize=3, linewidth=1)
    ax.text(1 + distance + 0.02 * worst, 2.4, f"CD {numbers.fixed(distance, 2)}", va="center", fontsize=8)


def _draw_label(ax: Axes, label: str, rank: float, worst: int, line: float, colour: str, *, is_left: bool) -> None:
    end = 1 - 0.03 * worst if is_left else worst + 0.03 * worst
    ax.plot([rank, rank, end], [0, line, line], color=colour, linewidth=1.2)
    ax.plot([rank], [0], marker="o", markersize=4.5, color=colour, clip_on=False)
    number = numbers.fixed(rank, 2)
    text = f"{label}  {number}" if is_left else f"{number}  {label}"
    place = end + (-0.01 if is_left else 0.01) * worst
    ax.text(place, line, text, ha="right" if is_left else "left", va="center", color=colour)


def cliques(ranks: list[float], distance: float) -> list[tuple[int, int]]:
    """The longest stretches of ascending ranks that lie within a distance, as indices of their ends.

    Examples:
        >>> cliques([1.0, 1.5, 2.5, 4.0], distance=1.2)
        [(0, 1), (1, 2)]
        >>> cliques([1.0, 1.5, 2.0], distance=1.2)
        [(0, 2)]
    """
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(
            index for index in range(first, len(ranks)) if ranks[index] - ranks[first] < distance or index == first
        )
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
