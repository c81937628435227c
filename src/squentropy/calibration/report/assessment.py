"""One pass over predictions of any number: exact bins and scores of them all, and a random sample to keep."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.prediction_files import Batch
from squentropy.calibration.predictions import Predictions
from squentropy.calibration.scores import brier, nll

Kind = Literal["logits", "probs"]

FINE_BINS = 2000
_LEAST_PROBABILITY = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class Sample:
    """Rows that were chosen at random, in the order in which they came.

    Attributes:
        logits: Logits (n, C); of probabilities, their logarithms.
        target: Class indices (n,).
        weight: Weights (n,).
        key: Random numbers (n,): the rows with the lowest are the ones that stay.
    """

    logits: Tensor
    target: Tensor
    weight: Tensor
    key: Tensor

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.target)

    def rows(self, index: Tensor) -> "Sample":
        """Some of the rows."""
        return Sample(self.logits[index], self.target[index], self.weight[index], self.key[index])

    def with_lowest_keys(self, n: int) -> "Sample":
        """At most n rows: for any order and size of batches the same choice out of all."""
        return self if len(self) <= n else self.rows(self.key.topk(n, largest=False).indices.sort().values)

    def halves(self) -> tuple["Sample", "Sample"]:
        """A random half of the rows, and the others."""
        order, middle = self.key.argsort(), len(self) // 2
        return self.rows(order[:middle].sort().values), self.rows(order[middle:].sort().values)

    def predictions(self) -> Predictions:
        """The rows as scores and intervals read them."""
        return Predictions.from_logits(self.logits, self.target, self.weight)


@dataclass(frozen=True)
class Assessment:
    """What one pass over predictions gives; `a + b` is that of both.

    Attributes:
        bins: Top-label bins of all rows.
        fine_bins: The same in `FINE_BINS` of them, for errors that are not to depend on bins.
        class_bins: Class-wise bins of all rows.
        weight: Sum of the weights.
        nll: Negative log-likelihood of all rows.
        brier: Brier score of all rows.
        sample: All rows that count, or `keep` of them chosen at random.
        keep: Most rows to keep.
    """

    bins: CalibrationBins
    fine_bins: CalibrationBins
    class_bins: CalibrationBins
    weight: float
    nll: float
    brier: float
    sample: Sample
    keep: int

    @property
    def n_samples(self) -> int:
        """How many rows count."""
        return int(self.bins.count.sum())

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.class_bins.boundaries)

    @property
    def is_whole(self) -> bool:
        """Whether the sample is all the rows that count."""
        return len(self.sample) == self.n_samples

    def __add__(self, other: "Assessment") -> "Assessment":
        """The assessment of both sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight
        parts = zip(vars(self.sample).values(), vars(other.sample).values(), strict=True)
        return Assessment(
            bins=self.bins + other.bins,
            fine_bins=self.fine_bins + other.fine_bins,
            class_bins=self.class_bins + other.class_bins,
            weight=weight,
            nll=(1 - share) * self.nll + share * other.nll,
            brier=(1 - share) * self.brier + share * other.brier,
            sample=Sample(*(torch.cat(pair) for pair in parts)).with_lowest_keys(self.keep),
            keep=self.keep,
        )


def assess(
    batches: Iterable[Batch],
    kind: Kind,
    n_bins: int = 10,
    *,
    ignore_index: int = -100,
    keep: int = 100_000,
    seed: int = 0,
) -> Assessment:
    """Bins and scores predictions, of which at least one must count.

    Args:
        batches: Logits or probabilities with class indices.
        kind: Which of the two they are.
        n_bins: Number of bins of equal width.
        ignore_index: Class index of rows to leave out.
        keep: Most rows to keep.
        seed: Seed of the choice of these.

    Returns:
        The assessment.

    Examples:
        >>> batches = [Batch(0, torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]), None)]
        >>> found = assess(batches, "logits")
        >>> found.n_samples, found.num_classes, round(found.nll, 4)
        (2, 2, 0.2201)
    """
    generator = torch.Generator().manual_seed(seed)
    found: Assessment | None = None
    for batch in batches:
        part = _assess_batch(batch, kind, n_bins, ignore_index, keep, generator)
        if part is not None:
            found = part if found is None else found + part
    if found is None:
        raise ValueError(f"target must have a row that counts, but all are {ignore_index} or have no weight")
    return found


def _assess_batch(
    batch: Batch, kind: Kind, n_bins: int, ignore_index: int, keep: int, generator: torch.Generator
) -> Assessment | None:
    key = torch.rand(len(batch.target), generator=generator, dtype=torch.float64)
    weight = torch.ones_like(key) if batch.weight is None else batch.weight.double()
    counted = (batch.target != ignore_index) & (weight != 0)
    if not bool(counted.any()):
        return None
    predictions = _predictions(batch, kind, ignore_index)
    logits = batch.scores if kind == "logits" else batch.scores.float().clamp_min(_LEAST_PROBABILITY).log()
    return Assessment(
        bins=predictions.bins(n_bins),
        fine_bins=predictions.bins(FINE_BINS),
        class_bins=predictions.bins(n_bins, class_wise=True),
        weight=float(predictions.weight.sum()),
        nll=nll(predictions),
        brier=brier(predictions),
        sample=Sample(logits, batch.target, weight, key).rows(counted).with_lowest_keys(keep),
        keep=keep,
    )


def _predictions(batch: Batch, kind: Kind, ignore_index: int) -> Predictions:
    make = Predictions.from_logits if kind == "logits" else Predictions.from_probabilities
    try:
        return make(batch.scores, batch.target, batch.weight, ignore_index)
    except (ValueError, TypeError) as error:
        # The message counts the rows of the batch; the reader looks for the row in the file.
        message = re.sub(r"\brow (\d+)", lambda match: f"row {batch.first_row + int(match[1])}", str(error))
        raise ValueError(message) from error
