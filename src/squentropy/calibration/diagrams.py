"""Reliability diagrams and confidence histograms: pictures of the numbers in bins."""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.errors import ece

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Light blue and dark orange stay apart in grey and for every kind of colour vision, on white and on black.
ACCURACY_COLOUR = "#74b3e4"
GAP_COLOUR = "#c04a00"
QUIET_COLOUR = "#808891"

_INCHES = 2.9  # side of a square diagram
_MOST_COLUMNS = 4
_LEGEND_ENTRIES = 4


def reliability_diagram(bins: CalibrationBins, ax: "Axes | None" = None, *, interval: float | None = 0.95) -> "Axes":
    """Draws the accuracy of each bin as a bar, the gap between it and the mean confidence, and says the ECE.

    A gap bar goes from the accuracy to the mean confidence: it stands on the accuracy bar where the model is
    overconfident, and hangs down into it where it is underconfident. A perfectly calibrated model has no gaps, and its
    accuracies are on the dashed line. Text and lines have the colour of the matplotlib style in force.

    Args:
        bins: Top-label bins, or those of one class (`bins.for_class(k)`).
        ax: Axes to draw into; new ones if None.
        interval: Coverage of the whiskers on the accuracies: Wilson's interval for a share, with the effective number
            of samples of weighted bins. None draws none.

    Returns:
        The axes.

    Examples:
        >>> import torch
        >>> logits, target = torch.randn(1000, 3), torch.arange(1000) % 3
        >>> ax = reliability_diagram(CalibrationBins.from_logits(logits, target))
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('confidence', 'accuracy')
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgba
    from matplotlib.patheffects import withStroke

    _check_one_row(bins)
    if ax is None:
        _, ax = plt.subplots(figsize=(_INCHES + 0.8, _INCHES + 0.8), layout="constrained")
    filled = bins.count > 0
    left, width = bins.edges[:-1][filled], np.diff(bins.edges)[filled]
    accuracy, confidence = bins.accuracy[filled], bins.confidence[filled]

    ax.plot([0, 1], [0, 1], color=QUIET_COLOUR, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.bar(left, accuracy, width, align="edge", color=ACCURACY_COLOUR, label="accuracy", zorder=2)
    gap = confidence - accuracy
    gaps = ax.bar(left, gap, width, bottom=accuracy, align="edge", label="gap to mean confidence", zorder=3)
    for bar, is_over in zip(gaps, gap > 0, strict=True):
        # Above the accuracy the gap has a tint; below, the blue of the accuracy bar must be seen.
        bar.set(facecolor=to_rgba(GAP_COLOUR, 0.25 if is_over else 0), edgecolor=GAP_COLOUR, hatch="////", linewidth=1)
    if interval is not None:
        low, high = wilson_interval(accuracy, bins.effective_count[filled], interval)
        whiskers = ax.vlines(left + width / 2, low, high, color=plt.rcParams["text.color"], linewidth=1.2, zorder=4)
        whiskers.set_label(f"{interval:.0%} interval of the accuracy")
        whiskers.set_path_effects([withStroke(linewidth=3, foreground=ax.get_facecolor())])
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="confidence", ylabel="accuracy")
    ax.set(xticks=np.linspace(0, 1, 6), yticks=np.linspace(0, 1, 6))
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"ECE {ece(bins):.1%}", loc="right", fontsize="medium")
    return ax


def confidence_histogram(bins: CalibrationBins, ax: "Axes | None" = None) -> "Axes":
    """Draws the share of samples in each bin, and lines at the mean confidence and at the accuracy of all of them.

    Args:
        bins: Top-label bins, or those of one class.
        ax: Axes to draw into; new ones if None.

    Returns:
        The axes.

    Examples:
        >>> import torch
        >>> ax = confidence_histogram(CalibrationBins.from_logits(torch.randn(9, 3), torch.arange(9) % 3))
        >>> ax.get_ylabel()
        'share'
    """
    import matplotlib.pyplot as plt

    _check_one_row(bins)
    if ax is None:
        _, ax = plt.subplots(figsize=(_INCHES + 0.8, _INCHES / 2), layout="constrained")
    ax.bar(bins.edges[:-1], bins.share, np.diff(bins.edges), align="edge", color=QUIET_COLOUR, alpha=0.55)
    filled = bins.count > 0
    lines = {
        "accuracy": (bins.accuracy, ACCURACY_COLOUR, "solid"),
        "mean confidence": (bins.confidence, GAP_COLOUR, (0, (3, 1.5))),
    }
    for name, (values, colour, style) in lines.items():
        mean = float(bins.share[filled] @ values[filled])
        ax.axvline(mean, color=colour, linestyle=style, linewidth=2.5, label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="share", xticks=np.linspace(0, 1, 6), yticks=[0, 0.5, 1])
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def reliability_diagrams(models: Mapping[str, CalibrationBins], *, interval: float | None = 0.95) -> "Figure":
    """Draws models side by side, each with its confidence histogram above its reliability diagram.

    Args:
        models: Top-label bins by the name of the model.
        interval: Coverage of the whiskers, as in `reliability_diagram`.

    Returns:
        The figure.

    Examples:
        >>> import torch
        >>> logits, target = torch.randn(1000, 3), torch.arange(1000) % 3
        >>> models = {f"T = {t}": CalibrationBins.from_logits(logits / t, target) for t in (0.5, 1, 2)}
        >>> len(reliability_diagrams(models).axes)
        6
    """
    import matplotlib.pyplot as plt

    if not models:
        raise ValueError("models must not be empty: pass a dict of name and bins")
    columns = min(len(models), _MOST_COLUMNS)
    rows = -(-len(models) // columns)
    height = rows * _INCHES * 1.6 + 0.4 + 0.25 * -(-_LEGEND_ENTRIES // columns)
    figure = plt.figure(figsize=(columns * _INCHES + 0.6, height), layout="constrained")
    grid = figure.add_gridspec(2 * rows, columns, height_ratios=[1, 2.6] * rows)
    for i, (name, bins) in enumerate(models.items()):
        row, column = divmod(i, columns)
        above = confidence_histogram(bins, figure.add_subplot(grid[2 * row, column]))
        below = reliability_diagram(bins, figure.add_subplot(grid[2 * row + 1, column]), interval=interval)
        above.set_title(name, loc="left", fontweight="bold")
        above.tick_params(labelbottom=False)
        if column:
            above.set_ylabel("")
            below.set_ylabel("")
    _add_legend(figure, columns, below, above)
    return figure


def class_diagrams(
    bins: CalibrationBins, class_names: Sequence[str] | None = None, *, interval: float | None = 0.95
) -> "Figure":
    """Draws a small reliability diagram for each class: its probability against how often it was the true class.

    Args:
        bins: Class-wise bins.
        class_names: Names of the classes; their numbers if None.
        interval: Coverage of the whiskers, as in `reliability_diagram`.

    Returns:
        The figure.

    Examples:
        >>> import torch
        >>> logits, target = torch.randn(1000, 3), torch.arange(1000) % 3
        >>> figure = class_diagrams(CalibrationBins.from_logits(logits, target, class_wise=True), ["cat", "dog", "owl"])
        >>> [ax.get_title(loc="left") for ax in figure.axes]
        ['cat', 'dog', 'owl']
    """
    import matplotlib.pyplot as plt

    num_classes = len(bins.boundaries)
    names = [f"class {k}" for k in range(num_classes)] if class_names is None else list(class_names)
    if len(names) != num_classes:
        raise ValueError(f"class_names must have {num_classes} names, one for each class of the bins, got {len(names)}")
    columns = min(num_classes, _MOST_COLUMNS)
    rows = -(-num_classes // columns)
    size = (columns * _INCHES * 0.8 + 0.6, rows * _INCHES * 0.9 + 0.5)
    figure = plt.figure(figsize=size, layout="constrained")
    for k, name in enumerate(names):
        ax = reliability_diagram(bins.for_class(k), figure.add_subplot(rows, columns, k + 1), interval=interval)
        ax.set_title(name, loc="left", fontweight="bold", fontsize="medium")
        ax.set(xlabel="", ylabel="")
    figure.supxlabel("probability of the class", fontsize="medium")
    figure.supylabel("how often it was the class", fontsize="medium")
    _add_legend(figure, columns, ax)
    return figure


def wilson_interval(
    share: NDArray[np.float64], count: NDArray[np.float64], coverage: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the ends of Wilson's score interval for shares (n,) out of counts (n,).

    Examples:
        >>> low, high = wilson_interval(np.array([0.5]), np.array([10.0]), coverage=0.95)
        >>> low.round(4), high.round(4)
        (array([0.2366]), array([0.7634]))
    """
    if not 0 < coverage < 1:
        raise ValueError(f"interval must lie between 0 and 1, got {coverage}: 0.95 covers 95%")
    z = NormalDist().inv_cdf((1 + coverage) / 2)
    middle = (share * count + z**2 / 2) / (count + z**2)
    half = z * np.sqrt(share * (1 - share) * count + z**2 / 4) / (count + z**2)
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def _add_legend(figure: "Figure", columns: int, *axes: "Axes") -> None:
    entries: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        entries.values(), entries.keys(), loc="outside upper center", ncols=columns, frameon=False, fontsize="small"
    )


def _check_one_row(bins: CalibrationBins) -> None:
    if bins.class_wise:
        raise ValueError("bins must be top-label ones, got class-wise ones: use class_diagrams or bins.for_class(k)")
    if not bins.count.any():
        raise ValueError("bins must have samples to draw, got empty ones")
