"""Squentropy: cross entropy plus the mean squared logit of the wrong classes, for PyTorch."""

__version__ = "0.1.0"
