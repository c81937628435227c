"""The rescaled square loss of Hui & Belkin (2021), as the paper states it in eq. 3."""

from torch import Tensor, nn

from squentropy.losses.arguments import check_arguments, check_finite_positive, class_dim
from squentropy.losses.dispatch import reduced_loss
from squentropy.losses.squentropy import options_repr
from squentropy.losses.terms import Terms


def rescaled_square(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    t: float = 1.0,
    M: float = 1.0,
    inplace_backward: bool = False,
) -> Tensor:
    r"""The square loss to the target ``M`` for the true class and 0 for the others.

    For logits :math:`f` and the true class :math:`y` of a sample, with C classes,

    .. math:: L(f, y) = \frac{1}{C} \Big( t\,(f_y - M)^2 + \sum_{j \ne y} f_j^2 \Big)

    and for a target of probabilities :math:`q` its expectation,
    :math:`\frac{1}{C} \sum_j \big( q_j\, t\,(f_j - M)^2 + (1 - q_j) f_j^2 \big)`.

    Args:
        logits: as in :func:`squentropy`.
        target: as in :func:`squentropy`.
        weight: as in :func:`squentropy`.
        ignore_index: as in :func:`squentropy`.
        reduction: as in :func:`squentropy`.
        label_smoothing: as in :func:`squentropy`.
        t: the factor of the true class's square; finite and positive.
        M: the logit that the true class should reach; finite and positive.
        inplace_backward: as in :func:`squentropy`.

    Returns:
        A scalar, or with ``reduction="none"`` a tensor of the shape that class indices have.

    Examples:
        >>> import torch
        >>> logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 0.5]])
        >>> rescaled_square(logits, torch.tensor([0, 1]), M=5.0, reduction="none")
        tensor([3.6667, 1.4167])
    """
    check_arguments(logits, target, weight, ignore_index, reduction, label_smoothing)
    check_finite_positive("t", t)
    check_finite_positive("M", M)
    num_classes = logits.shape[class_dim(logits)]
    terms = Terms(0.0, 1.0 / num_classes, t / num_classes, M)
    return reduced_loss(logits, target, weight, ignore_index, reduction, label_smoothing, terms, inplace_backward)


class RescaledSquareLoss(nn.CrossEntropyLoss):
    r"""The rescaled square loss as a module, with the arguments of ``nn.CrossEntropyLoss`` and ``t`` and ``M``.

    It is a subclass of cross entropy, as :class:`SquentropyLoss` is, because the paper, too, applies a softmax to
    its logits. See :func:`rescaled_square` for the formula, shapes and options.

    Examples:
        >>> RescaledSquareLoss(t=15.0, M=30.0)
        RescaledSquareLoss(t=15.0, M=30.0)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        *,
        t: float = 1.0,
        M: float = 1.0,
        inplace_backward: bool = False,
    ) -> None:
        """Keep the options; ``size_average`` and ``reduce`` are PyTorch's deprecated ones."""
        super().__init__(weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        check_finite_positive("t", t)
        check_finite_positive("M", M)
        self.t = t
        self.M = M
        self.inplace_backward = inplace_backward

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of logits ``input`` and ``target``, as :func:`rescaled_square` gives it."""
        return rescaled_square(
            input,
            target,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.label_smoothing,
            t=self.t,
            M=self.M,
            inplace_backward=self.inplace_backward,
        )

    def extra_repr(self) -> str:
        """The options that differ from cross entropy's defaults, and the loss's own parameters."""
        return options_repr(self, t=self.t, M=self.M)
