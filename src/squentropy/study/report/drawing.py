"""From a matplotlib figure to files: the same bytes for the same figure, and colours that a page can change."""

from __future__ import annotations

import io
import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from squentropy.study.report.document import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

INK, QUIET, RULE = "#1b2430", "#5a6675", "#cfd6de"
# For each loss a colour and a marker that stay apart for every kind of colour vision, and a lighter colour for dark pages.
LOSS_STYLES = (
    ("#2f74b5", "o", "#63a6e2"),
    ("#d8670a", "s", "#f59a45"),
    ("#11735a", "^", "#4cc3a1"),
    ("#8a4fa3", "D", "#c58fdb"),
    ("#b3402a", "v", "#f0866f"),
    ("#7a6a00", "P", "#cdb93a"),
    ("#c2528b", "X", "#ee9ac4"),
    ("#44606f", "*", "#a3bac6"),
)
_PAGE_COLOURS = {INK: "--ink", QUIET: "--quiet", RULE: "--rule"} | {
    light: f"--loss-{position}" for position, (light, _, _) in enumerate(LOSS_STYLES)
}
_SETTINGS = {
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


def style() -> AbstractContextManager[None]:
    """The settings that all figures are drawn with."""
    import matplotlib

    return matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "agg", **_SETTINGS})


def render(drawing: Drawing, name: str, caption: str) -> Figure:
    """Writes a figure as SVG and PDF, without dates and without names of programs."""
    svg, pdf = io.StringIO(), io.BytesIO()
    drawing.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    drawing.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return Figure(name, caption, svg.getvalue(), pdf.getvalue())


def for_page(svg: str, label: str) -> str:
    """An SVG file as a part of a page, in the page's colours.

    Example:
        >>> for_page('<?xml version="1.0"?><svg width="9pt"><metadata/><g id="figure_1" style="fill: #1b2430"/></svg>', "a")
        '<svg role="img" aria-label="a"><g style="fill: var(--ink, #1b2430)"/></svg>'
    """
    from html import escape

    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata.*?(/>|</metadata>)", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r' id="[a-zA-Z][\w.]*_\d+"', "", svg)  # names of groups, the same in each figure
    svg = re.sub(r'<svg([^>]*?) width="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
    for colour, variable in _PAGE_COLOURS.items():
        svg = svg.replace(colour, f"var({variable}, {colour})")
    return svg
