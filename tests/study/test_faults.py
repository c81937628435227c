"""A study that is killed, stopped or finds the disk full ends, once it is gone on with, as if nothing had been."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from squentropy.study import Store, plan
from squentropy.study.execution import execute
from squentropy.study.study import Study, available_cores
from squentropy.tasks.user import UserTasks
from tests.study.test_engines import alive, contents, wait_until

# Two tasks, stacked and not, which take some seconds together and save their checkpoints all the time.
STUDY = """
import sys
from functools import partial
from squentropy.study import Store, execution, plan
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.study import Study, available_cores
from tests.study.tiny_tasks import points_task

execution.Checkpoint = partial(Checkpoint, every=0.02)
TASKS = [points_task("alone", stacked=False, epochs=60), points_task("stacked", stacked=True, epochs=400)]

def find(name):
    return {task.name: task for task in TASKS}[name]

if __name__ == "__main__":
    study = Study(plan(TASKS, ["squentropy", "cross_entropy"], 3, "small"), find, Store(sys.argv[1]))
    for event in study.carry_out(study.jobs(), workers=2):
        pass
"""
RUNS = 2 * 2 * 3
TASK_FILE = """
from tests.study.tiny_tasks import points_task
TASK = points_task("mine", stacked=False, epochs=60)
"""


@pytest.fixture
def study(tmp_path):
    """How to start the study in a folder."""
    path = tmp_path / "study.py"
    path.write_text(STUDY)
    return lambda out: start([sys.executable, str(path), str(out)])


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


def finish(process):
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return out


def results(out):
    """The bytes of what was found: records and predictions."""
    return {name: content for name, content in contents(out).items() if name.startswith(("records/", "predictions/"))}


def members_of(session):
    """Ids of the processes of a session, the first one before those that it has started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(name))
    return sorted(found)


def disturb_and_finish(study, out, kills, seconds):
    """Kills the first process of the study, or all, at random moments, and at the end lets it finish.

    Args:
        study: Starts the study.
        out: Its folder.
        kills: How often it is killed.
        seconds: How long it takes undisturbed.
    """
    chance = random.Random(kills)
    times_killed = 0
    while times_killed < kills:
        process = study(out)
        try:
            process.wait(timeout=seconds * chance.uniform(0.1, 1.2))
        except subprocess.TimeoutExpired:
            times_killed += 1
            for victim in [process.pid] if chance.random() < 0.5 else members_of(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
        process.communicate()
        # A study that was too fast for its murderer loses some records and has to compute them again.
        if process.returncode == 0:
            for path in chance.sample(sorted((out / "records").iterdir()), RUNS // 2):
                path.unlink()
    finish(study(out))


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_ends_with_the_same_records(study, tmp_path, kills):
    began = time.monotonic()
    finish(study(tmp_path / "undisturbed"))
    seconds = time.monotonic() - began
    expected = results(tmp_path / "undisturbed")
    assert len(expected) == 2 * RUNS
    disturb_and_finish(study, tmp_path / "disturbed", kills, seconds)
    assert results(tmp_path / "disturbed") == expected
    assert not list((tmp_path / "disturbed" / "checkpoints").glob("*.pt"))


def test_ctrl_c_ends_it_within_a_second_with_a_line_that_says_how_to_go_on(task_file, tmp_path):
    seconds = []
    for attempt in range(3):  # a busy machine may hold up any single one
        out = tmp_path / f"study {attempt}"
        process = start(compare(task_file, out, seeds=200))
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
    assert [execute(job, find=find, store=study.store) for job in study.jobs()] == [None, None]
    assert study.standing().is_complete
