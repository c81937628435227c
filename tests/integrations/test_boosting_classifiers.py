"""What LightGBM, XGBoost and CatBoost learn with squentropy: one step by hand, and how they work with scikit-learn."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import squentropy as sq
from squentropy.integrations import boosting

IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def lightgbm(**parameters):
    pytest.importorskip("lightgbm", reason="LightGBM is not installed: pip install lightgbm")
    from squentropy.integrations.lightgbm import SquentropyLGBMClassifier

    return SquentropyLGBMClassifier(**{"n_estimators": 20, "n_jobs": 1, "verbose": -1, **parameters})


def xgboost(**parameters):
    pytest.importorskip("xgboost", reason="XGBoost is not installed: pip install xgboost-cpu")
    from squentropy.integrations.xgboost import SquentropyXGBClassifier

    return SquentropyXGBClassifier(**{"n_estimators": 20, "n_jobs": 1, **parameters})


def catboost(**parameters):
    pytest.importorskip("catboost", reason="CatBoost is not installed: pip install catboost")
    from squentropy.integrations.catboost import SquentropyCatBoostClassifier

    rounds = {"iterations": parameters.pop("n_estimators", 20), "allow_writing_files": False, "verbose": 0}
    return SquentropyCatBoostClassifier(**{"thread_count": 1, "random_seed": 0, **rounds, **parameters})


each_library = pytest.mark.parametrize("make", [lightgbm, xgboost, catboost], ids=lambda make: make.__name__)

# One tree of one split without regularisation, so that a leaf's score is a Newton step from the starting score.
ONE_SPLIT = {
    lightgbm: {"n_estimators": 1, "num_leaves": 2, "learning_rate": 1.0, "min_child_samples": 1, "reg_lambda": 0.0},
    xgboost: {"n_estimators": 1, "max_depth": 1, "learning_rate": 1.0, "reg_lambda": 0.0, "min_child_weight": 0.0},
    catboost: {
        "n_estimators": 1,
        "depth": 1,
        "learning_rate": 1.0,
        "l2_leaf_reg": 0.0,
        "leaf_estimation_iterations": 1,
        "boost_from_average": False,
        "bootstrap_type": "No",
        "random_strength": 0.0,
    },
}


@each_library
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("square_weight", [0.4, 1.0])
def test_first_step_is_newtons_from_the_best_constant(make, classes, square_weight):
    rng = np.random.default_rng(0)
    target, weight = rng.integers(classes, size=60), rng.uniform(0.5, 2, 60)
    side = (rng.random(60) < 0.5).astype(float)  # the only feature, so that any tree has these two leaves
    target[:5], side[:5] = 1, 1.0
    classifier = make(**ONE_SPLIT[make], square_weight=square_weight).fit(side[:, None], target, sample_weight=weight)
    totals = np.bincount(target, weight, classes)
    start = boosting.starting_scores(totals, square_weight)
    logits = torch.tensor(np.tile(start, (60, 1)))
    for leaf in (0.0, 1.0):
        rows = side == leaf
        gradient, hessian = boosting.gradient_and_hessian(logits[rows], target[rows], square_weight)
        if make is catboost:  # takes the whole Hessian

            def loss(row, y):
                return sq.squentropy(row, y, square_weight=square_weight)

            whole = torch.func.vmap(torch.func.hessian(loss))(logits[rows], torch.tensor(target[rows])).numpy()
            step = np.linalg.solve((whole * weight[rows, None, None]).sum(0), weight[rows] @ gradient)
        else:
            step = weight[rows] @ gradient / (weight[rows] @ hessian)
        scores = start - step
        found = classifier.decision_function(np.array([[leaf]]))
        np.testing.assert_allclose(found, [scores[1] - scores[0]] if classes == 2 else [scores], rtol=1e-4, atol=1e-5)


@each_library
def test_without_anything_to_learn_the_constant_remains(make):
    target = np.tile(np.repeat([0, 1, 2], [30, 15, 5]), 2)
    side = np.repeat([0.0, 1.0], 50)[:, None]  # on each the same classes
    proba = make(n_estimators=3).fit(side, target).predict_proba(side)
    best = boosting.probabilities(boosting.starting_scores([30, 15, 5]))
    np.testing.assert_allclose(proba, np.tile(best, (100, 1)), atol=1e-6)


@each_library
@pytest.mark.parametrize("labels", [NAMES, NAMES.astype(object), np.array([30, -1, 7])], ids=["text", "object", "int"])
def test_labels_and_probabilities(make, labels):
    y = labels[IRIS[1]]
    classifier = make().fit(IRIS[0], y)
    proba = classifier.predict_proba(IRIS[0])
    assert list(classifier.classes_) == sorted(labels)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(
        np.log(proba) - np.log(proba).mean(1, keepdims=True),
        (decision := classifier.decision_function(IRIS[0])) - decision.mean(1, keepdims=True),
        atol=1e-4,
    )
    assert np.array_equal(classifier.predict(IRIS[0]), classifier.classes_[proba.argmax(1)])
    assert classifier.score(IRIS[0], y) > 0.93


@each_library
def test_two_classes(make):
    X, y = load_breast_cancer(return_X_y=True)
    y = np.array(["bad", "good"])[y]
    classifier = make().fit(X[:400], y[:400])
    decision, proba = classifier.decision_function(X[400:]), classifier.predict_proba(X[400:])
    assert decision.shape == (169,)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-decision)), rtol=1e-4)
    assert classifier.score(X[400:], y[400:]) > 0.9


@each_library
def test_class_weights_are_sample_weights(make):
    X, y = IRIS
    by_class = make(class_weight={"virginica": 3.0}).fit(X, NAMES[y])
    by_row = make().fit(X, NAMES[y], sample_weight=np.where(y == 2, 3.0, 1.0))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-6)
    assert not np.allclose(make().fit(X, NAMES[y]).predict_proba(X), by_row.predict_proba(X))


@each_library
def test_early_stopping_watches_the_log_loss(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), np.array(["a", "b", "c"])[rng.integers(3, size=300)]  # nothing to learn
    watched = (X[200:], y[200:])
    if make is lightgbm:
        from lightgbm import early_stopping

        stops = early_stopping(5, verbose=False)
        classifier = make(n_estimators=200).fit(X[:200], y[:200], eval_set=watched, callbacks=[stops])
        curve, rounds = classifier.evals_result_["valid_0"]["multi_logloss"], classifier.best_iteration_
    elif make is xgboost:
        classifier = make(n_estimators=200, early_stopping_rounds=5).fit(X[:200], y[:200], eval_set=[watched])
        curve, rounds = classifier.evals_result()["validation_0"]["mlogloss"], classifier.best_iteration + 1
    else:
        classifier = make(n_estimators=200).fit(X[:200], y[:200], eval_set=watched, early_stopping_rounds=5)
        curve, rounds = classifier.get_evals_result()["validation"]["MultiClass"], classifier.get_best_iteration() + 1
    assert len(curve) < 200
    assert int(np.argmin(curve)) + 1 == rounds
    assert log_loss(y[200:], classifier.predict_proba(X[200:])) == pytest.approx(min(curve), rel=1e-4)


@each_library
def test_clone_pickle_and_grid_search(make):
    classifier = make(square_weight=0.5, class_weight={"setosa": 2.0}).fit(IRIS[0], NAMES[IRIS[1]])
    copy = clone(classifier)
    assert copy.get_params() == classifier.get_params()
    assert copy.square_weight == 0.5
    unpickled = pickle.loads(pickle.dumps(classifier))  # noqa: S301
    assert np.array_equal(unpickled.predict_proba(IRIS[0]), classifier.predict_proba(IRIS[0]))
    assert np.array_equal(unpickled.predict(IRIS[0]), classifier.predict(IRIS[0]))
    pipeline = make_pipeline(StandardScaler(), make(n_estimators=3))
    (name,) = (step for step in pipeline.named_steps if step != "standardscaler")
    search = GridSearchCV(pipeline, {f"{name}__square_weight": [0.1, 1.0]}, cv=2, error_score="raise")
    search.fit(IRIS[0], NAMES[IRIS[1]])
    first, second = search.cv_results_["mean_test_score"], search.best_estimator_[-1].get_params()["square_weight"]
    assert first.min() > 0.8
    assert second in (0.1, 1.0)


@each_library
def test_square_weight_makes_a_difference(make):
    proba = [make(square_weight=weight).fit(*IRIS).predict_proba(IRIS[0]) for weight in (0.0, 1.0)]
    assert not np.allclose(*proba, atol=1e-3)


@each_library
def test_calibrated_classifier(make):
    calibrated = CalibratedClassifierCV(make(n_estimators=5), method="temperature", cv=2).fit(IRIS[0], NAMES[IRIS[1]])
    assert calibrated.score(IRIS[0], NAMES[IRIS[1]]) > 0.9


def test_lightgbm_without_square_term_is_its_multiclass_objective():
    """But for a factor C/(C-1) of its Hessian, which is another learning rate where nothing is regularised."""
    from lightgbm import LGBMClassifier

    settings = {"n_estimators": 5, "n_jobs": 1, "verbose": -1, "min_child_weight": 0.0}
    theirs = LGBMClassifier(**settings, learning_rate=0.15).fit(*IRIS)
    ours = lightgbm(**settings, learning_rate=0.1, square_weight=0.0).fit(*IRIS)
    np.testing.assert_allclose(ours.predict_proba(IRIS[0]), theirs.predict_proba(IRIS[0]), rtol=1e-4)


def test_lightgbm_files_hold_the_starting_score(tmp_path):
    import lightgbm as library

    classifier = lightgbm().fit(*IRIS)
    classifier.booster_.save_model(tmp_path / "model.txt")
    raw = library.Booster(model_file=tmp_path / "model.txt").predict(IRIS[0], raw_score=True)
    np.testing.assert_allclose(raw, classifier.decision_function(IRIS[0]), rtol=1e-12)
    np.testing.assert_allclose(classifier.predict(IRIS[0], raw_score=True), raw)
    assert classifier.predict_proba(IRIS[0], pred_leaf=True).shape == (150, 60)


def test_lightgbm_metrics():
    classifier = lightgbm(n_estimators=4)

    def worst(y_true, y_pred):
        return "worst", float(boosting.losses(y_pred, y_true.astype(int)).max()), False

    metrics = ["multi_error", "squentropy", worst]
    weight = np.linspace(0.5, 2, 150)
    classifier.fit(*IRIS, eval_set=[IRIS], eval_sample_weight=[weight], eval_metric=metrics)
    results = classifier.evals_result_["valid_0"]
    losses = sq.squentropy(torch.tensor(classifier.decision_function(IRIS[0])), torch.tensor(IRIS[1]), reduction="none")
    assert results["squentropy"][-1] == pytest.approx(np.average(losses.numpy(), weights=weight), rel=1e-6)
    assert results["worst"][-1] == pytest.approx(losses.max().item(), rel=1e-6)
    assert results["multi_error"][-1] == pytest.approx(1 - classifier.score(*IRIS, sample_weight=weight))
    with pytest.raises(ValueError, match="eval_metric is 'auc'; use one of multi_logloss, multi_error, squentropy"):
        classifier.fit(*IRIS, eval_metric="auc")


def test_xgboost_files_hold_starting_scores_and_labels(tmp_path):
    import xgboost as library

    y = NAMES[IRIS[1]]
    for rows in (np.arange(150), np.arange(100)):
        classifier = xgboost().fit(IRIS[0][rows], y[rows])
        classifier.save_model(tmp_path / "model.json")
        loaded = xgboost()
        loaded.load_model(tmp_path / "model.json")
        assert np.array_equal(loaded.predict(IRIS[0]), classifier.predict(IRIS[0]))
        assert np.array_equal(loaded.predict_proba(IRIS[0]), classifier.predict_proba(IRIS[0]))
        booster = library.Booster(model_file=tmp_path / "model.json")
        np.testing.assert_allclose(booster.predict(library.DMatrix(IRIS[0])), classifier.predict_proba(IRIS[0]))


def test_catboost_files_hold_starting_scores_and_labels(tmp_path):
    y = NAMES[IRIS[1]]
    classifier = catboost().fit(IRIS[0], y)
    classifier.save_model(str(tmp_path / "model.cbm"))
    loaded = catboost().load_model(str(tmp_path / "model.cbm"))
    assert np.array_equal(loaded.predict(IRIS[0]), classifier.predict(IRIS[0]))
    assert np.array_equal(loaded.predict_proba(IRIS[0]), classifier.predict_proba(IRIS[0]))
    assert np.array_equal(list(classifier.staged_predict(IRIS[0]))[-1], classifier.predict(IRIS[0]))
    np.testing.assert_allclose(np.exp(classifier.predict(IRIS[0], "LogProbability")), classifier.predict_proba(IRIS[0]))


def test_catboost_takes_categories():
    import pandas as pd

    frame = pd.DataFrame({"colour": ["red", "green", "blue"] * 20, "size": np.arange(60) % 7})
    y = np.where(frame["colour"] == "red", "yes", "no")
    for classifier in (catboost(cat_features=["colour"]).fit(frame, y), catboost().fit(frame, y, cat_features=[0])):
        assert classifier.score(frame, y) == 1.0


@each_library
def test_bad_input(make):
    X, y = IRIS
    with pytest.raises(ValueError, match="y has only one class, 0"):
        make().fit(X, np.zeros(150, dtype=int))
    with pytest.raises(ValueError, match=r"square_weight is -1.0; it must be finite and not negative"):
        make(square_weight=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight of shape"):
        make().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="eval_set has the label 7, which y has not"):
        make().fit(X, y, eval_set=[(X[:1], [7])])
    with pytest.raises(ValueError, match="objective is 'multiclass'; leave it out"):
        make(objective="multiclass").fit(X, y)


def test_what_cannot_be_set():
    with pytest.raises(ValueError, match="boosting_type is 'rf'; use one of"):
        lightgbm(boosting_type="rf").fit(*IRIS)
    with pytest.raises(ValueError, match="linear_tree is True; use False"):
        lightgbm(linear_tree=True).fit(*IRIS)
    with pytest.raises(ValueError, match=r"base_score is 0.5; leave it out"):
        xgboost(base_score=0.5).fit(*IRIS)
    with pytest.raises(ValueError, match=r"class_weights is .*; leave it out, or use class_weight"):
        catboost(class_weights=[1, 2, 3]).fit(*IRIS)
    with pytest.raises(ValueError, match="baseline is given; leave it out"):
        catboost().fit(*IRIS, baseline=np.zeros((150, 3)))
    from catboost import Pool

    with pytest.raises(TypeError, match="a Pool cannot be used"):
        catboost().fit(Pool(*IRIS), IRIS[1])
