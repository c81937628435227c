"""Two real processes that share each batch train as one process does."""

import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from squentropy.study.training import train
from tests.study.test_training import prepared
from tests.study.tiny_tasks import CLASSIFICATION, LANGUAGE, points_task

pytestmark = pytest.mark.slow  # two processes that load everything anew

TASKS = {
    "classification": CLASSIFICATION,
    "accumulated": points_task("accumulated", stacked=False, accumulate=2, clip_norm=0.5, batch_size=30),
    "language": replace(LANGUAGE, recipes={"small": replace(LANGUAGE.recipe("small"), epochs=5)}),
}

TRAIN_TOGETHER = """
import sys
import torch
torch.set_num_threads(1)
from lightning_fabric import Fabric
from squentropy.study.training import train
from tests.study.test_ddp import TASKS
from tests.study.test_training import prepared

fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
fabric.launch()
for name, task in TASKS.items():
    result = train(*prepared(task), fabric=fabric)
    if fabric.is_global_zero:
        torch.save(vars(result), f"{sys.argv[1]}/{name}.pt")
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """What two processes gave, started as torchrun starts them."""
    folder = tmp_path_factory.mktemp("ddp")
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "NODE_RANK": "0"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TRAIN_TOGETHER, str(folder)],
            env={**os.environ, **world, "LOCAL_RANK": str(rank), "RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    return folder


@pytest.mark.parametrize("name", TASKS)
def test_two_processes_give_what_one_gives(together, name):
    alone = train(*prepared(TASKS[name]))
    result = torch.load(together / f"{name}.pt", weights_only=True)
    assert result["curves"].keys() == alone.curves.keys()
    for curve, values in alone.curves.items():
        assert result["curves"][curve] == pytest.approx(values, rel=1e-3, abs=1e-6), curve
    if alone.logits is not None:
        torch.testing.assert_close(result["logits"], alone.logits, rtol=1e-3, atol=1e-4)
