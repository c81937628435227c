"""The findings of a report in sentences, for the page and for the terminal."""

from collections.abc import Sequence

from squentropy.calibration.intervals import Interval
from squentropy.calibration.report.assessment import Assessment
from squentropy.calibration.report.measures import Measured
from squentropy.calibration.report.trial import Outcome, Trial

# A part of the ECE as large as this gives it its name.
_MOST_OF_IT = 0.8


def number(value: float, in_percent: bool = True) -> str:
    """A value of a table.

    Examples:
        >>> number(0.12345), number(0.12345, in_percent=False), number(float("inf"), False), number(-0.001)
        ('12.35%', '0.1235', '∞', '−0.10%')
        >>> number(float("nan"))
        'not defined'
    """
    if value != value:
        return "not defined"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    return f"{value:.2%}".replace("-", "−") if in_percent else f"{value:.4f}".replace("-", "−")


def span(found: Interval, in_percent: bool = True) -> str:
    """The ends of an interval, or nothing if it has none.

    Examples:
        >>> span(Interval(0.2, 0.1, 0.25))
        '10.00% to 25.00%'
    """
    if found.low != found.low:
        return ""
    return f"{number(found.low, in_percent)} to {number(found.high, in_percent)}"


def calibration_sentence(assessment: Assessment, measured: Sequence[Measured], confidence: float) -> str:
    """What is wrong with the model, with its numbers."""
    rows = {row.name: row.found for row in measured}
    sure, right, ece = rows["mean confidence"].estimate, rows["accuracy"].estimate, rows["ECE"]
    if ece.low == 0:
        verdict = "No miscalibration can be told from noise"
    elif rows["overconfidence"].estimate > _MOST_OF_IT * ece.estimate:
        verdict = "The model is overconfident"
    elif rows["underconfidence"].estimate > _MOST_OF_IT * ece.estimate:
        verdict = "The model is underconfident"
    else:
        verdict = "The model is too sure in some bins and not sure enough in others"
    return (
        f"{verdict}: its predictions have a probability of {sure:.1%} on average, and {right:.1%} of them are right. "
        f"The expected calibration error is {ece.estimate:.1%} ({confidence:.0%} interval {ece.low:.1%} to "
        f"{ece.high:.1%}, {assessment.bins.n_bins} bins, {assessment.n_samples:,} samples)."
    )


def recalibration_sentence(trial: Trial, confidence: float) -> str:
    """Which recalibrator helps, how much, and which are as good."""
    found = trial.recommended
    if found is None:
        if not trial.outcomes:
            return "No recalibrator could be fitted."
        return (
            f"No recalibrator helps: on the {trial.n_tested:,} samples that it was not fitted on, none lowers the "
            f"Brier score by more than the {confidence:.0%} interval of the difference."
        )
    rivals = [
        outcome.recalibrator.title for outcome in trial.outcomes if outcome.is_among_best and outcome is not found
    ]
    choice = f" Not told apart from it by this score: {', '.join(rivals)}." if rivals else ""
    return (
        f"{capital(described(found))} helps: on the {trial.n_tested:,} samples that it was not fitted on it brings the "
        f"ECE from {trial.before.ece:.1%} to {found.scores.ece:.1%} (change {span(found.ece_change)}) and the Brier "
        f"score from {trial.before.brier:.4f} to {found.scores.brier:.4f} ({span(found.brier_change, False)}).{choice}"
    )


def described(outcome: Outcome) -> str:
    """The name of a recalibrator, with the temperature if that is all it has learnt."""
    recalibrator = outcome.recalibrator
    if "temperature" in recalibrator.parameters:
        return f"{recalibrator.title} with T = {float(recalibrator.parameters['temperature']):.3g}"
    return recalibrator.title


def sampling_sentence(assessment: Assessment) -> str:
    """What was computed of a sample only; nothing if all rows were kept."""
    if assessment.is_whole:
        return ""
    return (
        f"Bins, calibration errors, accuracy, Brier score and likelihood are those of all {assessment.n_samples:,} "
        f"samples. The adaptive ECE, intervals of scores, what confidence tells of right and wrong, and recalibration "
        f"are those of {len(assessment.sample):,} samples, chosen at random: no more are kept in memory."
    )


def capital(text: str) -> str:
    """A text as the start of a sentence."""
    return text[:1].upper() + text[1:]
