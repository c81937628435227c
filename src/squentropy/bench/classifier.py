"""Fitting a classifier to a table of 20,000 rows, beside scikit-learn's own network."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from squentropy.bench.case import Case, Errors, Step, Target

_EPOCHS, _SEEDS = 5, 3
BASELINE, OURS = "MLPClassifier", "SquentropyClassifier"


class _Setting(NamedTuple):
    """A table's size, and the network and batches of both."""

    rows: int
    features: int
    classes: int
    hidden: Sequence[int]
    batch_size: int


class _Table(NamedTuple):
    inputs: Any
    target: Any

    @classmethod
    def of(cls, setting: _Setting) -> "_Table":
        """Half as many rows more than are trained on."""
        from sklearn.datasets import make_classification

        rows = setting.rows + setting.rows // 2
        return cls(
            *make_classification(
                rows,
                setting.features,
                n_informative=setting.features // 2,
                n_classes=setting.classes,
                random_state=0,
            )
        )

    def part(self, start: int | None, end: int | None) -> "_Table":
        return _Table(self.inputs[start:end], self.target[start:end])


def _classifiers(setting: _Setting, seed: int, device: torch.device) -> dict[str, Any]:
    from sklearn.neural_network import MLPClassifier

    from squentropy.integrations.sklearn import SquentropyClassifier

    *_, hidden, batch_size = setting
    return {
        BASELINE: MLPClassifier(
            hidden, batch_size=batch_size, max_iter=_EPOCHS, n_iter_no_change=_EPOCHS, random_state=seed
        ),
        OURS: SquentropyClassifier(
            hidden, batch_size=batch_size, epochs=_EPOCHS, patience=None, random_state=seed, device=str(device)
        ),
    }


def _fitted(classifier: Any, table: _Table) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier.fit(*table)


def _steps(setting: _Setting, device: torch.device) -> dict[str, Step]:
    """A few epochs of the same network with the same batches, from NumPy's arrays to a fitted estimator."""
    table = _Table.of(setting).part(None, setting.rows)
    return {name: partial(_fitted, each, table) for name, each in _classifiers(setting, 0, device).items()}


def _errors(setting: _Setting, device: torch.device) -> Errors:
    """The share of other rows that are classified wrongly, the mean over seeds."""
    table = _Table.of(setting)
    trained, tested = table.part(None, setting.rows), table.part(setting.rows, None)
    wrong = dict.fromkeys((BASELINE, OURS), 0.0)
    for seed in range(_SEEDS):
        for name, each in _classifiers(setting, seed, device).items():
            wrong[name] += (1 - float(_fitted(each, trained).score(*tested))) / _SEEDS
    return wrong


def _case(name: str, setting: _Setting) -> Case:
    targets = Target(OURS, 0.5, BASELINE), Target(OURS, 1.0, BASELINE, "error")
    return Case(f"classifier/{name}", partial(_steps, setting), BASELINE, targets, partial(_errors, setting))


CLASSIFIER_CASES = [
    _case("20000x50x10", _Setting(20_000, 50, 10, (64, 128, 64), 200)),  # as SquentropyClassifier does by itself
    _case("20000x50x10-one-layer", _Setting(20_000, 50, 10, (100,), 200)),  # as MLPClassifier does by itself
    _case("20000x50x10-small-batches", _Setting(20_000, 50, 10, (64, 128, 64), 32)),
]
