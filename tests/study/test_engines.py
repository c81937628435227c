"""Engines do every job once, in order, whoever is killed; and all engines leave the same bytes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from squentropy.study import Store, plan
from squentropy.study.engines import Finished, Lost, Running, run_locally, run_on_ray
from squentropy.study.engines.local import _serve
from squentropy.study.execution import execute
from squentropy.study.files import StorageError
from squentropy.study.plan import jobs
from squentropy.study.study import Study
from tests.study.faulty_tasks import MARKS, find

KINDS = ("tiny_classification", "tiny_language", "tiny_speech", "tiny_stacked")


@pytest.fixture(autouse=True)
def _marks(tmp_path, monkeypatch):
    monkeypatch.setenv(MARKS, str(tmp_path))


def jobs_of(*names, seeds=1):
    runs = plan([find(name) for name in names], ["squentropy"], seeds, "small")
    return jobs(runs, runs, find)


def work_on(path):
    return partial(execute, find=find, store=Store(path))


def contents(folder):
    """All files of a study but the measured times."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "timings.jsonl"
    }


def all_kinds_by(engine, path):
    study = Study(plan(map(find, KINDS), ["squentropy"], 2, "small"), find, Store(path))
    events = list(study.carry_out(study.jobs(), engine, workers=2))
    ended = [event for event in events if isinstance(event, Finished)]
    assert [event.problem for event in ended] == [None] * (3 * 2 + 1)
    assert study.standing().is_complete
    return contents(path)


@pytest.fixture(scope="module")
def in_this_process(tmp_path_factory):
    """What the jobs of all kinds leave when they are done one after another, without an engine."""
    path = tmp_path_factory.mktemp("alone")
    study = Study(plan(map(find, KINDS), ["squentropy"], 2, "small"), find, Store(path))
    for job in study.jobs():
        assert execute(job, find=find, store=study.store) is None
    return contents(path)


def test_two_processes_leave_the_same_bytes_as_one(tmp_path, in_this_process):
    assert len(in_this_process) == 4 * 2 + 3 * 2  # records, and predictions of all but language
    assert all_kinds_by("local", tmp_path) == in_this_process


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_ray_leaves_the_same_bytes(tmp_path, in_this_process):
    """On a real Ray of this machine, with two workers."""
    pytest.importorskip("ray")
    assert all_kinds_by("ray", tmp_path) == in_this_process


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_ray_tells_what_became_of_killed_workers(tmp_path):
    pytest.importorskip("ray")
    made = jobs_of("killed_once", "killed", "tiny_stacked")
    ended = {event.job.runs[0].task: event for event in run_on_ray(made, work_on(tmp_path / "study"), 2)}
    assert isinstance(ended["killed"], Lost)
    assert ended["killed_once"] == Finished(ended["killed_once"].job, None)
    assert ended["tiny_stacked"] == Finished(ended["tiny_stacked"].job, None)


def test_one_worker_does_the_first_jobs_first_and_tells_how_far_it_is(tmp_path):
    made = jobs_of("tiny_speech", "tiny_classification", seeds=2)
    events = list(run_locally(made, work_on(tmp_path), 1))
    assert [event.job for event in events if isinstance(event, Finished)] == made
    shares = [event.share for event in events if isinstance(event, Running)]
    assert shares.count(0.0) == len(made)
    assert any(0 < share <= 1 for share in shares)


def test_a_job_whose_process_is_killed_gets_a_second_attempt_and_no_third(tmp_path):
    tasks = [find(name) for name in ("killed", "killed_once", "tiny_stacked")]
    study = Study(plan(tasks, ["squentropy"], 1, "small"), find, Store(tmp_path / "study"))
    list(study.carry_out(study.jobs(), workers=2))
    statuses = {record["run"]["task"]: record["status"] for record in study.store.read()}
    assert statuses == {"killed": "failed", "killed_once": "done", "tiny_stacked": "done"}
    (failed,) = study.standing().failed
    assert failed["error"]["type"] == "LostWorkerError"
    assert failed["error"]["message"] == (
        "its process was killed by SIGKILL; is there enough memory? Fewer workers need less"
    )


def full_disk(job, progress=None):
    raise StorageError(28, "No space left on device", "records/0123.json")


def test_what_nobody_can_go_on_after_is_raised():
    with pytest.raises(StorageError, match=r"records/0123.json cannot be written: No space left"):
        list(run_locally(jobs_of("tiny_classification", seeds=3), full_disk, 2))


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def asleep(folder):
    """Processes that have begun to sleep."""
    return [int(path.name.split()[1]) for path in folder.glob("asleep *")]


def test_closing_the_events_ends_the_workers_at_once(tmp_path):
    made = jobs_of("tiny_stacked") + jobs_of("sleeps")
    with closing(run_locally(made, work_on(tmp_path / "study"), 2)) as events:
        next(events)
        wait_until(lambda: asleep(tmp_path))
        start = time.monotonic()
    assert time.monotonic() - start < 5  # of an hour
    assert not any(map(alive, asleep(tmp_path)))


STUDY_THAT_SLEEPS = """
import sys
from tests.study.test_engines import jobs_of, run_locally, work_on
if __name__ == "__main__":
    list(run_locally(jobs_of("sleeps", seeds=2), work_on(sys.argv[1]), 2))
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", STUDY_THAT_SLEEPS, str(tmp_path / "study")])
    wait_until(lambda: len(asleep(tmp_path)) == 2)
    parent.send_signal(signal.SIGKILL)
    assert parent.wait() == -signal.SIGKILL
    wait_until(lambda: not any(map(alive, asleep(tmp_path))), seconds=30)


def run_that_reports(folder, job, progress):
    """Work that takes an exception for a failure of its own, as `execute` does."""
    try:
        for _ in range(1000):
            progress(0.5)
            time.sleep(0.01)
    except Exception:
        (folder / "failed").touch()


def serve(ours, theirs, work):
    ours.close()  # which a forked process has, too
    _serve(theirs, work, {})


def test_a_worker_whose_parent_is_gone_does_not_blame_its_run(tmp_path):
    processes = multiprocessing.get_context("fork")
    ours, theirs = processes.Pipe()
    worker = processes.Process(target=serve, args=(ours, theirs, partial(run_that_reports, tmp_path)))
    worker.start()
    theirs.close()
    ours.send(jobs_of("tiny_classification")[0])
    assert [ours.recv(), ours.recv()] == [True, 0.5]
    ours.close()
    worker.join(30)
    assert worker.exitcode == 0
    assert not (tmp_path / "failed").exists()


WITHOUT_GUARD = """
import sys
from tests.study.test_engines import jobs_of, run_locally, work_on
list(run_locally(jobs_of("tiny_classification", seeds=2), work_on(sys.argv[1]), 2))
"""


def test_a_script_that_starts_itself_again_in_each_worker_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(WITHOUT_GUARD)
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    result = subprocess.run(
        [sys.executable, script, tmp_path / "study"], capture_output=True, text=True, env=environment, timeout=60
    )
    assert result.returncode == 1
    assert "must do so under `if __name__ == '__main__':`" in result.stderr.splitlines()[-1]
    assert not Store(tmp_path / "study").run_ids()
