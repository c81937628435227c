"""Bins as a table: what a diagram draws, row by row."""

import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from squentropy.calibration.bins import CalibrationBins
from squentropy.calibration.diagrams import wilson_interval


@dataclass(frozen=True)
class BinRow:
    """A bin: confidences in (above, up_to], and in the first one also 0.

    What a bin without samples has no value of is NaN; `accuracy_low` and `accuracy_high` are the ends of an interval.
    """

    above: float
    up_to: float
    samples: int
    share: float
    confidence: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    gap: float


def bin_rows(bins: CalibrationBins, coverage: float = 0.95) -> Iterator[BinRow]:
    """Yields the rows of top-label bins, or of those of one class.

    Examples:
        >>> import torch
        >>> bins = CalibrationBins.from_confidences(torch.tensor([0.6, 0.8]), torch.tensor([0, 1]), n_bins=2)
        >>> [row.samples for row in bin_rows(bins)]
        [0, 2]
    """
    low, high = wilson_interval(bins.accuracy, bins.effective_count, coverage)
    edges = bins.edges.tolist()
    columns = (bins.count, bins.share, bins.confidence, bins.accuracy, low, high, bins.gap)
    for above, up_to, *values in zip(edges, edges[1:], *(column.tolist() for column in columns), strict=False):
        yield BinRow(above, up_to, *values)


def write_csv(bins: CalibrationBins, path: Path, coverage: float = 0.95) -> None:
    """Writes the rows as CSV; cells of bins without samples are empty."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(BinRow)])
        for row in bin_rows(bins, coverage):
            writer.writerow(["" if value != value else value for value in asdict(row).values()])
