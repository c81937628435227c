"""The calibration of predictions in a file: one pass, every measure with its interval, which recalibrator helps."""
