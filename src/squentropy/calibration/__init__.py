"""How far probabilities can be trusted."""

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.errors import ece, mce, overconfidence, rmsce, underconfidence
from squentropy.calibration.predictions import Predictions
from squentropy.calibration.scores import BrierDecomposition, accuracy, brier, brier_decomposition, nll, top_k_accuracy
from squentropy.calibration.selective import aurc, auroc

__all__ = [
    "BrierDecomposition",
    "CalibrationBins",
    "Predictions",
    "accuracy",
    "aurc",
    "auroc",
    "brier",
    "brier_decomposition",
    "ece",
    "mce",
    "nll",
    "overconfidence",
    "rmsce",
    "top_k_accuracy",
    "underconfidence",
]
