"""From a matplotlib figure to files: the same bytes for the same figure, and colours that a page can change."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from squentropy.study.report.document import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

INK, QUIET, RULE = "#1b2430", "#5a6675", "#cfd6de"
# For each loss a colour that stays apart for every kind of colour vision, and a lighter one for dark pages.
LOSS_COLOURS = (
    ("#2f74b5", "#63a6e2"),
    ("#d8670a", "#f59a45"),
    ("#11735a", "#4cc3a1"),
    ("#8a4fa3", "#c58fdb"),
    ("#b3402a", "#f0866f"),
    ("#7a6a00", "#cdb93a"),
    ("#c2528b", "#ee9ac4"),
    ("#44606f", "#a3bac6"),
)
_PAGE_COLOURS = {INK: "--ink", QUIET: "--quiet", RULE: "--rule"} | {
    light: f"--loss-{position}" for position, (light, _) in enumerate(LOSS_COLOURS)
}
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "squentropy",
    "pdf.fonttype": 42,
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.titlecolor": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
}


def colours(losses: Sequence[str]) -> dict[str, str]:
    """A colour for each loss, in the order of the tables."""
    return {label: LOSS_COLOURS[index % len(LOSS_COLOURS)][0] for index, label in enumerate(losses)}


def style() -> AbstractContextManager[None]:
    """The settings that all figures are drawn with."""
    import matplotlib

    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, "backend": "agg", **_SETTINGS}
    return matplotlib.rc_context(settings)


def render(drawing: Drawing, name: str, caption: str) -> Figure:
    """Writes a figure as SVG and PDF, without dates and without names of programs."""
    svg, pdf = io.StringIO(), io.BytesIO()
    drawing.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    drawing.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return Figure(name, caption, svg.getvalue(), pdf.getvalue())


def for_page(svg: str, label: str, name: str = "") -> str:
    """An SVG file as a part of a page, in the page's colours; with a name, its ids are no other figure's.

    Examples:
        >>> for_page('<?xml?><svg width="9pt" height="9pt"><g id="figure_1" style="fill: #1b2430"/></svg>', "a")
        '<svg role="img" aria-label="a" style="max-width: 9pt; ..."><g style="fill: var(--ink, #1b2430)"/></svg>'
    """
    from html import escape

    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata.*?</metadata>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r' id="[a-zA-Z][\w.]*_\d+"', "", svg)  # names of groups, the same in each figure
    if name:
        svg = re.sub(r' id="([^"]+)"', rf' id="{name}-\1"', svg)
        svg = re.sub(r'(url\(#|xlink:href="#)', rf"\1{name}-", svg)
    # As large as drawn where there is room; in a narrow window it shrinks a little, and is then moved sideways.
    size = r'<svg\1 style="max-width: \2; min-width: min(\2, 26rem)"'
    svg = re.sub(r'<svg([^>]*?) width="([^"]*)" height="[^"]*"', size, svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
    for colour, variable in _PAGE_COLOURS.items():
        svg = svg.replace(colour, f"var({variable}, {colour})")
    return svg
