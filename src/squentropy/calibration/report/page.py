"""The report as one HTML page: no script, no request, light and dark."""

from collections.abc import Mapping, Sequence
from importlib.resources import files

import numpy as np

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.diagrams import reliability_diagram, reliability_diagrams
from squentropy.calibration.errors import ece
from squentropy.calibration.inline_svg import inline_svg, page_style
from squentropy.calibration.report import sentences
from squentropy.calibration.report.assessment import Assessment
from squentropy.calibration.report.bin_table import bin_rows
from squentropy.calibration.report.measures import Measured
from squentropy.calibration.report.trial import Trial

_MOST_CLASSES = 12


def to_html(
    source: str,
    assessment: Assessment,
    measured: Sequence[Measured],
    trial: Trial | None,
    facts: Mapping[str, str],
    confidence: float = 0.95,
) -> str:
    """Writes the report as one page that needs nothing beside it; the same findings give the same bytes.

    Args:
        source: Name of the file with the predictions.
        assessment: What was read of it.
        measured: The measures.
        trial: What recalibrators make of it, if they were tried.
        facts: How the report was made, for its end.
        confidence: Coverage of the intervals.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "number": sentences.number,
        "span": sentences.span,
        "described": sentences.described,
        "capital": sentences.capital,
        "diagram": lambda bins, name: Markup(_diagram(bins, name, confidence)),
        "class_diagram": lambda k: Markup(_class_diagram(assessment.class_bins, k)),
    }
    return environment.from_string(_text("report/page.html.jinja")).render(
        source=source,
        look=Markup(_text("report.css")),
        assessment=assessment,
        measured=measured,
        trial=trial,
        facts=facts,
        coverage=f"{confidence:.0%}",
        rows=list(bin_rows(assessment.bins, confidence)),
        classes=_classes_with_largest_error(assessment.class_bins),
        calibration_sentence=sentences.calibration_sentence(assessment, measured, confidence),
        recalibration_sentence=trial and sentences.recalibration_sentence(trial, confidence),
        sampling_sentence=sentences.sampling_sentence(assessment),
    )


def _diagram(bins: CalibrationBins, name: str, confidence: float) -> str:
    label = f"{name}: reliability diagram, expected calibration error {ece(bins):.1%}"
    with page_style():
        return inline_svg(reliability_diagrams({name: bins}, interval=confidence), label)


def _class_diagram(class_bins: CalibrationBins, k: int) -> str:
    import matplotlib.pyplot as plt

    with page_style():
        figure, ax = plt.subplots(figsize=(2.4, 2.5), layout="constrained")
        reliability_diagram(class_bins.for_class(k), ax, interval=None).set(xlabel="", ylabel="")
        ax.set_title(f"class {k}", loc="left", fontweight="bold", fontsize="medium")
        return inline_svg(figure, f"class {k}: reliability diagram")


def _classes_with_largest_error(class_bins: CalibrationBins) -> list[int]:
    errors = [ece(class_bins.for_class(k)) for k in range(len(class_bins.boundaries))]
    return sorted(np.argsort(errors, kind="stable")[::-1][:_MOST_CLASSES].tolist())


def _text(name: str) -> str:
    return files("squentropy.calibration").joinpath(name).read_text(encoding="utf-8")
