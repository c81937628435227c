"""What SquentropyClassifier refuses, and in which words; and what its files hold."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.datasets import load_iris

import squentropy as sq
from squentropy.integrations.sklearn import SquentropyClassifier

X, Y = load_iris(return_X_y=True)


def classifier(**parameters):
    return SquentropyClassifier(**{"hidden_layer_sizes": (8,), "epochs": 2, "random_state": 0, **parameters})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hinge"}, "loss is 'hinge'; use one of squentropy, cross_entropy"),
        ({"loss": 3}, "loss is 3; use one of"),
        ({"loss_params": {"gamma": 1.0}}, r"loss_params has 'gamma'; squentropy takes label_smoothing, square_weight$"),
        ({"loss_params": {"weight": [1.0]}}, "loss_params has 'weight': use class_weight"),
        ({"loss_params": {"square_weight": -1.0}}, "square_weight is -1.0"),
        ({"loss": "focal", "loss_params": {"gamma": -1.0}}, "gamma is -1.0"),
        ({"optimizer": "LBFGS"}, "optimizer is 'LBFGS'; use one of Adam, AdamW, SGD"),
        ({"optimizer_params": {"momentum": 0.9}}, "optimizer_params has 'momentum'; Adam takes lr, betas"),
        ({"optimizer": "Rprop", "weight_decay": 0.1}, "weight_decay is 0.1, but Rprop has none"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; use a number above 0.0"),
        ({"learning_rate": "fast"}, "learning_rate is 'fast'; use a number"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1; use a number from 0.0"),
        ({"epochs": 0}, "epochs is 0; use at least 1"),
        ({"epochs": 2.5}, "epochs is 2.5; use a whole number"),
        ({"batch_size": 0}, "batch_size is 0; use at least 1"),
        ({"batch_size": "all"}, "batch_size is 'all'; use a whole number"),
        ({"patience": 0}, "patience is 0; use at least 1"),
        ({"validation_fraction": 1.0}, "validation_fraction is 1.0; use a number above 0.0 and at most 0.9"),
        ({"hidden_layer_sizes": (10, 0)}, "hidden_layer_sizes is 0; use at least 1"),
        ({"hidden_layer_sizes": "100"}, "hidden_layer_sizes is '100'; use a whole number"),
        ({"class_weight": "even"}, "class_weight is 'even'; use \"balanced\", a dict or None"),
        ({"device": "tpu"}, 'device is \'tpu\'; use "cpu", "cuda" or "auto"'),
        ({"random_state": "seed"}, "random_state is 'seed'; use a whole number"),
    ],
)
def test_parameters(parameters, message):
    estimator = SquentropyClassifier(**parameters)
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "classes_")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu():
    with pytest.raises(ValueError, match="PyTorch sees no GPU"):
        classifier(device="cuda").fit(X, Y)
    assert classifier(device="auto").fit(X, Y).score(X, Y) > 0


def test_data():
    with pytest.raises(ValueError, match="only one class, 7: a classifier needs rows of two or more"):
        classifier().fit(X, np.full(len(X), 7))
    with pytest.raises(ValueError, match=r"too large for torch.float32: standardise it first"):
        classifier(batch_size=10).fit(X * 1e60, Y)
    with pytest.raises(ValueError, match="contains NaN"):
        classifier().fit(np.where(X > 7, np.nan, X), Y)
    with pytest.raises(ValueError, match="all rows have the weight 0"):
        classifier(class_weight={0: 0.0, 1: 0.0, 2: 0.0}).fit(X, Y)
    with pytest.raises(ValueError, match=r"(?i)negative"):
        classifier().fit(X, Y, -np.ones(len(X)))
    with pytest.raises(ValueError, match="Unknown label type"):
        classifier().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"training diverged, its loss is .*: standardise the inputs"):
        classifier(optimizer="SGD", learning_rate=1e6, epochs=20).fit(X, Y)


def test_a_loss_of_a_mean_cannot_be_weighted():
    loss = sq.SquentropyLoss()
    assert classifier(loss=loss).fit(X, Y).n_iter_ == 2
    with pytest.raises(
        ValueError, match='rows cannot be weighted: return one value for each, as with reduction="none"'
    ):
        classifier(loss=loss, class_weight="balanced").fit(X, Y)
    with pytest.raises(ValueError, match=r"loss <lambda> returned \(32, 3\); use one that gives \(32,\)"):
        classifier(loss=lambda logits, target: logits).fit(X, Y)


def test_partial_fit():
    with pytest.raises(ValueError, match="classes is None; give all labels in the first call"):
        classifier().partial_fit(X, Y)
    with pytest.raises(ValueError, match="y has the label 2, which is not among the classes"):
        classifier().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes is .*, but the network has"):
        classifier().fit(X, Y).partial_fit(X, Y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="partial_fit does not see all rows: give the weights as a dict"):
        classifier(class_weight="balanced").partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        classifier().fit(X, Y).partial_fit(X[:, :2], Y)


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"], np.array(["x", "y", "z"], dtype=object)])
@pytest.mark.parametrize("hidden", [(), (8, 8)])
def test_saved_and_loaded(tmp_path, labels, hidden):
    y = np.asarray(labels)[Y]
    weights = {label: 2.0 for label in y[:1].tolist()}
    saved = classifier(hidden_layer_sizes=hidden, class_weight=weights, early_stopping=True).fit(X, y)
    saved.save(tmp_path / "iris.safetensors")
    loaded = SquentropyClassifier.load(tmp_path / "iris.safetensors")
    assert os.listdir(tmp_path) == ["iris.safetensors"]
    assert loaded.get_params() | {"hidden_layer_sizes": None} == saved.get_params() | {"hidden_layer_sizes": None}
    assert list(loaded.hidden_layer_sizes) == list(hidden)
    assert loaded.classes_.dtype == saved.classes_.dtype
    for name in ("n_features_in_", "n_iter_", "loss_curve_", "validation_loss_curve_"):
        assert getattr(loaded, name) == getattr(saved, name)
    for each in (saved, loaded):  # predictions, and how training goes on
        each.partial_fit(X, y)
    assert np.array_equal(loaded.predict_proba(X), saved.predict_proba(X))
    assert np.array_equal(loaded.predict(X), saved.predict(X))


def test_names_of_columns_are_saved(tmp_path):
    frame = load_iris(as_frame=True)
    classifier().fit(frame.data, Y).save(tmp_path / "f")
    loaded = SquentropyClassifier.load(tmp_path / "f")
    assert list(loaded.feature_names_in_) == list(frame.data.columns)
    assert loaded.predict(frame.data).shape == (150,)


def test_loading_in_another_process_needs_no_pickle(tmp_path):
    fitted = classifier().fit(X, Y)
    fitted.save(tmp_path / "f")
    code = """
import pickle, sys
from squentropy.integrations.sklearn import SquentropyClassifier
def refuse(*_, **__): raise AssertionError("unpickled")
pickle.load = pickle.loads = pickle.Unpickler = refuse
print(SquentropyClassifier.load(sys.argv[1]).predict_proba([[5.1, 3.5, 1.4, 0.2]]).tolist())
"""
    shown = subprocess.run([sys.executable, "-c", code, tmp_path / "f"], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(shown.stdout), fitted.predict_proba(X[:1]), rtol=1e-12)


def test_files_that_cannot_be_read_or_written(tmp_path):
    path = tmp_path / "f"
    with pytest.raises(FileNotFoundError, match="save a fitted classifier there first"):
        SquentropyClassifier.load(path)
    with pytest.raises(Exception, match="not fitted"):
        classifier().save(path)
    with pytest.raises(ValueError, match="a function as its loss cannot be saved"):
        classifier(loss=sq.squentropy).fit(X, Y).save(path)
    assert not path.exists()
    classifier().fit(X, Y).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(ValueError, match="is no squentropy classifier file, or damaged"):
        SquentropyClassifier.load(path)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(ValueError, match="is no squentropy classifier file"):
        SquentropyClassifier.load(path)
    save_file({"a": torch.zeros(1)}, path, {"squentropy": '{"kind": "recalibrator", "version": 1}'})
    with pytest.raises(ValueError, match="holds a 'recalibrator', not a 'squentropy classifier'"):
        SquentropyClassifier.load(path)


def test_a_file_of_a_later_version(tmp_path):
    path = tmp_path / "f"
    classifier().fit(X, Y).save(path)
    with safe_open(path, framework="pt") as file:
        description = json.loads(file.metadata()["squentropy"])
    save_file(load_file(path), path, {"squentropy": json.dumps({**description, "version": 2})})
    with pytest.raises(ValueError, match="has format 2, this version of squentropy reads up to 1: upgrade"):
        SquentropyClassifier.load(path)
