"""Squentropy for LightGBM: a classifier that boosts trees with it, and starts where a constant is best."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from lightgbm import LGBMClassifier, LGBMModel
from numpy.typing import NDArray

from squentropy.integrations import boosting

__all__ = ["SquentropyLGBMClassifier"]


class SquentropyLGBMClassifier(LGBMClassifier):  # type: ignore[misc]
    """LightGBM's classifier with squentropy as its objective: a tree for each class and round, also for two classes.

    Everything else is as in `lightgbm.LGBMClassifier`. Early stopping watches the log loss of the probabilities unless
    told otherwise. The score that boosting starts from is part of the first trees, so that the booster's raw scores are
    the logits.

    Args:
        square_weight: The factor of the square term, 1 in the paper; 0 gives cross entropy.
        parameters: Those of `lightgbm.LGBMClassifier`, but for `objective`.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = SquentropyLGBMClassifier(n_estimators=5, verbose=-1).fit(X, y)
        >>> classifier.predict_proba(X[:2]).shape
        (2, 3)
    """

    def __init__(self, *, square_weight: float = 1.0, **parameters: Any) -> None:
        self.square_weight = square_weight
        super().__init__(**parameters)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: list[Any] | None = None,
        eval_class_weight: list[Any] | None = None,
        eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = "multi_logloss",
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: list[Callable[..., Any]] | None = None,
    ) -> Self:
        """Boost trees.

        Args:
            X: The inputs, as LightGBM takes them.
            y: Labels (N,).
            sample_weight: Weights (N,).
            eval_set: Pairs (X, y) to watch.
            eval_names: As in LightGBM.
            eval_sample_weight: As in LightGBM.
            eval_class_weight: As in LightGBM.
            eval_metric: "multi_logloss", "multi_error", "squentropy", or a function of the class indices (N,) and the
                logits (N, C), and of weights (N,) if it takes three arguments, that returns a name, a value, and
                whether higher is better; or several of these.
            feature_name: As in LightGBM.
            categorical_feature: As in LightGBM.
            callbacks: As in LightGBM, such as `lightgbm.early_stopping(10)`.
        """
        for name, supported in {"objective": None, "boosting_type": ("gbdt", "dart", "goss")}.items():
            value = getattr(self, name)
            if value is not None and value not in (supported or ()):
                raise ValueError(
                    f"{name} is {value!r}; {'use one of ' + str(supported) if supported else 'leave it out'}"
                )
        if self.get_params().get("linear_tree"):
            raise ValueError("linear_tree is True; use False: the starting score goes into constant leaves")
        prepared = boosting.Prepared.of(y, sample_weight, self.class_weight, self.square_weight)
        labels, start = prepared.labels, prepared.start
        pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set or [])
        metrics = [eval_metric] if callable(eval_metric) or isinstance(eval_metric, str) else eval_metric
        super().fit(
            X,
            y,
            sample_weight=sample_weight,
            init_score=np.tile(start, (len(prepared.target), 1)),
            eval_X=tuple(x for x, _ in pairs) or None,
            eval_y=tuple(boosting.numbers_of(values, labels) for _, values in pairs) or None,
            eval_init_score=[np.tile(start, (len(values), 1)) for _, values in pairs] or None,
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            eval_class_weight=eval_class_weight,
            eval_metric=[_metric(metric, self.square_weight) for metric in metrics],
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            callbacks=callbacks,
        )
        self._add_to_first_trees(start)
        return self

    def predict(self, X: Any, raw_score: bool = False, **options: Any) -> NDArray[Any]:
        """Return the most probable label (N,), or what the options of `LGBMClassifier.predict` ask for."""
        result = self.predict_proba(X, raw_score=raw_score, **options)
        if raw_score or options.get("pred_leaf") or options.get("pred_contrib"):
            return result
        labels: NDArray[Any] = self.classes_[result.argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any, raw_score: bool = False, **options: Any) -> NDArray[Any]:
        """Return the probabilities (N, C), or the logits as `raw_score`, or what the other options ask for."""
        if options.get("pred_leaf") or options.get("pred_contrib"):
            result: NDArray[Any] = LGBMModel.predict(self, X, **options)
            return result
        logits: NDArray[Any] = LGBMModel.predict(self, X, raw_score=True, **options)
        return logits if raw_score else boosting.probabilities(logits)

    def decision_function(self, X: Any, **options: Any) -> NDArray[Any]:
        """Return the logits (N, C), or for two classes the second minus the first (N,)."""
        return boosting.decisions(self.predict_proba(X, raw_score=True, **options))

    def _process_params(self, stage: str) -> dict[str, Any]:
        """What LightGBM's library gets: a tree for each class, and no metric of its own, which would see no softmax."""
        if stage == "fit":
            self._objective = boosting.Objective(self.square_weight)
        parameters: dict[str, Any] = super()._process_params(stage)
        parameters.pop("square_weight", None)
        return {**parameters, "num_class": self._n_classes, "metric": "None"}

    def _add_to_first_trees(self, start: NDArray[np.float64]) -> None:
        booster = self.booster_
        for tree, score in enumerate(start):
            leaves = booster.dump_model(num_iteration=1)["tree_info"][tree]["num_leaves"]
            for leaf in range(leaves):
                booster.set_leaf_output(tree, leaf, booster.get_leaf_output(tree, leaf) + score)


class _Metric:
    """The weighted mean of a value of each row."""

    def __init__(self, name: str, values: Callable[[Any, Any], NDArray[Any]]) -> None:
        self.name, self.values = name, values

    def __call__(self, y_true: Any, y_pred: Any, weight: Any) -> tuple[str, float, bool]:
        return self.name, float(np.average(self.values(y_pred, y_true.astype(np.int64)), weights=weight)), False


def _metric(metric: str | Callable[..., Any], square_weight: float) -> Callable[..., Any]:
    if callable(metric):
        return metric
    known: dict[str, Callable[[Any, Any], NDArray[Any]]] = {
        "multi_logloss": lambda logits, target: boosting.losses(logits, target, 0.0),
        "multi_error": lambda logits, target: logits.argmax(axis=1) != target,
        "squentropy": lambda logits, target: boosting.losses(logits, target, square_weight),
    }
    if metric not in known:
        raise ValueError(f"eval_metric is {metric!r}; use one of {', '.join(known)}, or a function")
    return _Metric(metric, known[metric])
