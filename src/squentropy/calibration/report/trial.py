"""Which recalibrator helps: each is fitted on one half of a sample and judged on the other."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.errors import ece
from squentropy.calibration.intervals import Interval, difference
from squentropy.calibration.predictions import Predictions
from squentropy.calibration.recalibration import RECALIBRATORS, Recalibrator
from squentropy.calibration.report.assessment import Sample
from squentropy.calibration.scores import accuracy, brier, nll

_MOST_CLASSES = 100


@dataclass(frozen=True)
class Scores:
    """What a recalibrator is judged by."""

    bins: CalibrationBins
    ece: float
    brier: float
    nll: float
    accuracy: float

    @classmethod
    def of(cls, predictions: Predictions, n_bins: int) -> Self:
        """The scores of predictions."""
        bins = predictions.bins(n_bins)
        return cls(bins, ece(bins), brier(predictions), nll(predictions), accuracy(predictions))


@dataclass(frozen=True)
class Outcome:
    """A recalibrator on the samples that it was not fitted on.

    Attributes:
        recalibrator: The fitted recalibrator.
        scores: Its scores.
        ece_change: Its ECE less that of the model as it was, with the interval of the difference.
        brier_change: The same for the Brier score.
        behind_best: Its Brier score less the lowest of all, with the interval of the difference.
        warnings: What the fit said.
    """

    recalibrator: Recalibrator
    scores: Scores
    ece_change: Interval
    brier_change: Interval
    behind_best: Interval
    warnings: tuple[str, ...]

    @property
    def verdict(self) -> Literal["helps", "no clear difference", "harms"]:
        """By the Brier score, which rewards calibration unless it is bought with blurred predictions."""
        if self.brier_change.high < 0:
            return "helps"
        return "harms" if self.brier_change.low > 0 else "no clear difference"

    @property
    def is_among_best(self) -> bool:
        """Whether its Brier score cannot be told from the lowest of all."""
        return self.behind_best.low <= 0


@dataclass(frozen=True)
class Trial:
    """Recalibrators on the same samples.

    Attributes:
        n_fitted: Number of samples that they were fitted on.
        n_tested: Number of the others.
        before: Scores of the model as it was, on the others.
        outcomes: What each recalibrator made of these, the simplest first.
        left_out: Why the others were not tried, by name.
    """

    n_fitted: int
    n_tested: int
    before: Scores
    outcomes: tuple[Outcome, ...]
    left_out: dict[str, str]

    @property
    def reasons(self) -> dict[str, str]:
        """Why recalibrators were left out: their names, with commas, by the reason."""
        reasons: dict[str, str] = {}
        for name, reason in self.left_out.items():
            reasons[reason] = f"{reasons[reason]}, {name}" if reason in reasons else name
        return reasons

    @property
    def recommended(self) -> Outcome | None:
        """The simplest of those that help and whose Brier score cannot be told from the lowest."""
        return next((each for each in self.outcomes if each.verdict == "helps" and each.is_among_best), None)


def try_recalibrators(
    sample: Sample,
    methods: Sequence[str] | None = None,
    n_bins: int = 10,
    *,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Trial:
    """Fits recalibrators on a random half of a sample and compares them on the other.

    Args:
        sample: The samples.
        methods: Names in `RECALIBRATORS`. None tries them all, but of more than 100 classes only temperature and vector
            scaling, as the others then need more time and samples than one has.
        n_bins: Number of bins for the ECE.
        confidence: Coverage of the intervals.
        n_resamples: Number of bootstrap samples for them.
        seed: Seed of these.

    Returns:
        The trial. What cannot be fitted is left out, with the reason.

    Examples:
        >>> import torch
        >>> logits = torch.randn(2000, 3)
        >>> target = torch.multinomial(logits.softmax(1), 1)[:, 0]
        >>> sample = Sample(5 * logits, target, torch.ones(2000), torch.rand(2000))
        >>> try_recalibrators(sample, ["temperature"], n_resamples=100).recommended.verdict
        'helps'
    """
    left_out: dict[str, str] = {}
    if methods is None and sample.logits.shape[1] > _MOST_CLASSES:
        methods = ["temperature", "vector"]
        reason = f"with more than {_MOST_CLASSES} classes it is tried only if it is asked for"
        left_out = {name: reason for name in RECALIBRATORS if name not in methods}

    fitting, testing = sample.halves()
    before = testing.predictions()
    fits: dict[str, tuple[Recalibrator, tuple[str, ...], Predictions]] = {}
    for name in methods or RECALIBRATORS:
        try:
            recalibrator, messages = _fit(name, fitting)
        except ValueError as error:
            left_out[name] = str(error)
            continue
        probs = recalibrator.predict_proba(testing.logits.double())
        fits[name] = recalibrator, messages, Predictions.from_probabilities(probs, testing.target, testing.weight)

    best = min((after for *_, after in fits.values()), key=brier, default=before)
    outcomes = tuple(
        Outcome(
            recalibrator=recalibrator,
            scores=Scores.of(after, n_bins),
            ece_change=difference(ece, after, before, n_resamples, confidence, seed, n_bins=n_bins),
            brier_change=difference(brier, after, before, n_resamples, confidence, seed),
            behind_best=difference(brier, after, best, n_resamples, confidence, seed),
            warnings=messages,
        )
        for recalibrator, messages, after in fits.values()
    )
    return Trial(len(fitting), len(testing), Scores.of(before, n_bins), outcomes, left_out)


def _fit(name: str, sample: Sample) -> tuple[Recalibrator, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        recalibrator = RECALIBRATORS[name]().fit(sample.logits, sample.target, sample.weight)
    return recalibrator, tuple(str(warning.message) for warning in caught)
