"""The ratios as a figure: a panel for each case, a bar for each contestant."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from squentropy.bench import calibration, training
from squentropy.bench.cases import CASES
from squentropy.bench.losses import COPY
from squentropy.bench.outcome import Outcome
from squentropy.bench.report import Report
from squentropy.bench.texts import seconds_text

_OURS, _THEIRS, _LIMIT, _QUIET = "#0b6e4f", "#b9bec6", "#d9a441", "#5f6670"
_PANELS_ACROSS = 3


def plot(report: Report, path: Path) -> None:
    """Draw the times of all cases as ratios to their baselines, and write the figure in the format of its name."""
    outcomes = [outcome for outcome in report.outcomes if len(outcome.seconds) > 1]
    across = min(_PANELS_ACROSS, max(1, len(outcomes)))
    rows = [outcomes[start : start + across] for start in range(0, len(outcomes), across)]
    heights = [0.8 + 0.23 * max(len(outcome.seconds) for outcome in row) for row in rows]
    figure = Figure(figsize=(4.4 * across, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(rows), across, height_ratios=heights)
    for i, row in enumerate(rows):
        for j, outcome in enumerate(row):
            _panel(figure.add_subplot(grid[i, j]), outcome)
    figure.supxlabel("line: middle half of the rounds; diamond: to be reached", fontsize=8, color=_QUIET)
    figure.savefig(path)


def _panel(axes: Axes, outcome: Outcome) -> None:
    """A bar for each contestant's median ratio with its quartiles, and a diamond where it must be."""
    names = list(outcome.seconds)
    ratios = [outcome.time_ratio(name, outcome.baseline) for name in names]
    highest = max(ratio.high for ratio in ratios)
    targets = [
        target
        for target in CASES[outcome.case].targets
        if target.against == outcome.baseline and target.quantity == "time" and target.contestant in names
    ]
    for place, (name, ratio) in enumerate(zip(names, ratios, strict=True)):
        axes.barh(place, ratio.median, height=0.72, color=_colour(name))
        axes.plot([ratio.low, ratio.high], [place, place], color=_QUIET, linewidth=1)
        text = seconds_text(outcome.time(name).median) if name == outcome.baseline else f"{ratio.median:.2f}"
        end = max([ratio.high, *(target.at_most for target in targets if target.contestant == name)])
        axes.annotate(text, (end, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
    for target in targets:
        axes.plot(
            target.at_most, names.index(target.contestant), "D", color="white", markeredgecolor="black", markersize=5
        )
    axes.axvline(1.0, color=_QUIET, linewidth=0.8, linestyle=":")
    axes.set(title=outcome.case, xlim=(0.0, 1.25 * highest), xlabel=f"time as a ratio to {outcome.baseline}")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.tick_params("both", length=0, labelsize=8)
    axes.title.set_fontsize(9)
    axes.xaxis.label.set_fontsize(8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _colour(name: str) -> str:
    if name == COPY:
        return _LIMIT
    return _OURS if "squentropy" in name or name in (calibration.OURS, training.OURS) else _THEIRS
