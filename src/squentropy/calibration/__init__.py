"""How far probabilities can be trusted."""

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.diagrams import (
    class_diagrams,
    confidence_histogram,
    reliability_diagram,
    reliability_diagrams,
)
from squentropy.calibration.errors import ece, mce, overconfidence, rmsce, underconfidence
from squentropy.calibration.predictions import Predictions
from squentropy.calibration.recalibration import (
    RECALIBRATORS,
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MatrixScaling,
    PlattScaling,
    Recalibrator,
    TemperatureScaling,
    VectorScaling,
    recalibrator_from_dict,
)
from squentropy.calibration.scores import BrierDecomposition, accuracy, brier, brier_decomposition, nll, top_k_accuracy
from squentropy.calibration.selective import aurc, auroc

__all__ = [
    "RECALIBRATORS",
    "BetaCalibration",
    "BrierDecomposition",
    "CalibrationBins",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "MatrixScaling",
    "PlattScaling",
    "Predictions",
    "Recalibrator",
    "TemperatureScaling",
    "VectorScaling",
    "accuracy",
    "aurc",
    "auroc",
    "brier",
    "brier_decomposition",
    "class_diagrams",
    "confidence_histogram",
    "ece",
    "mce",
    "nll",
    "overconfidence",
    "recalibrator_from_dict",
    "reliability_diagram",
    "reliability_diagrams",
    "rmsce",
    "top_k_accuracy",
    "underconfidence",
]
