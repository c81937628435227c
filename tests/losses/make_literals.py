"""Write literals.json: values in 100-digit arithmetic. By hand: ``python -m tests.losses.make_literals``."""

import json
from pathlib import Path

import mpmath

from tests.losses.reference import ROWS

mpmath.mp.dps = 100


def _many(scale: float) -> list[float]:
    """1000 logits that have no pattern and are exact in binary."""
    return [scale * ((j * 373) % 1009 - 504) / 512 for j in range(1000)]


LOGITS = {
    "ordinary 2": ([0.5, -1.25], [0, 1]),
    "ordinary 3": ([2.0, 1.0, -1.0], [0, 1, 2]),
    "zero 3": ([0.0, 0.0, 0.0], [1]),
    "confident 2": ([37.0, 0.0], [0, 1]),
    "confident 3": ([36.9, -0.5, 0.25], [0, 2]),
    "confident and wrong": ([-90.0, 90.0, 1.0], [0, 1]),
    "hundreds": ([232.8, -232.8, 100.0], [0, 1, 2]),
    "thousand": ([1e3, 1.0, -1.0], [0, 1]),
    "cancellation": ([3e4, 1.0, -1.0], [0, 1]),
    "negative true": ([-3e4, 1.0, 1.0], [0, 2]),
    "1e10": ([1e10, -1e10, 1e5], [0, 1, 2]),
    "1e19": ([1e19, -1.0], [0, 1]),
    "1e19 both": ([1e19, -1e19, 1e19], [0, 1]),
    "tiny": ([1e-30, -1e-30, 1e-12], [0, 2]),
    "many, small": (_many(0.001), [0, 517]),
    "many, ordinary": (_many(3.0), [0, 999]),
    "many, large": (_many(200.0), [3, 640]),
    "many, huge": (_many(1e19), [3]),
}


def main() -> None:
    """Compute each loss at its default and other parameters."""
    rows = []
    for name, row in ROWS.items():
        for parameters in row.parameters:
            exact = {key: mpmath.mpf(value) for key, value in parameters.items()}
            for case, (logits, targets) in LOGITS.items():
                f = [mpmath.mpf(z) for z in logits]
                for target in targets:
                    if row.label_smoothing:
                        continue  # PyTorch's own function
                    value = row.of_class(f, target, mpmath, **exact)
                    rows.append([name, parameters, case, target, mpmath.nstr(value, 25, min_fixed=0, max_fixed=0)])
    text = ",\n".join(json.dumps(r) for r in rows)
    Path(__file__).with_name("literals.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
