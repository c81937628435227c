"""The table of docs/calibration.md that says where libraries differ: each cell is asked of the real library."""

import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest
import relplot.metrics
import torch
from netcal.metrics import ECE
from sklearn.calibration import calibration_curve
from torchmetrics.classification import BinaryCalibrationError
from torchmetrics.functional.classification import binary_calibration_error
from torchmetrics.functional.classification.calibration_error import _binning_bucketize

from squentropy.calibration import CalibrationBins, ece

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"


def of_scikit_learn(p, y):
    """The ECE of the curve: its points, each with the samples of its bin."""
    frequency, mean = calibration_curve(y, p, n_bins=10)
    if len(frequency) == 1:
        return abs(float(frequency[0] - mean[0]))
    return float(np.abs(frequency - mean).sum() / len(p))  # of two samples in two bins


LIBRARIES = {
    "squentropy": lambda p, y: ece(CalibrationBins.from_confidences(torch.tensor(p), torch.tensor(y), n_bins=10)),
    "torchmetrics": lambda p, y: float(binary_calibration_error(torch.tensor(p), torch.tensor(y), n_bins=10)),
    "netcal": lambda p, y: float(ECE(bins=10).measure(p, y)),
    "relplot": lambda p, y: float(relplot.metrics.binnedECE(p, y, nbins=10)),
    "scikit-learn": of_scikit_learn,
}
FUNCTIONS = {
    "squentropy": CalibrationBins.from_confidences,
    "torchmetrics": binary_calibration_error,
    "netcal": ECE.measure,
    "relplot": relplot.metrics.binnedECE,
    "scikit-learn": calibration_curve,
}


def shares_a_bin(library, p, q):
    """If the lower one came and the higher one did not, their gaps cancel in one bin and add up in two."""
    p, q = sorted((p, q))
    found = LIBRARIES[library](np.array([p, q]), np.array([1, 0]))
    together, apart = abs(p - 1 + q) / 2, (abs(p - 1) + q) / 2
    assert min(abs(found - together), abs(found - apart)) < 1e-5 < abs(together - apart)
    return "yes" if abs(found - together) < 1e-5 else "no"


def gives(library, p):
    try:
        with np.errstate(all="ignore"):
            found = LIBRARIES[library](np.array([0.5, p]), np.array([1, 0]))
    except (ValueError, IndexError):
        return "an error"
    return "NaN" if math.isnan(found) else "a number"


def takes_weights(library):
    return "yes" if any("weight" in name for name in inspect.signature(FUNCTIONS[library]).parameters) else "no"


def has_a_constant_state(library):
    """Whether what is kept after two batches is as large as after one."""
    batch = torch.rand(100), torch.randint(2, (100,))
    if library == "squentropy":
        bins = CalibrationBins.from_confidences(*batch)
        return "yes" if (bins + bins).to_tensor().numel() == bins.to_tensor().numel() else "no"
    if library == "torchmetrics":
        metric, sizes = BinaryCalibrationError(n_bins=10), []
        for _ in range(2):
            metric.update(*batch)
            sizes.append(sum(part.numel() for part in metric.confidences))
        return "yes" if sizes[0] == sizes[1] else "no"
    assert not hasattr(FUNCTIONS[library], "update")
    return "no"


def cells():
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().partition("| float64 probabilities")[2].partition("\n\n")[0].splitlines()[2:]
    ]
    return [(row[0], library, cell) for row in rows for library, cell in zip(LIBRARIES, row[1:], strict=True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "library", "cell"), cells())
def test_the_table(row, library, cell):
    if match := re.fullmatch(r"(the next number above )?(\S+) shares a bin with (\S+)", row):
        p, q = float(match[3]), float(match[2])
        assert shares_a_bin(library, p, math.nextafter(q, 1) if match[1] else q) == cell
    elif match := re.fullmatch(r"(\S+) gives", row):
        assert gives(library, float(match[1])) == cell
    else:
        ask = {"sample weights": takes_weights, "batches in constant memory": has_a_constant_state}[row]
        assert ask(library) == cell


def test_the_table_is_found():
    assert len(cells()) == 50


def test_a_saturated_confidence_is_in_a_bin_of_its_own_in_torchmetrics():
    """It has eleven bins for ten: the last one is for 1 alone, and can turn around which model is the better one."""
    confidence, correct = torch.tensor([0.95, 1.0]), torch.tensor([1.0, 0.95])
    _, _, share = _binning_bucketize(confidence, correct, torch.linspace(0, 1, 11))
    assert share.tolist() == [0] * 9 + [0.5, 0.5]
    assert CalibrationBins.from_confidences(confidence, correct).count.tolist() == [0] * 9 + [2]


@pytest.mark.slow
def test_torchmetrics_counts_in_float32():
    """Half of 2^25 samples are right, but it finds all of them so: it can count no further than 2^24."""
    confidence, correct = torch.full((2**25,), 0.75), (torch.arange(2**25) < 2**24).float()
    accuracy, _, _ = _binning_bucketize(confidence, correct, torch.linspace(0, 1, 11))
    assert accuracy[7] == 1
    assert CalibrationBins.from_confidences(confidence, correct).accuracy[7] == 0.5
