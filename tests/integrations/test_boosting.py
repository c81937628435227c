"""The boosting objective against autograd, and the starting score against other minimisers: no library needed."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import squentropy as sq
from squentropy.integrations import boosting


def random_rows(classes, scale=3.0, rows=50):
    rng = np.random.default_rng(classes)
    return scale * rng.normal(size=(rows, classes)), rng.integers(classes, size=rows)


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("square_weight", [0.0, 0.3, 1.0])
def test_gradient_and_hessian_are_those_of_autograd(classes, square_weight):
    logits, target = random_rows(classes)

    def loss(row, y):
        return sq.squentropy(row, y, square_weight=square_weight)

    rows, y = torch.tensor(logits), torch.tensor(target)
    gradient, hessian = boosting.gradient_and_hessian(logits, target, square_weight)
    expected = torch.func.vmap(torch.func.grad(loss))(rows, y)
    diagonal = torch.func.vmap(torch.func.hessian(loss))(rows, y).diagonal(dim1=1, dim2=2)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(hessian, diagonal, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        boosting.losses(logits, target, square_weight),
        sq.squentropy(rows, y, reduction="none", square_weight=square_weight),
        rtol=1e-12,
    )


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_hessian_of_wrong_classes_is_bounded_below(scale):
    logits, target = random_rows(5, scale)
    gradient, hessian = boosting.gradient_and_hessian(logits, target)
    assert np.isfinite(gradient).all()
    wrong = np.arange(5) != target[:, None]
    assert hessian[wrong].min() >= 2 / 4
    assert hessian[~wrong].min() >= 0
    assert boosting.gradient_and_hessian(logits, target, 0.0)[1].min() < 0.1  # which cross entropy's is not


@pytest.mark.parametrize("totals", [[1, 1], [1, 999], [5, 30, 1, 400, 2.5], [7, 0, 3], [1e-9, 1.0], [1] * 40])
@pytest.mark.parametrize("square_weight", [0.01, 1.0, 50.0])
def test_starting_scores_are_the_best_constant(totals, square_weight):
    shares = torch.tensor(totals, dtype=torch.float64) / sum(totals)
    every = torch.eye(len(totals), dtype=torch.float64).argmax(1)

    def loss(scores):
        rows = scores.expand(len(totals), -1)
        return shares @ sq.squentropy(rows, every, reduction="none", square_weight=square_weight)

    start = boosting.starting_scores(totals, square_weight)
    gradient = torch.func.grad(loss)(torch.tensor(start))
    assert gradient.abs().max() < 1e-12
    found = minimize(lambda scores: loss(torch.tensor(scores)).item(), np.zeros(len(totals)), tol=1e-10)
    assert loss(torch.tensor(start)).item() <= found.fun + 1e-9


def test_starting_scores_without_square_term_give_the_shares():
    np.testing.assert_allclose(boosting.probabilities(boosting.starting_scores([6, 3, 1], 0.0)), [0.6, 0.3, 0.1])


def test_two_classes_by_hand():
    """With shares 1/2 each score is 0; with (q, 1-q) the two conditions are q - p = 2 (1-q) z_0 = -2 q z_1."""
    assert np.array_equal(boosting.starting_scores([4, 4]), [0.0, 0.0])
    z = boosting.starting_scores([3, 1])
    p = 1 / (1 + np.exp(z[1] - z[0]))
    assert 0.75 - p == pytest.approx(2 * 0.25 * z[0])
    assert 0.75 - p == pytest.approx(-2 * 0.75 * z[1])


def test_bad_input():
    with pytest.raises(ValueError, match="square_weight is -1"):
        boosting.check_square_weight(-1)
    with pytest.raises(ValueError, match="rows of at least two classes with positive weights"):
        boosting.starting_scores([3.0, 0.0])
    with pytest.raises(ValueError, match="y has only one class, 'a'"):
        boosting.numbered_labels(["a", "a"])
    with pytest.raises(ValueError, match="eval_set has the label 'c', which y has not"):
        boosting.numbers_of(["a", "c"], np.array(["a", "b"]))
    for weight in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match=r"sample_weight of shape .* must have a finite number"):
            boosting.weights_of(weight, None, np.array([0, 1]), np.array([0, 1]))


def test_weights_of_rows_and_classes_multiply():
    weight = boosting.weights_of([1.0, 2.0, 3.0], {"b": 10.0}, np.array([0, 1, 1]), np.array(["a", "b"]))
    assert np.array_equal(weight, [1.0, 20.0, 30.0])
    balanced = boosting.weights_of(None, "balanced", np.array([0, 1, 1, 1]), np.array(["a", "b"]))
    np.testing.assert_allclose(balanced, [2.0, 2 / 3, 2 / 3, 2 / 3])
