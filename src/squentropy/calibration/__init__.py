"""How far probabilities can be trusted."""

from squentropy.calibration.bins import CalibrationBins

__all__ = ["CalibrationBins"]
