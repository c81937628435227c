"""`squentropy tasks` lists what can be reproduced, and `squentropy reproduce` does it, from a name to a report."""

import json

import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app
from squentropy.study import Store
from squentropy.tasks import TASKS


def run(*words):
    return CliRunner().invoke(make_app(), [str(word) for word in words])


def cells(line):
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_tasks_are_listed_with_data_times_and_paper_row(tmp_path):
    result = run("tasks", "--data", tmp_path)
    rows = {row[0]: row[1:] for row in map(cells, result.output.splitlines())}
    assert rows["task"] == ["data", "small", "paper", "what it is"]
    assert rows["iris"][0] == "yes"
    assert rows["spiral"][3].startswith("Figure 3: two spirals in the plane")
    assert rows["tabular121"][0] == "0 of 121"
    assert rows["tabular121"][3] == "121 tasks"
    assert rows["vision/tcn-mnist"][0] == "no"
    assert all(len(row) == 4 for row in rows.values())


def test_a_group_is_listed_by_its_tasks():
    names = [cells(line)[0] for line in run("tasks", "tabular121").output.splitlines()]
    assert names == ["task", *(name for name in TASKS if name.startswith("tabular121/"))]


def test_one_command_from_names_to_a_report(tmp_path):
    out = tmp_path / "study"
    command = ["reproduce", "iris", "wine", "--scale", "small", "--seeds", "2", "--out", out, "--workers", "2"]
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == f"report: {out}/report/report.html"
    content = json.loads((out / "report" / "report.json").read_text())
    assert content["title"] == "Squentropy against cross entropy and rescaled square (M=5)"
    found = {(each["run"]["task"], each["run"]["loss"]["name"], each["run"]["seed"]) for each in content["runs"]}
    losses = ("squentropy", "cross_entropy", "rescaled_square")
    assert found == {(task, loss, seed) for task in ("iris", "wine") for loss in losses for seed in (0, 1)}
    written = {path: path.stat().st_mtime_ns for path in (out / "records").iterdir()}
    assert "everything is done: 12 runs" in run(*command).output
    assert {path: path.stat().st_mtime_ns for path in (out / "records").iterdir()} == written


def test_of_a_group_what_has_no_data_is_left_out_and_named(tmp_path):
    result = run("reproduce", "iris", "vision", "--scale", "small", "--seeds", 1, "--losses", "squentropy",
                 "--out", tmp_path / "study", "--data", tmp_path)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "left out, as their data are not at hand: vision/" in result.output
    assert [record["run"]["task"] for record in Store(tmp_path / "study").read()] == ["iris"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["iriss"], "no task 'iriss': did you mean 'iris'"),
        (["iris", "--precision", "bf16-mixed"], "precision must be left out for 'iris'"),
        (["iris", "--devices", "tpu"], "devices must be cpu, cuda, a number, or both as in cuda:4, got 'tpu'"),
        (["tabular121", "--max-rows", "2"], "max_rows is 2, and no data set of tabular121 has as few rows"),
    ],
)
def test_mistakes_are_named(tmp_path, words, message):
    result = run("reproduce", *words, "--out", tmp_path / "study")
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)
    assert not (tmp_path / "study" / "records").exists()
