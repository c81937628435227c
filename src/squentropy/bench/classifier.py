"""Fitting a classifier to a table of 20,000 rows, beside scikit-learn's own network."""

import warnings

import torch

from squentropy.bench.case import Case, Step, Target

_EPOCHS, _BATCH_SIZE, _HIDDEN = 3, 200, (64, 128, 64)
BASELINE, OURS = "MLPClassifier", "SquentropyClassifier"


def _steps(rows: int, features: int, classes: int, device: torch.device) -> dict[str, Step]:
    """A few epochs of the same network with the same batches, from NumPy's arrays to a fitted estimator."""
    from sklearn.datasets import make_classification
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    from squentropy.integrations.sklearn import SquentropyClassifier

    X, y = make_classification(rows, features, n_informative=features // 2, n_classes=classes, random_state=0)  # noqa: N806
    theirs = MLPClassifier(_HIDDEN, batch_size=_BATCH_SIZE, max_iter=_EPOCHS, n_iter_no_change=_EPOCHS, random_state=0)
    ours = SquentropyClassifier(
        _HIDDEN, batch_size=_BATCH_SIZE, epochs=_EPOCHS, patience=None, random_state=0, device=str(device)
    )

    def fit_theirs() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return theirs.fit(X, y)

    return {BASELINE: fit_theirs, OURS: lambda: ours.fit(X, y)}


def _case(rows: int, features: int, classes: int) -> Case:
    def steps(device: torch.device) -> dict[str, Step]:
        return _steps(rows, features, classes, device)

    return Case(f"classifier/{rows}x{features}x{classes}", steps, BASELINE, (Target(OURS, 0.5, BASELINE),))


CLASSIFIER_CASES = [_case(20_000, 50, 10)]
