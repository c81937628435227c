"""Measuring a case from outside: a process for its times, and one for its memory."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from squentropy.bench.case import Case
from squentropy.bench.outcome import Outcome


@dataclass(frozen=True)
class Settings:
    """How a case is measured.

    Attributes:
        seconds: How long rounds are begun, after the warm-up.
        rounds: The least number of rounds.
        threads: Threads of PyTorch.
        device: "cpu" or "cuda".
        compiled: Whether what is compiled takes part.
    """

    seconds: float = 8.0
    rounds: int = 7
    threads: int = 2
    device: str = "cpu"
    compiled: bool = True

    def __post_init__(self) -> None:
        if self.device not in ("cpu", "cuda") or (self.device == "cuda" and not torch.cuda.is_available()):
            raise ValueError(f"device is {self.device!r}; use 'cpu', or 'cuda' where PyTorch sees a GPU")


QUICK = Settings(seconds=1.0, rounds=5, compiled=False)


def measure(case: Case, settings: Settings) -> Outcome:
    """Measure a case in processes of its own.

    Raises:
        RuntimeError: If a process ends before it has answered.
    """
    times = _ask(case.name, settings)
    return Outcome(
        case=case.name,
        baseline=case.baseline,
        seconds=times["seconds"],
        extra_bytes=_ask(case.name, settings, list(times["seconds"])),
        missing=times["missing"],
        errors=times["errors"],
    )


def _ask(case: str, settings: Settings, contestants: Sequence[str] | None = None) -> Any:
    question: dict[str, object] = {"case": case, "settings": asdict(settings)}
    environment = {**os.environ, "OMP_NUM_THREADS": str(settings.threads)}
    if contestants is not None:
        question["contestants"] = contestants
        # What is freed goes back to the system at once, so that it cannot be taken again unseen.
        environment["MALLOC_MMAP_THRESHOLD_"] = "65536"
    process = subprocess.run(
        [sys.executable, "-m", "squentropy.bench.worker"],
        input=json.dumps(question),
        env=environment,
        capture_output=True,
        text=True,
    )
    if process.returncode != 0:
        last = (process.stderr.strip().splitlines() or [f"status {process.returncode}"])[-1]
        raise RuntimeError(f"{case} was not measured: {last}")
    return json.loads(process.stdout.splitlines()[-1])
