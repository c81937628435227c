"""Scores of predictions: accuracy, likelihood and the Brier score with what it is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from squentropy.calibration.binning import bin_finder, equal_width_edges
from squentropy.calibration.predictions import Predictions

Values = NDArray[np.float64]


def accuracy(predictions: Predictions) -> float:
    """The share of samples whose most probable class is the target.

    Examples:
        >>> probs = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
        >>> accuracy(Predictions.from_probabilities(probs, torch.tensor([0, 1, 1, 1])))
        0.75
    """
    return _mean(predictions.correct, predictions)


def top_k_accuracy(predictions: Predictions, k: int = 5) -> float:
    """The share of samples whose target is among the k most probable classes; of equals, the first class comes first.

    Args:
        predictions: Predictions with class indices as targets.
        k: How many classes count, in 1..C.

    Returns:
        The share; for k = 1 it is the accuracy.

    Examples:
        >>> probs = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
        >>> top_k_accuracy(Predictions.from_probabilities(probs, torch.tensor([1, 2])), k=2)
        0.5
    """
    num_classes = predictions.probs.shape[1]
    if not 1 <= k <= num_classes:
        raise ValueError(f"k must lie in 1..{num_classes}, the number of classes, got {k}")
    if predictions.rank is None:
        raise ValueError("top_k_accuracy needs class indices as targets, got probabilities: use target.argmax(1)")
    return _mean(predictions.rank < k, predictions)


def nll(predictions: Predictions) -> float:
    r"""Negative log-likelihood $-\log p_y$ in nats, averaged: cross entropy without its options.

    For soft targets $-\sum_j q_j \log p_j$. Infinite if a target has probability 0; logits give the likelihood
    without the rounding that makes it so.

    Examples:
        >>> probs = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
        >>> round(nll(Predictions.from_probabilities(probs, torch.tensor([0, 0]))), 4)
        1.0397
    """
    return -_mean(predictions.log_likelihood, predictions)


def brier(predictions: Predictions) -> float:
    r"""Brier score $\sum_j (p_j - [j = y])^2$, averaged: 0..2, as Brier (1950) has it for any number of classes.

    For two classes it is twice the mean squared error of the probability of one. A soft target counts as what it
    stands for, the expectation over labels drawn from it: $\sum_j p_j^2 - 2 p_j q_j + q_j$.

    Examples:
        >>> probs = torch.tensor([[0.5, 0.5], [0.0, 1.0]])
        >>> brier(Predictions.from_probabilities(probs, torch.tensor([0, 1])))
        0.25
    """
    return sum(_mean(_squared_errors(p, y), predictions) for p, y in _events(predictions))


@dataclass(frozen=True)
class BrierDecomposition:
    """What a Brier score is made of: `reliability - resolution + uncertainty + within_bins` is the score.

    Attributes:
        reliability: Squared distance of confidence and frequency, bin by bin: 0 for a calibrated model.
        resolution: How far the frequencies in the bins differ from the overall ones: what the model knows.
        uncertainty: The score of always predicting the overall frequencies.
        within_bins: What the bins do not see: the variance of the probabilities within a bin, less twice their
            covariance with the outcomes (Stephenson et al. 2008).
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def brier_decomposition(predictions: Predictions, n_bins: int = 10) -> BrierDecomposition:
    r"""Murphy's (1973) decomposition of the Brier score, with the terms within bins that make it exact.

    The probability of each class is put into bins of equal width of its own, and the parts are summed over classes.
    With shares $s_k$, mean probability $\bar p_k$ and frequency $\bar y_k$ of bin k, and the frequency $\bar y$ of
    the class:

    $$\underbrace{\sum_k s_k (\bar p_k - \bar y_k)^2}_{\text{reliability}}
    - \underbrace{\sum_k s_k (\bar y_k - \bar y)^2}_{\text{resolution}}
    + \underbrace{\bar y (1 - \bar y)}_{\text{uncertainty}}
    + \underbrace{\sum_k s_k \bigl(\mathrm{var}_k(p) - 2\,\mathrm{cov}_k(p, y)\bigr)}_{\text{within bins}}$$

    Args:
        predictions: Predictions.
        n_bins: Number of bins of each class.

    Returns:
        The parts.

    Examples:
        >>> probs = torch.tensor([[0.8, 0.2], [0.8, 0.2], [0.4, 0.6], [0.4, 0.6]])
        >>> parts = brier_decomposition(Predictions.from_probabilities(probs, torch.tensor([0, 1, 1, 1])))
        >>> round(parts.reliability, 4), round(parts.resolution, 4), round(parts.uncertainty, 4)
        (0.25, 0.125, 0.375)
    """
    find_bin, weight = bin_finder((equal_width_edges(n_bins),)), predictions.weight
    parts = np.zeros(4)
    for p, y in _events(predictions):
        cell = find_bin(torch.from_numpy(p)[None])[0].numpy()
        mass = np.bincount(cell, weight, n_bins)
        p_mean, y_mean = (np.bincount(cell, weight * values, n_bins) / np.where(mass > 0, mass, 1) for values in (p, y))
        share, frequency = mass / mass.sum(), np.average(y, weights=weight)
        p_rest, y_rest = p - p_mean[cell], y - y_mean[cell]
        parts += [
            share @ (p_mean - y_mean) ** 2,
            share @ (y_mean - frequency) ** 2,
            frequency * (1 - frequency),
            np.average(p_rest * (p_rest - 2 * y_rest), weights=weight),
        ]
    return BrierDecomposition(*parts.tolist())


def _events(predictions: Predictions) -> list[tuple[Values, Values]]:
    """For each class its probability (N,) and whether it was the target (N,)."""
    return list(zip(predictions.probs.astype(np.float64).T, predictions.labels().T, strict=True))


def _squared_errors(p: Values, y: Values) -> Values:
    # y^2 is y for the labels that a soft target stands for.
    return p * (p - 2 * y) + y


def _mean(values: Values | NDArray[np.bool_], predictions: Predictions) -> float:
    return float(np.average(values, weights=predictions.weight))
