"""What a case gave: times by round, memory, their ratios, and whether its targets were reached."""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from squentropy.bench.case import Quantity, Target

_LEAST_BYTES = 2**20  # less is lost in what a process takes for itself


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles on both sides of it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """The median and the quartiles of at least two values.

        Examples:
            >>> Spread.of([4.0, 1.0, 2.0, 3.0, 10.0])
            Spread(median=3.0, low=2.0, high=4.0)
        """
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True)
class Outcome:
    """The findings of one case.

    Attributes:
        case: Name of the case.
        baseline: The contestant that ratios are given to.
        seconds: Seconds of one step, for each contestant and round.
        extra_bytes: The extra memory at the peak of a step.
        missing: Why other contestants could not take part.
        errors: What each contestant gets wrong, of a case that asks for it.

    Examples:
        >>> seconds = {"ours": [1.0, 2.0, 2.0], "theirs": [2.0, 8.0, 4.0]}
        >>> outcome = Outcome("sums/10", "theirs", seconds, {"ours": 2**20, "theirs": 2**22}, {})
        >>> outcome.time("ours").median, outcome.time_ratio("ours", "theirs").median
        (2.0, 0.5)
        >>> outcome.memory_ratio("ours", "theirs")
        0.25
    """

    case: str
    baseline: str
    seconds: Mapping[str, list[float]]
    extra_bytes: Mapping[str, int]
    missing: Mapping[str, str]
    errors: Mapping[str, float] = field(default_factory=dict)

    def time(self, contestant: str) -> Spread:
        """The seconds of a step."""
        return Spread.of(self.seconds[contestant])

    def time_ratio(self, contestant: str, against: str) -> Spread:
        """The ratio of two times, taken in each round, so that a disturbance that lasts longer cancels."""
        pairs = zip(self.seconds[contestant], self.seconds[against], strict=True)
        return Spread.of([ours / theirs for ours, theirs in pairs])

    def memory_ratio(self, contestant: str, against: str) -> float | None:
        """The ratio of the extra memories, if there is enough of it to be measured."""
        theirs = self.extra_bytes[against]
        return self.extra_bytes[contestant] / theirs if theirs >= _LEAST_BYTES else None

    def value(self, contestant: str, against: str | None, quantity: Quantity) -> float | None:
        """What a target speaks of: a ratio, or seconds or bytes; None if somebody is missing."""
        if not {contestant, against or contestant} <= self.seconds.keys():
            return None
        if quantity == "time":
            spread = self.time(contestant) if against is None else self.time_ratio(contestant, against)
            return spread.median
        if quantity == "error":
            return self.errors[contestant] / (1.0 if against is None else self.errors[against])
        return self.extra_bytes[contestant] if against is None else self.memory_ratio(contestant, against)


@dataclass(frozen=True)
class Verdict:
    """A target and what was measured.

    Attributes:
        where: The case, or the group over which the mean was taken.
        target: What was to be reached.
        measured: The ratio, seconds or bytes; None if it could not be measured.
    """

    where: str
    target: Target
    measured: float | None

    @property
    def is_reached(self) -> bool:
        """Whether the target was measured and reached."""
        return self.measured is not None and self.measured <= self.target.at_most


def geometric_mean(outcomes: Iterable[Outcome], target: Target) -> float | None:
    """The mean over cases of what a target speaks of, each ratio counted alike in its direction.

    Examples:
        >>> halves = Outcome("sums/1", "b", {"a": [1.0, 1.0], "b": [2.0, 2.0]}, {}, {})
        >>> eighths = Outcome("sums/2", "b", {"a": [1.0, 1.0], "b": [8.0, 8.0]}, {}, {})
        >>> geometric_mean([halves, eighths], Target("a", 0.3, "b"))
        0.25
    """
    values = [outcome.value(target.contestant, target.against, target.quantity) for outcome in outcomes]
    known = [value for value in values if value is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None
