"""Every measure of an assessment with its interval: the rows of the report's table."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from squentropy.calibration.debiased import debiased_ece
from squentropy.calibration.errors import classwise_ece, ece, mce, overconfidence, rmsce, underconfidence
from squentropy.calibration.intervals import Interval, interval
from squentropy.calibration.predictions import Predictions
from squentropy.calibration.report.assessment import Assessment
from squentropy.calibration.scores import accuracy, brier, nll
from squentropy.calibration.selective import aurc, auroc
from squentropy.calibration.smooth import ks_error, smooth_ece


@dataclass(frozen=True)
class Measured:
    """A row of the table.

    Attributes:
        name: What was measured.
        found: Its value and interval.
        meaning: What it says, in a few words.
        in_percent: Whether it is a share or a probability.
    """

    name: str
    found: Interval
    meaning: str
    in_percent: bool = True


_ERRORS = (
    ("ECE", ece, "bins", "mean gap between the two, bin by bin"),
    ("overconfidence", overconfidence, "bins", "the part of it from bins that are too sure"),
    ("underconfidence", underconfidence, "bins", "the part of it from bins that are not sure enough"),
    ("debiased ECE", debiased_ece, "bins", "ECE less what noise alone would give"),
    ("RMSCE", rmsce, "bins", "root of the mean squared gap"),
    ("MCE", mce, "bins", "largest gap of a bin"),
    ("smooth ECE", smooth_ece, "fine_bins", "mean gap, smoothed instead of binned"),
    ("KS error", ks_error, "fine_bins", "largest sum of gaps up to any confidence"),
    ("class-wise ECE", classwise_ece, "class_bins", "mean ECE of the probabilities of each class"),
)
# Class-wise bins are as many as classes: the draws for an interval would take minutes.
_MOST_CLASSES = 100


def measure(
    assessment: Assessment, *, confidence: float = 0.95, n_resamples: int = 1000, seed: int = 0
) -> Iterator[Measured]:
    """Measures one thing after another.

    Calibration errors and their intervals are those of all rows, and so are the values of scores that are means. Other
    values and intervals are those of the sample that was kept.

    Args:
        assessment: What to measure.
        confidence: Coverage of the intervals.
        n_resamples: Number of resamples for them.
        seed: Seed of these.

    Yields:
        The rows of the table.
    """
    sample, bins = assessment.sample.predictions(), assessment.bins
    filled = bins.share > 0
    right = float(bins.share[filled] @ bins.accuracy[filled])
    sure = float(bins.share[filled] @ bins.confidence[filled])

    def of_sample(score: Callable[[Predictions], float]) -> Interval:
        try:
            return interval(score, sample, n_resamples, confidence, seed)
        except ValueError:  # where all predictions are right, nothing tells right from wrong
            return Interval(math.nan, math.nan, math.nan)

    yield Measured(
        "accuracy", replace(of_sample(accuracy), estimate=right), "how often the most probable class is right"
    )
    yield Measured(
        "mean confidence", replace(of_sample(_mean_confidence), estimate=sure), "how probable it was said to be"
    )
    adaptive = sample.bins(min(bins.n_bins, len(sample)), binning="equal_mass")
    found = interval(ece, adaptive, n_resamples, confidence, seed)
    yield Measured("adaptive ECE", found, "ECE of bins with equal numbers of samples")
    for name, error, which, meaning in _ERRORS:
        data = getattr(assessment, which)
        if assessment.num_classes > _MOST_CLASSES and data is assessment.class_bins:
            found = Interval(error(data), math.nan, math.nan)
        else:
            found = interval(error, data, n_resamples, confidence, seed)
        yield Measured(name, found, meaning)
    yield Measured(
        "Brier score", replace(of_sample(brier), estimate=assessment.brier), "squared error of all probabilities", False
    )
    yield Measured(
        "log-likelihood loss",
        replace(of_sample(nll), estimate=assessment.nll),
        "-log of the true class's probability",
        False,
    )
    yield Measured("AUROC of confidence", of_sample(auroc), "how well confidence tells right from wrong")
    yield Measured("risk-coverage area", of_sample(aurc), "error rate among the surest, over all shares of them")


def _mean_confidence(predictions: Predictions) -> float:
    return float(np.average(predictions.confidence, weights=predictions.weight))
