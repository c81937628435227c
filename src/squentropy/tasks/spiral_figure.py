"""The spiral's picture (Figure 3), its numbers as a table, and both as files."""

from pathlib import Path
from typing import TYPE_CHECKING

from squentropy.tasks.spiral import EPOCHS_SHOWN, Snapshot, SpiralStudy, spiral_study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"squentropy": "squentropy", "cross_entropy": "cross entropy", "rescaled_square": "square"}
_MEASURES = ("margin", "length", "train_accuracy", "test_accuracy")
_BASELINE = "cross_entropy"


def summary(measurements: "pd.DataFrame") -> "pd.DataFrame":
    """Returns mean, standard deviation and difference from cross entropy over the seeds.

    Differences are paired by seed (same data, same initial weights), with 95 % intervals of Student's t.

    Args:
        measurements: `SpiralStudy.measurements`.

    Returns:
        One row for each epoch, loss and measure: `mean`, `sd` (n - 1), `n`, `difference`, `low`, `high`.
    """
    import pandas as pd
    from scipy import stats

    rows = []
    for measure in _MEASURES:
        table = measurements.pivot(index="seed", columns=["epoch", "loss"], values=measure)
        for column in table.columns.to_list():
            epoch, loss = column
            values = table[column].dropna()
            row = {"epoch": epoch, "loss": loss, "measure": measure, "n": len(values)}
            row |= {"mean": values.mean(), "sd": values.std()}
            if loss != _BASELINE and (epoch, _BASELINE) in table.columns:
                paired = (table[column] - table[epoch, _BASELINE]).dropna()
                half = stats.t.ppf(0.975, len(paired) - 1) * paired.std() / len(paired) ** 0.5
                row |= {"difference": paired.mean(), "low": paired.mean() - half, "high": paired.mean() + half}
            rows.append(row)
    return pd.DataFrame(rows)


def draw(study: SpiralStudy) -> "Figure":
    """Draws the boundaries of the first seed: epochs from top to bottom, losses from left to right.

    The colour is the probability of the second class, the black line is where both are equally probable. Above each
    panel: the mean margin and the length of the boundary of this model.
    """
    import matplotlib.pyplot as plt

    losses = list(dict.fromkeys(snapshot.loss for snapshot in study.shown))
    figure, grid = plt.subplots(
        len(EPOCHS_SHOWN), len(losses), figsize=(2.9 * len(losses), 3.05 * len(EPOCHS_SHOWN)), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    numbers = {(row.loss, row.seed, row.epoch): row for row in study.measurements.itertuples()}
    for snapshot in study.shown:
        row, column = EPOCHS_SHOWN.index(snapshot.epoch), losses.index(snapshot.loss)
        axes = grid[row, column]
        _draw_panel(axes, snapshot, study)
        measured = numbers[snapshot.loss, snapshot.seed, snapshot.epoch]
        label = f"margin {measured.margin:.2f}, length {measured.length:.0f}"
        axes.set_title(f"{TITLES.get(snapshot.loss, snapshot.loss)}\n{label}" if row == 0 else label, fontsize=9)
        if column == 0:
            axes.set_ylabel(f"epoch {snapshot.epoch}", fontsize=10)
    return figure


def _draw_panel(axes: "Axes", snapshot: Snapshot, study: SpiralStudy) -> None:
    axis, probability, lines = snapshot.boundary
    axes.imshow(
        probability, origin="lower", extent=(axis[0], axis[-1], axis[0], axis[-1]), cmap="RdBu_r", vmin=-0.5, vmax=1.5,
        interpolation="bilinear",
    )  # fmt: skip
    for line in lines:
        axes.plot(*line.T, color="black", linewidth=1.3)
    inputs, target = study.data.train
    for label, colour in enumerate(("#123f7a", "#8c1425")):
        points = inputs[target == label].numpy()
        axes.scatter(points[:, 0], points[:, 1], s=2.2, color=colour, linewidths=0)
    axes.set(xlim=(axis[0], axis[-1]), ylim=(axis[0], axis[-1]), xticks=[], yticks=[], aspect="equal")


def write_figure(out: Path, n_seeds: int = 20) -> "pd.DataFrame":
    """Trains the spiral and writes `spiral.png`, `spiral.svg`, `spiral.csv` (each model) and `spiral_summary.csv`.

    Args:
        out: A directory, made if it is not there.
        n_seeds: Number of seeds.

    Returns:
        The summary.
    """
    import matplotlib.pyplot as plt

    out.mkdir(parents=True, exist_ok=True)
    study = spiral_study(range(n_seeds))
    figure = draw(study)
    for suffix in ("png", "svg"):
        figure.savefig(out / f"spiral.{suffix}", dpi=150)
    plt.close(figure)
    study.measurements.to_csv(out / "spiral.csv", index=False)
    table = summary(study.measurements)
    table.to_csv(out / "spiral_summary.csv", index=False)
    return table
