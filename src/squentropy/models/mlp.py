"""Fully connected networks: 64-128-64 for the tabular data sets, 12-12-12 for the spiral."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def mlp(num_features: int, hidden: Sequence[int], num_classes: int, *, batch_norm: bool = False) -> nn.Sequential:
    """Returns a fully connected network with ReLU between its layers and raw logits at its end.

    Weights and biases have PyTorch's default initial values.

    Args:
        num_features: Number of inputs d; the network takes (N, d).
        hidden: Widths of the hidden layers.
        num_classes: Number of logits C; the network returns (N, C).
        batch_norm: Whether each linear layer, the first one too, is preceded by batch normalisation.

    Examples:
        >>> import torch
        >>> model = mlp(20, (64, 128, 64), 5)
        >>> model(torch.zeros(8, 20)).shape
        torch.Size([8, 5])
    """
    if num_features < 1 or num_classes < 2:
        raise ValueError(
            f"num_features must be at least 1 and num_classes at least 2, got {num_features} and {num_classes}"
        )
    layers: list[nn.Module] = []
    for width, following in pairwise((num_features, *hidden, num_classes)):
        if layers:
            layers.append(nn.ReLU())
        if batch_norm:
            layers.append(nn.BatchNorm1d(width))
        layers.append(nn.Linear(width, following))
    return nn.Sequential(*layers)
