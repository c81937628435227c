"""From a CSV file to the answer, the report and the saved model, as on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app
from squentropy.own_data import text_file
from squentropy.own_data.predictions import predictions
from squentropy.own_data.saved_model import SavedModel
from squentropy.study.record import CorruptFileError
from tests.browser import needs_chromium, open_page
from tests.own_data.tables import flowers

LOSSES = "squentropy,cross_entropy,rescaled_square:t=1,M=2"


def run(*arguments):
    return CliRunner().invoke(make_app(), [str(each) for each in arguments])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A finished comparison: its folder and what was said."""
    folder = tmp_path_factory.mktemp("study")
    frame = flowers(200)
    frame.insert(0, "row", range(200))
    frame.to_csv(folder / "flowers.csv", index=False)
    arguments = ("compare", folder / "flowers.csv", "--target", "kind", "--losses", LOSSES, "--seeds", 3)
    result = run(*arguments, "--epochs", 150, "--out", folder / "out")
    assert result.exit_code == 0, result.output
    return folder, arguments, result.output


def test_what_is_said(study):
    _, _, said = study
    assert "flowers.csv: 200 rows, 3 columns used, 3 classes" in said
    assert "Column 'row' numbers the rows; left out." in said
    assert "Squentropy instead of cross entropy: " in said
    assert "rescaled square (M=2)" in said
    assert "gradient boosting" in said


def test_the_numbers_are_those_of_the_records(study):
    folder, _, _ = study
    runs = pd.read_csv(folder / "out" / "report" / "runs.csv")
    records = [json.loads(path.read_text()) for path in (folder / "out" / "records").glob("*.json")]
    assert len(records) == 9
    for record in records:
        label = record["run"]["loss"]["name"].replace("_", " ")
        [row] = [
            row
            for row in runs.to_dict("records")
            if row["model"].startswith(label) and row["seed"] == record["run"]["seed"]
        ]
        for metric in ("accuracy", "ece", "nll_scaled", "nll_held_out"):
            assert row[metric] == pytest.approx(record["metrics"]["last"][metric], abs=1e-8)
    answer = json.loads((folder / "out" / "report" / "answer.json").read_text())
    by_model = runs.groupby("model")
    assert answer["models"]["squentropy"]["accuracy"] == pytest.approx(by_model["accuracy"].mean()["squentropy"])
    networks = runs[~runs["model"].isin(["logistic regression", "gradient boosting"])]
    assert answer["best_by_held_out_rows"] == networks.groupby("model")["nll_held_out"].mean().idxmin()


@needs_chromium
def test_the_report_opens(study, tmp_path):
    page = open_page(study[0] / "out" / "report" / "report.html", tmp_path / "page.png")
    assert page.console_errors == []
    assert page.requests == []
    assert page.title == "Which loss predicts 'kind' best?"
    assert "Nadeau and Bengio" in page.dom
    assert page.scroll_width <= 1200


def test_a_second_time_nothing_is_done_again(study):
    folder, arguments, said = study
    records = {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*.json") if "records" in path.parts}
    again = run(*arguments, "--epochs", 150, "--out", folder / "out")
    assert {path: path.stat().st_mtime_ns for path in records} == records
    assert again.output.splitlines()[-6:] == said.splitlines()[-6:]


def test_the_model_has_learnt_something_and_is_not_pickled(study):
    folder, _, _ = study
    assert sorted(path.name for path in (folder / "out" / "model").iterdir()) == ["model.json", "model.safetensors"]
    frame = flowers(400, seed=1)
    probs = SavedModel.load(folder / "out" / "model").predict_proba(frame)
    assert np.allclose(probs.sum(1), 1)
    classes = np.array(json.loads((folder / "out" / "model" / "model.json").read_text())["classes"])
    assert (classes[probs.argmax(1)] == frame["kind"]).mean() > 0.8


def test_predict_takes_what_it_never_saw(study, tmp_path):
    folder, _, _ = study
    frame = pd.DataFrame({"width": ["", "1.5", "inf"], "colour": ["purple", None, "red"], "length": [1.0, -1.0, None]})
    frame.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", folder / "out" / "model", tmp_path / "new.csv", "--out", tmp_path / "predictions.csv")
    assert result.exit_code == 0, result.output
    predicted = pd.read_csv(tmp_path / "predictions.csv")
    assert list(predicted.columns) == [
        "prediction", "confidence", "probability of small", "probability of tall", "probability of wide"
    ]  # fmt: skip
    assert predicted.notna().all().all()
    in_memory = predictions(SavedModel.load(folder / "out" / "model"), frame)
    assert in_memory["prediction"].tolist() == predicted["prediction"].tolist()


def test_predict_reads_a_file_part_after_part(study, tmp_path, monkeypatch):
    model, frame = study[0] / "out" / "model", flowers(30, seed=2)
    frame.to_csv(tmp_path / "new.csv", index=False)
    expected = predictions(SavedModel.load(model), frame)
    monkeypatch.setattr(text_file, "_ROWS_AT_A_TIME", 7)
    result = run("predict", model, tmp_path / "new.csv", "--out", tmp_path / "predictions.csv")
    found = pd.read_csv(tmp_path / "predictions.csv")
    pd.testing.assert_frame_equal(found, expected, rtol=1e-5)
    right = (expected["prediction"] == frame["kind"]).mean()
    assert f"{right:.1%} of the 30 rows with a known 'kind' are predicted rightly" in result.stderr
    frame.iloc[:, 1:].to_csv(tmp_path / "other.csv", index=False)
    assert run("predict", model, tmp_path / "other.csv", "--out", tmp_path / "nothing.csv").exit_code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "other.csv", "predictions.csv"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"length": [1.0], "width": [1.0]}, "lacks the column 'colour'.*add it"),
        ({"colour": ["red"]}, "lacks the columns 'length', 'width'.*add them"),
        ({"length": ["long"], "width": [1.0], "colour": ["red"]}, "'length' held numbers .* such as 'long'"),
    ],
)
def test_predict_on_another_table(study, frame, message):
    model = SavedModel.load(study[0] / "out" / "model")
    with pytest.raises(ValueError, match=message):
        model.predict_proba(pd.DataFrame(frame))


def test_damaged_models(study, tmp_path):
    model = SavedModel.load(study[0] / "out" / "model")
    with pytest.raises(FileNotFoundError, match="no model in"):
        SavedModel.load(tmp_path)
    folder = model.save(tmp_path / "model")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-1] + b"\x07")
    with pytest.raises(CorruptFileError, match="does not fit the hash"):
        SavedModel.load(folder)
    model.save(folder)
    text = (folder / "model.json").read_text()
    for damaged in (text[:100], text.replace("table model 1", "table model 9"), "[]"):
        (folder / "model.json").write_text(damaged)
        with pytest.raises(CorruptFileError):
            SavedModel.load(folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.csv"], "--target must name the column to predict: choose among length, width, colour, kind"),
        (["data.csv", "--target", "kin"], "did you mean 'kind'"),
        (["data.csv", "--target", "kind", "--engine", "ray"], "--engine is for tasks in a Python file"),
        (["task.py", "--target", "kind"], "--target is for a table"),
        (["data.csv", "--target", "kind", "--losses", "hinge"], "unknown loss 'hinge'"),
        (["data.csv", "--target", "kind", "--hidden", "wide"], "--hidden must be widths"),
        (["data.csv", "--target", "kind", "--drop", "nothing"], "nothing"),
        (["nothing.csv", "--target", "kind"], "no file"),
        (["data.xlsx", "--target", "kind"], "no file"),
    ],
)
def test_mistakes_are_a_sentence(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    flowers().to_csv("data.csv", index=False)
    (tmp_path / "task.py").write_text("TASKS = []")
    result = run("compare", *arguments, "--out", tmp_path / "out")
    assert isinstance(result.exception, ValueError | OSError)
    assert message in str(result.exception)
