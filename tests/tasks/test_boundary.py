"""Boundaries of models whose boundary is known: a line, a circle, none."""

import math

import numpy as np
import pytest
import torch

from squentropy.tasks.boundary import find_boundary


def circle(points):
    """Class 1 outside the unit circle."""
    return torch.stack([torch.ones(len(points)), points.norm(dim=1)], dim=1)


def test_length_of_a_circle():
    assert find_boundary(circle, half_width=2.0).length == pytest.approx(2 * math.pi, rel=1e-3)


def test_distances_to_a_circle():
    radius = np.array([0.25, 0.8, 1.7])
    angle = np.array([0.3, 2.0, 4.0])
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    distances = find_boundary(circle, half_width=2.0).distances(points)
    np.testing.assert_allclose(distances, np.abs(radius - 1), atol=1e-3)


def test_distance_to_an_end_of_the_boundary_inside_the_square():
    # The boundary y = 0 ends at the sides of the square; the nearest place of a point beyond is that end.
    boundary = find_boundary(lambda points: torch.stack([points[:, 1], -points[:, 1]], dim=1), half_width=1.0)
    assert boundary.length == pytest.approx(2.0)
    assert boundary.distances(np.array([[4.0, 4.0]])) == pytest.approx(5.0)


def test_several_pieces_count_together():
    def stripes(points):  # equal at x = -1, 0, 1
        x = points[:, 0]
        return torch.stack([torch.zeros(len(x)), x * (x - 1) * (x + 1)], dim=1)

    boundary = find_boundary(stripes, half_width=1.5, n_grid=31)
    assert len(boundary.lines) == 3
    assert boundary.length == pytest.approx(9.0)
    assert boundary.distances(np.array([[-0.6, 0.2], [0.1, 1.0], [1.4, 0.0]])) == pytest.approx(
        [0.4, 0.1, 0.4], abs=2e-3
    )


def test_points_on_the_wrong_side_count_as_negative():
    boundary = find_boundary(circle, half_width=2.0)
    points = np.array([[0.0, 0.5], [1.75, 0.0]])
    assert boundary.mean_margin(points, np.array([True, True])) == pytest.approx((0.5 + 0.75) / 2, abs=1e-3)
    assert boundary.mean_margin(points, np.array([False, True])) == pytest.approx((-0.5 + 0.75) / 2, abs=1e-3)


def test_a_model_that_never_changes_its_mind_has_no_boundary():
    boundary = find_boundary(lambda points: torch.tensor([[0.0, 1.0]]).expand(len(points), 2), half_width=1.0)
    assert boundary.length == 0
    assert boundary.distances(np.zeros((2, 2))).tolist() == [math.inf, math.inf]
    assert boundary.mean_margin(np.zeros((2, 2)), np.array([True, False])) == 0


def test_probability_is_the_softmax_on_the_grid():
    boundary = find_boundary(circle, half_width=1.0, n_grid=3)
    assert boundary.axis.tolist() == [-1, 0, 1]
    assert boundary.probability[1, 1] == pytest.approx(1 / (1 + math.e))
    assert boundary.probability[0, 1] == pytest.approx(0.5)
