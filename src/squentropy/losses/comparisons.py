"""What a user would compare with, and the paper does not: label smoothing, focal loss, logit penalty."""

import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.losses.arguments import check_arguments, check_not_negative, check_target_range, class_dim
from squentropy.losses.formula import computed_in, cross_entropy_of_samples, reduce_losses, target_mass


def label_smoothing(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.1,
) -> Tensor:
    """PyTorch's cross entropy with label smoothing, 0.1 unless told otherwise (Szegedy et al. 2016).

    Args:
        logits: as in :func:`torch.nn.functional.cross_entropy`.
        target: as there.
        weight: as there.
        ignore_index: as there.
        reduction: as there.
        label_smoothing: the share of each sample that is spread over all classes.

    Returns:
        As :func:`torch.nn.functional.cross_entropy`.

    Examples:
        >>> label_smoothing(torch.tensor([[2.0, 0.0]]), torch.tensor([0]))
        tensor(0.2269)
    """
    return F.cross_entropy(
        logits,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def focal(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    gamma: float = 2.0,
) -> Tensor:
    r"""The focal loss, :math:`-(1 - p_y)^\gamma \log p_y` (Lin et al. 2017; for calibration, Mukhoti et al. 2020).

    For a target of probabilities :math:`q` its expectation, :math:`-\sum_k q_k (1 - p_k)^\gamma \log p_k`.

    Args:
        logits: as in :func:`squentropy`.
        target: as in :func:`squentropy`.
        weight: as in :func:`squentropy`.
        ignore_index: as in :func:`squentropy`.
        reduction: as in :func:`squentropy`.
        label_smoothing: as in :func:`squentropy`.
        gamma: 0 (cross entropy) or at least 1; between the two the gradient is not defined at :math:`p_k = 1`.

    Returns:
        As :func:`squentropy`.

    Examples:
        >>> focal(torch.tensor([[2.0, 0.0]]), torch.tensor([0]), gamma=2.0)
        tensor(0.0018)
    """
    check_arguments(logits, target, weight, ignore_index, reduction, label_smoothing)
    check_not_negative("gamma", gamma)
    if 0.0 < gamma < 1.0:
        raise ValueError(f"gamma is {gamma}; use 0 or at least 1, as the gradient at probability 1 needs")
    check_target_range(logits, target, ignore_index)
    dim = class_dim(logits)
    mass, _ = target_mass(logits, target, weight, ignore_index, label_smoothing)
    log_p = F.log_softmax(logits.to(computed_in(logits)), dim)
    modulated = log_p if gamma == 0.0 else (-torch.expm1(log_p)).pow(gamma) * log_p
    losses = -torch.where(mass == 0, 0.0, mass * modulated).sum(dim)
    return reduce_losses(losses, logits, target, weight, ignore_index, reduction)


def logit_penalty(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    beta: float = 5e-4,
) -> Tensor:
    r"""Cross entropy plus :math:`\beta \sum_j f_j^2` over *all* classes (Kornblith et al. 2021).

    Squentropy leaves the true class out of the sum and has :math:`\beta = 1/(C-1)`.

    Args:
        logits: as in :func:`squentropy`.
        target: as in :func:`squentropy`.
        weight: as in :func:`squentropy`.
        ignore_index: as in :func:`squentropy`.
        reduction: as in :func:`squentropy`.
        label_smoothing: as in :func:`squentropy`; the penalty does not depend on it.
        beta: the factor of the penalty, not negative.

    Returns:
        As :func:`squentropy`.

    Examples:
        >>> logit_penalty(torch.tensor([[2.0, 0.0]]), torch.tensor([0]), beta=0.25)
        tensor(1.1269)
    """
    check_arguments(logits, target, weight, ignore_index, reduction, label_smoothing)
    check_not_negative("beta", beta)
    check_target_range(logits, target, ignore_index)
    dim = class_dim(logits)
    computed = logits.to(computed_in(logits))
    losses = cross_entropy_of_samples(computed, target, weight, ignore_index, label_smoothing)
    if beta != 0.0:
        _, total = target_mass(logits, target, weight, ignore_index, label_smoothing)
        penalty = torch.where(total == 0, 0.0, total * computed.square()).sum(dim)
        losses = losses + beta * penalty
    return reduce_losses(losses, logits, target, weight, ignore_index, reduction)
