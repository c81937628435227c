"""A job ends with a record for each run, finished or failed with its cause; what can be mended leaves none."""

import math

import numpy as np
import pytest
import torch

from squentropy.study import Store, plan
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.execution import execute, record_loss
from squentropy.study.plan import jobs
from squentropy.study.study import Study
from squentropy.study.training import train
from tests.study.faulty_tasks import MARKS, find


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "study")


@pytest.fixture(autouse=True)
def _marks(tmp_path, monkeypatch):
    monkeypatch.setenv(MARKS, str(tmp_path))


def jobs_of(name, seeds=1, losses=("squentropy",)):
    runs = plan([find(name)], losses, seeds, "small")
    return jobs(runs, runs, find)


def do(store, name, **plan_of):
    """Carries out all jobs of a task; returns what they answered and the records by seed."""
    answers = [execute(job, find=find, store=store) for job in jobs_of(name, **plan_of)]
    return answers, {record["run"]["seed"]: record for record in store.read()}


@pytest.mark.parametrize("name", ["tiny_classification", "tiny_language", "tiny_speech", "tiny_stacked"])
def test_a_finished_run_of_each_kind(store, name):
    answers, records = do(store, name)
    assert answers == [None]
    task, record = find(name), records[0]
    (run,) = plan([task], ["squentropy"], 1, "small")
    assert (record["run_id"], record["run"]) == (run.run_id, run.to_json())
    assert (record["status"], record["error"]) == ("done", None)
    assert record["metric"] == {"name": task.metric, "higher_is_better": task.higher_is_better}
    assert {"accuracy", "nll", "ece", task.metric} <= record["metrics"]["last"].keys()
    assert record["metrics"]["best"]["epoch"] in record["curves"]["epoch"]
    for metric, value in record["metrics"]["last"].items():
        assert record["curves"][metric][-1] == value
    assert record["data"].keys() == {"name", "sha256", "train_rows", "test_rows", "num_classes"}
    assert record["environment"]["torch"] == torch.__version__
    assert record["environment"]["threads"] == 1
    assert not list(store.checkpoints.iterdir())
    assert store.seconds_per_run().keys() == {(name, "small")}


def test_the_predictions_are_those_of_the_training(store):
    do(store, "tiny_classification")
    task = find("tiny_classification")
    (run,) = plan([task], ["squentropy"], 1, "small")
    result = train(run, task, task.split(task.load("small", None), 0))
    logits, target = store.predictions(store.get(run.run_id))
    assert np.array_equal(logits, result.logits.numpy())
    assert np.array_equal(target, result.target.numpy())
    assert store.get(run.run_id)["metrics"]["last"]["accuracy"] == (logits.argmax(1) == target).mean()


@pytest.mark.parametrize(
    ("name", "type_", "message", "where"),
    [
        ("raises", "RuntimeError", "no such layer", "raises"),
        ("bad_data", "ValueError", "points.csv has a word in row 3", "bad_data"),
        ("infinite", "NonFiniteLossError", "the metric 'sequence_error' became inf", "_finite"),
    ],
)
def test_what_a_run_raises_makes_a_failed_record(store, name, type_, message, where):
    answers, records = do(store, name, seeds=2)
    assert answers == [None, None]
    for record in records.values():
        assert record["status"] == "failed"
        assert (record["error"]["type"], record["error"]["message"]) == (type_, message)
        assert record["error"]["where"][-1].endswith(f"in {where}")
        assert not any("/" in line for line in record["error"]["where"])  # nothing of this machine
        assert record["metrics"] == {"last": {}, "best": {}}
        assert record["predictions"] is None


def test_only_the_seed_without_a_split_fails(store):
    _, records = do(store, "no_split", seeds=3)
    assert [records[seed]["status"] for seed in range(3)] == ["done", "failed", "done"]
    assert records[1]["error"]["message"] == "seed 1 leaves a class without rows"
    assert records[1]["data"] is None


@pytest.mark.parametrize("name", ["overflow", "overflow_stacked"])
def test_only_the_run_whose_loss_overflows_fails(store, name):
    _, records = do(store, name, seeds=3)
    assert [records[seed]["status"] for seed in range(3)] == ["done", "failed", "done"]
    assert records[1]["error"]["type"] == "NonFiniteLossError"
    assert "in epoch 1" in records[1]["error"]["message"]
    assert all(math.isfinite(records[0]["metrics"]["last"][name]) for name in ("nll", "ece"))


def test_data_that_are_not_there_make_no_record(store):
    answers, records = do(store, "no_data")
    assert answers == ["no file points.csv: get it from its publisher"]
    assert not records


def test_a_damaged_checkpoint_is_named_kept_and_computed_anew_once_it_is_away(store):
    (job,) = jobs_of("tiny_classification")
    path = store.checkpoints / f"{job.job_id}.pt"
    Checkpoint(path).save({"epoch": 1})
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    answer = execute(job, find=find, store=store)
    assert str(path) in answer
    assert "does not fit its hash" in answer
    assert path.read_bytes() == damaged
    assert not store.run_ids()
    path.rename(path.with_suffix(".bad"))
    assert execute(job, find=find, store=store) is None
    assert store.is_done(job.job_id)


def test_failed_runs_are_done_again_only_on_request(store):
    study = Study(plan([find("raises_once")], ["squentropy"], 1, "small"), find, store)
    (job,) = study.jobs()
    execute(job, find=find, store=store)
    (failed,) = study.standing().failed
    assert failed["error"]["message"] == "no such layer"
    assert study.jobs() == []
    (again,) = study.jobs(retry_failed=True)
    execute(again, find=find, store=store)
    assert not study.standing().failed
    assert len(study.standing().done) == 1
    assert study.jobs(retry_failed=True) == []


def test_a_finished_record_is_not_written_again(store):
    (job,) = jobs_of("tiny_classification")
    execute(job, find=find, store=store)
    path = store.records / f"{job.job_id}.json"
    written = path.stat().st_mtime_ns
    assert execute(job, find=find, store=store) is None
    assert path.stat().st_mtime_ns == written


def test_a_stacked_job_whose_records_are_half_there_ends_with_the_same_bytes(store, tmp_path):
    (job,) = jobs_of("tiny_stacked", seeds=3)
    execute(job, find=find, store=store)
    whole = {path.name: path.read_bytes() for path in store.records.iterdir()}
    (store.records / f"{job.runs[1].run_id}.json").unlink()
    study = Study(job.runs, find, store)
    (rest,) = study.jobs()
    assert [run.seed for run in rest.missing] == [1]
    execute(rest, find=find, store=store)
    assert {path.name: path.read_bytes() for path in store.records.iterdir()} == whole


def test_two_studies_on_one_folder_do_not_do_the_same_job(store):
    (job,) = jobs_of("tiny_classification")
    answers = []

    def meanwhile(share):
        if not answers:
            answers.append(execute(job, find=find, store=store))

    assert execute(job, meanwhile, find=find, store=store) is None
    assert answers == ["it is being computed by another study on the same folder"]
    assert store.is_done(job.job_id)


def test_the_claim_of_a_killed_process_ends_with_it(store):
    (job,) = jobs_of("tiny_classification")
    store.checkpoints.mkdir(parents=True)
    (store.checkpoints / f"{job.job_id}.lock").touch()  # what such a process leaves behind
    assert execute(job, find=find, store=store) is None
    assert store.is_done(job.job_id)


def test_a_job_whose_process_was_lost_has_failed(store):
    (job,) = jobs_of("tiny_stacked", seeds=2)
    record_loss(job, "its process was killed by SIGKILL", find=find, store=store)
    for record in store.read():
        assert record["status"] == "failed"
        assert record["error"] == {
            "type": "LostWorkerError",
            "message": "its process was killed by SIGKILL",
            "where": [],
        }


def test_damaged_records_wait_and_are_named(store):
    study = Study(plan([find("tiny_classification")], ["squentropy"], 2, "small"), find, store)
    for job in study.jobs():
        execute(job, find=find, store=store)
    path = store.records / f"{study.runs[0].run_id}.json"
    path.write_bytes(path.read_bytes()[:50])
    standing = study.standing()
    assert [error.path for error in standing.corrupt] == [str(path)]
    assert not standing.is_complete
    assert study.jobs(retry_failed=True) == []
    path.rename(path.with_suffix(".bad"))
    (job,) = study.jobs()
    assert [run.seed for run in job.missing] == [0]
