"""SquentropyClassifier as an estimator: scikit-learn's own checks, and how it works with the rest of scikit-learn."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from squentropy.integrations.sklearn import SquentropyClassifier

IRIS = load_iris(return_X_y=True)


def small(**parameters):
    return SquentropyClassifier((16,), **{"learning_rate": 0.01, "epochs": 30, "random_state": 0, **parameters})


@pytest.mark.parametrize(
    "parameters",
    [{"epochs": 30, "learning_rate": 0.01}, pytest.param({}, marks=pytest.mark.slow)],
    ids=["few epochs", "default"],
)
def test_every_check_of_check_estimator_passes(parameters):
    command = [sys.executable, "-m", "tests.integrations.checks", json.dumps(parameters)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert [each for each in results if each[1] != "passed"] == []
    names = {name for name, _, _ in results}
    assert len(results) >= 60
    assert {
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_class_weight_classifiers",
        "check_decision_proba_consistency",
        "check_array_api_input",
    } - names <= {"check_array_api_input"}


def test_global_random_states_are_neither_used_nor_changed():
    torch.manual_seed(5)
    np.random.seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    first = small(early_stopping=True).fit(*IRIS).predict_proba(IRIS[0])
    small(random_state=None).fit(*IRIS)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])
    torch.manual_seed(6)
    np.random.seed(6)
    assert np.array_equal(small(early_stopping=True).fit(*IRIS).predict_proba(IRIS[0]), first)


def test_seeds():
    proba = {seed: small(random_state=seed).fit(*IRIS).predict_proba(IRIS[0]) for seed in (0, 1)}
    assert not np.array_equal(proba[0], proba[1])
    state = np.random.RandomState(3)
    one, other = (small(random_state=state).fit(*IRIS).predict_proba(IRIS[0]) for _ in range(2))
    assert not np.array_equal(one, other)
    one, other = (small(random_state=None).fit(*IRIS).predict_proba(IRIS[0]) for _ in range(2))
    assert not np.array_equal(one, other)


def test_number_of_threads_is_restored():
    torch.set_num_threads(2)
    try:
        small().fit(*IRIS)
        with pytest.raises(ValueError, match="diverged"):
            small(loss=lambda logits, target: logits.sum(1) * torch.nan).fit(*IRIS)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize(
    "labels", [np.array(["setosa", "versicolor", "virginica"]), np.array(["a", "b", "c"], dtype=object), [10, -3, 7]]
)
def test_labels_of_any_kind(labels):
    X, codes = IRIS
    y = np.asarray(labels)[codes]
    classifier = small().fit(X, y)
    assert list(classifier.classes_) == sorted(labels)
    assert classifier.score(X, y) > 0.9
    assert classifier.classes_.dtype == y.dtype


def test_two_classes_of_bool():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    classifier = small().fit(X, y == 1)
    proba, decision = classifier.predict_proba(X), classifier.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-decision)), rtol=1e-12)
    assert np.array_equal(classifier.predict(X), decision > 0)
    assert classifier.score(X, y == 1) > 0.95


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outputs_have_the_dtype_of_the_inputs(dtype):
    X, y = make_classification(300, 5, random_state=0)
    classifier = small(batch_size=50).fit(X.astype(dtype), y)
    assert classifier.predict_proba(X.astype(dtype)).dtype == dtype
    assert classifier.decision_function(X.astype(dtype)).dtype == dtype
    assert classifier.module_[0].weight.dtype is torch.float32  # many rows are computed in float32 all the same
    np.testing.assert_allclose(classifier.predict_proba(X.astype(dtype)).sum(1), 1.0, rtol=1e-6)


def test_module_gives_the_logits():
    X, y = IRIS
    classifier = small().fit(X, y)
    with torch.no_grad():
        logits = classifier.module_(torch.tensor(X, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(classifier.decision_function(X), logits, rtol=1e-5)


def passengers(rows=400):
    """A table of mixed types with gaps, in which the words decide."""
    rng = np.random.default_rng(0)
    ticket = rng.choice(["first", "second", "third"], rows)
    X = pd.DataFrame({"age": rng.normal(40, 12, rows), "ticket": ticket, "fare": rng.gamma(2, 20, rows)})
    y = np.where((ticket == "first") | (X["age"] < 25), "yes", "no")
    X.loc[::7, "age"] = np.nan
    return X, y


def mixed_pipeline(sparse_threshold=0.3):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["age", "fare"]),
        (OneHotEncoder(handle_unknown="ignore"), ["ticket"]),
        sparse_threshold=sparse_threshold,
    )
    return make_pipeline(columns, small())


@pytest.mark.parametrize("sparse_threshold", [0.0, 1.0], ids=["dense", "sparse"])
def test_data_frames_of_mixed_types_through_the_usual_pipeline(sparse_threshold):
    X, y = passengers()
    model = mixed_pipeline(sparse_threshold).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    strange = X[300:302].assign(ticket=["fourth", "first"], age=[np.nan, 30.0])
    assert model.predict_proba(strange).shape == (2, 2)


def test_set_output_gives_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), small()).set_output(transform="pandas").fit(X, y)
    assert list(model[-1].feature_names_in_) == list(X.columns)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model[-1].predict(X.rename(columns={X.columns[0]: "other"}))


def test_sparse_rows_give_what_dense_rows_give():
    from scipy.sparse import coo_array, csr_matrix

    X, y = make_classification(300, 8, random_state=0)
    X[np.abs(X) < 0.7] = 0.0
    dense = small(batch_size=50, early_stopping=True).fit(X, y)
    for kind in (csr_matrix, coo_array):
        sparse = small(batch_size=50, early_stopping=True).fit(kind(X), y)
        assert np.array_equal(sparse.predict_proba(kind(X)), dense.predict_proba(X))


def test_grid_search_over_the_loss_and_its_parameters():
    grid = [
        {"loss": ["squentropy"], "loss_params": [{"square_weight": 0.1}, {"square_weight": 1.0}]},
        {"loss": ["focal", "cross_entropy"], "hidden_layer_sizes": [(), (8, 8)]},
    ]
    search = GridSearchCV(small(epochs=5), grid, cv=2, error_score="raise").fit(*IRIS)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_estimator_.score(*IRIS) > 0.5


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("classes", [2, 3])
def test_calibrated_classifier(method, classes):
    X, y = IRIS[0][IRIS[1] < classes], IRIS[1][IRIS[1] < classes]
    calibrated = CalibratedClassifierCV(small(), method=method, cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(1), 1.0, rtol=1e-6)
    assert calibrated.score(X, y) > 0.8


def test_cross_val_predict_and_clone():
    proba = cross_val_predict(small(), *IRIS, method="predict_proba", cv=3)
    assert (proba.argmax(1) == IRIS[1]).mean() > 0.85
    classifier = small(loss_params={"square_weight": 0.5}, class_weight={0: 2.0}).fit(*IRIS)
    assert clone(classifier).get_params() == classifier.get_params()
    assert not hasattr(clone(classifier), "module_")


def test_sample_weight_through_metadata_routing():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        model = make_pipeline(PCA(2), small().set_fit_request(sample_weight=True))
        model.fit(*IRIS, sample_weight=(IRIS[1] != 2).astype(float))
    assert set(model.predict(IRIS[0])) == {0, 1}


def test_a_pickled_classifier_goes_on_as_the_original():
    first = small().fit(*IRIS)
    second = pickle.loads(pickle.dumps(first))  # noqa: S301
    for classifier in (first, second):
        classifier.partial_fit(*IRIS)
    assert np.array_equal(first.predict_proba(IRIS[0]), second.predict_proba(IRIS[0]))
    assert first.module_[0].weight.data_ptr() != second.module_[0].weight.data_ptr()


def test_the_package_has_the_classifier_without_loading_scikit_learn():
    code = "import sys, squentropy; print('sklearn' in sys.modules); print(squentropy.SquentropyClassifier.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert shown[-1] == "SquentropyClassifier"
    torch_alone = subprocess.run(
        [sys.executable, "-c", "import sys, torch; print('sklearn' in sys.modules)"], capture_output=True, text=True
    )
    assert shown[0] == torch_alone.stdout.strip()
