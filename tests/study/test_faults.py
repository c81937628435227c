"""A study that is killed, stopped or finds the disk full ends, once it is gone on with, as if nothing had been."""

import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from squentropy.study import Store, plan
from squentropy.study.execution import execute
from squentropy.study.study import Study, available_cores
from squentropy.tasks.user import UserTasks
from tests.study.killed import RUNS, members_of
from tests.study.test_engines import alive, contents, wait_until

TASK_FILE = """
from tests.study.tiny_tasks import points_task
TASK = points_task("mine", stacked=True, epochs=600)
"""


@pytest.fixture
def task_file(tmp_path):
    path = tmp_path / "my_task.py"
    path.write_text(TASK_FILE)
    return path


def compare(task_file, out, seeds):
    return [
        *(sys.executable, "-m", "squentropy", "compare", str(task_file), "--losses", "squentropy"),
        *("--seeds", str(seeds), "--out", str(out), "--workers", "2"),
    ]


def start(arguments, **settings):
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}
    # In a session of its own, as a terminal would start it, so that a signal can go to all its processes.
    return subprocess.Popen(
        arguments, env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **settings,
    )  # fmt: skip


def results(out):
    """The bytes of what was found: records and predictions. What killed writers left half-way is not found."""
    return {
        name: content
        for name, content in contents(out).items()
        if name.startswith(("records/", "predictions/")) and "/.partial-" not in name
    }


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_ends_with_the_same_records(tmp_path, kills):
    process = start([sys.executable, "-m", "tests.study.killed", str(tmp_path), str(kills)])
    _, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (0, "")
    expected = results(tmp_path / "undisturbed")
    assert len(expected) == 2 * RUNS
    assert results(tmp_path / "disturbed") == expected
    assert not list((tmp_path / "disturbed" / "checkpoints").glob("*.pt"))


def test_ctrl_c_ends_it_within_a_second_with_a_line_that_says_how_to_go_on(task_file, tmp_path):
    seconds = []
    for attempt in range(3):  # a busy machine may hold up any single one
        out = tmp_path / f"study {attempt}"
        # What runs the tests in the background may have them, and all that they start, ignore Ctrl-C.
        hears_ctrl_c = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
        process = start(compare(task_file, out, seeds=200), preexec_fn=hears_ctrl_c)
        wait_until(lambda out=out: list((out / "records").glob("*.json")))
        processes = members_of(process.pid)
        assert len(processes) >= 3
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to all
        _, errors = process.communicate(timeout=60)
        seconds.append(time.monotonic() - began)
        assert process.returncode == 130
        (line,) = errors.splitlines()
        assert line.startswith("stopped; finished runs are kept. To go on, give the same command: squentropy compare")
        assert line.endswith(f"--out '{out}' --workers 2")
        wait_until(lambda processes=processes: not any(map(alive, processes)), seconds=10)
        assert list(Store(out).read())  # all whole
        # A second where each process has a core; in proportion more where many share one.
        limit = max(1.0, os.getloadavg()[0] / available_cores())
        if seconds[-1] < limit:
            break
    assert seconds[-1] < limit


def no_file_above_4_kilobytes():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))


def test_a_full_disk_ends_it_with_one_line_and_loses_nothing(task_file, tmp_path):
    """A real limit of the operating system, under which records cannot be written, but predictions can."""
    out = tmp_path / "study"
    process = start(compare(task_file, out, seeds=2), preexec_fn=no_file_above_4_kilobytes)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 1
    (line,) = errors.splitlines()
    assert line.startswith(f"squentropy: {out}/records/")
    assert line.endswith("make room for it and give the same command again")
    assert not list(out.rglob(".partial-*"))
    find = UserTasks(task_file)
    study = Study(plan(find.all(), ["squentropy"], 2, "small"), find, Store(out))
    assert [execute(job, find=find, store=study.store) for job in study.jobs()] == [None]
    assert study.standing().is_complete
