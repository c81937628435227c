"""A training that was stopped anywhere goes on to the same bits, and a damaged checkpoint is refused and kept."""

import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from torch import nn

from squentropy.study import CorruptFileError
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.training import train
from tests.study.test_training import assert_same_bits, prepared
from tests.study.tiny_tasks import CLASSIFICATION, LANGUAGE, SPEECH


class Killed(BaseException):
    """Stands for the end of a process."""


def dropout_task():
    def build(data, recipe):
        return nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 3))

    return replace(CLASSIFICATION, name="dropout", build=build)


def augmented(data):
    return replace(
        data, augment=lambda inputs, generator: inputs + 0.1 * torch.randn(inputs.shape, generator=generator)
    )


@pytest.mark.parametrize("killed_at", [0.01, 0.25, 0.61, 0.99])
@pytest.mark.parametrize("task", [CLASSIFICATION, dropout_task(), LANGUAGE, SPEECH], ids=lambda task: task.name)
def test_resumes_to_the_same_bits(tmp_path, task, killed_at):
    """Killed once, and once more two steps later: in the same epoch, where that is long enough."""
    run, task, data = prepared(task)
    if task.name == "dropout":
        data = augmented(data)
    checkpoint = Checkpoint(tmp_path / "run.pt", every=0)
    reported = []

    def kill(share):
        reported.append(share)
        if share >= killed_at and len(reported) != kill.spared:
            raise Killed

    kill.spared = 0
    for _ in range(2):
        with suppress(Killed):
            train(run, task, data, checkpoint, kill)
        kill.spared = len(reported) + 1
    result = train(run, task, data, checkpoint, reported.append)
    assert_same_bits(result, train(run, task, data))
    assert len(reported) <= len(set(reported)) + 2  # only the last step before a kill was made again


@pytest.mark.parametrize("task", [CLASSIFICATION, LANGUAGE], ids=lambda task: task.name)
def test_a_finished_training_only_gives_its_result_again(tmp_path, task):
    checkpoint, shares = Checkpoint(tmp_path / "run.pt", every=0), []
    first = train(*prepared(task), checkpoint)
    assert_same_bits(train(*prepared(task), checkpoint, shares.append), first)
    assert not shares


def test_saves_no_more_often_than_asked(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.pt", every=3600)
    shares = []
    train(*prepared(CLASSIFICATION), checkpoint, lambda share: shares.append(checkpoint.path.exists()))
    assert not any(shares)


TRAINS_UNTIL_KILLED = """
import sys, time
from pathlib import Path
import torch
torch.set_num_threads(1)
from squentropy.study.checkpoint import Checkpoint
from squentropy.study.training import train
from tests.study.test_training import prepared
from tests.study.tiny_tasks import CLASSIFICATION

def progress(share):
    print(share, flush=True)
    time.sleep(0.05)

train(*prepared(CLASSIFICATION), Checkpoint(Path(sys.argv[1]), every=0), progress)
"""


def test_a_killed_process_is_gone_on_from(tmp_path):
    path = tmp_path / "run.pt"
    process = subprocess.Popen([sys.executable, "-c", TRAINS_UNTIL_KILLED, str(path)], stdout=subprocess.PIPE)
    for line in process.stdout:
        if float(line) >= 0.4:
            break
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert path.exists()
    resumed = []
    result = train(*prepared(CLASSIFICATION), Checkpoint(path), resumed.append)
    assert resumed[0] > 0.3
    assert_same_bits(result, train(*prepared(CLASSIFICATION)))


def test_a_flipped_byte_is_refused_wherever_it_is(tmp_path):
    path = tmp_path / "run.pt"
    Checkpoint(path).save({"weights": torch.arange(4.0), "epoch": 3})
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match="does not fit its hash"):
            Checkpoint(path).load()
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("length", [0, 10, 64, 200])
def test_a_torn_checkpoint_is_refused(tmp_path, length):
    path = tmp_path / "run.pt"
    Checkpoint(path).save({"weights": torch.arange(4.0)})
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(CorruptFileError, match=r"run\.pt"):
        train(*prepared(CLASSIFICATION), Checkpoint(path))
    assert path.stat().st_size == length


def test_a_checkpoint_runs_no_code(tmp_path):
    path = tmp_path / "run.pt"
    Checkpoint(path).save({"attack": time.sleep})
    with pytest.raises(CorruptFileError):
        Checkpoint(path).load()
