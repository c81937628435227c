"""How far probabilities can be trusted."""

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.debiased import debiased_ece, debiased_rmsce
from squentropy.calibration.diagrams import (
    class_diagrams,
    confidence_histogram,
    reliability_diagram,
    reliability_diagrams,
)
from squentropy.calibration.errors import classwise_ece, ece, mce, overconfidence, rmsce, underconfidence
from squentropy.calibration.intervals import Interval, difference, interval
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
from squentropy.calibration.smooth import ks_error, smooth_ece

__all__ = [
    "RECALIBRATORS",
    "BetaCalibration",
    "BrierDecomposition",
    "CalibrationBins",
    "DirichletCalibration",
    "HistogramBinning",
    "Interval",
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
    "classwise_ece",
    "confidence_histogram",
    "debiased_ece",
    "debiased_rmsce",
    "difference",
    "ece",
    "interval",
    "ks_error",
    "mce",
    "nll",
    "overconfidence",
    "recalibrator_from_dict",
    "reliability_diagram",
    "reliability_diagrams",
    "rmsce",
    "smooth_ece",
    "top_k_accuracy",
    "underconfidence",
]
