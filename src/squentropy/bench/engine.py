"""What the study engine costs by itself: a study of runs that have next to nothing to do."""

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


def _carry_out(runs: int) -> None:
    """From the plan to the last record, with two worker processes that are started for it."""
    with tempfile.TemporaryDirectory() as folder:
        study = Study(plan([_TASK], ["squentropy"], runs, "paper"), _find, Store(folder))
        for _ in study.carry_out(study.jobs(), workers=_WORKERS):
            pass
        if len(study.standing().done) != runs:
            raise RuntimeError("a run of the study was not done")


def _steps(runs: int, device: torch.device) -> dict[str, Step]:
    return {"study": partial(_carry_out, runs)}


# Two workers take 100 seconds for 200 runs of a second each; that the start of the workers is shared by 200 runs and
# not by 1,000 makes the target a stricter one.
ENGINE_CASES = [Case("engine/200-empty-runs", partial(_steps, 200), "study", (Target("study", 0.05 * 200 / _WORKERS),))]
