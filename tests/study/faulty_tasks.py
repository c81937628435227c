"""Tasks that go wrong in one way each, as functions that worker processes find by name, too."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from squentropy.study import Rows, TensorData
from tests.study.tiny_tasks import CLASSIFICATION, SPEECH, STACKED, TASKS

# Where a task leaves marks, so that it can behave otherwise the second time; the test sets it, workers inherit it.
MARKS = "SQUENTROPY_TEST_MARKS"


def mark(name):
    """Leaves a mark and says whether it was there before."""
    path = Path(os.environ[MARKS]) / name
    was_there = path.exists()
    path.touch()
    return was_there


def raises(data, recipe):
    raise RuntimeError("no such layer")


def is_killed(scale, data_dir):
    os.kill(os.getpid(), signal.SIGKILL)


def is_killed_once(scale, data_dir):
    if not mark("killed once"):
        os.kill(os.getpid(), signal.SIGKILL)
    return STACKED.load(scale, data_dir)


def raises_once(data, recipe):
    if not mark("raised once"):
        raises(data, recipe)
    return CLASSIFICATION.build(data, recipe)


def sleeps(scale, data_dir):
    mark(f"asleep {os.getpid()}")
    time.sleep(3600)


def no_data(scale, data_dir):
    raise FileNotFoundError("no file points.csv: get it from its publisher")


def bad_data(scale, data_dir):
    raise ValueError("points.csv has a word in row 3")


def no_split_for_seed_1(data, seed):
    if seed == 1:
        raise ValueError("seed 1 leaves a class without rows")
    return CLASSIFICATION.split(data, seed)


def overflow_for_seed_1(data, seed):
    """Inputs of the size that no weight survives."""
    parts = CLASSIFICATION.split(data, seed)
    if seed == 1:
        return TensorData(parts.name, Rows(parts.train.inputs * 1e30, parts.train.target), parts.test, 3)
    return parts


def infinite(model, data, recipe):
    return {"sequence_error": float("inf")}


FAULTY = {
    "raises": replace(CLASSIFICATION, build=raises),
    "killed": replace(STACKED, load=is_killed),
    "killed_once": replace(STACKED, load=is_killed_once),
    "raises_once": replace(CLASSIFICATION, build=raises_once),
    "sleeps": replace(CLASSIFICATION, load=sleeps),
    "no_data": replace(CLASSIFICATION, load=no_data),
    "bad_data": replace(CLASSIFICATION, load=bad_data),
    "no_split": replace(CLASSIFICATION, split=no_split_for_seed_1),
    "overflow": replace(CLASSIFICATION, split=overflow_for_seed_1),
    "overflow_stacked": replace(STACKED, split=overflow_for_seed_1),
    "infinite": replace(SPEECH, measure=infinite),
}


def find(name):
    """The tiny tasks, and those that go wrong."""
    return TASKS.get(name) or replace(FAULTY[name], name=name)
