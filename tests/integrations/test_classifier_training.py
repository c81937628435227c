"""How SquentropyClassifier trains: against PyTorch's own loop, and when it stops; weights, batches, going on."""

import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_iris, make_classification
from torch import nn

import squentropy as sq
from squentropy.integrations.sklearn import SquentropyClassifier
from squentropy.losses import LOSSES

X, Y = make_classification(257, 6, n_informative=4, n_classes=3, random_state=0)
IRIS = load_iris(return_X_y=True)


def classifier(**parameters):
    return SquentropyClassifier((16, 8), **{"epochs": 3, "batch_size": 50, "random_state": 4, **parameters})


def trained_by_autograd(loss, optimizer, weight=None, epochs=3, batch_size=50):
    """The same initial weights and the same order of rows, and everything else as PyTorch's tutorials have it."""
    generator = torch.Generator().manual_seed(4)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for layer in model[::2]:
            bound = 1 / math.sqrt(layer.in_features)
            for values in (layer.weight, layer.bias):
                values.uniform_(-bound, bound, generator=generator)
    step = optimizer(model.parameters())
    inputs, target = torch.tensor(X, dtype=torch.float32), torch.tensor(Y)
    weight = torch.ones(len(target)) if weight is None else torch.tensor(weight, dtype=torch.float32)
    for _ in range(epochs):
        for index in torch.randperm(len(inputs), generator=generator).split(batch_size):
            step.zero_grad()
            torch.mean(weight[index] * loss(model(inputs[index]), target[index])).backward()
            step.step()
    return model


@pytest.mark.parametrize("name", LOSSES)
def test_each_loss_as_by_autograd(name):
    fitted = classifier(loss=name).fit(X, Y)
    model = trained_by_autograd(
        lambda logits, target: LOSSES[name](logits, target, reduction="none"),
        lambda parameters: torch.optim.Adam(parameters, lr=0.002),
    )
    for ours, theirs in zip(fitted.module_.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"momentum": 0.9, "nesterov": True}), ("AdamW", {}), ("RMSprop", {}), ("NAdam", {})]
)
def test_optimizers_as_in_pytorch(name, options):
    fitted = classifier(optimizer=name, optimizer_params=options, learning_rate=0.01, weight_decay=0.01).fit(X, Y)
    model = trained_by_autograd(
        lambda logits, target: sq.squentropy(logits, target, reduction="none"),
        lambda parameters: getattr(torch.optim, name)(parameters, lr=0.01, weight_decay=0.01, **options),
    )
    for ours, theirs in zip(fitted.module_.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_weights_of_samples_and_classes_as_by_autograd():
    rng = np.random.default_rng(0)
    sample_weight, class_weight = rng.uniform(0.5, 2, len(Y)), {0: 1.0, 1: 3.0, 2: 0.5}
    fitted = classifier(class_weight=class_weight).fit(X, Y, sample_weight)
    weight = sample_weight * np.array([1.0, 3.0, 0.5])[Y]
    model = trained_by_autograd(
        lambda logits, target: sq.squentropy(logits, target, reduction="none"),
        lambda parameters: torch.optim.Adam(parameters, lr=0.002),
        weight / weight.mean(),
    )
    for ours, theirs in zip(fitted.module_.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_functions_and_modules_as_losses():
    by_name = classifier(loss="squentropy", loss_params={"square_weight": 0.3}).fit(X, Y)
    for loss, parameters in [
        (sq.squentropy, {"square_weight": 0.3}),
        (sq.SquentropyLoss(square_weight=0.3), None),
        (sq.SquentropyLoss(square_weight=0.3, reduction="none"), None),
        (lambda logits, target, a: sq.squentropy(logits, target, square_weight=a, reduction="none"), {"a": 0.3}),
    ]:
        fitted = classifier(loss=loss, loss_params=parameters).fit(X, Y)
        np.testing.assert_allclose(fitted.predict_proba(X), by_name.predict_proba(X), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(fitted.loss_curve_, by_name.loss_curve_, rtol=1e-4)


@pytest.mark.parametrize("loss", ["squentropy", "focal"])
def test_a_repetition_is_a_weight(loss):
    X, y = IRIS
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)[::-1]
    settings = {"loss": loss, "batch_size": 1000, "epochs": 40, "learning_rate": 0.01, "class_weight": "balanced"}
    one = classifier(**settings).fit(X, y, weight)
    other = classifier(**settings).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9)
    assert one.loss_curve_ == pytest.approx(other.loss_curve_, rel=1e-9)


def test_balanced_classes_count_alike():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [950, 50])
    rows = rng.normal(size=(1000, 2)) + 1.2 * y[:, None]
    plain, balanced = (
        classifier(class_weight=weight, epochs=20, learning_rate=0.01).fit(rows, y) for weight in (None, "balanced")
    )
    assert (plain.predict(rows) == 1).mean() < 0.05
    assert 0.15 < (balanced.predict(rows) == 1).mean() < 0.4
    assert (balanced.predict(rows)[y == 1] == 1).mean() > 0.7


def test_a_class_of_no_weight_may_be_balanced():
    fitted = classifier(class_weight="balanced").fit(X, Y, np.where(Y == 2, 0.0, 1.0))
    assert np.isfinite(fitted.loss_curve_).all()
    assert fitted.predict_proba(X).shape == (len(X), 3)


def test_loss_curve_is_the_mean_loss_of_the_batches():
    fitted = classifier(epochs=1, batch_size=len(X), random_state=1).fit(X, Y)
    untrained = classifier(epochs=1, batch_size=len(X), random_state=1, learning_rate=1e-30).fit(X, Y)
    logits = untrained.module_(torch.tensor(X, dtype=untrained.module_[0].weight.dtype)).detach()
    assert fitted.loss_curve_ == pytest.approx([sq.squentropy(logits, torch.tensor(Y)).item()], rel=1e-6)


def test_without_patience_all_epochs_are_trained():
    assert classifier(epochs=30, patience=None, tol=100.0).fit(X, Y).n_iter_ == 30
    assert classifier(epochs=30, patience=3, tol=100.0).fit(X, Y).n_iter_ == 4  # the first one is better than none


def test_early_stopping_keeps_the_best_weights():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(120, 30)), rng.integers(2, size=120)  # nothing to learn but noise
    settings = {"batch_size": 30, "learning_rate": 0.01, "epochs": 60, "early_stopping": True, "patience": 15}
    fitted = classifier(**settings, validation_fraction=0.3).fit(rows, y)
    curve = fitted.validation_loss_curve_
    assert len(curve) == len(fitted.loss_curve_) == fitted.n_iter_ < 60
    assert min(curve) < curve[-1]
    best = int(np.argmin(curve)) + 1
    again = classifier(**{**settings, "epochs": best, "patience": None}, validation_fraction=0.3).fit(rows, y)
    assert np.array_equal(again.predict_proba(rows), fitted.predict_proba(rows))


def test_early_stopping_with_classes_of_one_row():
    y = np.where(np.arange(len(Y)) == 5, 3, Y)
    assert classifier(early_stopping=True).fit(X, y).predict_proba(X).shape == (len(X), 4)
    with pytest.raises(ValueError, match="early_stopping needs a class with two rows"):
        classifier(early_stopping=True).fit(X[:3], [0, 1, 2])


def test_partial_fit_in_parts_goes_on_where_fit_stopped():
    """One batch an epoch needs no random order, so that epochs can be counted."""
    settings = {"batch_size": 500, "learning_rate": 0.01}
    whole = classifier(**settings, epochs=6).fit(X, Y)
    parts = classifier(**settings, epochs=2).fit(X, Y)
    for _ in range(4):
        parts.partial_fit(X, Y)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert parts.n_iter_ == 6
    assert parts.loss_curve_ == pytest.approx(whole.loss_curve_)


def test_warm_start_goes_on_and_a_cold_one_does_not():
    settings = {"batch_size": 500, "learning_rate": 0.01}
    warm = classifier(**settings, epochs=3, warm_start=True).fit(X, Y).fit(X, Y)
    whole = classifier(**settings, epochs=6).fit(X, Y)
    assert np.array_equal(warm.predict_proba(X), whole.predict_proba(X))
    cold = classifier(**settings, epochs=3).fit(X, Y).fit(X, Y)
    assert cold.n_iter_ == 3
    with pytest.raises(ValueError, match="y has the classes"):
        warm.fit(X[Y < 2], Y[Y < 2])


def test_partial_fit_learns_from_a_stream():
    rows, y = load_digits(return_X_y=True)
    stream = SquentropyClassifier((64,), learning_rate=0.003, random_state=0)
    for _ in range(4):
        for part in np.array_split(np.arange(1500), 15):
            stream.partial_fit(rows[part] / 16, y[part], classes=np.arange(10))
    assert stream.score(rows[1500:] / 16, y[1500:]) > 0.85
    assert stream.n_iter_ == 60


def test_another_optimizer_starts_anew():
    fitted = classifier().fit(X, Y)
    fitted.set_params(optimizer="SGD", optimizer_params={"momentum": 0.9}, learning_rate=0.01).partial_fit(X, Y)
    fitted.set_params(optimizer="Adam", optimizer_params=None).partial_fit(X, Y)
    assert fitted.n_iter_ == 5


def test_verbose_prints_each_epoch(capsys):
    classifier(verbose=True, early_stopping=True).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("epoch 3: loss ")
    assert ", validation loss " in lines[2]


@pytest.mark.slow
def test_as_accurate_as_scikit_learns_network_after_as_many_epochs():
    from sklearn.neural_network import MLPClassifier

    rows, y = make_classification(30_000, 50, n_informative=25, n_classes=10, random_state=0)
    network, epochs, batch_size = (64, 128, 64), 10, 200
    theirs = MLPClassifier(network, batch_size=batch_size, max_iter=epochs, n_iter_no_change=epochs, random_state=0)
    ours = SquentropyClassifier(network, batch_size=batch_size, epochs=epochs, patience=None, random_state=0)
    with pytest.warns(match="Maximum iterations"):
        theirs.fit(rows[:20_000], y[:20_000])
    ours.fit(rows[:20_000], y[:20_000])
    assert ours.score(rows[20_000:], y[20_000:]) >= theirs.score(rows[20_000:], y[20_000:])
