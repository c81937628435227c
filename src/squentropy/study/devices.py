"""Training one run on several devices at once, each in a process of its own."""

from __future__ import annotations

import atexit
import io
import multiprocessing
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import torch

from squentropy.study.checkpoint import Checkpoint
from squentropy.study.engines.local import end_with_parent
from squentropy.study.plan import FindTask
from squentropy.study.run import Run
from squentropy.study.samples import Data
from squentropy.study.training import NonFiniteLossError, Result, make_fabric, train

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class Devices:
    """What one run is trained on.

    Attributes:
        kind: "cpu" or "cuda".
        count: How many; each computes its share of every batch.

    Examples:
        >>> Devices.parse("cuda:4"), str(Devices.parse("2"))
        (Devices(kind='cuda', count=4), 'cpu:2')
    """

    kind: str = "cpu"
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Devices:
        """Reads "cpu", "cuda", "cuda:4", or a number of processes on the CPU."""
        kind, _, count = text.partition(":") if not text.isdecimal() else ("cpu", "", text)
        if kind not in ("cpu", "cuda") or (count and not count.isdecimal()) or count == "0":
            raise ValueError(f"devices must be cpu, cuda, a number, or both as in cuda:4, got {text!r}")
        return cls(kind, int(count or 1))

    def __str__(self) -> str:
        return f"{self.kind}:{self.count}"


ONE_CPU = Devices()


def train_on(
    devices: Devices,
    find: FindTask,
    run: Run,
    data: Data,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Trains one run on devices as `squentropy.study.training.train` trains it on one CPU.

    The processes share each batch, and batch normalisation sees all of it: but for rounding, and for dropout, whose
    random numbers each process draws for itself, the result is that of one process.

    Args:
        devices: The devices. With one, no process is started.
        find: Returns the run's task; it must be possible to pickle it.
        run: What to train.
        data: The run's data.
        checkpoint: Where to go on from and to save to.
        progress: Called with the finished share.
    """
    fabric = make_fabric(run.recipe.precision, devices.kind, devices.count)
    if devices.count == 1:
        return train(run, find(run.task), data, checkpoint, progress, fabric)
    hear, tell = multiprocessing.get_context("spawn").Pipe(duplex=False)
    listener = threading.Thread(target=_pass_on, args=(hear, progress))
    listener.start()
    try:
        # In one callable, since `launch` looks into its arguments and refuses frozen dataclasses.
        share = partial(_train_share, find, run, data, checkpoint, tell, torch.get_num_threads())
        content: bytes | str = fabric.launch(_WithFabric(share))
    finally:
        tell.close()
        listener.join()
        hear.close()
    if isinstance(content, str):
        raise NonFiniteLossError(content)
    return Result(**torch.load(io.BytesIO(content), weights_only=True))


def _pass_on(hear: Connection, progress: Callable[[float], None] | None) -> None:
    with suppress(EOFError):
        while True:
            share = hear.recv()
            if progress is not None:
                progress(share)


@dataclass(frozen=True)
class _WithFabric:
    """What `launch` calls in each process."""

    work: Callable[..., bytes | str]

    def __call__(self, fabric: Fabric) -> bytes | str:
        return self.work(fabric=fabric)


def _train_share(
    find: FindTask,
    run: Run,
    data: Data,
    checkpoint: Checkpoint | None,
    tell: Connection,
    threads: int,
    *,
    fabric: Fabric,
) -> bytes | str:
    """What each process does. The result goes back as bytes, since shared tensors would end with their process; a loss
    that became infinite goes back as what is to be said of it.

    The process then ends at once. If Python were taken down in order meanwhile, a thread of gloo that lets go of a
    Python object too late would abort the process, and with it the run.
    """
    threading.Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    progress = tell.send if fabric.is_global_zero else None
    try:
        content: bytes | str = _to_bytes(train(run, find(run.task), data, checkpoint, progress, fabric))
    except NonFiniteLossError as error:  # in all processes at once
        content = str(error)
    finally:
        tell.close()
    atexit.register(os._exit, 0)
    return content


def _to_bytes(result: Result) -> bytes:
    buffer = io.BytesIO()
    torch.save(vars(result), buffer)
    return buffer.getvalue()
