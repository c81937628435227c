"""The answer in plain words: whether to change the loss, with the numbers that say so."""

from __future__ import annotations

from enum import StrEnum

from squentropy.own_data.evidence import Difference
from squentropy.own_data.outcome import Outcome
from squentropy.study.report import numbers
from squentropy.study.statistics import Interval

_SMALL = 0.001  # of accuracy; a tenth of a point, which few would change anything for
_AS_GOOD = 0.002  # of ECE


class Verdict(StrEnum):
    """What one should do."""

    SWITCH = "worth switching"
    SWITCH_FOR_PROBABILITIES = "worth switching for the probabilities"
    TRADE = "a trade"
    NO_EVIDENCE = "no evidence of a difference"
    STAY = "do not switch"
    UNKNOWN = "too few seeds to tell"


def judge(accuracy: Difference, ece: Difference) -> Verdict:
    """Decides from the differences of accuracy and ECE, each counted only if its interval leaves out zero.

    Examples:
        >>> sure = Difference(Interval(0.01, 0.005, 0.015), 0.001)
        >>> unsure = Difference(Interval(0.01, -0.005, 0.025), 0.2)
        >>> print(judge(accuracy=sure, ece=unsure), "-", judge(accuracy=unsure, ece=sure))
        worth switching - do not switch
    """
    if accuracy.interval.low is None or ece.interval.low is None:
        return Verdict.UNKNOWN
    more_right = _direction(accuracy)
    better_probabilities = -_direction(ece)
    match more_right, better_probabilities:
        case (1, 0 | 1):
            return Verdict.SWITCH
        case (1, -1) | (-1, 1):
            return Verdict.TRADE
        case (0, 1):
            return Verdict.SWITCH_FOR_PROBABILITIES
        case (0, 0):
            return Verdict.NO_EVIDENCE
    return Verdict.STAY


def _direction(difference: Difference) -> int:
    if not difference.is_sure:
        return 0
    return 1 if difference.interval.estimate > 0 else -1


def answer(outcome: Outcome) -> list[str]:
    """Returns the answer: the verdict in one sentence, and what one should know beside it.

    Args:
        outcome: What was found.
    """
    baseline = outcome.baseline
    if baseline is None or baseline not in outcome.differences:
        found = outcome.mean(outcome.focus, "accuracy"), outcome.mean(outcome.focus, "ece")
        return [
            f"{outcome.focus.capitalize()}: {_percent(found[0])} % accuracy, ECE {_percent(found[1])}. There is no "
            "other loss to compare it with."
        ]
    sentences = [headline(outcome, baseline)]
    sentences += _after_scaling(outcome, baseline)
    sentences += _others(outcome, baseline)
    sentences += _yardsticks(outcome)
    return sentences


def headline(outcome: Outcome, baseline: str) -> str:
    """The verdict on the loss in focus against the one that one has now."""
    found = outcome.differences[baseline]
    accuracy, ece = found["accuracy"], found["ece"]
    verdict = judge(accuracy, ece)
    ours, theirs = (_percent(outcome.mean(label, "ece")) for label in (outcome.focus, baseline))
    calibration = f"ECE {ours} instead of {theirs}"
    if ece.interval.low is not None:
        ends = Interval(0.0, 100 * ece.interval.low, 100 * (ece.interval.high or 0.0))
        calibration += f" ({numbers.signed(100 * ece.interval.estimate, 1)}, {numbers.ends(ends, 1)})"
    return (
        f"{outcome.focus.capitalize()} instead of {baseline}: {_points(accuracy.interval, 1, ' of accuracy')}, "
        f"{calibration}: {_verdict(verdict, accuracy)}."
    )


def _verdict(verdict: Verdict, accuracy: Difference) -> str:
    if verdict is Verdict.SWITCH and accuracy.interval.estimate < _SMALL:
        return f"{verdict}, if so small a difference matters"
    if verdict is Verdict.TRADE:
        more = "more right answers, but probabilities less to be trusted"
        fewer = "fewer right answers, but probabilities more to be trusted"
        return f"{verdict}, {more if accuracy.interval.estimate > 0 else fewer}"
    if verdict is Verdict.UNKNOWN:
        return f"{verdict}, give --seeds 10"
    return str(verdict)


def _after_scaling(outcome: Outcome, baseline: str) -> list[str]:
    """What a temperature, which costs nothing, makes of the difference in calibration."""
    ours, theirs = (outcome.mean(label, "ece_scaled") for label in (outcome.focus, baseline))
    raw = outcome.mean(outcome.focus, "ece")
    sentence = (
        f"After temperature scaling, fitted on held-out rows, ECE is {_percent(ours)} with {outcome.focus} and "
        f"{_percent(theirs)} with {baseline}"
    )
    ece = outcome.differences[baseline]["ece"]
    if _direction(ece) < 0 and theirs <= raw + _AS_GOOD:
        sentence += f": scaling {baseline} gives probabilities as good as {outcome.focus} without"
    return [f"{sentence}."]


def _others(outcome: Outcome, baseline: str) -> list[str]:
    """Which loss the held-out rows prefer, and whether any other loss is surely more accurate."""
    sentences = []
    corrected = outcome.corrected("accuracy")
    better = [
        label
        for label, p in corrected.items()
        if label != baseline and p is not None and p < 0.05
        and outcome.differences[label]["accuracy"].interval.estimate < 0
    ]  # fmt: skip
    if better:
        shown = numbers.listing(
            [f"{label} ({_points(_negated(outcome.differences[label]['accuracy'].interval), 1)})" for label in better]
        )
        sentences.append(f"More accurate than {outcome.focus}: {shown}.")
    best = outcome.best
    sentences.append(
        f"Of {numbers.count_of(len(outcome.networks), 'loss').replace('losss', 'losses')}, {best} predicts the "
        f"held-out rows best (NLL {outcome.mean(best, 'nll_held_out'):.3f} after temperature scaling, "
        f"{outcome.mean(outcome.focus, 'nll_held_out'):.3f} for {outcome.focus})."
        if best != outcome.focus
        else f"Of all losses, {best} predicts the held-out rows best "
        f"(NLL {outcome.mean(best, 'nll_held_out'):.3f} after temperature scaling)."
    )
    return sentences


def _yardsticks(outcome: Outcome) -> list[str]:
    """Whether a model of another kind does better than the networks."""
    if not outcome.yardsticks:
        return []
    best = max(outcome.yardsticks, key=lambda label: outcome.mean(label, "accuracy"))
    found = outcome.difference(best, outcome.focus).get("accuracy")
    if found is None:
        return []
    reaches = f"{best.capitalize()} reaches {_percent(outcome.mean(best, 'accuracy'))} % accuracy"
    if not found.is_sure:
        ours = _percent(outcome.mean(outcome.focus, "accuracy"))
        return [f"{reaches}, which is not surely different from the {ours} % of {outcome.focus}."]
    which = "it is" if found.interval.estimate > 0 else "the networks are"
    reaches += f", {_points(found.interval, 1)} against {outcome.focus}"
    return [f"{reaches}: on this table {which} the better choice."]


def _negated(interval: Interval) -> Interval:
    low, high = interval.low, interval.high
    return Interval(-interval.estimate, None if high is None else -high, None if low is None else -low)


def _percent(value: float) -> str:
    return numbers.fixed(100 * value, 1)


def _points(interval: Interval, decimals: int, of: str = "") -> str:
    """A difference of shares in points, with its interval.

    Examples:
        >>> _points(Interval(0.004, 0.001, 0.007), 1, " of accuracy")
        '+0.4 points of accuracy (95 % interval 0.1 to 0.7)'
    """
    text = f"{numbers.signed(100 * interval.estimate, decimals)} points{of}"
    if interval.low is None or interval.high is None:
        return text
    ends = numbers.ends(Interval(0.0, 100 * interval.low, 100 * interval.high), decimals)
    return f"{text} (95 % interval {ends})"
