"""How far probabilities can be trusted."""

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.errors import ece, mce, overconfidence, rmsce, underconfidence

__all__ = ["CalibrationBins", "ece", "mce", "overconfidence", "rmsce", "underconfidence"]
