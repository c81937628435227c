"""Diagrams: what is drawn is read back from the artists and compared with the bins and the published figure."""

import csv
import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from scipy.stats import binomtest

from squentropy.calibration import (
    CalibrationBins,
    class_diagrams,
    confidence_histogram,
    ece,
    reliability_diagram,
    reliability_diagrams,
)
from squentropy.calibration.diagrams import ACCURACY_COLOUR, GAP_COLOUR, wilson_interval
from squentropy.calibration.inline_svg import inline_svg, page_style

FIGURE1 = Path(__file__).parent / "figure1_bins.csv"


@pytest.fixture(autouse=True)
def _without_a_screen():
    with plt.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def some_bins(n_samples=500, **options):
    logits = 3 * torch.randn(n_samples, 4)
    return CalibrationBins.from_logits(logits, torch.multinomial((logits / 2).softmax(1), 1)[:, 0], **options)


def published_bins(loss, n_samples=10_000):
    """Samples with the shares, mean confidences and accuracies of the paper's Figure 1."""
    confidence, correct = [], []
    with FIGURE1.open() as file:
        rows = [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["loss"] == loss]
    for row in rows:
        count = round(float(row["share"]) * n_samples)
        right = round(count * float(row["accuracy"]))
        confidence += [float(row["confidence"])] * count
        correct += [1] * right + [0] * (count - right)
    return CalibrationBins.from_confidences(torch.tensor(confidence, dtype=torch.float64), torch.tensor(correct))


def bars(ax, label):
    return next(each for each in ax.containers if each.get_label() == label)


def drawn(ax):
    """The bins as a reader sees them: left edge, width, accuracy, and both ends of the gap."""
    accuracy, gap = bars(ax, "accuracy"), bars(ax, "gap to mean confidence")
    return [
        (a.get_x(), a.get_width(), a.get_height(), g.get_y(), g.get_y() + g.get_height())
        for a, g in zip(accuracy, gap, strict=True)
    ]


@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_the_diagram_draws_the_numbers_of_the_bins(binning):
    bins = some_bins(n_bins=7, binning=binning)
    filled = bins.count > 0
    expected = np.stack([bins.edges[:-1], np.diff(bins.edges), bins.accuracy, bins.accuracy, bins.confidence], axis=1)[
        filled
    ]
    np.testing.assert_allclose(drawn(reliability_diagram(bins)), expected, atol=1e-12)


def test_the_histogram_draws_the_shares_and_the_means():
    bins = some_bins()
    ax = confidence_histogram(bins)
    (histogram,) = ax.containers
    np.testing.assert_allclose([bar.get_height() for bar in histogram], bins.share, atol=1e-12)
    lines = {line.get_label(): line.get_xdata()[0] for line in ax.get_lines()}
    filled = bins.count > 0
    assert lines["accuracy"] == pytest.approx(bins.share[filled] @ bins.accuracy[filled])
    assert lines["mean confidence"] == pytest.approx(bins.share[filled] @ bins.confidence[filled])


def test_the_ece_in_the_diagram_is_that_of_the_bins():
    bins = some_bins()
    assert reliability_diagram(bins).get_title(loc="right") == f"ECE {100 * ece(bins):.1f}%"


def test_whiskers_are_wilsons_interval():
    bins = some_bins(n_bins=5)
    ax = reliability_diagram(bins, interval=0.9)
    (whiskers,) = ax.collections
    filled = np.flatnonzero(bins.count)
    for k, segment in zip(filled, whiskers.get_segments(), strict=True):
        right = round(bins.accuracy[k] * bins.count[k])
        expected = binomtest(right, int(bins.count[k])).proportion_ci(0.9, method="wilson")
        np.testing.assert_allclose(segment[:, 1], [expected.low, expected.high], atol=1e-12)
        np.testing.assert_allclose(segment[:, 0], bins.edges[k : k + 2].mean(), atol=1e-12)
    assert not reliability_diagram(bins, interval=None).collections


@pytest.mark.parametrize(("right", "count"), [(0, 3), (3, 3), (1, 1), (50, 100)])
def test_wilsons_interval_at_the_ends(right, count):
    expected = binomtest(right, count).proportion_ci(0.95, method="wilson")
    low, high = wilson_interval(np.array([right / count]), np.array([float(count)]), 0.95)
    np.testing.assert_allclose([low[0], high[0]], [expected.low, expected.high], atol=1e-12)


@pytest.mark.parametrize("coverage", [0.0, 1.0, 95.0])
def test_the_coverage_is_checked(coverage):
    with pytest.raises(ValueError, match="interval must lie between 0 and 1"):
        reliability_diagram(some_bins(), interval=coverage)


@pytest.mark.parametrize(
    ("loss", "published"),
    [("cross_entropy", 17.9), ("squentropy", 10.9), ("square_t1_M10", 12.7), ("square_t1_M1", 52.1)],
)
def test_figure_1_of_the_paper(loss, published):
    assert reliability_diagram(published_bins(loss)).get_title(loc="right") == f"ECE {published}%"


def test_the_square_loss_with_t_and_m_of_one_is_drawn_underconfident():
    """All samples are in the first bin, and the gap hangs down from an accuracy of 0.538 to a confidence of 0.017."""
    ax = reliability_diagram(published_bins("square_t1_M1"))
    np.testing.assert_allclose(drawn(ax), [(0, 0.1, 0.538, 0.538, 0.017)], atol=1e-12)
    lines = {
        line.get_label(): line.get_xdata()[0] for line in confidence_histogram(published_bins("square_t1_M1")).lines
    }
    assert lines["mean confidence"] < lines["accuracy"]


def test_cross_entropy_is_drawn_overconfident_in_every_bin():
    assert all(low < high for *_, low, high in drawn(reliability_diagram(published_bins("cross_entropy"))))


def test_a_gap_is_tinted_above_the_accuracy_and_clear_below():
    ax = reliability_diagram(published_bins("squentropy"))
    for bar in bars(ax, "gap to mean confidence"):
        assert (bar.get_facecolor()[3] > 0) == (bar.get_height() > 0)
        assert to_hex(bar.get_edgecolor()) == GAP_COLOUR


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in plt.matplotlib.colors.to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(*colours):
    low, high = sorted(map(luminance, colours))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_told_apart_without_hue_and_on_both_grounds():
    assert contrast(ACCURACY_COLOUR, GAP_COLOUR) > 2
    for colour in (ACCURACY_COLOUR, GAP_COLOUR):
        assert min(contrast(colour, "white"), contrast(colour, "black")) > 2


def test_text_has_the_colour_of_the_style_in_force():
    with plt.style.context("dark_background"):
        ax = reliability_diagram(some_bins())
        colours = {to_hex(text.get_color()) for text in (ax.xaxis.label, ax.yaxis.label, ax.title)}
        (whiskers,) = ax.collections
        assert colours == {to_hex(whiskers.get_color()[0])} == {"#ffffff"}


def test_models_side_by_side_have_each_its_own_bins():
    models = {name: some_bins() for name in "abcde"}
    figure = reliability_diagrams(models)
    above, below = figure.axes[::2], figure.axes[1::2]
    assert [ax.get_title(loc="left") for ax in above] == list(models)
    for ax, bins in zip(below, models.values(), strict=True):
        np.testing.assert_allclose([row[2] for row in drawn(ax)], bins.accuracy[bins.count > 0])
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.texts} == {
        "accuracy",
        "gap to mean confidence",
        "95% interval of the accuracy",
        "mean confidence",
    }


def test_each_class_has_its_diagram():
    bins = some_bins(class_wise=True)
    figure = class_diagrams(bins, ["ant", "bee", "cow", "dog"])
    for k, ax in enumerate(figure.axes):
        one = bins.for_class(k)
        assert ax.get_title(loc="left") == ["ant", "bee", "cow", "dog"][k]
        np.testing.assert_allclose([row[2] for row in drawn(ax)], one.accuracy[one.count > 0])
    assert [ax.get_title(loc="left") for ax in class_diagrams(bins).axes] == [f"class {k}" for k in range(4)]


def test_own_axes_are_drawn_into():
    _, axes = plt.subplots(1, 2)
    assert reliability_diagram(some_bins(), axes[0]) is axes[0]
    assert confidence_histogram(some_bins(), ax=axes[1]) is axes[1]


@pytest.mark.parametrize("draw", [reliability_diagram, confidence_histogram])
def test_what_cannot_be_drawn(draw):
    with pytest.raises(ValueError, match="use class_diagrams"):
        draw(some_bins(class_wise=True))
    with pytest.raises(ValueError, match="bins must have samples to draw"):
        draw(CalibrationBins.empty())


def test_wrong_arguments_of_several_diagrams():
    with pytest.raises(ValueError, match="models must not be empty"):
        reliability_diagrams({})
    with pytest.raises(ValueError, match=r"class_names must have 4 names, .* got 2"):
        class_diagrams(some_bins(class_wise=True), ["a", "b"])
    with pytest.raises(ValueError, match="needs class-wise bins"):
        class_diagrams(some_bins())


def test_text_in_a_page_is_text_and_colours_are_the_pages():
    bins = some_bins()
    with page_style():
        figure = reliability_diagrams({"<model> & co": bins})
        svg = inline_svg(figure, 'say "calibration"')
    root = ElementTree.fromstring(svg)
    texts = {"".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"<model> & co", "confidence", "accuracy", f"ECE {ece(bins):.1%}"} <= texts
    assert root.get("aria-label") == 'say "calibration"'
    assert "var(--ink)" in svg
    assert "var(--accuracy)" in svg
    assert "#" not in svg.replace("url(#", "").replace('href="#', "").replace("#ffffff", "")
    assert plt.get_fignums() == []


def test_the_same_figure_has_the_same_bytes_in_a_page():
    bins = some_bins()

    def svg():
        with page_style():
            return inline_svg(reliability_diagram(bins).figure, "a")

    assert svg() == svg()


def test_figures_can_be_saved_in_any_format():
    figure = reliability_diagram(some_bins()).figure
    for kind, start in {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}.items():
        file = io.BytesIO()
        figure.savefig(file, format=kind)
        assert file.getvalue().startswith(start)
