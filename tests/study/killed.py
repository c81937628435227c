"""A study that is killed at random moments, again and again: `python -m tests.study.killed FOLDER KILLS`.

This process imports PyTorch once and forks the study anew after each kill; to start Python fifty times would take
minutes, and most of the kills would hit its imports. It leaves `undisturbed` and `disturbed` in the folder.
"""

import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path

from squentropy.study import Store, execution, plan
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.engines import local
from squentropy.study.study import Study
from tests.study.tiny_tasks import points_task

# Two tasks, stacked and not, which take about a second together and save their checkpoints all the time.
TASKS = [points_task("alone", stacked=False, epochs=12), points_task("stacked", stacked=True, epochs=150)]
LOSSES = ("squentropy", "cross_entropy")
SEEDS = 3
RUNS = len(TASKS) * len(LOSSES) * SEEDS


def find(name):
    return {task.name: task for task in TASKS}[name]


def start(out):
    """Forks a process that carries out the study, in a session of its own; returns its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setsid()
        study = Study(plan(TASKS, LOSSES, SEEDS, "small"), find, Store(out))
        for _ in study.carry_out(study.jobs(), workers=2):
            pass
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def ends_within(child, seconds):
    """Waits for a process, and says whether it has ended by itself."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            return True
        time.sleep(0.002)
    return False


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


def disturb(out, kills, seconds):
    """Kills the first process of the study, or all of them, at moments of the time that it takes undisturbed."""
    chance = random.Random(kills)
    killed = 0
    while killed < kills:
        child = start(out)
        if not ends_within(child, seconds * chance.uniform(0.02, 1)):
            killed += 1
            for victim in [child] if chance.random() < 0.5 else members_of(child):
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            os.waitpid(child, 0)
        elif len(records := sorted((out / "records").iterdir())) == RUNS:
            # It was too fast for its murderer: it loses some records, and has to compute them again.
            for path in chance.sample(records, RUNS // 2):
                path.unlink()


def main(folder, kills):
    import lightning_fabric  # noqa: F401, here and not in each fork

    execution.Checkpoint = partial(Checkpoint, every=0.02)
    local._PROCESSES = multiprocessing.get_context("fork")
    began = time.monotonic()
    ends_within(start(folder / "undisturbed"), 120)
    disturb(folder / "disturbed", kills, time.monotonic() - began)
    ends_within(start(folder / "disturbed"), 120)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
