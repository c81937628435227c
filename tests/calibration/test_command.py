"""`squentropy calibrate` prints and writes what the functions say of the same rows; a bad file is one line."""

import csv
import re

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from squentropy.calibration import CalibrationBins, Predictions, accuracy, brier, classwise_ece, ece, nll, smooth_ece
from squentropy.calibration.prediction_files import Batch
from squentropy.calibration.report.assessment import assess
from squentropy.calibration.report.measures import measure
from squentropy.cli import make_app
from tests.browser import needs_chromium, open_page

QUICK = ["--resamples", "100", "--method", "temperature"]


def predictions(factor=2.5, n_samples=800, num_classes=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(n_samples, num_classes, generator=generator)
    target = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
    return factor * logits, target


def save(path, logits, target):
    np.savez(path, logits=logits.numpy(), target=target.numpy())
    return path


def calibrate(*words):
    return CliRunner().invoke(make_app(), ["calibrate", *map(str, words)], terminal_width=200, env={"COLUMNS": "200"})


def text(result):
    """What was printed, on one line."""
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("factor", "verdict", "advice"),
    [
        (2.5, "The model is overconfident", "Temperature scaling with T = 2.41 helps"),
        (0.4, "The model is underconfident", "Temperature scaling with T = 0.386 helps"),
        (1.0, "No miscalibration can be told from noise", "No recalibrator helps"),
    ],
)
def test_what_it_says_of_a_model(tmp_path, factor, verdict, advice):
    logits, target = predictions(factor)
    result = calibrate(save(tmp_path / "model.npz", logits, target), "--logits", *QUICK)
    assert result.exit_code == 0
    assert verdict in text(result)
    assert advice in text(result)
    assert f"ECE {ece(CalibrationBins.from_logits(logits, target)):.2%}" in text(result)


def test_every_number_of_the_table_is_that_of_all_rows(tmp_path):
    logits, target = predictions()
    result = calibrate(save(tmp_path / "model.npz", logits, target), "--logits", "--bins", "15", *QUICK)
    everything = Predictions.from_logits(logits, target)
    for name, value in {
        "accuracy": f"{accuracy(everything):.2%}",
        "ECE": f"{ece(everything.bins(15)):.2%}",
        "smooth ECE": f"{smooth_ece(everything.bins(2000)):.2%}",
        "class-wise ECE": f"{classwise_ece(everything.bins(15, class_wise=True)):.2%}",
        "Brier score": f"{brier(everything):.4f}",
        "log-likelihood loss": f"{nll(everything):.4f}",
    }.items():
        assert re.search(rf"^ *{name} +{re.escape(value)} ", result.output, re.MULTILINE), name


def test_logits_and_probabilities_in_every_format_say_the_same(tmp_path):
    logits, target = predictions()
    outputs = set()
    np.savez(tmp_path / "a.npz", logits=logits.numpy(), target=target.numpy())
    save_file({"logits": logits, "target": target}, tmp_path / "b.safetensors")
    columns = np.column_stack([logits.double().numpy(), target.numpy()])
    np.savetxt(
        tmp_path / "c.csv", columns, delimiter=",", header="logits_0,logits_1,logits_2,target", comments="",
        fmt=["%.17g"] * 3 + ["%d"],
    )  # fmt: skip
    for name in ("a.npz", "b.safetensors"):
        outputs.add(calibrate(tmp_path / name, "--logits", *QUICK).output)
    assert len(outputs) == 1
    of_csv = calibrate(tmp_path / "c.csv", "--logits", *QUICK)
    assert of_csv.exit_code == 0
    assert f"ECE {ece(CalibrationBins.from_logits(logits.double(), target)):.2%}" in text(of_csv)
    np.savez(tmp_path / "d.npz", p=logits.double().softmax(1).numpy(), y=target.numpy())
    of_probs = calibrate(tmp_path / "d.npz", "--probs", "--scores", "p", "--target", "y", *QUICK)
    assert f"ECE {ece(CalibrationBins.from_logits(logits.double(), target)):.2%}" in text(of_probs)


def test_the_bins_as_csv(tmp_path):
    logits, target = predictions()
    bins = CalibrationBins.from_logits(logits, target)
    calibrate(save(tmp_path / "model.npz", logits, target), "--logits", "--csv", tmp_path / "bins.csv", *QUICK)
    with (tmp_path / "bins.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["samples"]) for row in rows] == bins.count.tolist()
    for name, values in {"confidence": bins.confidence, "accuracy": bins.accuracy, "gap": bins.gap}.items():
        assert [float(row[name] or "nan") for row in rows] == pytest.approx(values.tolist(), nan_ok=True)


@needs_chromium
def test_the_report_opens_without_an_error_or_a_request(tmp_path):
    logits, target = predictions()
    words = [save(tmp_path / "model.npz", logits, target), "--logits", *QUICK]
    assert calibrate(*words, "--out", tmp_path / "a.html").exit_code == 0
    page = open_page(tmp_path / "a.html")
    assert page.console_errors == []
    assert page.requests == []
    assert page.title == "Calibration of model.npz"
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.dom))
    bins = CalibrationBins.from_logits(logits, target)
    assert "The model is overconfident" in shown
    assert f"{ece(bins):.2%}" in shown
    assert f"ECE {ece(bins):.1%}" in shown  # in the diagram
    assert shown.count("after temperature scaling") == 2  # its title and its caption
    for k in range(3):
        assert f"class {k}" in shown
    assert open_page(tmp_path / "a.html", width=390).scroll_width <= 390
    calibrate(*words, "--out", tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_names_in_a_report_are_text(tmp_path):
    path = save(tmp_path / "<script>alert(1)<script>.npz", *predictions(n_samples=50))
    calibrate(path, "--logits", "--out", tmp_path / "a.html", *QUICK)
    assert "<script" not in (tmp_path / "a.html").read_text()


def test_a_model_that_is_always_right_or_has_one_class(tmp_path):
    logits = torch.tensor([[3.0, 0.0], [0.0, 3.0]]).repeat(20, 1)
    result = calibrate(save(tmp_path / "right.npz", logits, torch.arange(40) % 2), "--logits", *QUICK)
    assert result.exit_code == 0
    assert "AUROC of confidence not defined" in text(result)
    result = calibrate(save(tmp_path / "one.npz", logits, torch.zeros(40, dtype=torch.int64)), "--logits", *QUICK)
    assert "No recalibrator could be fitted" in text(result)
    assert "left out: temperature, as target must have at least two classes" in text(result)


# ---- more rows than are kept ----


def batches(logits, target, size):
    start = 0
    for part, labels in zip(logits.split(size), target.split(size), strict=True):
        yield Batch(start, part, labels, None)
        start += len(labels)


@pytest.mark.parametrize("size", [9, 37, 800])
def test_bins_of_a_stream_are_those_of_all_rows_whatever_the_batches(size):
    logits, target = predictions()
    found = assess(batches(logits, target, size), "logits", keep=100)
    everything = Predictions.from_logits(logits, target)
    assert found.bins == everything.bins()
    assert found.class_bins == everything.bins(class_wise=True)
    assert found.brier == pytest.approx(brier(everything), rel=1e-12)
    assert found.nll == pytest.approx(nll(everything), rel=1e-12)
    assert len(found.sample) == 100
    assert not found.is_whole
    whole = assess(batches(logits, target, 800), "logits", keep=100)
    assert torch.equal(found.sample.logits, whole.sample.logits)


def test_a_measure_of_a_stream_has_the_value_of_all_rows():
    logits, target = predictions()
    found = assess(batches(logits, target, 100), "logits", keep=50)
    rows = {row.name: row.found for row in measure(found, n_resamples=20)}
    everything = Predictions.from_logits(logits, target)
    assert rows["Brier score"].estimate == pytest.approx(brier(everything))
    assert rows["accuracy"].estimate == pytest.approx(accuracy(everything))


def test_a_file_beyond_the_sample_says_so(tmp_path):
    path = save(tmp_path / "model.npz", *predictions())
    result = calibrate(path, "--logits", "--sample", "300", *QUICK)
    assert "are those of 300 samples, chosen at random" in text(result)


def test_the_halves_are_apart_and_together_the_sample():
    logits, target = predictions()
    sample = assess(batches(logits, target, 100), "logits").sample
    a, b = sample.halves()
    rows = {tuple(row) for row in torch.cat([a.logits, b.logits]).tolist()}
    assert len(a) == len(b) == 400
    assert rows == {tuple(row) for row in logits.tolist()}


# ---- what is wrong ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "exactly one of --logits and --probs must be given"),
        (["--logits", "--probs"], "exactly one of --logits and --probs must be given"),
        (["--logits", "--method", "magic"], "--method must be one of temperature, vector, .*, got magic"),
        (["--logits", "--confidence", "95"], "--confidence must lie between 0 and 1, got 95"),
        (["--logits", "--scores", "p"], r"cannot read .*model.npz: there is no array 'p', it has logits, target"),
        (["--probs", "--scores", "logits"], r"model.npz: probs must .* in row \d+: if these are logits, .*--logits"),
        (["--logits", "--out", "/no/such/folder/a.html"], "there is no folder /no/such/folder to write a.html into"),
        (["--logits", "--ignore-index", "0", "--target", "zeros"], "target must have a row that counts"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    logits, target = predictions(n_samples=20)
    np.savez(tmp_path / "model.npz", logits=logits.numpy(), target=target.numpy(), zeros=np.zeros(20, int))
    result = calibrate(tmp_path / "model.npz", *options)
    assert re.search(message, str(result.exception)), result.exception


def test_a_bad_row_is_named_with_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr("squentropy.calibration.prediction_files._BATCH_VALUES", 60)
    logits, target = predictions(n_samples=100)
    logits[77, 1] = float("nan")
    result = calibrate(save(tmp_path / "model.npz", logits, target), "--logits")
    assert re.search(r"cannot read .*model.npz: logits must be finite, got nan in row 77: leave", str(result.exception))
    logits[77, 1], target[88] = 0, 3
    result = calibrate(save(tmp_path / "model.npz", logits, target), "--logits")
    assert "target must lie in 0..2, got 3 in row 88" in str(result.exception)
