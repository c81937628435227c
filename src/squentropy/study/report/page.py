"""A report as one HTML page: no script, no request, light and dark."""

from importlib.resources import files

from squentropy.study.report import drawing
from squentropy.study.report.document import Figure, Report, Section, Table


def to_html(report: Report) -> str:
    """Writes a report as one HTML page that needs nothing beside it."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.tests.update(
        section=lambda block: isinstance(block, Section),
        table=lambda block: isinstance(block, Table),
        figure=lambda block: isinstance(block, Figure),
    )
    environment.filters["picture"] = lambda figure: Markup(drawing.for_page(figure.svg, figure.caption, figure.name))
    template = environment.from_string(_text("squentropy.study.report", "page.html.jinja"))
    look = _text("squentropy.calibration", "report.css") + _text("squentropy.study.report", "page.css")
    return template.render(report=report, look=Markup(look), colours=drawing.LOSS_COLOURS)


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
