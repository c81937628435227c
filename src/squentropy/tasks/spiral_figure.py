"""The spiral's part of a report: its picture (Figure 3), and numbers for what the paper only shows."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from squentropy.study.report import drawing, numbers
from squentropy.study.report.document import Entry, Table
from squentropy.study.report.supplement import Supplement
from squentropy.study.statistics import Interval, Values
from squentropy.tasks.spiral import EPOCHS_SHOWN, HALF_WIDTH, Measurement, Snapshot, SpiralStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"squentropy": "squentropy", "cross_entropy": "cross entropy", "rescaled_square": "square"}
_MEASURES = {  # title, factor, decimals
    "margin": ("mean margin", 1.0, 2),
    "length": ("boundary length", 1.0, 1),
    "train_accuracy": ("training accuracy (%)", 100.0, 2),
    "test_accuracy": ("test accuracy (%)", 100.0, 2),
}
_BASELINE = "cross_entropy"


def supplement(study: SpiralStudy) -> Supplement:
    """Puts a study of the spiral into a section of the report."""
    seeds = numbers.count_of(len({each.seed for each in study.measurements}), "seed")
    with drawing.style():
        figure = draw(study)
        caption = (
            f"Decision boundaries of seed {study.shown[0].seed} after {numbers.listing([*map(str, EPOCHS_SHOWN)])} "
            "epochs (the paper's Figure 3), with the test points. Colour: probability of the second class; black "
            "line: both classes equally probable. Above each panel: mean margin and boundary length of this model."
        )
        picture = drawing.render(figure, "spiral", caption)
    text = (
        f"Two spirals in the plane and a network 2-12-12-12-2, with {seeds} of data and initial weights, the same for "
        "each loss. Margin: mean distance of the training points to the decision boundary, negative for points on "
        f"the wrong side; the arms are π apart, so about {math.pi / 2:.2f} is the most that a boundary between them "
        f"can have. Length: of the boundary inside the square of half width {HALF_WIDTH:g}."
    )
    return Supplement(
        "spiral", "The spiral", text, picture, _table(study.measurements, seeds), _csv(study.measurements)
    )


def _table(measurements: list[Measurement], seeds: str) -> Table:
    losses = dict.fromkeys(each.loss for each in measurements)
    rows = [
        [
            Entry(f"epoch {epoch}"),
            Entry(_TITLES.get(loss, loss)),
            *(_entry(measurements, measure, epoch, loss) for measure in _MEASURES),
        ]
        for epoch in EPOCHS_SHOWN
        for loss in losses
    ]
    caption = (
        f"The spiral: mean ± standard deviation over {seeds}; below it the mean difference from {_TITLES[_BASELINE]}, "
        "paired by seed, with its 95 % interval (Student's t), bold where that leaves out zero."
    )
    header = ["after", "loss", *(title for title, _, _ in _MEASURES.values())]
    return Table("spiral", caption, header, rows, text_columns=(1,))


def _entry(measurements: list[Measurement], measure: str, epoch: int, loss: str) -> Entry:
    _, factor, decimals = _MEASURES[measure]
    values, baseline = (
        factor * np.array([getattr(each, measure) for each in measurements if (each.epoch, each.loss) == (epoch, name)])
        for name in (loss, _BASELINE)
    )
    text = numbers.spread(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None, decimals)
    if loss == _BASELINE or len(baseline) != len(values):
        return Entry(text)
    difference = paired_difference(values, baseline)
    detail = f"{numbers.signed(difference.estimate, decimals)} ({numbers.ends(difference, decimals)})"
    return Entry(text, detail, is_best=difference.excludes_zero)


def paired_difference(values: Values, baseline: Values) -> Interval:
    """Mean difference of paired values (S,) with the 95 % interval of Student's t.

    Examples:
        >>> paired_difference(np.array([2.0, 3.0, 5.0]), np.array([1.0, 2.0, 3.0])).low.__round__(4)
        -0.1009
    """
    from scipy import stats

    paired = values - baseline
    mean = float(paired.mean())
    if len(paired) < 2:
        return Interval(mean, None, None)
    half = float(stats.t.ppf(0.975, len(paired) - 1) * paired.std(ddof=1) / math.sqrt(len(paired)))
    return Interval(mean, mean - half, mean + half)


def _csv(measurements: list[Measurement]) -> str:
    text = io.StringIO()
    rows = [asdict(each) for each in measurements]
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def draw(study: SpiralStudy) -> Figure:
    """Draws the boundaries of the first seed: epochs from top to bottom, losses from left to right.

    The colour is the probability of the second class, the black line is where both are equally probable. Above each
    panel: the mean margin and the length of the boundary of this model.
    """
    import matplotlib.figure

    losses = list(dict.fromkeys(snapshot.loss for snapshot in study.shown))
    figure = matplotlib.figure.Figure(
        figsize=(2.5 * len(losses), 2.65 * len(EPOCHS_SHOWN)), dpi=110, layout="constrained"
    )
    grid = figure.subplots(len(EPOCHS_SHOWN), len(losses), squeeze=False)
    measured = {(each.loss, each.seed, each.epoch): each for each in study.measurements}
    for snapshot in study.shown:
        row, column = EPOCHS_SHOWN.index(snapshot.epoch), losses.index(snapshot.loss)
        axes = grid[row, column]
        _draw_panel(axes, snapshot, study)
        model = measured[snapshot.loss, snapshot.seed, snapshot.epoch]
        label = f"margin {model.margin:.2f}, length {model.length:.0f}"
        axes.set_title(label, fontsize=8, fontweight="normal", loc="center")
        if row == 0:
            title = _TITLES.get(snapshot.loss, snapshot.loss)
            axes.annotate(title, (0.5, 1.13), xycoords="axes fraction", ha="center", fontsize=10)
        if column == 0:
            axes.set_ylabel(f"epoch {snapshot.epoch}", fontsize=9)
    return figure


def _draw_panel(axes: Axes, snapshot: Snapshot, study: SpiralStudy) -> None:
    axis, probability, lines = snapshot.boundary
    edge = (float(axis[0]), float(axis[-1]))
    axes.imshow(probability, origin="lower", extent=(*edge, *edge), cmap="RdBu_r", vmin=-0.5, vmax=1.5)
    for line in lines:
        axes.plot(*line.T, color="black", linewidth=1.1)
    inputs, target = study.data.test
    for label, colour in enumerate(("#123f7a", "#8c1425")):
        points = inputs[target == label].numpy()
        axes.scatter(points[:, 0], points[:, 1], s=2.2, color=colour, linewidths=0, rasterized=True)
    axes.set(xlim=edge, ylim=edge, xticks=[], yticks=[], aspect="equal")
    axes.spines[["top", "right"]].set_visible(True)
