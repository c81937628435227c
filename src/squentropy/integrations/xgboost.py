"""Squentropy for XGBoost: a classifier that boosts trees with it, and starts where a constant is best."""

import json
import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from xgboost import XGBClassifier

from squentropy.integrations import boosting

__all__ = ["SquentropyXGBClassifier"]

_LABELS = "squentropy_labels"  # the attribute of the booster that has them as JSON


class SquentropyXGBClassifier(XGBClassifier):  # type: ignore[misc]
    """XGBoost's classifier with squentropy as its objective: a tree for each class and round, also for two classes.

    Everything else is as in `xgboost.XGBClassifier`, and labels may be of any kind. To XGBoost the fitted booster is
    one of `multi:softprob`: it is saved with starting scores and labels, gives probabilities, and is evaluated by them.

    Args:
        square_weight: The factor of the square term, 1 in the paper; 0 gives cross entropy.
        class_weight: Weights `{label: weight}`, or "balanced" for the inverse of the classes' frequency.
        parameters: Those of `xgboost.XGBClassifier`, but for `objective` and `base_score`.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = SquentropyXGBClassifier(n_estimators=5).fit(X, y)
        >>> classifier.predict_proba(X[:2]).shape
        (2, 3)
    """

    objective: Any

    def __init__(self, *, square_weight: float = 1.0, class_weight: Any = None, **parameters: Any) -> None:
        self.square_weight = square_weight
        self.class_weight = class_weight
        super().__init__(**parameters)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Any = None,
        verbose: bool | int = False,
        sample_weight_eval_set: Any = None,
        feature_weights: Any = None,
    ) -> Self:
        """Boost trees.

        Args:
            X: The inputs, as XGBoost takes them.
            y: Labels (N,).
            sample_weight: Weights (N,).
            eval_set: Pairs (X, y) to watch.
            verbose: As in XGBoost.
            sample_weight_eval_set: As in XGBoost.
            feature_weights: As in XGBoost.
        """
        if self.objective not in (None, "binary:logistic", "multi:softprob"):  # XGBoost's own defaults
            raise ValueError(f"objective is {self.objective!r}; leave it out")
        if self.base_score is not None:
            raise ValueError(f"base_score is {self.base_score!r}; leave it out, it is computed from the classes")
        prepared = boosting.Prepared.of(y, sample_weight, self.class_weight, self.square_weight)
        labels, self._start = prepared.labels, prepared.start
        self.__dict__.pop("_labels", None)  # while XGBoost fits, the classes are 0, 1, ...
        given = self.objective
        self.objective = boosting.Objective(self.square_weight)
        try:
            super().fit(
                X,
                prepared.target,
                sample_weight=prepared.weight,
                eval_set=None if eval_set is None else [(x, boosting.numbers_of(y, labels)) for x, y in eval_set],
                verbose=verbose,
                sample_weight_eval_set=sample_weight_eval_set,
                feature_weights=feature_weights,
            )
        finally:
            self.objective = given
        self._labels = labels
        self.get_booster().set_attr(**{_LABELS: json.dumps([labels.dtype.str, labels.tolist()], default=str)})
        return self

    def predict(self, X: Any, *, output_margin: bool = False, **options: Any) -> NDArray[Any]:
        """Return the most probable label (N,), or the logits (N, C) as `output_margin`."""
        if output_margin:
            logits: NDArray[Any] = super().predict(X, output_margin=True, **options)
            return logits
        labels: NDArray[Any] = self.classes_[self.predict_proba(X, **options).argmax(axis=1)]
        return labels

    def decision_function(self, X: Any, **options: Any) -> NDArray[Any]:
        """Return the logits (N, C), or for two classes the second minus the first (N,)."""
        return boosting.decisions(self.predict(X, output_margin=True, **options))

    def load_model(self, fname: str | os.PathLike[str] | bytearray) -> None:
        """Load a model, with its labels, that `save_model` wrote."""
        super().load_model(fname)
        labels = self.get_booster().attr(_LABELS)
        if labels is not None:
            kind, values = json.loads(labels)
            self._labels = np.array(values, dtype=object if kind == "|O" else kind)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels (C,), sorted."""
        labels: NDArray[Any] = self.__dict__["_labels"] if "_labels" in self.__dict__ else np.arange(self.n_classes_)
        return labels

    def _wrapper_params(self) -> set[str]:
        """What XGBoost's library does not get."""
        return {*super()._wrapper_params(), "square_weight", "class_weight"}

    def _configure_fit(self, booster: Any, params: dict[str, Any], feature_weights: Any) -> Any:
        """What XGBoost's library gets: as many scores as classes, where they start, and their softmax to predict."""
        own = {"objective": "multi:softprob", "num_class": self.n_classes_, "base_score": self._start.tolist()}
        return super()._configure_fit(booster, {**params, **own}, feature_weights)
