"""Whether confidence tells right from wrong: scores of ranking the samples, with ties treated exactly."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from squentropy.calibration.predictions import Predictions

Values = NDArray[np.float64]


def auroc(predictions: Predictions) -> float:
    """Area under the ROC curve of confidence as a test of correctness.

    It is the probability that a correct prediction has a higher confidence than a wrong one, equal ones counting half.

    Args:
        predictions: Predictions with at least one that is right and one that is wrong.

    Returns:
        The area: 1 if every right prediction is more confident than every wrong one, 0.5 for no relation.

    Examples:
        >>> probs = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
        >>> auroc(Predictions.from_probabilities(probs, torch.tensor([0, 0, 1, 0])))
        0.6666666666666666
    """
    right, wrong = _mass_by_level(predictions)
    if not (right.any() and wrong.any()):
        kind = "right" if right.any() else "wrong"
        raise ValueError(f"auroc needs right and wrong predictions, but all are {kind}: use more samples, or aurc")
    wrong_below = np.cumsum(wrong) - wrong
    return float(right @ (wrong_below + wrong / 2) / (right.sum() * wrong.sum()))


def aurc(predictions: Predictions) -> float:
    r"""Area under the risk-coverage curve: the mean error rate of the i most confident samples over i = 1..N.

    That is the error rate of a model that may abstain where it is least confident, averaged over the shares of samples
    that it answers (Geifman & El-Yaniv 2017). Samples of equal confidence are answered in random order, and the area
    is the expectation over these orders, in closed form. A weight counts as that many samples.

    Args:
        predictions: Predictions.

    Returns:
        The area, in 0..1; smaller is better.

    Examples:
        >>> probs = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
        >>> round(aurc(Predictions.from_probabilities(probs, torch.tensor([0, 0, 1, 0]))), 4)  # (1/3 + 1/4) / 4
        0.1458
    """
    right, wrong = (mass[::-1] for mass in _mass_by_level(predictions))
    mass = right + wrong
    right, wrong, mass = right[mass > 0], wrong[mass > 0], mass[mass > 0]
    after = np.cumsum(mass)
    before, errors_before = after - mass, np.cumsum(wrong) - wrong
    # With r errors a sample in a level, the sum over j = 1..m of (E + r j) / (n + j) is m r + (E - n r)(H(n+m) - H(n)).
    rate = wrong / mass
    harmonic = _harmonic(after) - _harmonic(before)
    return float((mass * rate + (errors_before - before * rate) * harmonic).sum() / after[-1])


def _mass_by_level(predictions: Predictions) -> tuple[Values, Values]:
    """Weight of the right and of the wrong predictions at each distinct confidence, from the lowest."""
    right = predictions.weight * predictions.correct
    wrong = predictions.weight * (1 - predictions.correct)
    return _sums(predictions.level, right), _sums(predictions.level, wrong)


def _sums(level: NDArray[np.int64], values: Values) -> Values:
    return np.bincount(level, values).astype(np.float64, copy=False)


def _harmonic(n: Values) -> Values:
    """1 + 1/2 + ... + 1/n, up to a constant, for any n >= 0."""
    values: Values = torch.special.digamma(torch.from_numpy(n + 1)).numpy()
    return values
