"""Temperature scaling: one number for all classes."""

import math
import warnings
from typing import ClassVar

import torch
from torch import Tensor

from squentropy.calibration.recalibration.recalibrator import Recalibrator


class TemperatureScaling(Recalibrator):
    """softmax(f / T), with the T > 0 of least negative log-likelihood (Guo et al. 2017).

    In 1 / T the likelihood is convex, so its slope has one root, and log T is found by bracketing it: T cannot become
    negative, and no step size or number of iterations has to fit. If the likelihood still rises at an end of `bounds`,
    T is that end and a `RuntimeWarning` says so: when all samples are right, any smaller T is better still. Order of
    classes and accuracy stay as they were.

    Args:
        bounds: Lowest and highest T.

    Examples:
        >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
        >>> scaling = TemperatureScaling().fit(logits, torch.tensor([0, 0, 1, 1]))
        >>> round(scaling.temperature, 4)  # three of four are right: 2 / T = log 3
        1.8205
        >>> scaling.predict_proba(torch.tensor([[2.0, 0.0]]))
        tensor([[0.7500, 0.2500]])
    """

    name: ClassVar[str] = "temperature"
    title: ClassVar[str] = "temperature scaling"
    needs_every_class: ClassVar[bool] = False

    def __init__(self, bounds: tuple[float, float] = (1e-3, 1e3)) -> None:
        super().__init__()
        if not 0 < bounds[0] < bounds[1] < math.inf:
            raise ValueError(f"bounds must be two rising positive numbers, got {bounds}")
        self.bounds = bounds

    @property
    def temperature(self) -> float:
        """The T that was learnt."""
        if not self.parameters:
            raise ValueError("TemperatureScaling is not fitted: call fit(logits, target) first")
        return float(self.parameters["temperature"])

    def _learn(self, logits: Tensor, target: Tensor, weight: Tensor) -> dict[str, Tensor]:
        from scipy.optimize import brentq

        margins = logits - logits.gather(1, target[:, None])
        weight = weight / weight.sum()

        def slope(log_temperature: float) -> float:
            """Of the negative log-likelihood in 1 / T: the expected margin of the classes, which is 0 at the best T."""
            probs = torch.softmax(margins / math.exp(log_temperature), dim=1)
            return float(weight @ (probs * margins).sum(1))

        low, high = map(math.log, self.bounds)
        if slope(low) <= 0:
            log_temperature = low
            self._warn_of_end("every sample is right", "lower")
        elif slope(high) >= 0:
            log_temperature = high
            self._warn_of_end("these logits say less than none", "higher")
        else:
            log_temperature = brentq(slope, low, high, xtol=1e-13)
        return {"temperature": torch.tensor(math.exp(log_temperature), dtype=torch.float64)}

    def _warn_of_end(self, cause: str, direction: str) -> None:
        low, high = self.bounds
        warnings.warn(
            f"temperature stopped at the end of its bounds {low:g}..{high:g}, as a {direction} one fits better still: "
            f"{cause}, so use other samples to fit",
            RuntimeWarning,
            stacklevel=4,
        )

    def _apply(self, logits: Tensor, **parameters: Tensor) -> Tensor:
        return torch.softmax(logits / parameters["temperature"], dim=1)
