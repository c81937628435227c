"""Matplotlib figures as parts of an HTML page, in the page's colours and with text as text."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from squentropy.calibration.diagrams import ACCURACY_COLOUR, GAP_COLOUR, QUIET_COLOUR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INK, _PAPER = "#1b2430", "#fefefe"
# The variables of report.css, which change with the reader's preference for light or dark.
_VARIABLES = {
    _INK: "--ink",
    _PAPER: "--paper",
    ACCURACY_COLOUR: "--accuracy",
    GAP_COLOUR: "--gap",
    QUIET_COLOUR: "--neutral",
}
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "squentropy",
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.facecolor": _PAPER,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "hatch.linewidth": 0.8,
}


@contextmanager
def page_style() -> Iterator[None]:
    """The settings to draw a figure with that `inline_svg` writes; figures made within are closed at the end."""
    import matplotlib
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "agg", **_SETTINGS}):
        before = set(plt.get_fignums())
        yield
        for number in set(plt.get_fignums()) - before:
            plt.close(number)


def inline_svg(figure: "Figure", label: str) -> str:
    """Returns a figure as an `svg` element: the same bytes for the same figure, as wide as its place in the page.

    Args:
        figure: A figure drawn in `page_style`.
        label: What it shows, for those who do not see it.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> with page_style():
        ...     svg = inline_svg(plt.figure(), "nothing")
        >>> svg.startswith('<svg role="img" aria-label="nothing"'), "#1b2430" in svg
        (True, False)
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="[a-zA-Z][\w.]*_\d+"', "", svg)  # names of groups, the same in every figure
    svg = re.sub(r' width="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg
