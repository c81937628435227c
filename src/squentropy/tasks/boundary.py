"""The decision boundary of a two-class model in the plane: where it runs, its length, its distance to the data."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


class Boundary(NamedTuple):
    """A model seen on a square grid, and the lines on which its two logits are equal.

    Attributes:
        axis: Grid coordinates (G,), the same in both directions.
        probability: Softmax probability of class 1 (G, G); rows are the second coordinate.
        lines: Polylines (K, 2) of the boundary inside the square.
    """

    axis: Array
    probability: Array
    lines: list[Array]

    @property
    def length(self) -> float:
        """Length of the boundary inside the square."""
        return float(sum(np.linalg.norm(np.diff(line, axis=0), axis=1).sum() for line in self.lines))

    def distances(self, points: Array) -> Array:
        """Returns the distance of each point (N, 2) to the boundary, infinite where there is none."""
        squared = np.full(len(points), np.inf)
        for line in self.lines:
            start, along = line[:-1], np.diff(line, axis=0)
            length = np.maximum((along**2).sum(-1), np.finfo(np.float64).tiny)
            # As products of matrices (N, K), which is an order of magnitude faster than differences (N, K, 2).
            projection = points @ along.T - (start * along).sum(-1)
            position = np.clip(projection / length, 0, 1)
            to_start = (points**2).sum(-1, keepdims=True) + (start**2).sum(-1) - 2 * points @ start.T
            gaps = to_start - position * (2 * projection - position * length)
            squared = np.minimum(squared, gaps.min(axis=1))
        distances: Array = np.sqrt(np.maximum(squared, 0))
        return distances

    def mean_margin(self, points: Array, is_correct: NDArray[np.bool_]) -> float:
        """Returns the mean distance of points to the boundary; points on the wrong side count as negative.

        A model that predicts one class everywhere has no boundary, and the margin 0.
        """
        if not self.lines:
            return 0.0
        distances = self.distances(points)
        return float(np.where(is_correct, distances, -distances).mean())


@torch.no_grad()
def find_boundary(logits: Callable[[Tensor], Tensor], half_width: float, n_grid: int = 301) -> Boundary:
    """Finds the boundary of a model inside the square `[-half_width, half_width]`.

    The lines are level lines of `f_1 - f_0` between grid points, interpolated linearly.

    Args:
        logits: The model, (N, 2) to (N, 2).
        half_width: Half the side of the square.
        n_grid: Grid points in each direction.

    Examples:
        >>> boundary = find_boundary(lambda points: points, half_width=1.0)  # equal logits where x = y
        >>> round(boundary.length, 6) == round(8**0.5, 6)
        True
        >>> boundary.distances(np.array([[0.5, -0.5]])).round(6) == round(0.5**0.5, 6)
        array([ True])
    """
    from contourpy import contour_generator

    axis = np.linspace(-half_width, half_width, n_grid)
    second, first = np.meshgrid(axis, axis, indexing="ij")
    points = torch.tensor(np.stack([first.ravel(), second.ravel()], axis=1), dtype=torch.float32)
    scores = logits(points).double()
    difference = (scores[:, 1] - scores[:, 0]).reshape(n_grid, n_grid).numpy()
    lines = contour_generator(axis, axis, difference).lines(0.0)
    probability = scores.softmax(1)[:, 1].reshape(n_grid, n_grid).numpy()
    return Boundary(axis, probability, [np.asarray(line) for line in lines])
