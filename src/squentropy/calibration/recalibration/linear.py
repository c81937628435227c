"""Vector, matrix and Dirichlet scaling: softmax regression that starts from leaving everything as it is."""

from abc import abstractmethod
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.calibration.recalibration.minimum import minimize
from squentropy.calibration.recalibration.recalibrator import Recalibrator


class LinearRecalibrator(Recalibrator):
    """softmax(W x + b), with W and b of least mean negative log-likelihood plus a penalty.

    The problem is convex and is solved by L-BFGS in float64, from W = I and b = 0, where the penalty is 0: on the
    samples of the fit the likelihood cannot become worse than it was.
    """

    def _learn(self, logits: Tensor, target: Tensor, weight: Tensor) -> dict[str, Tensor]:
        inputs, weight = self._inputs(logits), weight / weight.sum()
        start = {name: value.to(inputs) for name, value in self._identity(inputs.shape[1]).items()}

        def objective(parameters: dict[str, Tensor]) -> Tensor:
            losses = F.cross_entropy(self._scores(inputs, **parameters), target, reduction="none")
            return weight @ losses + self._penalty(**parameters)

        return minimize(objective, start, owner=type(self).__name__)

    def _apply(self, logits: Tensor, **parameters: Tensor) -> Tensor:
        return torch.softmax(self._scores(self._inputs(logits), **parameters), dim=1)

    def _inputs(self, logits: Tensor) -> Tensor:
        """The x of the formula."""
        return logits

    def _scores(self, inputs: Tensor, *, scale: Tensor, bias: Tensor) -> Tensor:
        return inputs @ scale.T + bias

    @abstractmethod
    def _identity(self, num_classes: int) -> dict[str, Tensor]:
        """The parameters that leave everything as it is."""

    @abstractmethod
    def _penalty(self, *, scale: Tensor, bias: Tensor) -> Tensor:
        """What parameters cost that are far from the identity."""


class VectorScaling(LinearRecalibrator):
    """softmax(w * f + b), with one scale and one bias for each class (Guo et al. 2017).

    There is no penalty, as in the paper.

    Examples:
        >>> logits = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> scaling = VectorScaling().fit(logits, torch.tensor([0, 0, 1, 1, 0]))
        >>> scaling.predict_proba(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))  # 2/3 and 1/2 were of class 0
        tensor([[0.6667, 0.3333],
                [0.5000, 0.5000]])
    """

    name: ClassVar[str] = "vector"
    title: ClassVar[str] = "vector scaling"

    def _scores(self, inputs: Tensor, *, scale: Tensor, bias: Tensor) -> Tensor:
        return inputs * scale + bias

    def _identity(self, num_classes: int) -> dict[str, Tensor]:
        return {"scale": torch.ones(num_classes), "bias": torch.zeros(num_classes)}

    def _penalty(self, *, scale: Tensor, bias: Tensor) -> Tensor:
        return scale.new_zeros(())


class MatrixScaling(LinearRecalibrator):
    """softmax(W f + b), with W (C, C) and b (C,) (Guo et al. 2017), and the penalty of Kull et al. (2019).

    The penalty is `off_diagonal` times the mean square of W off its diagonal plus `intercept` times that of b. Without
    it, C^2 numbers learnt from a validation set are too many.

    Args:
        off_diagonal: The λ of the paper.
        intercept: The μ of the paper.

    Examples:
        >>> logits = torch.randn(500, 3)
        >>> scaling = MatrixScaling().fit(logits, (logits[:, [1, 0, 2]] * 2).argmax(1))  # two classes are interchanged
        >>> scaling.predict_proba(torch.tensor([[9.0, 0.0, 0.0]])).argmax()
        tensor(1)
    """

    name: ClassVar[str] = "matrix"
    title: ClassVar[str] = "matrix scaling"

    def __init__(self, off_diagonal: float = 0.01, intercept: float = 0.01) -> None:
        super().__init__()
        for name, value in {"off_diagonal": off_diagonal, "intercept": intercept}.items():
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be finite and at least 0, got {value}")
        self.off_diagonal = off_diagonal
        self.intercept = intercept

    def _identity(self, num_classes: int) -> dict[str, Tensor]:
        return {"scale": torch.eye(num_classes), "bias": torch.zeros(num_classes)}

    def _penalty(self, *, scale: Tensor, bias: Tensor) -> Tensor:
        num_classes = len(bias)
        off_diagonal = scale.square().sum() - scale.diagonal().square().sum()
        return self.off_diagonal * off_diagonal / (num_classes * (num_classes - 1)) + self.intercept * (
            bias.square().mean()
        )


class DirichletCalibration(MatrixScaling):
    """softmax(W log p + b) for p = softmax(f), with the same penalty (Kull et al. 2019).

    It is what beta calibration becomes for C classes, and what a Dirichlet distribution of p in each class leads to.

    Args:
        off_diagonal: The λ of the paper.
        intercept: The μ of the paper.

    Examples:
        >>> probs = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.2, 0.8]])
        >>> fitted = DirichletCalibration(0, 0).fit(probs.log(), torch.tensor([0, 0, 1, 1, 0]))
        >>> fitted.predict_proba(torch.tensor([[0.9, 0.1], [0.2, 0.8]]).log())
        tensor([[0.6667, 0.3333],
                [0.5000, 0.5000]])
    """

    name: ClassVar[str] = "dirichlet"
    title: ClassVar[str] = "Dirichlet calibration"

    def _inputs(self, logits: Tensor) -> Tensor:
        return F.log_softmax(logits, dim=1)
