"""Squentropy: cross entropy plus the mean squared logit of the wrong classes (eq. 1 of the paper)."""

from typing import Any

from torch import Tensor, nn

from squentropy.losses.arguments import check_arguments, check_not_negative, class_dim
from squentropy.losses.dispatch import reduced_loss
from squentropy.losses.terms import Terms


def squentropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    square_weight: float = 1.0,
    inplace_backward: bool = False,
) -> Tensor:
    r"""Cross entropy plus the mean squared logit of the wrong classes.

    For logits :math:`f` and the true class :math:`y` of a sample, with C classes,

    .. math:: L(f, y) = -\log \mathrm{softmax}(f)_y + \frac{\alpha}{C-1} \sum_{j \ne y} f_j^2

    where :math:`\alpha` is ``square_weight``, 1 in the paper. Every other argument means what it means in
    :func:`torch.nn.functional.cross_entropy`; with ``square_weight=0`` this *is* cross entropy. For a target
    of probabilities :math:`q` the square term is :math:`\frac{\alpha}{C-1} \sum_j (1 - q_j) f_j^2`, and label
    smoothing is the soft target that it stands for.

    Args:
        logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)``, float64, float32, bfloat16 or float16 (the
            halves are computed in float32), with at least two classes.
        target: class indices ``()``, ``(N,)`` or ``(N, d1, ..., dK)`` of any integer dtype, or class
            probabilities of the shape of ``logits``.
        weight: ``(C,)``, a factor on the whole loss of each class.
        ignore_index: the index of samples that count for nothing; not with probabilities.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``. The mean of no sample is NaN, as in PyTorch.
        label_smoothing: between 0 and 1.
        square_weight: the factor :math:`\alpha` of the square term, not negative.
        inplace_backward: whether backward may write the gradient over the memory of ``logits``, which saves the
            time and memory of a new tensor. For logits that nobody needs after backward, and only once: a second
            backward, or one of another function that saved them, raises PyTorch's error for tensors modified in
            place. The formula, a GPU and logits whose samples share memory leave them alone.

    Returns:
        A scalar, or with ``reduction="none"`` a tensor of the shape that class indices have. NaN logits give NaN;
        finite logits never do, though the value may overflow to infinity.

    Examples:
        >>> import torch
        >>> logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 0.5]])
        >>> squentropy(logits, torch.tensor([0, 1]))
        tensor(0.7989)
        >>> squentropy(logits, torch.tensor([0, 1]), reduction="none")
        tensor([1.3490, 0.2489])
    """
    check_arguments(logits, target, weight, ignore_index, reduction, label_smoothing)
    check_not_negative("square_weight", square_weight)
    terms = Terms(1.0, square_weight / (logits.shape[class_dim(logits)] - 1), 0.0, 0.0)
    return reduced_loss(logits, target, weight, ignore_index, reduction, label_smoothing, terms, inplace_backward)


class SquentropyLoss(nn.CrossEntropyLoss):
    r"""Squentropy as a module: replaces ``nn.CrossEntropyLoss(...)`` and takes the same arguments.

    It is a subclass, so that whatever asks "is this cross entropy?" in order to apply a softmax to the logits
    of a prediction gets the right answer. See :func:`squentropy` for the formula, shapes and options.

    Examples:
        >>> import torch
        >>> criterion = SquentropyLoss(label_smoothing=0.1)
        >>> criterion
        SquentropyLoss(label_smoothing=0.1, square_weight=1.0)
        >>> criterion(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0]))
        tensor(1.0986)
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
        square_weight: float = 1.0,
        inplace_backward: bool = False,
    ) -> None:
        """Keep the options; ``size_average`` and ``reduce`` are PyTorch's deprecated ones."""
        super().__init__(weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        check_not_negative("square_weight", square_weight)
        self.square_weight = square_weight
        self.inplace_backward = inplace_backward

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of logits ``input`` and ``target``, as :func:`squentropy` gives it."""
        return squentropy(
            input,
            target,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.label_smoothing,
            square_weight=self.square_weight,
            inplace_backward=self.inplace_backward,
        )

    def extra_repr(self) -> str:
        """The options that differ from cross entropy's defaults, and the square term's factor."""
        return options_repr(self, square_weight=self.square_weight)


def options_repr(module: Any, **own: float) -> str:
    """What the ``repr`` of a loss shows: options that are not the default, and the loss's own parameters."""
    options: list[str] = []
    if module.weight is not None:
        options.append(f"weight=tensor of {module.weight.numel()}")
    if module.ignore_index != -100:
        options.append(f"ignore_index={module.ignore_index}")
    if module.reduction != "mean":
        options.append(f"reduction={module.reduction!r}")
    if module.label_smoothing != 0.0:
        options.append(f"label_smoothing={module.label_smoothing}")
    options += [f"{name}={value}" for name, value in own.items()]
    if getattr(module, "inplace_backward", False):
        options.append("inplace_backward=True")
    return ", ".join(options)
