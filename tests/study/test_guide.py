"""The task that the guide shows is one that `squentropy compare` takes as it stands there."""

import json

import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app
from squentropy.study import plan
from squentropy.study.execution import execute
from squentropy.study.plan import jobs
from squentropy.study.store import Store
from squentropy.tasks.user import UserTasks
from tests.package.test_documents import ROOT, blocks


@pytest.fixture
def my_task(tmp_path):
    (_, code), *_ = blocks(ROOT / "docs" / "study.md", "python")
    path = tmp_path / "my_task.py"
    path.write_text(code)
    return path


def compare(*words):
    return CliRunner().invoke(make_app(), ["compare", *map(str, words)])


def test_the_task_of_the_guide_learns(my_task, tmp_path):
    find = UserTasks(my_task)
    runs = plan(find.all(), ["squentropy"], 1, "small")
    store = Store(tmp_path)
    assert [execute(job, find=find, store=store) for job in jobs(runs, runs, find)] == [None]
    (record,) = store.read()
    assert record["metrics"]["last"]["accuracy"] > 0.9


def test_a_finished_comparison_is_only_reported_again(my_task, tmp_path):
    find = UserTasks(my_task)
    out = tmp_path / "out"
    runs = plan(find.all(), ["squentropy", "cross_entropy"], 1, "small")
    for job in jobs(runs, runs, find):
        assert execute(job, find=find, store=Store(out)) is None
    result = compare(my_task, "--losses", "squentropy,cross_entropy", "--seeds", 1, "--out", out)
    assert result.exit_code == 0, result.output
    assert "everything is done: 2 runs" in result.output
    content = json.loads((out / "report" / "report.json").read_text())
    assert content["title"] == "Squentropy against cross entropy"
    assert [each["status"] for each in content["runs"]] == ["done", "done"]


def test_a_change_of_the_file_makes_new_runs(my_task):
    before = {run.run_id for run in plan(UserTasks(my_task).all(), ["squentropy"], 2, "small")}
    changed = my_task.with_name("changed.py")
    changed.write_text(my_task.read_text() + "\n# as before")
    assert before.isdisjoint(run.run_id for run in plan(UserTasks(changed).all(), ["squentropy"], 2, "small"))


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("", [], "my_task.py defines no task: write TASK = squentropy.study.Task"),
        ("TASK = 3", [], "defines no task"),
        (None, ["--losses", "hinge"], "unknown loss 'hinge': choose one of cross_entropy"),
        (None, ["--losses", "squentropy:square_weight"], "write parameters as name=value, got 'square_weight'"),
        (None, ["--losses", "squentropy:square_weight=big"], "must be a number, got 'big'"),
        (None, ["--losses", ","], "losses must name at least one loss"),
        (None, ["--scale", "paper"], "task 'my_digits' has no scale 'paper', only small"),
    ],
)
def test_mistakes_are_named(my_task, tmp_path, content, words, message):
    if content is not None:
        my_task.write_text(content)
    result = compare(my_task, *words, "--out", tmp_path / "out")
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there(tmp_path):
    assert isinstance(compare(tmp_path / "none.py").exception, FileNotFoundError)
