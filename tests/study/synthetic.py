"""Records of studies that nobody ran, with differences that are known: what a report must say is known, too."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np

Losses = Mapping[str, Mapping[str, object]]

THREE: Losses = {"squentropy": {}, "cross_entropy": {}, "rescaled_square": {"t": 1, "M": 5}}
RECIPE = {"epochs": 400, "batch_size": 64, "learning_rate": 0.01, "optimizer": "SGD"}
ENVIRONMENT = {"python": "3.12.1", "torch": "2.13.0", "platform": "Linux-x86_64", "threads": 1}


def make_record(
    task: str = "iris",
    loss: str = "squentropy",
    seed: int = 0,
    *,
    accuracy: float = 0.95,
    ece: float = 0.05,
    parameters: Mapping[str, object] | None = None,
    scale: str = "paper",
    recipe: Mapping[str, object] = RECIPE,
    paper_row: str | None = None,
    failed: str | None = None,
) -> dict[str, object]:
    """One record as the engine writes it. The best epoch is one point better than the last in both metrics."""
    run = {
        "task": task,
        "scale": scale,
        "loss": {"name": loss, **(parameters or {})},
        "seed": seed,
        "recipe": dict(recipe),
    }
    last = {"accuracy": accuracy, "nll": 2 * ece, "ece": ece}
    best = {"epoch": 40, "accuracy": accuracy + 0.01, "nll": 2 * ece, "ece": ece - 0.01}
    epochs = list(range(20, 401, 20))
    approach = [1 - np.exp(-epoch / 80) for epoch in epochs]
    curves = {
        "epoch": epochs,
        "train_loss": [1.0 - 0.9 * share for share in approach],
        "weight_norm": [2.0 + (6.0 if loss == "cross_entropy" else 2.0) * share for share in approach],
        "accuracy": [0.5 + (accuracy - 0.5) * share for share in approach[:-1]] + [accuracy],
        "nll": [2 * ece] * len(epochs),
        "ece": [0.3 + (ece - 0.3) * share for share in approach[:-1]] + [ece],
    }
    return {
        "schema": 1,
        "run_id": hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:16],
        "run": run,
        "paper_row": paper_row,
        "status": "failed" if failed else "done",
        "error": {"type": "NonFiniteLossError", "message": failed, "where": []} if failed else None,
        "metric": {"name": "accuracy", "higher_is_better": True},
        "metrics": {"last": {}, "best": {}} if failed else {"last": last, "best": best},
        "curves": {} if failed else curves,
        "data": {
            "name": task,
            "sha256": hashlib.sha256(task.encode()).hexdigest(),
            "train_rows": 120,
            "test_rows": 30,
            "num_classes": 3,
        },
        "environment": ENVIRONMENT,
        "predictions": None,
        "timing": {"seconds": 1.0},
    }


def make_records(
    tasks: Sequence[str] = ("iris", "wine", "breast_cancer", "digits"),
    losses: Losses = THREE,
    seeds: int = 5,
    *,
    scale: str = "paper",
    advantage: float = 0.01,
    spread: float = 0.004,
    paper_rows: bool = False,
) -> list[dict[str, object]]:
    """Records of a whole study in which the first loss is better than the next by `advantage`, and so on down.

    In accuracy and in ECE alike, in fractions; with normal noise of standard deviation `spread` for each seed.
    """
    random = np.random.default_rng(0)
    records = []
    for task in tasks:
        level = random.uniform(0.7, 0.95)
        for position, (loss, parameters) in enumerate(losses.items()):
            for seed in range(seeds):
                accuracy = level - position * advantage + spread * random.standard_normal()
                ece = 0.05 + position * advantage + spread * random.standard_normal()
                records.append(
                    make_record(
                        task,
                        loss.partition(":")[0],
                        seed,
                        accuracy=float(accuracy),
                        ece=float(ece),
                        scale=scale,
                        parameters=parameters,
                        paper_row=f"121 tabular: {task}" if paper_rows else None,
                    )
                )
    return records
