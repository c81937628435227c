"""The calibration error of ten million predictions."""

from functools import partial

import torch

from squentropy.bench.case import Case, Step, Target
from squentropy.calibration import CalibrationBins, ece

BASELINE, OURS = "torchmetrics MulticlassCalibrationError", "CalibrationBins.from_logits, ece"


def _steps(samples: int, num_classes: int, device: torch.device) -> dict[str, Step]:
    """From logits to ECE."""
    generator = torch.Generator(device).manual_seed(0)
    logits = torch.randn(samples, num_classes, device=device, generator=generator)
    target = torch.randint(num_classes, (samples,), device=device, generator=generator)

    def theirs() -> object:
        from torchmetrics.classification import MulticlassCalibrationError

        metric = MulticlassCalibrationError(num_classes, n_bins=10, norm="l1", validate_args=False).to(device)
        metric.update(logits, target)
        return metric.compute()

    return {BASELINE: theirs, OURS: lambda: ece(CalibrationBins.from_logits(logits, target, n_bins=10))}


CALIBRATION_CASES = [
    Case("calibration/10000000x10", partial(_steps, 10_000_000, 10), BASELINE, (Target(OURS, 0.2, BASELINE),)),
]
