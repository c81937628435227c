"""Squentropy for gradient boosting: what all libraries share. Trees add to raw scores, which are the logits."""

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


def check_square_weight(square_weight: float) -> None:
    """Raise unless the factor of the square term is finite and not negative."""
    if not (np.isfinite(square_weight) and square_weight >= 0):
        raise ValueError(f"square_weight is {square_weight}; it must be finite and not negative")


def probabilities(logits: Any) -> Array:
    """Return the softmax of logits (..., C).

    Examples:
        >>> probabilities([[0.0, 0.0], [1e4, 0.0]])
        array([[0.5, 0.5],
               [1. , 0. ]])
    """
    logits = np.asarray(logits, dtype=np.float64)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    softmax: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return softmax


def losses(logits: Any, target: Any, square_weight: float = 1.0) -> Array:
    """Return the squentropy (N,) of logits (N, C) for class indices (N,).

    Examples:
        >>> losses([[2.0, 1.0, -1.0]], [0]).round(4)
        array([1.349])
    """
    logits, rows = np.asarray(logits, dtype=np.float64), np.arange(len(target))
    largest = logits.max(axis=1)
    log_sum = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
    squares = logits**2
    squares[rows, target] = 0.0  # left out rather than subtracted, which would cancel
    total: Array = log_sum - logits[rows, target] + square_weight / (logits.shape[1] - 1) * squares.sum(axis=1)
    return total


def gradient_and_hessian(logits: Any, target: Any, square_weight: float = 1.0) -> tuple[Array, Array]:
    r"""Return the gradient of squentropy and the diagonal of its Hessian, both (N, C).

    For logits :math:`z`, their softmax :math:`p`, the true class :math:`y` and :math:`b = \alpha/(C-1)`:

    .. math:: g_j = p_j - [j = y] + 2 b z_j [j \ne y] \qquad h_j = p_j (1 - p_j) + 2 b [j \ne y]

    For the wrong classes the Hessian is at least :math:`2b`, where that of cross entropy vanishes as trees become sure.

    Args:
        logits: Raw scores (N, C).
        target: Class indices (N,).
        square_weight: The factor :math:`\alpha` of the square term.

    Examples:
        >>> gradient, hessian = gradient_and_hessian([[0.0, 1.0]], [0])
        >>> gradient.round(3), hessian.round(3)
        (array([[-0.731,  2.731]]), array([[0.197, 2.197]]))
    """
    logits, rows = np.asarray(logits, dtype=np.float64), np.arange(len(target))
    p, factor = probabilities(logits), 2.0 * square_weight / (logits.shape[1] - 1)
    gradient, hessian = p + factor * logits, p * (1.0 - p) + factor
    gradient[rows, target] = p[rows, target] - 1.0
    hessian[rows, target] -= factor
    return gradient, hessian


def starting_scores(class_totals: Any, square_weight: float = 1.0) -> Array:
    r"""Return the scores (C,) that are best if all rows get the same: where boosting starts.

    They minimise :math:`\log \sum_k e^{z_k} - \sum_j q_j z_j + b \sum_j (1 - q_j) z_j^2` for the shares :math:`q` of
    the classes, by Newton's method. The function is strictly convex, as each class lacks some rows.

    Args:
        class_totals: Sum of the weights of each class's rows (C,), of two classes at least.
        square_weight: The factor of the square term; with 0 the scores are the centred logarithms of the shares.

    Examples:
        >>> starting_scores([50, 50, 50])
        array([0., 0., 0.])
        >>> scores = starting_scores([90, 10])
        >>> probabilities(scores).round(3)
        array([0.725, 0.275])
    """
    totals = np.asarray(class_totals, dtype=np.float64)
    if np.count_nonzero(totals) < 2:
        raise ValueError(f"class_totals is {totals}; boosting needs rows of at least two classes with positive weights")
    shares = totals / totals.sum()
    if square_weight == 0.0:
        logarithms = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
        return np.asarray(logarithms - logarithms.mean())
    factor = 2.0 * square_weight / (len(shares) - 1) * (1.0 - shares)

    def value(scores: Array) -> float:
        largest = scores.max()
        log_sum = largest + np.log(np.exp(scores - largest).sum())
        return float(log_sum - shares @ scores + 0.5 * factor @ scores**2)

    scores, decrement, before = np.zeros(len(shares)), np.inf, np.inf
    while decrement > 1e-6 or decrement < before / 2:  # near the minimum, until rounding lets it fall no more
        p = probabilities(scores)
        gradient = p - shares + factor * scores
        step = np.linalg.solve(np.diag(p + factor) - np.outer(p, p), gradient)
        before, decrement, size = decrement, float(gradient @ step), 1.0
        # Far from the minimum a step may go too far; near it the values differ by no more than their rounding.
        while decrement > 1e-6 and value(scores - size * step) > value(scores) - 0.25 * size * decrement:
            size /= 2
        scores = scores - size * step
    return scores


def class_totals(target: NDArray[np.int64], weight: Any, num_classes: int) -> Array:
    """Return the sum of the weights (N,), or of ones, over each class's rows.

    Examples:
        >>> class_totals(np.array([0, 1, 1]), [1.0, 2.0, 0.5], 2)
        array([1. , 2.5])
    """
    totals = np.bincount(target, None if weight is None else np.asarray(weight, np.float64), num_classes)
    return np.asarray(totals, dtype=np.float64)


def numbered_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the labels (C,), sorted, and their indices (N,) for y.

    Examples:
        >>> numbered_labels(["no", "yes", "no"])
        (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0]))
    """
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    check_classification_targets(y)
    labels, target = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    if len(labels) < 2:
        raise ValueError(f"y has only one class, {labels.tolist()[0]!r}: a classifier needs rows of two or more")
    return labels, target


def numbers_of(y: Any, labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices (N,) of labels that have been numbered.

    Examples:
        >>> numbers_of(["yes", "no"], np.array(["no", "yes"]))
        array([1, 0])
    """
    y = np.asarray(y)
    unknown = np.setdiff1d(y, labels)
    if len(unknown):
        raise ValueError(f"eval_set has the label {unknown.tolist()[0]!r}, which y has not: leave those rows out")
    return np.asarray(np.searchsorted(labels, y), dtype=np.int64)


def weights_of(sample_weight: Any, class_weight: Any, target: NDArray[np.int64], labels: NDArray[Any]) -> Any:
    """Return the weights (N,) of rows and classes together, or None if there are none.

    Args:
        sample_weight: Weights (N,), or None.
        class_weight: Weights `{label: weight}`, "balanced", or None.
        target: Class indices (N,).
        labels: The labels (C,).

    Examples:
        >>> weights_of(None, {"b": 2.0}, np.array([0, 1, 1]), np.array(["a", "b"]))
        array([1., 2., 2.])
    """
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight is not None and (weight.shape != target.shape or not np.isfinite(weight).all() or (weight < 0).any()):
        raise ValueError(
            f"sample_weight of shape {weight.shape} must have a finite number, not negative, for each of {len(target)}"
        )
    if class_weight is None:
        return weight
    from sklearn.utils.class_weight import compute_class_weight

    by_class = compute_class_weight(class_weight, classes=labels, y=labels[target])
    factors = np.asarray(by_class, dtype=np.float64)[target]
    return factors if weight is None else weight * factors


def decisions(logits: Array) -> Array:
    """Return logits (N, C) as scikit-learn wants them: for two classes the second minus the first (N,)."""
    return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits


@dataclass(frozen=True)
class Prepared:
    """What boosting is given in place of labels.

    Attributes:
        labels: The labels (C,), sorted.
        target: Their indices (N,).
        weight: Weights (N,) of rows and classes together, or None.
        start: The scores (C,) to start from.

    Examples:
        >>> Prepared.of(["no", "yes", "no", "yes"], None, None, 1.0).start
        array([0., 0.])
    """

    labels: NDArray[Any]
    target: NDArray[np.int64]
    weight: Any
    start: Array

    @classmethod
    def of(cls, y: Any, sample_weight: Any, class_weight: Any, square_weight: float) -> Self:
        """Number the labels y (N,), and find where boosting starts."""
        check_square_weight(square_weight)
        labels, target = numbered_labels(y)
        weight = weights_of(sample_weight, class_weight, target, labels)
        return cls(labels, target, weight, starting_scores(class_totals(target, weight, len(labels)), square_weight))


class Objective:
    """The gradient and the Hessian as LightGBM and XGBoost ask for them."""

    def __init__(self, square_weight: float) -> None:
        self.square_weight = square_weight

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[Array, Array]:
        """Return both (N, C) for class indices (N,) and logits (N, C), multiplied by the weights (N,)."""
        gradient, hessian = gradient_and_hessian(y_pred, y_true.astype(np.int64), self.square_weight)
        if sample_weight is None:
            return gradient, hessian
        return gradient * sample_weight[:, None], hessian * sample_weight[:, None]
