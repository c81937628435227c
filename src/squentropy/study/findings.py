"""What a comparison finds, as plain values: the numbers that every format of a report prints."""

from dataclasses import dataclass

from squentropy.study.statistics import Interval, PracticalEquivalence, SpreadComparison, WinTieLoss


@dataclass(frozen=True)
class Measure:
    """What is compared: a metric of the records, how to print it, and what counts as a tie.

    Attributes:
        key: Name of the metric in the records; "performance" stands for each task's own headline metric.
        title: As it stands in tables and figures.
        higher_is_better: Direction; None takes that of each task's headline metric.
        factor: What recorded values are multiplied by for printing: 100 makes percent of a fraction.
        decimals: Of printed values; two means are a tie when they agree after rounding to these.
        rope: Largest difference, in printed units, that counts as none in the Bayesian signed-rank test; one point of
            accuracy is the choice of Benavoli et al. (2017).

    Examples:
        >>> Measure("brier", "Brier score", higher_is_better=False, factor=1, decimals=3, rope=0.01).key
        'brier'
    """

    key: str
    title: str
    higher_is_better: bool | None = None
    factor: float = 100.0
    decimals: int = 1
    rope: float = 1.0


@dataclass(frozen=True)
class Cell:
    """One number of a table, in printed units, with what it rests on.

    Attributes:
        mean: Over the seeds that finished; None if none did.
        deviation: Standard deviation over these seeds (n - 1); None below two.
        n: Seeds that finished.
        failed: Seeds that failed.
        published: What the paper prints.
        published_deviation: Its standard deviation, where the paper prints one.
        gap: Ours minus the published value, at scale "paper" only.
        is_best: Whether no other loss is better on this task after rounding.
    """

    mean: float | None
    deviation: float | None
    n: int
    failed: int
    published: float | None
    published_deviation: float | None
    gap: float | None
    is_best: bool


@dataclass(frozen=True)
class SeedTests:
    """Paired t-tests over seeds, one for each task, corrected by Holm over tasks at level 0.05.

    Attributes:
        better: Tasks on which the focus is significantly better.
        worse: Tasks on which it is significantly worse.
        undecided: Tested tasks without a significant difference.
        untested: Tasks with fewer than two paired seeds or the same difference for each.
    """

    better: int
    worse: int
    undecided: int
    untested: int


@dataclass(frozen=True)
class Pair:
    """The loss in focus against another one, on one measure. Differences are positive where the focus is better.

    Attributes:
        other: Label of the other loss.
        differences: Mean over paired seeds by task.
        difference: Mean over tasks and paired seeds, with a bootstrap interval over both.
        rounded: Wins, ties and losses of means rounded as printed.
        strict: The same without rounding.
        published: The same for the values that the paper prints, on the tasks that have them; None if none has.
        p_value: Wilcoxon's signed-rank test over tasks; None if there are too few.
        p_holm: The same after Holm's correction over the other losses.
        equivalence: Bayesian signed-rank test over tasks; None if there are too few.
        seeds: Tests over seeds, task by task.
        spread: Comparison of the spreads over seeds.
    """

    other: str
    differences: dict[str, float]
    difference: Interval
    rounded: WinTieLoss
    strict: WinTieLoss
    published: WinTieLoss | None
    p_value: float | None
    p_holm: float | None
    equivalence: PracticalEquivalence | None
    seeds: SeedTests
    spread: SpreadComparison


@dataclass(frozen=True)
class Ranking:
    """All losses together, on the tasks where each has a result.

    Attributes:
        tasks: Number of these tasks.
        averages: Mean over tasks by label, with bootstrap intervals; empty where tasks measure different things.
        best: By label, on how many tasks no other loss is better after rounding.
        ranks: Average rank by label, 1 for the best.
        friedman: p-value of Friedman's test; None below three tasks or losses.
        nemenyi: p-values of Nemenyi's test for each two labels; None as for `friedman`.
        critical_difference: Nemenyi's, of average ranks; None as for `friedman`.
    """

    tasks: int
    averages: dict[str, Interval]
    best: dict[str, int]
    ranks: dict[str, float]
    friedman: float | None
    nemenyi: dict[str, dict[str, float]] | None
    critical_difference: float | None


@dataclass(frozen=True)
class PublishedGap:
    """Our means beside the published ones, over the tasks that have both.

    Attributes:
        tasks: Number of these tasks.
        published: Mean of the published values.
        mean: Mean of our values minus the published ones.
        mean_absolute: Mean of the absolute differences.
    """

    tasks: int
    published: float
    mean: float
    mean_absolute: float


@dataclass(frozen=True)
class MeasureComparison:
    """All that is said about one measure.

    Attributes:
        measure: The measure.
        cells: The table, by task and label.
        ranking: All losses together; None if no task has a result of each.
        pairs: The loss in focus against each other one with which it shares a task and a seed.
        gaps: Distance to the published values by label, at scale "paper" only.
    """

    measure: Measure
    cells: dict[str, dict[str, Cell]]
    ranking: Ranking | None
    pairs: list[Pair]
    gaps: dict[str, PublishedGap]


@dataclass(frozen=True)
class Comparison:
    """What the runs of one scale say, their epoch chosen in one way.

    Attributes:
        scale: "paper" or "small".
        selection: "last" or "best".
        focus: Label of the loss that is compared with each other one.
        losses: Labels in the order of tables.
        tasks: Names of the tasks in alphabetical order.
        metrics: Headline metric by task.
        measures: What is said about each measure.
    """

    scale: str
    selection: str
    focus: str
    losses: list[str]
    tasks: list[str]
    metrics: dict[str, str]
    measures: list[MeasureComparison]
