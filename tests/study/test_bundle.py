"""A finished study in one small file: the same runs and metrics, shorter curves, and a report from it alone."""

from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app
from squentropy.study import Store
from squentropy.study.record import thinned
from squentropy.study.report import write_report
from tests.study.synthetic import make_record


@pytest.fixture
def study(tmp_path):
    store = Store(tmp_path / "study")
    for task in ("iris", "wine"):
        for loss in ("squentropy", "cross_entropy"):
            for seed in range(3):
                store.write(make_record(task, loss, seed, accuracy=0.9 + 0.01 * seed + 0.001 * len(task + loss)))
    store.write(make_record("wine", "squentropy", 3, failed="the training loss became nan in epoch 5"))
    return store


def without_curves(store):
    return [{name: value for name, value in record.items() if name != "curves"} for record in store.read()]


def invoke(*arguments):
    return CliRunner().invoke(make_app(), list(map(str, arguments)))


def test_the_command_keeps_every_number_but_points_of_curves(study, tmp_path):
    answer = invoke("bundle", study.path, tmp_path / "kept", "--curve-points", "5")
    assert answer.exit_code == 0
    assert "13 records" in answer.output
    kept = Store(tmp_path / "kept")
    assert without_curves(kept) == without_curves(study)
    curves = [record["curves"] for record in kept.read() if record["status"] == "done"]
    assert {tuple(each["epoch"]) for each in curves} == {(80, 160, 240, 320, 400)}
    assert all(f"{value:.4g}" == f"{value:g}" for each in curves for value in each["weight_norm"])


def test_a_bundle_of_a_bundle_is_the_same_file(study, tmp_path):
    invoke("bundle", study.path, tmp_path / "first")
    invoke("bundle", tmp_path / "first", tmp_path / "second")
    first, second = ((tmp_path / name / "records.jsonl.xz").read_bytes() for name in ("first", "second"))
    assert first == second


def test_the_tables_are_those_of_the_whole_study(study, tmp_path):
    invoke("bundle", study.path, tmp_path / "kept")
    for store, out in ((study, "a"), (Store(tmp_path / "kept"), "b")):
        write_report(store, tmp_path / out)
    for name in ("report.json", "means.csv", "runs.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_reliability_diagrams_are_those_of_the_predictions_that_are_left_out(tmp_path):
    store = Store(tmp_path / "study")
    generator = np.random.Generator(np.random.PCG64(0))
    for loss in ("squentropy", "cross_entropy"):
        logits = generator.normal(size=(50, 3)).astype(np.float32)
        store.write(make_record("iris", loss), logits, generator.integers(3, size=50))
    assert "MiB" in invoke("bundle", store.path, tmp_path / "kept").output
    kept = Store(tmp_path / "kept")
    assert [kept.predictions(record) for record in kept.read()] == [None, None]
    write_report(store, tmp_path / "a")
    write_report(kept, tmp_path / "b")
    diagram, again = (tmp_path / out / "figures" / "reliability-paper-0.svg" for out in "ab")
    assert diagram.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(("length", "points"), [(1, 20), (19, 20), (20, 20), (21, 20), (200, 20), (201, 20), (7, 1)])
def test_curves_keep_their_last_point_and_no_more_than_asked(length, points):
    kept = thinned({"curves": {"epoch": list(range(1, length + 1))}}, points)["curves"]["epoch"]
    assert kept[-1] == length
    assert len(kept) <= points
    assert len({b - a for a, b in pairwise(kept)}) <= 1


def test_what_is_no_study_is_said(tmp_path):
    assert isinstance(invoke("bundle", tmp_path / "none", tmp_path).exception, FileNotFoundError)
    (tmp_path / "empty").mkdir()
    answer = invoke("bundle", tmp_path / "empty", tmp_path)
    assert "has no records" in str(answer.exception)
