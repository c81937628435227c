"""What else one would try on a table: logistic regression and gradient boosting, on the same splits."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from squentropy.study import Rows, TensorData
from squentropy.study.canonical import derived_seed
from squentropy.study.evaluation import Evaluation, scaled_metrics
from squentropy.study.files import write_atomically

YARDSTICKS = ("logistic regression", "gradient boosting")
_ROUNDS, _TREES = 100, 2000
_SMALLEST = 1e-12  # probability of a class that no training row has


class Predictions(NamedTuple):
    """Logarithms of probabilities, and classes, of the held-out rows and of the test part."""

    held_out: NDArray[np.float32]
    held_out_target: NDArray[np.int64]
    logits: NDArray[np.float32]
    target: NDArray[np.int64]

    def metrics(self) -> dict[str, float]:
        """Returns what a network's record says as well."""
        held_out, test = (
            Rows(torch.from_numpy(logits), torch.from_numpy(target))
            for logits, target in ((self.held_out, self.held_out_target), (self.logits, self.target))
        )
        evaluation = Evaluation()
        evaluation.add(test.inputs, test.target)
        return evaluation.metrics() | scaled_metrics(held_out, test, measure_held_out=True)


def predict(name: str, data: TensorData, seed: int, folder: Path) -> Predictions:
    """Fits a yardstick on the training part, the same one as the networks', and predicts the other two.

    Args:
        name: One of `YARDSTICKS`.
        data: The data of the seed.
        seed: The seed.
        folder: Where predictions are kept; those that are there already are read.
    """
    path = folder / f"{name.replace(' ', '-')}-{seed}-{data.sha256[:16]}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as kept:
            return Predictions(*(kept[field] for field in Predictions._fields))
    assert data.validation is not None
    model = _MODELS[name](derived_seed(seed, name) % 2**32, data.num_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may not have converged, or that a class is rare
        model.fit(data.train.inputs.numpy(), data.train.target.numpy())
    held_out, test = data.validation, data.test
    predictions = Predictions(
        _log_probabilities(model, held_out, data.num_classes),
        held_out.target.numpy(),
        _log_probabilities(model, test, data.num_classes),
        test.target.numpy(),
    )
    buffer = io.BytesIO()
    np.savez(buffer, **predictions._asdict())
    write_atomically(path, buffer.getvalue())
    return predictions


def _log_probabilities(model: Any, rows: Rows, num_classes: int) -> NDArray[np.float32]:
    probs = np.zeros((len(rows.target), num_classes))
    probs[:, model.classes_] = model.predict_proba(rows.inputs.numpy())
    return np.asarray(np.log(np.maximum(probs, _SMALLEST)), np.float32)


def _logistic_regression(state: int, num_classes: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _gradient_boosting(state: int, num_classes: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=boosting_rounds(num_classes), random_state=state)


def boosting_rounds(num_classes: int) -> int:
    """Returns how many rounds are boosted: scikit-learn's 100, but as each grows a tree for each class, 2,000 trees.

    Examples:
        >>> boosting_rounds(3), boosting_rounds(100)
        (100, 20)
    """
    return max(10, min(_ROUNDS, _TREES // num_classes))


_MODELS: dict[str, Callable[[int, int], Any]] = {
    "logistic regression": _logistic_regression,
    "gradient boosting": _gradient_boosting,
}
