"""Recalibrators against scikit-learn, netcal, hand-worked counts and the optimality conditions of their formulas."""

import json
import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from squentropy.calibration import (
    RECALIBRATORS,
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MatrixScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    recalibrator_from_dict,
)

METHODS = sorted(RECALIBRATORS)


def overconfident(n_samples=600, num_classes=4, factor=3.0, seed=0):
    """Logits that are too large by a factor, and classes drawn from the probabilities of the right ones."""
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(n_samples, num_classes, generator=generator, dtype=torch.float64)
    target = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
    return factor * logits, target


def nll(probs, target):
    return float(F.nll_loss(probs.log(), target))


class Identity(ClassifierMixin, BaseEstimator):
    """A classifier of scikit-learn whose decision function is its input."""

    def __init__(self, num_classes=2):
        self.num_classes = num_classes
        self.classes_ = np.arange(num_classes)

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, x, y):
        return self

    def decision_function(self, x):
        return x if self.num_classes > 2 else x[:, 0]

    def predict(self, x):
        return x.argmax(1)


def by_scikit_learn(method, scores, target, new_scores):
    rows = np.arange(len(scores))
    classifier = FrozenEstimator(Identity(len(np.unique(target))))
    calibrated = CalibratedClassifierCV(classifier, method=method, ensemble=False, cv=[(rows, rows)])
    return calibrated.fit(scores, target).predict_proba(new_scores)


# ---- temperature ----


@pytest.mark.parametrize("factor", [0.2, 1.0, 3.0, 40.0])
def test_temperature_equals_scikit_learns(factor):
    logits, target = overconfident(factor=factor)
    expected = by_scikit_learn("temperature", logits.numpy(), target.numpy(), logits.numpy())
    found = TemperatureScaling().fit(logits, target).predict_proba(logits)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_temperature_has_the_least_likelihood_of_all():
    logits, target = overconfident()

    def loss(log_temperature):
        return float(F.cross_entropy(logits / math.exp(log_temperature), target))

    scaling = TemperatureScaling().fit(logits, target)
    best = minimize_scalar(loss, bounds=(-5, 5), options={"xatol": 1e-10})
    assert scaling.temperature == pytest.approx(math.exp(best.x), rel=1e-5)
    grid = [loss(math.log(scaling.temperature) + step) for step in np.linspace(-3, 3, 101)]
    assert loss(math.log(scaling.temperature)) <= min(grid)


def test_temperature_of_a_table_by_hand():
    """With margins of 1 and k of n right, T is 1 / log(k / (n - k))."""
    logits = torch.tensor([[1.0, 0.0]]).repeat(10, 1)
    target = torch.tensor([0] * 9 + [1])
    assert TemperatureScaling().fit(logits, target).temperature == pytest.approx(1 / math.log(9), rel=1e-12)


@given(st.floats(0.01, 50), st.integers(0, 2**20))
def test_temperature_undoes_a_factor(factor, seed):
    logits, target = overconfident(200, 3, seed=seed)
    one, other = TemperatureScaling(), TemperatureScaling()
    assert other.fit(logits * factor, target).temperature == pytest.approx(
        factor * one.fit(logits, target).temperature, rel=1e-9
    )


@pytest.mark.parametrize(
    ("logits", "end", "cause"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], 1e-3, "every sample is right"),
        ([[0.0, 1.0], [1.0, 0.0]], 1e3, "say less than none"),
        ([[90.0, 0.0], [0.0, 90.0]], 1e-3, "every sample is right"),
    ],
)
def test_temperature_says_when_it_stops_at_an_end(logits, end, cause):
    """Of separable, all right and all wrong samples others return a T that is negative, huge or arbitrary."""
    logits, target = torch.tensor(logits).repeat(20, 1), torch.tensor([0, 1]).repeat(20)
    with pytest.warns(RuntimeWarning, match=cause):
        scaling = TemperatureScaling().fit(logits, target)
    assert scaling.temperature == pytest.approx(end, rel=1e-12)
    assert scaling.predict_proba(logits).isfinite().all()


@given(st.integers(0, 2**20), st.floats(-3, 3), st.integers(2, 6))
def test_temperature_is_always_positive_and_never_worse(seed, log_scale, num_classes):
    generator = torch.Generator().manual_seed(seed)
    logits = 10**log_scale * torch.randn(30, num_classes, generator=generator, dtype=torch.float64)
    target = torch.cat([torch.tensor([0, 1]), torch.randint(num_classes, (28,), generator=generator)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        scaling = TemperatureScaling().fit(logits, target)
    assert 1e-3 * (1 - 1e-12) <= scaling.temperature <= 1e3 * (1 + 1e-12)
    assert F.cross_entropy(logits / scaling.temperature, target) <= F.cross_entropy(logits, target) + 1e-9


@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1), (2, 1), (1, math.inf)])
def test_bounds_of_the_temperature_are_checked(bounds):
    with pytest.raises(ValueError, match="bounds must be two rising positive numbers"):
        TemperatureScaling(bounds)


# ---- vector, matrix, Dirichlet ----


@pytest.mark.parametrize("scaling", [VectorScaling(), MatrixScaling(), DirichletCalibration(), MatrixScaling(0, 0)])
def test_likelihood_on_the_samples_of_the_fit_is_not_worse(scaling):
    for seed in range(5):
        logits, target = overconfident(150, 3, factor=0.3 + seed, seed=seed)
        assert nll(scaling.fit(logits, target).predict_proba(logits), target) <= nll(logits.softmax(1), target)


def test_matrix_scaling_without_penalty_is_logistic_regression():
    logits, target = overconfident(500, 3)
    expected = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logits.numpy(), target.numpy())
    found = MatrixScaling(0, 0).fit(logits, target).predict_proba(logits)
    np.testing.assert_allclose(found.numpy(), expected.predict_proba(logits.numpy()), atol=1e-5)


def test_dirichlet_calibration_without_penalty_is_logistic_regression_on_log_probabilities():
    logits, target = overconfident(500, 3)
    inputs = logits.log_softmax(1).numpy()
    expected = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(inputs, target.numpy())
    found = DirichletCalibration(0, 0).fit(logits, target).predict_proba(logits)
    np.testing.assert_allclose(found.numpy(), expected.predict_proba(inputs), atol=1e-5)


def test_vector_scaling_meets_the_conditions_of_its_optimum():
    """At the optimum the probabilities have the frequency of each class, and so do they times its logit."""
    logits, target = overconfident(500, 4)
    excess = VectorScaling().fit(logits, target).predict_proba(logits) - F.one_hot(target, 4)
    torch.testing.assert_close(excess.mean(0), torch.zeros(4, dtype=torch.float64), atol=1e-7, rtol=0)
    torch.testing.assert_close((excess * logits).mean(0), torch.zeros(4, dtype=torch.float64), atol=1e-6, rtol=0)


@pytest.mark.parametrize("method", [MatrixScaling, DirichletCalibration])
def test_a_large_penalty_leaves_one_scale_for_each_class(method):
    logits, target = overconfident(500, 3)
    scale = method(1e6, 1e6).fit(logits, target).parameters["scale"]
    assert (scale - torch.diag(scale.diagonal())).abs().max() < 1e-4
    assert method(1e6, 1e6).fit(logits, target).parameters["bias"].abs().max() < 1e-4


@pytest.mark.parametrize("name", ["off_diagonal", "intercept"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_penalties_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        MatrixScaling(**{name: value})


def test_vector_scaling_undoes_what_was_done_to_two_classes():
    logits, target = overconfident(4000, 3, factor=1.0)
    scale, bias = torch.tensor([2.0, 1.0, 0.5]), torch.tensor([1.0, -1.0, 0.0])
    found = VectorScaling().fit(logits * scale + bias, target).predict_proba(logits * scale + bias)
    before = nll((logits * scale + bias).softmax(1), target)
    assert nll(found, target) < nll(logits.softmax(1), target) + 0.002 < before


# ---- each class against the rest ----


def two_classes():
    logits, target = overconfident(400, 2)
    odds = (logits[:, 1] - logits[:, 0]).numpy()
    return logits, target, odds


def test_platt_scaling_equals_scikit_learns_sigmoid():
    logits, target, odds = two_classes()
    expected = by_scikit_learn("sigmoid", odds[:, None], target.numpy(), odds[:, None])
    found = PlattScaling().fit(logits, target).predict_proba(logits)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


def test_platt_scaling_of_more_classes_equals_scikit_learns_sigmoid():
    logits, target = overconfident(600, 4)
    probs = logits.softmax(1).numpy()
    odds = np.log(probs / (1 - probs))
    expected = by_scikit_learn("sigmoid", odds, target.numpy(), odds)
    found = PlattScaling().fit(logits, target).predict_proba(logits)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


def test_platt_scaling_stays_finite_where_classes_are_apart():
    logits = torch.tensor([[5.0, 0.0], [0.0, 5.0]]).repeat(10, 1)
    probs = PlattScaling().fit(logits, torch.tensor([0, 1]).repeat(10)).predict_proba(logits)
    torch.testing.assert_close(probs[0], torch.tensor([11 / 12, 1 / 12]), atol=1e-4, rtol=0)  # Platt's targets


def test_isotonic_calibration_equals_scikit_learns():
    logits, target = overconfident(600, 4)
    probs = logits.softmax(1).numpy()
    expected = by_scikit_learn("isotonic", probs, target.numpy(), probs)
    found = IsotonicCalibration().fit(logits, target).predict_proba(logits)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_isotonic_calibration_of_new_samples_keeps_to_the_ends():
    logits = torch.tensor([[0.5, 0.0], [0.0, 0.5]]).repeat(10, 1)
    target = torch.tensor([0, 1] * 8 + [1, 0] * 2)
    isotonic = IsotonicCalibration().fit(logits, target)
    torch.testing.assert_close(isotonic.predict_proba(torch.tensor([[99.0, 0.0]])), torch.tensor([[0.8, 0.2]]))


def test_beta_calibration_equals_logistic_regression_on_its_features():
    logits, target, odds = two_classes()
    p = torch.from_numpy(odds).sigmoid().numpy()
    features = np.stack([np.log(p), -np.log1p(-p)], 1)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(features, target.numpy())
    assert (model.coef_ > 0).all()
    found = BetaCalibration().fit(logits, target).predict_proba(logits)
    np.testing.assert_allclose(found.numpy(), model.predict_proba(features), atol=1e-5)


def test_beta_calibration_never_falls():
    """Where more confident samples are less often right, the best rising function is a constant."""
    p = torch.linspace(0.05, 0.95, 200, dtype=torch.float64)
    target = (torch.arange(200) < 100).long()
    beta = BetaCalibration().fit(torch.stack([1 - p, p], 1).log(), target)
    assert (beta.parameters["a"] >= 0).all()
    assert (beta.parameters["b"] >= 0).all()
    found = beta.predict_proba(torch.stack([1 - p, p], 1).log())[:, 1]
    assert (found.diff() >= -1e-12).all()


def test_histogram_binning_counts():
    p = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9], dtype=torch.float64)
    target = torch.tensor([0, 0, 0, 1, 1, 0, 1, 1])
    logits = torch.stack([1 - p, p], 1).log()
    expected = torch.tensor([0.25] * 4 + [0.75] * 4, dtype=torch.float64)
    for binning in ("equal_mass", "equal_width"):
        found = HistogramBinning(2, binning).fit(logits, target).predict_proba(logits)[:, 1]
        torch.testing.assert_close(found, expected)


def test_histogram_binning_keeps_the_middle_of_a_bin_without_samples():
    p = torch.tensor([0.9, 0.95, 0.1, 0.05], dtype=torch.float64)
    logits = torch.stack([1 - p, p], 1).log()
    fitted = HistogramBinning(4, "equal_width").fit(logits, torch.tensor([1, 1, 0, 0]))
    new = fitted.predict_proba(torch.tensor([[0.6, 0.4]], dtype=torch.float64).log())
    torch.testing.assert_close(new, torch.tensor([[0.625, 0.375]], dtype=torch.float64))


def test_confident_samples_are_told_apart_where_float32_probabilities_are_equal():
    """Of logits 40 and 60, p is 1 in float32 and float64; the odds still differ."""
    logits = torch.tensor([[40.0, 0.0], [60.0, 0.0]]).repeat(100, 1)
    target = torch.zeros(200, dtype=torch.long)
    target[0:100:2] = 1
    probs = PlattScaling().fit(logits, target).predict_proba(torch.tensor([[40.0, 0.0], [60.0, 0.0]]))[:, 0]
    assert probs[0] < 0.6
    assert probs[1] > 0.95


def test_a_row_of_zeros_becomes_uniform():
    state = {"edges": [[0.0, 1.0]] * 2, "shares": [[0.0]] * 2}
    fitted = recalibrator_from_dict({"method": "histogram", "num_classes": 2, "parameters": state})
    assert fitted.predict_proba(torch.zeros(1, 2)).tolist() == [[0.5, 0.5]]


# ---- all of them ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_probabilities_are_probabilities_in_the_type_of_the_logits(method, dtype):
    logits, target = overconfident()
    probs = RECALIBRATORS[method]().fit(logits.to(dtype), target).predict_proba(logits.to(dtype))
    assert (probs.shape, probs.dtype) == (logits.shape, dtype)
    assert (probs >= 0).all()
    torch.testing.assert_close(probs.double().sum(1), torch.ones(len(probs)).double(), atol=1e-2, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_too_confident_gets_better_on_new_samples(method):
    logits, target = overconfident(3000)
    probs = RECALIBRATORS[method]().fit(logits[:1500], target[:1500]).predict_proba(logits[1500:])
    brier_before, brier_after = (
        float((p - F.one_hot(target[1500:])).square().sum(1).mean()) for p in (logits[1500:].softmax(1), probs)
    )
    assert brier_after < brier_before - 0.02


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_is_a_repetition(method):
    logits, target = overconfident(60, 3)
    count = torch.arange(60) % 3 + 1
    weighted = RECALIBRATORS[method]().fit(logits, target, count.double())
    repeated = RECALIBRATORS[method]().fit(logits.repeat_interleave(count, 0), target.repeat_interleave(count))
    torch.testing.assert_close(weighted.predict_proba(logits), repeated.predict_proba(logits), atol=1e-6, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_samples_without_weight_are_not_there(method):
    logits, target = overconfident(90, 3)
    weight = torch.ones(90)
    weight[60:] = 0
    whole = RECALIBRATORS[method]().fit(logits, target, weight)
    part = RECALIBRATORS[method]().fit(logits[:60], target[:60])
    torch.testing.assert_close(whole.predict_proba(logits), part.predict_proba(logits), atol=1e-6, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_order_of_samples_does_not_matter(method):
    logits, target = overconfident(90, 3)
    order = torch.randperm(90)
    one, other = (RECALIBRATORS[method]() for _ in range(2))
    torch.testing.assert_close(
        one.fit(logits, target).predict_proba(logits),
        other.fit(logits[order], target[order]).predict_proba(logits),
        atol=1e-6,
        rtol=0,
    )


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("matrix", "vector")])
def test_an_offset_of_all_logits_does_not_matter(method):
    """Cross entropy leaves it free. Matrix and vector scaling are not blind to it: the paper defines them on logits."""
    logits, target = overconfident(90, 3)
    offset = 5 * torch.randn(90, 1, dtype=torch.float64)
    one, other = (RECALIBRATORS[method]() for _ in range(2))
    torch.testing.assert_close(
        one.fit(logits, target).predict_proba(logits),
        other.fit(logits + offset, target).predict_proba(logits + offset),
        atol=1e-5,
        rtol=0,
    )


@pytest.mark.parametrize("method", METHODS)
def test_state_is_json_and_gives_the_same_bits(method):
    logits, target = overconfident()
    fitted = RECALIBRATORS[method]().fit(logits, target)
    again = recalibrator_from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert type(again) is type(fitted)
    assert torch.equal(again.predict_proba(logits), fitted.predict_proba(logits))


@pytest.mark.parametrize("method", METHODS)
def test_own_random_state_and_inputs_are_left_alone(method):
    logits, target = overconfident()
    before, state = logits.clone(), torch.get_rng_state()
    RECALIBRATORS[method]().fit(logits.requires_grad_(), target).predict_proba(logits)
    assert torch.equal(logits, before)
    assert torch.equal(torch.get_rng_state(), state)
    with torch.no_grad():
        RECALIBRATORS[method]().fit(logits, target)


# ---- wrong use ----


@pytest.mark.parametrize("method", METHODS)
class TestWrongUse:
    def test_not_fitted(self, method):
        with pytest.raises(ValueError, match=r"is not fitted: call fit\(logits, target\) first"):
            RECALIBRATORS[method]().predict_proba(torch.zeros(1, 2))

    def test_other_number_of_classes(self, method):
        fitted = RECALIBRATORS[method]().fit(*overconfident(num_classes=3))
        with pytest.raises(ValueError, match=r"must have the 3 classes .* got 4"):
            fitted.predict_proba(torch.zeros(1, 4))

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_logits_that_are_not_finite(self, method, value):
        logits, target = overconfident()
        fitted = RECALIBRATORS[method]().fit(logits, target)
        logits[7, 1] = value
        for call in (lambda: RECALIBRATORS[method]().fit(logits, target), lambda: fitted.predict_proba(logits)):
            with pytest.raises(ValueError, match=r"logits must be finite, got .* in row 7"):
                call()

    def test_one_class_only(self, method):
        with pytest.raises(ValueError, match="at least two classes, got 1"):
            RECALIBRATORS[method]().fit(torch.randn(50, 3), torch.ones(50, dtype=torch.long))

    def test_target_out_of_range(self, method):
        logits, target = overconfident()
        target[3] = 4
        with pytest.raises(ValueError, match=r"target must lie in 0\.\.3, got 4 in row 3"):
            RECALIBRATORS[method]().fit(logits, target)

    def test_probabilities_as_target(self, method):
        with pytest.raises(TypeError, match="target must be class indices"):
            RECALIBRATORS[method]().fit(torch.randn(50, 3), torch.full((50, 3), 1 / 3))

    @pytest.mark.parametrize("shape", [(5,), (0, 3), (5, 1), (5, 3, 2)])
    def test_shapes(self, method, shape):
        with pytest.raises(ValueError, match=r"logits must have shape \(N, C\)"):
            RECALIBRATORS[method]().fit(torch.zeros(shape), torch.zeros(5, dtype=torch.long))

    def test_lengths(self, method):
        with pytest.raises(ValueError, match="target of class indices must have shape"):
            RECALIBRATORS[method]().fit(torch.zeros(5, 3), torch.zeros(4, dtype=torch.long))

    def test_weights(self, method):
        logits, target = overconfident()
        with pytest.raises(ValueError, match="weight must lie in"):
            RECALIBRATORS[method]().fit(logits, target, torch.full((600,), -1.0))

    def test_arrays(self, method):
        with pytest.raises(TypeError, match=r"logits must be a tensor, got ndarray: use torch\.as_tensor"):
            RECALIBRATORS[method]().fit(np.zeros((5, 3)), np.zeros(5))

    def test_state_of_another_method(self, method):
        other = METHODS[(METHODS.index(method) + 1) % len(METHODS)]
        state = RECALIBRATORS[other]().fit(*overconfident()).to_dict()
        with pytest.raises(ValueError, match="state must be one of method"):
            RECALIBRATORS[method]().load_dict(state)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "temperature"])
def test_a_class_without_a_sample(method):
    logits, target = overconfident()
    target[target == 2] = 1
    with pytest.raises(ValueError, match=r"got none of class 2 \(1 of 4 missing\): .* TemperatureScaling"):
        RECALIBRATORS[method]().fit(logits, target)
    assert TemperatureScaling().fit(logits, target).temperature > 0


@pytest.mark.parametrize("binning", ["equal_mass", "equal_width"])
def test_fewer_samples_than_bins(binning):
    logits, target = overconfident(9, 2)
    target[:2] = torch.tensor([0, 1])
    with pytest.raises(ValueError, match="n_bins must not be more than the samples to fit, got 10 bins for 9 samples"):
        HistogramBinning(10, binning).fit(logits, target)


def test_an_unknown_state():
    with pytest.raises(ValueError, match=r"state must have a method out of temperature, .* got 'magic'"):
        recalibrator_from_dict({"method": "magic"})


def test_isotonic_is_made_by_scikit_learn(monkeypatch):
    calls = []
    monkeypatch.setattr(IsotonicRegression, "fit", lambda *a, **k: calls.append(a) or (_ for _ in ()).throw(KeyError))
    with pytest.raises(KeyError):
        IsotonicCalibration().fit(*overconfident())
    assert len(calls) == 1


def test_l_bfgs_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr("squentropy.calibration.recalibration.minimum._MAX_ITERATIONS", 1)
    with pytest.warns(RuntimeWarning, match="MatrixScaling did not converge .*: use more samples"):
        MatrixScaling().fit(*overconfident())
