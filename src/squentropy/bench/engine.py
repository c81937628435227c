"""What the study engine costs by itself: a study of runs that have next to nothing to do."""

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch
from torch import nn

from squentropy.bench.case import Case, Step, Target
from squentropy.study import Recipe, Rows, Store, Task, TensorData, plan
from squentropy.study.study import Study

_WORKERS = 2


def _load(scale: str, data_dir: Path | None) -> TensorData:
    rows = Rows(torch.linspace(-1, 1, 8)[:, None], torch.arange(8) // 4)
    return TensorData("eight points", rows, rows, num_classes=2)


def _build(data: TensorData, recipe: Recipe) -> nn.Module:
    return nn.Linear(1, 2)


_TASK = Task(
    name="eight-points",
    recipes={"paper": Recipe(epochs=1, batch_size=8, learning_rate=0.1)},
    load=_load,
    build=_build,
)


def _find(name: str) -> Task:
    return _TASK


def carry_out(runs: int) -> None:
    """From the plan to the last record."""
    with tempfile.TemporaryDirectory() as folder:
        study = Study(plan([_TASK], ["squentropy"], runs, "paper"), _find, Store(folder))
        for _ in study.carry_out(study.jobs(), workers=_WORKERS):
            pass
        if len(study.standing().done) != runs:
            raise RuntimeError("a run of the study was not done")


def _in_a_new_process(runs: int) -> None:
    """As a command does it: the start of Python and of the workers counts, too."""
    subprocess.run([sys.executable, "-c", f"from {__name__} import carry_out; carry_out({runs})"], check=True)


def _steps(runs: int, device: torch.device) -> dict[str, Step]:
    return {"study": partial(_in_a_new_process, runs)}


# What such runs take is what the engine adds to runs of any length. Of a second each, 1,000 take two workers 500 s.
ENGINE_CASES = [
    Case("engine/1000-empty-runs", partial(_steps, 1000), "study", (Target("study", 0.05 * 1000 / _WORKERS),))
]
