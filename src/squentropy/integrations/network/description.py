"""A fitted classifier without its tensors as what JSON can hold, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

KIND, VERSION = "squentropy classifier", 1
_FITTED = ("n_features_in_", "n_iter_", "loss_curve_", "validation_loss_curve_")


def describe(classifier: Any) -> dict[str, Any]:
    """Return parameters, labels and curves of a fitted classifier."""
    parameters = classifier.get_params(deep=False)
    if isinstance(parameters["class_weight"], Mapping):  # JSON would turn the labels into texts
        parameters["class_weight"] = [list(pair) for pair in parameters["class_weight"].items()]
    if isinstance(parameters["random_state"], np.random.RandomState):
        parameters["random_state"] = None
    description = {
        "kind": KIND,
        "version": VERSION,
        "parameters": _plain(parameters),
        "classes": classifier.classes_.tolist(),
        "classes_dtype": _dtype_of(classifier.classes_),
        "fitted": {name: _plain(getattr(classifier, name)) for name in _FITTED},
    }
    if hasattr(classifier, "feature_names_in_"):
        description["feature_names"] = classifier.feature_names_in_.tolist()
    return description


def parameters_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the classifier was made with."""
    parameters = dict(description["parameters"])
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = {label: weight for label, weight in parameters["class_weight"]}
    return parameters


def fitted_attributes(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `fit` sets, but for the network."""
    attributes = dict(description["fitted"])
    attributes["classes_"] = np.array(description["classes"], dtype=description["classes_dtype"])
    if "feature_names" in description:
        attributes["feature_names_in_"] = np.array(description["feature_names"], dtype=object)
    return attributes


def _dtype_of(labels: Any) -> str:
    if labels.dtype.kind not in "biufUO" or (labels.dtype == object and not all(isinstance(x, str) for x in labels)):
        raise ValueError(
            f"labels of {labels.dtype} such as {labels[0]!r} cannot be saved: use numbers or texts as labels"
        )
    return str(labels.dtype)


def _plain(value: Any) -> Any:
    """Python's own types in place of NumPy's, and lists in place of tuples."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value
