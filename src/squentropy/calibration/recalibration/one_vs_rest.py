"""Platt scaling, beta and isotonic calibration, histogram binning: for two classes, so each class against the rest."""

from abc import abstractmethod
from collections.abc import Collection
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.calibration.binning import bin_finder
from squentropy.calibration.bins import Binning, CalibrationBins
from squentropy.calibration.recalibration.minimum import minimize
from squentropy.calibration.recalibration.recalibrator import Recalibrator


class OneVsRest(Recalibrator):
    """Learns for each class how often it is the true one at a given probability, and makes rows sum to 1 again.

    That is how methods for two classes are used for more (Zadrozny & Elkan 2002, and scikit-learn). A row that has
    become all zeros is made uniform.
    """

    def _learn(self, logits: Tensor, target: Tensor, weight: Tensor) -> dict[str, Tensor]:
        columns = [self._learn_class(odds, (target == k).double(), weight) for k, odds in enumerate(log_odds(logits).T)]
        return {name: _stacked([column[name] for column in columns]) for name in columns[0]}

    def _apply(self, logits: Tensor, **parameters: Tensor) -> Tensor:
        columns = [
            self._apply_class(odds, **{name: value[k] for name, value in parameters.items()})
            for k, odds in enumerate(log_odds(logits).T)
        ]
        probs = torch.stack(columns, dim=1)
        total = probs.sum(1, keepdim=True)
        return torch.where(total > 0, probs / total, 1 / probs.shape[1])

    @abstractmethod
    def _learn_class(self, odds: Tensor, is_class: Tensor, weight: Tensor) -> dict[str, Tensor]:
        """The parameters of a class, given its log odds (N,), whether it is the true one (N,) and weights (N,)."""

    @abstractmethod
    def _apply_class(self, odds: Tensor, **parameters: Tensor) -> Tensor:
        """The probability (N,) of a class, given its log odds (N,) before."""


class PlattScaling(OneVsRest):
    """p = sigmoid(slope * z + intercept) for the log odds z of each class (Platt 2000).

    As in that paper and in scikit-learn, the targets of the fit are a little less than 1 and more than 0, which keeps
    slope and intercept finite where classes can be told apart without a mistake.

    Examples:
        >>> logits = torch.tensor([[2.0, 0.0]] * 30 + [[0.0, 2.0]] * 30)
        >>> target = torch.tensor([0] * 20 + [1] * 10 + [1] * 20 + [0] * 10)  # 2 of 3 are right
        >>> PlattScaling().fit(logits, target).predict_proba(torch.tensor([[2.0, 0.0]])).round(decimals=2)
        tensor([[0.6600, 0.3400]])
    """

    name: ClassVar[str] = "platt"
    title: ClassVar[str] = "Platt scaling"

    def _learn_class(self, odds: Tensor, is_class: Tensor, weight: Tensor) -> dict[str, Tensor]:
        positive, negative = weight @ is_class, weight @ (1 - is_class)
        target = torch.where(is_class > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
        start = {"slope": odds.new_ones(()), "intercept": odds.new_zeros(())}
        return _logistic(self, start, {"slope": odds, "intercept": torch.ones_like(odds)}, target, weight)

    def _apply_class(self, odds: Tensor, **parameters: Tensor) -> Tensor:
        return torch.sigmoid(parameters["slope"] * odds + parameters["intercept"])


class BetaCalibration(OneVsRest):
    """p = sigmoid(a log p - b log(1 - p) + c) for each class, with a, b >= 0 (Kull, Silva Filho & Flach 2017).

    Where scores are squashed to the ends or to the middle a sigmoid of the odds has the wrong shape; a = b = 1, c = 0
    leaves everything as it is.

    Examples:
        >>> logits = torch.tensor([[2.0, 0.0]] * 30 + [[0.0, 2.0]] * 30)
        >>> target = torch.tensor([0] * 20 + [1] * 10 + [1] * 20 + [0] * 10)  # 2 of 3 are right
        >>> BetaCalibration().fit(logits, target).predict_proba(torch.tensor([[2.0, 0.0]])).round(decimals=2)
        tensor([[0.6700, 0.3300]])
    """

    name: ClassVar[str] = "beta"
    title: ClassVar[str] = "beta calibration"

    def _learn_class(self, odds: Tensor, is_class: Tensor, weight: Tensor) -> dict[str, Tensor]:
        start = {"a": odds.new_ones(()), "b": odds.new_ones(()), "c": odds.new_zeros(())}
        # log p and log(1 - p) from the odds, which have not lost what a rounded p would have.
        features = {"a": F.logsigmoid(odds), "b": -F.logsigmoid(-odds), "c": torch.ones_like(odds)}
        return _logistic(self, start, features, is_class, weight, nonnegative="ab")

    def _apply_class(self, odds: Tensor, **parameters: Tensor) -> Tensor:
        a, b, c = (parameters[name] for name in "abc")
        return torch.sigmoid(a * F.logsigmoid(odds) - b * F.logsigmoid(-odds) + c)


class IsotonicCalibration(OneVsRest):
    """The rising function of p of least squared error for each class (Zadrozny & Elkan 2002), by scikit-learn.

    It gives probabilities of exactly 0 and 1, so the negative log-likelihood of new samples may be infinite.

    Examples:
        >>> probs = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
        >>> isotonic = IsotonicCalibration().fit(probs.log(), torch.tensor([0, 1, 0, 1, 1]))
        >>> isotonic.predict_proba(probs.log())
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000],
                [0.5000, 0.5000],
                [0.0000, 1.0000],
                [0.0000, 1.0000]])
    """

    name: ClassVar[str] = "isotonic"
    title: ClassVar[str] = "isotonic calibration"

    def _learn_class(self, odds: Tensor, is_class: Tensor, weight: Tensor) -> dict[str, Tensor]:
        from sklearn.isotonic import IsotonicRegression

        counted = weight > 0
        x, y, w = (values[counted].cpu().numpy() for values in (odds.sigmoid(), is_class, weight))
        fitted = IsotonicRegression(y_min=0, y_max=1).fit(x, y, sample_weight=w)
        knots = {"x": fitted.X_thresholds_, "y": fitted.y_thresholds_}
        return {name: torch.tensor(values, dtype=torch.float64) for name, values in knots.items()}

    def _apply_class(self, odds: Tensor, **parameters: Tensor) -> Tensor:
        x, y = (parameters[name].cpu().numpy() for name in "xy")
        return odds.new_tensor(np.interp(odds.sigmoid().cpu().numpy(), x, y))


class HistogramBinning(OneVsRest):
    """In each bin of p the share of samples that were of the class (Zadrozny & Elkan 2001).

    A bin without samples keeps its middle.

    Args:
        n_bins: Number of bins.
        binning: `"equal_mass"`, as in the paper, or `"equal_width"`.

    Examples:
        >>> probs = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.3, 0.7]])
        >>> binning = HistogramBinning(n_bins=2, binning="equal_width").fit(probs.log(), torch.tensor([0, 1, 0, 1]))
        >>> binning.predict_proba(torch.tensor([[0.6, 0.4]]).log())
        tensor([[0.6667, 0.3333]])
    """

    name: ClassVar[str] = "histogram"
    title: ClassVar[str] = "histogram binning"

    def __init__(self, n_bins: int = 10, binning: Binning = "equal_mass") -> None:
        super().__init__()
        self.n_bins = n_bins
        self.binning = binning

    def _learn_class(self, odds: Tensor, is_class: Tensor, weight: Tensor) -> dict[str, Tensor]:
        n_samples = int((weight > 0).sum())
        if n_samples < self.n_bins:
            raise ValueError(
                f"n_bins must not be more than the samples to fit, got {self.n_bins} bins for {n_samples} samples: "
                "use fewer bins or more samples"
            )
        bins = CalibrationBins.from_confidences(
            odds.sigmoid(), is_class, self.n_bins, binning=self.binning, weight=weight
        )
        middle = (bins.edges[1:] + bins.edges[:-1]) / 2
        shares = np.where(bins.count > 0, bins.accuracy, middle)
        return {name: torch.tensor(values) for name, values in {"edges": bins.edges, "shares": shares}.items()}

    def _apply_class(self, odds: Tensor, **parameters: Tensor) -> Tensor:
        find_bin = bin_finder((tuple(parameters["edges"].tolist()),))
        return parameters["shares"][find_bin(odds.sigmoid()[None])[0]]


def log_odds(logits: Tensor) -> Tensor:
    """Returns log(p / (1 - p)) (N, C) for p = softmax(logits), finite and exact where p rounds to 0 or 1.

    Examples:
        >>> log_odds(torch.tensor([[100.0, 0.0, 0.0]]))  # 100 - log 2
        tensor([[  99.3069, -100.0000, -100.0000]])
    """
    log_probs = F.log_softmax(logits, dim=1)
    top = logits.argmax(1, keepdim=True)
    against_top = logits.scatter(1, top, -torch.inf).logsumexp(1, keepdim=True)
    # At most one probability is over 1/2, and only there does 1 - p lose digits.
    odds = log_probs - torch.log1p(-log_probs.exp())
    return odds.scatter(1, top, logits.gather(1, top) - against_top)


def _logistic(
    owner: OneVsRest,
    start: dict[str, Tensor],
    features: dict[str, Tensor],
    target: Tensor,
    weight: Tensor,
    nonnegative: Collection[str] = (),
) -> dict[str, Tensor]:
    """Logistic regression without penalty on targets (N,) in 0..1, one coefficient for each feature (N,)."""
    weight = weight / weight.sum()

    def objective(parameters: dict[str, Tensor]) -> Tensor:
        scores = torch.stack([parameters[name] * values for name, values in features.items()]).sum(0)
        return weight @ F.binary_cross_entropy_with_logits(scores, target, reduction="none")

    return minimize(objective, start, owner=type(owner).__name__, nonnegative=nonnegative)


def _stacked(rows: list[Tensor]) -> Tensor:
    """Rows of different lengths in one tensor, the shorter ones filled up with their last value."""
    if rows[0].ndim == 0:
        return torch.stack(rows)
    length = max(len(row) for row in rows)
    return torch.stack([torch.cat([row, row[-1:].expand(length - len(row))]) for row in rows])
