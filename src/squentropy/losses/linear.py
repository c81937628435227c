"""A linear head with squentropy on top, whose logits are never held all at once."""

from typing import Literal

import torch
from torch import Tensor, nn

from squentropy.losses.arguments import check_arguments, check_not_negative, is_eager
from squentropy.losses.chunked import ChunkedHead, Head, Options, at_once
from squentropy.losses.squentropy import options_repr
from squentropy.losses.terms import Terms

ChunkSize = int | Literal["auto"]

# Below so many rows a matrix product is slower for each row, and the weight's gradient is added up too often.
_FEWEST_ROWS = 128


def linear_squentropy(
    features: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    square_weight: float = 1.0,
    chunk_size: ChunkSize = "auto",
) -> Tensor:
    r"""Squentropy of the logits :math:`f = W h + b`, in memory that does not grow with samples times classes.

    The rows are taken in chunks: logits of a chunk, their gradient written over them, and from it the chunk's part of
    the gradients of ``features``, ``linear_weight`` and ``linear_bias``, of which only those that are asked for are
    computed. So the logits exist once for a chunk, and the backward pass has nothing left to do. It is
    ``squentropy(F.linear(features, linear_weight, linear_bias), target, ...)`` up to rounding, and this is what
    runs under ``torch.compile`` and ``torch.func``, in forward mode and for a second derivative.

    Args:
        features: ``(D,)`` or ``(..., D)``: samples, or tokens of sequences.
        linear_weight: ``(C, D)`` of the dtype of ``features``.
        target: class indices ``(...)``, or class probabilities ``(..., C)``.
        linear_bias: ``(C,)`` or None.
        weight: as in :func:`squentropy`.
        ignore_index: as in :func:`squentropy`.
        reduction: as in :func:`squentropy`. With ``"none"`` the backward pass computes the logits a second time.
        label_smoothing: as in :func:`squentropy`.
        square_weight: as in :func:`squentropy`.
        chunk_size: rows in a chunk. ``"auto"`` takes half as many as ``linear_weight`` has columns, so that a chunk
            needs half the memory of the weight's gradient, but at least 128.

    Returns:
        A scalar, or with ``reduction="none"`` a tensor of the shape of class indices. Halves add up the gradient of
        the weight in float32.

    Examples:
        >>> features, linear_weight = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.eye(3, 2)
        >>> linear_squentropy(features, linear_weight, torch.tensor([0, 0]))
        tensor(2.3955)
    """
    _check_head(features, linear_weight, linear_bias, target)
    check_not_negative("square_weight", square_weight)
    if torch.is_autocast_enabled(features.device.type):
        dtype = torch.get_autocast_dtype(features.device.type)
        features, linear_weight = features.to(dtype), linear_weight.to(dtype)
        linear_bias = None if linear_bias is None else linear_bias.to(dtype)
    is_soft = target.ndim == features.ndim
    head = Head(
        features.reshape(-1, features.shape[-1]),
        linear_weight,
        linear_bias,
        target.reshape(-1, target.shape[-1]) if is_soft else target.reshape(-1),
    )
    terms = Terms(1.0, square_weight / max(len(linear_weight) - 1, 1), 0.0, 0.0)
    chunk = _chunk_rows(chunk_size, linear_weight)
    options = Options(weight, ignore_index, reduction, label_smoothing, terms, chunk)
    check_arguments(head.no_logits(), head.target, weight, ignore_index, reduction, label_smoothing)
    if is_eager():
        loss: Tensor = ChunkedHead.apply(options, *head)  # type: ignore[no-untyped-call]
    else:
        loss = at_once(head, options)
    return loss.reshape(features.shape[:-1]) if reduction == "none" else loss


class LinearSquentropyLoss(nn.Module):
    r"""The last layer of a classifier and its loss in one module: :func:`linear_squentropy` with its own weights.

    Train with ``loss = head(features, target)``; predict with ``head.logits(features)``.

    Args:
        in_features: ``D``, the number of features.
        num_classes: ``C``.
        bias: whether the layer has one.
        weight: ``(C,)``, class weights, as in :class:`SquentropyLoss`.
        ignore_index: as there.
        reduction: as there.
        label_smoothing: as there.
        square_weight: as there.
        chunk_size: as in :func:`linear_squentropy`.
        device: of the layer.
        dtype: of the layer.

    Examples:
        >>> head = LinearSquentropyLoss(16, 1000)
        >>> head(torch.randn(8, 16), torch.arange(8)).backward()
        >>> head.linear.weight.grad.shape
        torch.Size([1000, 16])
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        bias: bool = True,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        *,
        square_weight: float = 1.0,
        chunk_size: ChunkSize = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Make a layer with PyTorch's default initial weights."""
        super().__init__()
        check_not_negative("square_weight", square_weight)
        self.linear = nn.Linear(in_features, num_classes, bias=bias, device=device, dtype=dtype)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing
        self.square_weight = square_weight
        self.chunk_size = chunk_size

    def forward(self, features: Tensor, target: Tensor) -> Tensor:
        """The loss of ``features`` and ``target``, as :func:`linear_squentropy` gives it."""
        return linear_squentropy(
            features,
            self.linear.weight,
            target,
            self.linear.bias,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.label_smoothing,
            square_weight=self.square_weight,
            chunk_size=self.chunk_size,
        )

    def logits(self, features: Tensor) -> Tensor:
        """All logits ``(..., C)``, for predictions."""
        logits: Tensor = self.linear(features)
        return logits

    def extra_repr(self) -> str:
        """The options that differ from cross entropy's defaults, and the square term's factor."""
        return options_repr(self, square_weight=self.square_weight)


def _chunk_rows(chunk_size: ChunkSize, linear_weight: Tensor) -> int:
    if chunk_size == "auto":
        return max(_FEWEST_ROWS, linear_weight.shape[1] // 2)
    if not isinstance(chunk_size, int) or chunk_size < 1:
        raise ValueError(f"chunk_size is {chunk_size!r}; use a number of rows, at least 1, or 'auto'")
    return chunk_size


def _check_head(features: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, target: Tensor) -> None:
    if linear_weight.ndim != 2 or features.ndim == 0 or features.shape[-1] != linear_weight.shape[-1]:
        raise ValueError(
            f"features have shape {tuple(features.shape)} and linear_weight {tuple(linear_weight.shape)}: use "
            "(..., D) and (C, D)"
        )
    if features.dtype != linear_weight.dtype and not torch.is_autocast_enabled(features.device.type):
        raise TypeError(f"features are {features.dtype} and linear_weight is {linear_weight.dtype}: use one dtype")
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:1]:
        raise ValueError(
            f"linear_bias has shape {tuple(linear_bias.shape)}; use one number for each of the "
            f"{linear_weight.shape[0]} classes"
        )
    samples = tuple(features.shape[:-1])
    if tuple(target.shape) not in (samples, (*samples, linear_weight.shape[0])):
        raise ValueError(
            f"target has shape {tuple(target.shape)}, features have {tuple(features.shape)}: use class indices of "
            f"shape {samples} or class probabilities of shape {(*samples, linear_weight.shape[0])}"
        )
