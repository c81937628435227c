"""Squentropy for CatBoost: a classifier that boosts trees with it, and starts where a constant is best."""

import json
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from catboost import CatBoostClassifier, Pool
from numpy.typing import NDArray

from squentropy.integrations import boosting

__all__ = ["SquentropyCatBoostClassifier"]

_LABELS = "squentropy_labels"  # the entry of the model's metadata that has them as JSON
_OWN = ("square_weight", "class_weight")
_COMPUTED = ("loss_function", "objective", "classes_count", "class_names", "class_weights", "auto_class_weights")


class SquentropyCatBoostClassifier(CatBoostClassifier):  # type: ignore[misc]
    """CatBoost's classifier with squentropy as its objective, with its whole Hessian.

    Everything else is as in `catboost.CatBoostClassifier`. CatBoost calls a Python objective row by row, on the CPU
    only: expect a hundred times the time of its own objectives. Early stopping watches the log loss (`MultiClass`)
    unless `eval_metric` says otherwise. The starting score is the model's bias, so that its raw values are the logits.

    Args:
        square_weight: The factor of the square term, 1 in the paper; 0 gives cross entropy.
        class_weight: Weights `{label: weight}`, or "balanced" for the inverse of the classes' frequency.
        parameters: Those of `catboost.CatBoostClassifier`, but for its loss function and its settings of classes.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = SquentropyCatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False).fit(X, y)
        >>> classifier.predict_proba(X[:2]).shape
        (2, 3)
    """

    _init_params: dict[str, Any]

    def __init__(self, *, square_weight: float = 1.0, class_weight: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.square_weight = square_weight
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        cat_features: Sequence[int | str] | None = None,
        **options: Any,
    ) -> Self:
        """Boost trees.

        Args:
            X: The inputs: an array or a data frame.
            y: Labels (N,).
            sample_weight: Weights (N,).
            eval_set: A pair (X, y), or several, to watch.
            cat_features: As in CatBoost.
            options: Others of CatBoost's, such as `early_stopping_rounds`, `use_best_model` and `verbose`.
        """
        for name in _COMPUTED:
            if name in self._init_params:
                raise ValueError(f"{name} is {self._init_params[name]!r}; leave it out, or use class_weight")
        for name in ("baseline", "init_model"):
            if name in options:
                raise ValueError(f"{name} is given; leave it out, the starting score is computed from the classes")
        if isinstance(X, Pool) or isinstance(eval_set, Pool):
            raise TypeError("a Pool cannot be used, as its labels cannot be changed: give inputs and labels apart")
        prepared = boosting.Prepared.of(y, sample_weight, self.class_weight, self.square_weight)
        labels, start = prepared.labels, prepared.start
        cat_features = self._init_params.get("cat_features") if cat_features is None else cat_features

        def pool(x: Any, numbers: NDArray[np.int64], weight: Any) -> Pool:
            baseline = np.tile(start, (len(numbers), 1))
            return Pool(x, numbers, cat_features=cat_features, weight=weight, baseline=baseline)

        pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set or [])
        watched = [pool(x, boosting.numbers_of(values, labels), None) for x, values in pairs]
        own = {"loss_function": _Objective(self.square_weight), "classes_count": len(labels)}
        given = dict(self._init_params)
        self._init_params.update({"eval_metric": "MultiClass", **given, **own})
        self._init_params.pop("cat_features", None)  # the pools have them
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Failed to import numba|Failed to optimize method", UserWarning)
                super().fit(pool(X, prepared.target, prepared.weight), eval_set=watched or None, **options)
        finally:
            self._init_params = given
        self.set_scale_and_bias(1.0, start.tolist())
        self.get_metadata()[_LABELS] = json.dumps([labels.dtype.str, labels.tolist()], default=str)
        return self

    def predict(self, data: Any, prediction_type: str = "Class", **options: Any) -> NDArray[Any]:
        """Return the most probable label (N,), or what `prediction_type` asks for, as in CatBoost."""
        if prediction_type == "Class":
            return self._labels_of(self._logits(data, **options))
        if prediction_type in ("Probability", "LogProbability"):
            probabilities = self.predict_proba(data, **options)
            return probabilities if prediction_type == "Probability" else np.log(probabilities)
        result: NDArray[Any] = super().predict(data, prediction_type, **options)
        return result

    def predict_proba(self, X: Any, **options: Any) -> NDArray[Any]:
        """Return the probabilities (N, C)."""
        return boosting.probabilities(self._logits(X, **options))

    def decision_function(self, X: Any, **options: Any) -> NDArray[Any]:
        """Return the logits (N, C), or for two classes the second minus the first (N,)."""
        return boosting.decisions(self._logits(X, **options))

    def staged_predict(self, data: Any, prediction_type: str = "Class", **options: Any) -> Iterator[NDArray[Any]]:
        """Yield what `predict` would return with 1, 2, ... trees."""
        if prediction_type != "Class":
            yield from super().staged_predict(data, prediction_type, **options)
            return
        for logits in super().staged_predict(data, "RawFormulaVal", **options):
            yield self._labels_of(logits)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels (C,), sorted, of a fitted classifier."""
        kind, values = json.loads(self.get_metadata()[_LABELS])
        return np.array(values, dtype=object if kind == "|O" else kind)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters that were given, and squentropy's own."""
        return {**super().get_params(), **{name: getattr(self, name) for name in _OWN}}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters."""
        for name in _OWN:
            if name in parameters:
                setattr(self, name, parameters.pop(name))
        super().set_params(**parameters)
        return self

    def _logits(self, data: Any, **options: Any) -> NDArray[Any]:
        logits: NDArray[Any] = np.atleast_2d(super().predict(data, "RawFormulaVal", **options))
        return logits

    def _labels_of(self, logits: NDArray[Any]) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[np.atleast_2d(logits).argmax(axis=1)]
        return labels


class _Objective:
    """What CatBoost adds to a row's scores must go up: it takes the negative gradient and the negative Hessian."""

    def __init__(self, square_weight: float) -> None:
        self.square_weight = square_weight

    def calc_ders_multi(
        self, approxes: Sequence[float], target: float, weight: float
    ) -> tuple[list[float], list[list[float]]]:
        """Return both for one row; plain numbers, as arrays of a few classes would take ten times as long."""
        y, classes = int(target), range(len(approxes))
        scores = [float(score) for score in approxes]
        largest = max(scores)
        p = [math.exp(score - largest) for score in scores]
        total = sum(p)
        p = [weight * each / total for each in p]
        factor = 2.0 * weight * self.square_weight / (len(scores) - 1)
        first = [-p[j] - factor * scores[j] for j in classes]
        first[y] = weight - p[y]
        second = [[p[j] * p[k] / weight for k in classes] for j in classes]
        for j in classes:
            second[j][j] -= p[j] + (factor if j != y else 0.0)
        return first, second
