"""Encoders of speech: two blocks of VGG, and recurrent layers with projections and fewer frames from layer to layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

Kind = Literal["GRU", "LSTM"]


class Vgg(nn.Module):
    """Two blocks of two convolutions, each halving frames and frequencies, rounded up (Simonyan & Zisserman 2015).

    Args:
        num_features: Features d of a frame.
        channels: Channels of the two blocks.

    Attributes:
        output_size: Features of a frame that comes out.

    Examples:
        >>> import torch
        >>> outputs, lengths = Vgg(83)(torch.randn(2, 50, 83), torch.tensor([50, 33]))
        >>> outputs.shape, lengths.tolist()
        (torch.Size([2, 13, 2688]), [13, 9])
    """

    def __init__(self, num_features: int, channels: Sequence[int] = (64, 128)) -> None:
        super().__init__()
        few, many = channels
        sizes = [(1, few), (few, few), (few, many), (many, many)]
        self.convolutions = nn.ModuleList(nn.Conv2d(*size, 3, padding=1) for size in sizes)
        self.pool = nn.MaxPool2d(2, ceil_mode=True)
        self.output_size = many * ((num_features + 3) // 4)

    def forward(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Takes features (B, T, d) and lengths (B,), returns (B, T / 4, channels d / 4) and lengths, rounded up."""
        outputs = _silent_behind(lengths, features[:, None])
        for number, convolution in enumerate(self.convolutions):
            outputs = _silent_behind(lengths, convolution(outputs).relu())
            if number % 2:
                outputs, lengths = self.pool(outputs), (lengths + 1) // 2
        return outputs.transpose(1, 2).flatten(2), lengths


def _silent_behind(lengths: Tensor, outputs: Tensor) -> Tensor:
    """Zeros behind the end of each (B, channels, T, d), as there are before its beginning, whatever else is there."""
    is_frame = torch.arange(outputs.shape[2], device=lengths.device)[None, :] < lengths[:, None]
    return outputs * is_frame[:, None, :, None]


class ProjectedRnn(nn.Module):
    """Bidirectional layers, each followed by a projection; some drop every second frame of their outputs.

    Args:
        num_features: Features d of a frame.
        hidden: Units of a layer in each direction.
        projection: Outputs of a projection.
        subsample: For each layer, every which frame is kept.
        kind: "GRU" or "LSTM".
        dropout: Share of the projections' outputs that is dropped, but for the last one's.

    Examples:
        >>> import torch
        >>> encoder = ProjectedRnn(83, hidden=8, projection=6, subsample=(1, 2, 2))
        >>> outputs, lengths = encoder(torch.randn(2, 50, 83), torch.tensor([50, 33]))
        >>> outputs.shape, lengths.tolist()
        (torch.Size([2, 13, 6]), [13, 9])
    """

    def __init__(
        self,
        num_features: int,
        *,
        hidden: int,
        projection: int,
        subsample: Sequence[int],
        kind: Kind = "GRU",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = [num_features, *[projection] * (len(subsample) - 1)]
        self.layers = nn.ModuleList(_bidirectional(kind, size, hidden) for size in sizes)
        self.projections = nn.ModuleList(nn.Linear(2 * hidden, projection) for _ in sizes)
        self.dropout = nn.Dropout(dropout)
        self.subsample = tuple(subsample)
        self.output_size = projection

    def forward(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Takes features (B, T, d) and lengths (B,), returns outputs and their lengths."""
        last = len(self.layers) - 1
        for number, (layer, projection) in enumerate(zip(self.layers, self.projections, strict=True)):
            features = _run(layer, features, lengths)
            step = self.subsample[number]
            features, lengths = features[:, ::step], (lengths + step - 1) // step
            features = projection(features)
            if number < last:
                features = self.dropout(features).tanh()
        return features, lengths


class StackedRnn(nn.Module):
    """Bidirectional layers one upon the other, and one projection with tanh at their end.

    Args:
        num_features: Features d of a frame.
        hidden: Units of a layer in each direction.
        projection: Outputs of the projection.
        num_layers: How many layers.
        kind: "GRU" or "LSTM".
        dropout: Between the layers.

    Examples:
        >>> import torch
        >>> encoder = StackedRnn(20, hidden=8, projection=6, num_layers=2)
        >>> outputs, lengths = encoder(torch.randn(2, 9, 20), torch.tensor([9, 4]))
        >>> outputs.shape, lengths.tolist()
        (torch.Size([2, 9, 6]), [9, 4])
    """

    def __init__(
        self,
        num_features: int,
        *,
        hidden: int,
        projection: int,
        num_layers: int,
        kind: Kind = "LSTM",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = _bidirectional(kind, num_features, hidden, num_layers, dropout)
        self.projection = nn.Linear(2 * hidden, projection)
        self.output_size = projection

    def forward(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Takes features (B, T, d) and lengths (B,), returns outputs of as many frames."""
        return self.projection(_run(self.layers, features, lengths)).tanh(), lengths


def _bidirectional(kind: Kind, size: int, hidden: int, num_layers: int = 1, dropout: float = 0.0) -> nn.Module:
    layer = nn.GRU if kind == "GRU" else nn.LSTM
    return layer(size, hidden, num_layers, batch_first=True, bidirectional=True, dropout=dropout)


def _run(layer: nn.Module, features: Tensor, lengths: Tensor) -> Tensor:
    """Runs a recurrent layer in both directions, each from the true ends; padding gives zeros."""
    packed = pack_padded_sequence(features, lengths.cpu(), batch_first=True, enforce_sorted=False)
    outputs, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=features.shape[1])
    return outputs
