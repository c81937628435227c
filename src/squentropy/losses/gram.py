"""The square term of a linear head without its logits, from the Gram matrix of the weights."""

import torch
from torch import Tensor

from squentropy.losses.arguments import check_target_range
from squentropy.losses.formula import computed_in

# The difference of two sums keeps half of float64's digits while it is not smaller than this share of the larger one.
_SMALLEST_SHARE = 1e-7


def linear_wrong_squares(
    features: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None = None, ignore_index: int = -100
) -> Tensor:
    r"""The mean squared wrong logit of each row, :math:`\frac{1}{C-1} \sum_{j \ne y} f_j^2`, for :math:`f = W h + b`.

    With the Gram matrix :math:`G = W^\top W`,

    .. math:: \sum_j f_j^2 = h^\top G h + 2 h^\top W^\top b + b^\top b

    costs :math:`D^2` operations a row instead of :math:`C D`, so whoever has cross entropy from elsewhere (a fused or
    sampled one, whose logits nobody sees) makes it squentropy by adding this. :func:`linear_squentropy` does not use
    it: where the logits are at hand, their squares are free.

    The sum over all classes minus the square of the true logit cancels where the true logit dominates. So this computes
    in float64, and rows of which less than one part in ten million is left are computed again from their logits.

    Args:
        features: ``(N, D)``.
        linear_weight: ``(C, D)``.
        target: class indices ``(N,)``.
        linear_bias: ``(C,)`` or None.
        ignore_index: rows with this target give 0.

    Returns:
        ``(N,)`` in the dtype of ``features``, float32 for halves.

    Examples:
        >>> features, linear_weight = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
        >>> linear_wrong_squares(features, linear_weight, torch.tensor([0]))  # the logits are 1, 2 and 3
        tensor([6.5000])
    """
    _check(features, linear_weight, target, linear_bias)
    check_target_range(features.new_empty(()).expand(len(features), len(linear_weight)), target, ignore_index)
    (kept,) = (target != ignore_index).nonzero(as_tuple=True)
    h, weight, true = features[kept].double(), linear_weight.double(), target[kept].long()
    bias = weight.new_zeros(len(weight)) if linear_bias is None else linear_bias.double()
    gram, cross = weight.T @ weight, weight.T @ bias
    all_squares = ((h @ gram + 2 * cross) * h).sum(1) + bias @ bias
    squares = all_squares - ((h * weight[true]).sum(1) + bias[true]).square()
    (doubtful,) = (squares < _SMALLEST_SHARE * all_squares).nonzero(as_tuple=True)
    if len(doubtful):
        logits = torch.addmm(bias, h[doubtful], weight.T)
        wrong = logits.scatter(1, true[doubtful, None], 0.0)
        squares = squares.index_put((doubtful,), wrong.square().sum(1))
    dtype = computed_in(features)
    losses = squares / (len(weight) - 1)
    return features.new_zeros(len(features), dtype=dtype).index_put((kept,), losses.to(dtype))


def _check(features: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None) -> None:
    if features.ndim != 2 or linear_weight.ndim != 2 or features.shape[1] != linear_weight.shape[1]:
        raise ValueError(
            f"features have shape {tuple(features.shape)} and linear_weight {tuple(linear_weight.shape)}: use "
            "(N, D) and (C, D)"
        )
    if len(linear_weight) < 2:
        raise ValueError(f"linear_weight has {len(linear_weight)} row, but wrong classes need at least 2")
    if target.shape != features.shape[:1] or target.is_floating_point():
        raise ValueError(
            f"target has shape {tuple(target.shape)} and dtype {target.dtype}: use class indices of shape "
            f"{tuple(features.shape[:1])}"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:1]:
        raise ValueError(
            f"linear_bias has shape {tuple(linear_bias.shape)}; use one number for each of the "
            f"{len(linear_weight)} classes"
        )
