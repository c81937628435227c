"""Better probabilities from the logits of a model that is trained already."""

from typing import Any

from squentropy.calibration.recalibration.linear import DirichletCalibration, MatrixScaling, VectorScaling
from squentropy.calibration.recalibration.one_vs_rest import (
    BetaCalibration,
    HistogramBinning,
    IsotonicCalibration,
    PlattScaling,
)
from squentropy.calibration.recalibration.recalibrator import Recalibrator
from squentropy.calibration.recalibration.temperature import TemperatureScaling

RECALIBRATORS: dict[str, type[Recalibrator]] = {
    method.name: method
    for method in (
        TemperatureScaling,
        VectorScaling,
        MatrixScaling,
        DirichletCalibration,
        PlattScaling,
        BetaCalibration,
        IsotonicCalibration,
        HistogramBinning,
    )
}


def recalibrator_from_dict(state: dict[str, Any]) -> Recalibrator:
    """Returns the fitted recalibrator whose `to_dict` gave this state.

    Examples:
        >>> import json, torch
        >>> logits, target = torch.randn(50, 3), torch.arange(50) % 3
        >>> fitted = TemperatureScaling().fit(logits, target)
        >>> again = recalibrator_from_dict(json.loads(json.dumps(fitted.to_dict())))
        >>> torch.equal(again.predict_proba(logits), fitted.predict_proba(logits))
        True
    """
    if state.get("method") not in RECALIBRATORS:
        raise ValueError(f"state must have a method out of {', '.join(RECALIBRATORS)}, got {state.get('method')!r}")
    return RECALIBRATORS[state["method"]]().load_dict(state)


__all__ = [
    "RECALIBRATORS",
    "BetaCalibration",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "MatrixScaling",
    "PlattScaling",
    "Recalibrator",
    "TemperatureScaling",
    "VectorScaling",
    "recalibrator_from_dict",
]
