"""How the numbers of a report were computed, in the words of its last section."""

from squentropy.study.findings import Comparison
from squentropy.study.report import numbers
from squentropy.study.report.document import Section


def method(comparison: Comparison) -> Section:
    """What each column means and which tests stand behind it."""
    ropes = numbers.listing([f"{each.measure.rope:g} for {each.measure.title}" for each in comparison.measures])
    return Section(
        "How to read this",
        [
            "Last epoch: the model as training leaves it. Best test epoch: the epoch that is best on the test part; "
            "it has seen the test part, so it is too good. ECE: expected calibration error with 10 bins of equal "
            "width.",
            "Win / tie / loss: two means are a tie when they agree as printed; strictly: without rounding. The mean "
            "difference is over tasks and paired seeds, and its percentile interval resamples tasks and then their "
            "seeds (10,000 times); the difference is bold where the interval leaves out zero. Wilcoxon's signed-rank "
            "test is over tasks, zeros split evenly, from six tasks on; Holm corrects it for the number of other "
            "losses.",
            "Better / same / worse: posterior probabilities of the Bayesian signed-rank test (Benavoli et al. 2017), "
            f"from six tasks on, where differences of at most so many points count as the same: {ropes}.",
            "Over seeds: paired t-tests, one for each task, corrected by Holm over tasks, level 0.05. Spread is the "
            "standard deviation over seeds, and the ratio is the median over tasks of the two losses' ratio. The "
            "sign test is over tasks, from six on. Clearly: on how many tasks the Brown-Forsythe test finds the "
            "spread smaller / larger (Holm over tasks, level 0.05). A standard deviation from five seeds is itself "
            "uncertain by a factor of two.",
            "Ranks: Friedman's test, and Nemenyi's critical difference at level 0.05 (Demšar 2006).",
        ],
    )
