"""Tables that are hardly one, and files that are not what they should be: a record or a sentence, and on it goes."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app
from squentropy.data import Split, TabularSet
from squentropy.study import Store, plan
from squentropy.study.execution import execute
from squentropy.study.plan import jobs
from squentropy.tasks import find_task
from squentropy.tasks.split import publishers_fold
from squentropy.tasks.tabular121 import PAPER

LOSSES = ["squentropy", "cross_entropy", "rescaled_square"]


def numbers(rows, classes=2, seed=0):
    values = np.random.default_rng(seed).normal(size=(rows, 3)).astype(np.float32)
    return TabularSet("a table", values, np.arange(rows) % 2, num_classes=classes)


def constant(rows):
    return TabularSet("constant", np.ones((rows, 3), np.float32), np.arange(rows) % 2, num_classes=2)


def one_class_in_the_training_part(rows):
    """Class 1 occurs in the test part of the publisher's fold only."""
    folds = (Split(np.arange(rows - 3), np.arange(rows - 3, rows)),)
    target = (np.arange(rows) >= rows - 3).astype(np.int64)
    return TabularSet("unseen", np.eye(rows, 3, dtype=np.float32), target, num_classes=2, folds=folds)


def carried_out(tmp_path, load, group="tabular121", seeds=2, **changes):
    """Trains a few epochs of the paper's recipe on a table, and returns the records."""
    recipe = replace(PAPER, epochs=5, evaluate_every=2)
    task = replace(find_task(f"{group}/iris"), name="table", load=load, recipes={"paper": recipe}, **changes)
    store, runs = Store(tmp_path), plan([task], LOSSES, seeds, "paper")
    problems = [execute(job, find=lambda name: task, store=store) for job in jobs(runs, runs, lambda name: task)]
    return list(store.read()), problems


@pytest.mark.parametrize(
    ("table", "changes", "parts"),
    [
        (numbers(2), {}, (1, 1)),
        (numbers(11, classes=7), {}, (8, 3)),  # classes 2 to 6 occur nowhere
        (one_class_in_the_training_part(12), {"split": publishers_fold}, (9, 3)),
        (constant(20), {}, (16, 4)),
    ],
    ids=["two rows", "classes without rows", "a class that is tested but not trained", "constant features"],
)
def test_a_poor_table_gives_finished_records(tmp_path, table, changes, parts):
    records, problems = carried_out(tmp_path, lambda scale, data_dir: table, **changes)
    assert problems == [None] * 3
    assert [record["status"] for record in records] == ["done"] * 6
    assert {(record["data"]["train_rows"], record["data"]["test_rows"]) for record in records} == {parts}
    assert {record["data"]["num_classes"] for record in records} == {table.num_classes}


def test_what_was_never_trained_is_never_right(tmp_path):
    table = one_class_in_the_training_part(12)
    records, _ = carried_out(tmp_path, lambda scale, data_dir: table, split=publishers_fold)
    assert {record["metrics"]["last"]["accuracy"] for record in records} == {0.0}


def test_nothing_left_to_train_on_is_a_failed_record(tmp_path):
    records, problems = carried_out(tmp_path, lambda scale, data_dir: numbers(2), group="tabular121-temperature")
    assert problems == [None] * 3
    assert {record["error"]["message"] for record in records} == {
        "train part of 'a table': needs as many inputs as targets and at least one, got 0 and 0"
    }


def test_a_split_that_is_not_there_is_a_failed_record(tmp_path):
    records, _ = carried_out(tmp_path, lambda scale, data_dir: numbers(9), group="tabular121-folds")
    assert {record["error"]["message"] for record in records} == {
        "a table comes without folds: use a protocol that splits at random"
    }


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "uci121/iris is not at hand"), (b"not the file", "the manifest says"), (b"", "the manifest says")],
    ids=["missing", "wrong", "empty"],
)
def test_a_file_that_is_missing_or_wrong(tmp_path, content, told):
    (tmp_path / "data" / "uci121").mkdir(parents=True)
    if content is not None:
        (tmp_path / "data" / "uci121" / "iris.npz").write_bytes(content)
    task, store = find_task("tabular121/iris"), Store(tmp_path / "study")
    (job,) = jobs(runs := plan([task], ["squentropy"], 2, "small"), runs, find_task)
    problem = execute(job, find=find_task, store=store, data_dir=tmp_path / "data")
    records = list(store.read())
    if content is None:  # the user can mend it: the next time it is done
        assert told in problem
        assert records == []
    else:
        assert problem is None
        assert [record["status"] for record in records] == ["failed"] * 2
        assert all(record["error"]["type"] == "WrongHashError" for record in records)
        assert all(told in record["error"]["message"] for record in records)


@pytest.fixture
def data(tmp_path):
    """A data directory that holds a wrong copy of iris and nothing else."""
    (tmp_path / "data" / "uci121").mkdir(parents=True)
    (tmp_path / "data" / "uci121" / "iris.npz").write_bytes(b"not the file")
    return tmp_path / "data"


def reproduce(data, *arguments):
    out = data.parent / "study"
    answer = CliRunner().invoke(
        make_app(),
        ["reproduce", *arguments, "--scale", "small", "--data", str(data), "--out", str(out), "--workers", "1"],
    )
    return answer, list(Store(out).read())


def test_what_is_not_at_hand_is_left_out_of_a_group(data):
    answer, records = reproduce(data, "tabular121", "--max-rows", "160", "--seeds", "2")
    left_out = next(line for line in answer.stderr.splitlines() if line.startswith("left out"))
    assert "tabular121/hepatitis" in left_out  # 155 rows
    assert "tabular121/wine" not in left_out  # 178 rows
    assert {record["run"]["task"] for record in records} == {"tabular121/iris"}
    assert len(records) == 2 * 3
    assert "WrongHashError" in answer.stderr
    assert answer.exit_code == 0  # every run that was asked for has a record


@pytest.mark.parametrize("names", [["tabular121/hepatitis", "tabular121"], ["tabular121/hepatitis"]], ids=str)
def test_what_is_named_is_not_left_out(data, names):
    answer, _ = reproduce(data, *names, "--max-rows", "160", "--seeds", "1", "--losses", "squentropy")
    assert "not done: tabular121/hepatitis: uci121/hepatitis is not at hand" in answer.stderr.replace("\n", " ")
    assert answer.exit_code == 1


def test_no_set_has_so_few_rows(data):
    answer, _ = reproduce(data, "tabular121", "--max-rows", "5")
    assert str(answer.exception) == "max_rows is 5, and no data set of tabular121 has as few rows: raise it"
