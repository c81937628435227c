"""What a comparison on a user's data found: every metric of every seed, and the differences with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from squentropy.own_data.evidence import Difference, Rows, holm, over_seeds, over_splits, row_variances
from squentropy.study.record import Record
from squentropy.study.results import Results, collect
from squentropy.study.store import Store

if TYPE_CHECKING:
    import pandas as pd

COMPARED = ("accuracy", "ece", "nll")
REPORTED = ("accuracy", "balanced_accuracy", "ece", "ece_scaled", "nll", "nll_scaled", "temperature", "nll_held_out")
_FIRST = "squentropy"
_BASELINE = "cross entropy"


@dataclass(frozen=True)
class Score:
    """One model's results on the test part.

    Attributes:
        metrics: By name.
        rows: What they are means of.
    """

    metrics: Mapping[str, float]
    rows: Rows = field(repr=False)

    @classmethod
    def of(cls, metrics: Mapping[str, float], logits: NDArray[np.float32], target: NDArray[np.int64]) -> Score:
        """Adds what only the predictions tell: the mean over classes of their share of right answers."""
        rows = Rows.of(logits, target)
        by_class = np.bincount(target, rows.correct) / np.maximum(np.bincount(target), 1)
        balanced = float(by_class[np.unique(target)].mean())
        return cls({**metrics, "balanced_accuracy": balanced}, rows)


Scores = dict[int, Score]
"""By seed."""


@dataclass(frozen=True)
class Outcome:
    """A comparison of losses with the same model on the same data.

    Attributes:
        results: The records, as the study engine arranges them.
        networks: The scores of each loss by its label.
        yardsticks: The scores of other models.
        test_share: Rows tested for each row trained on, where each seed has its own split; None where all seeds share
            the test part.
    """

    results: Results
    networks: Mapping[str, Scores]
    yardsticks: Mapping[str, Scores]
    test_share: float | None

    @classmethod
    def of(
        cls, records: Iterable[Record], store: Store, yardsticks: Mapping[str, Scores], test_share: float | None
    ) -> Outcome:
        """Reads the records and the predictions beside them."""
        results = collect(records)
        networks: dict[str, Scores] = {label: {} for label in results.losses}
        for (_, _, label, seed), record in results.records.items():
            predictions = store.predictions(record)
            if predictions is not None:
                networks[label][seed] = Score.of(record["metrics"]["last"], *predictions)
        finished = {label: scores for label, scores in networks.items() if scores}
        return cls(results, finished, yardsticks, test_share)

    @property
    def focus(self) -> str:
        """Label of the loss that is compared with the others: squentropy if it is there."""
        return next((label for label in self.networks if label.startswith(_FIRST)), next(iter(self.networks)))

    @property
    def baseline(self) -> str | None:
        """Label of the loss that one has now: cross entropy if it is there; None if there is but one loss."""
        others = [label for label in self.networks if label != self.focus]
        return _BASELINE if _BASELINE in others else next(iter(others), None)

    @property
    def best(self) -> str:
        """Label of the loss with the lowest NLL on held-out rows after temperature scaling. No test row has a say."""
        return min(self.networks, key=lambda label: self.mean(label, "nll_held_out"))

    @property
    def seeds(self) -> list[int]:
        """All seeds."""
        return sorted({seed for *_, seed in self.results.records})

    def scores(self, label: str) -> Scores:
        """Returns the scores of a loss or yardstick."""
        return self.networks[label] if label in self.networks else self.yardsticks[label]

    def values(self, label: str, metric: str) -> list[float]:
        """Returns a metric of each seed that finished."""
        return [score.metrics[metric] for _, score in sorted(self.scores(label).items())]

    def mean(self, label: str, metric: str) -> float:
        """Returns the mean of a metric over seeds."""
        return float(np.mean(self.values(label, metric)))

    @cached_property
    def differences(self) -> dict[str, dict[str, Difference]]:
        """The loss in focus minus each other model for each of `COMPARED`, over the seeds that both finished."""
        others = [label for label in (*self.networks, *self.yardsticks) if label != self.focus]
        return {other: found for other in others if (found := self.difference(self.focus, other))}

    def difference(self, first: str, second: str) -> dict[str, Difference]:
        """Returns one model minus another for accuracy, ECE and NLL; nothing if they share no seed."""
        ours, theirs = self.scores(first), self.scores(second)
        seeds = sorted(ours.keys() & theirs.keys())
        if not seeds:
            return {}
        by_seed = {
            metric: [ours[seed].metrics[metric] - theirs[seed].metrics[metric] for seed in seeds] for metric in COMPARED
        }
        if self.test_share is not None:
            return {metric: over_splits(values, self.test_share) for metric, values in by_seed.items()}
        variances = row_variances([ours[seed].rows for seed in seeds], [theirs[seed].rows for seed in seeds])
        return {metric: over_seeds(values, variances[metric]) for metric, values in by_seed.items()}

    def corrected(self, metric: str) -> dict[str, float | None]:
        """Returns the p-value of each other loss, corrected for their number (Holm)."""
        return holm(
            {label: self.differences[label][metric].p_value for label in self.differences if label in self.networks}
        )

    def means(self) -> pd.DataFrame:
        """Returns a row for each loss and yardstick: means and standard deviations over seeds."""
        import pandas as pd

        rows = {}
        for label in (*self.networks, *self.yardsticks):
            row: dict[str, float] = {"seeds": len(self.scores(label))}
            for metric in REPORTED:
                values = self.values(label, metric)
                row[metric] = float(np.mean(values))
                row[f"{metric}_deviation"] = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
            rows[label] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")

    def runs(self) -> pd.DataFrame:
        """Returns a row for each loss or yardstick and seed."""
        import pandas as pd

        rows = [
            {"model": label, "seed": seed, **score.metrics}
            for label in (*self.networks, *self.yardsticks)
            for seed, score in sorted(self.scores(label).items())
        ]
        return pd.DataFrame(rows)

    def against(self) -> pd.DataFrame:
        """Returns a row for each other loss and yardstick and metric: the loss in focus minus it, with its interval."""
        import pandas as pd

        corrected = {metric: self.corrected(metric) for metric in COMPARED}
        rows = [
            {
                "model": self.focus, "against": other, "metric": metric, "difference": each.interval.estimate,
                "low": each.interval.low, "high": each.interval.high, "p": each.p_value,
                "p_holm": corrected[metric].get(other),
            }
            for other, found in self.differences.items()
            for metric, each in found.items()
        ]  # fmt: skip
        return pd.DataFrame(rows)
