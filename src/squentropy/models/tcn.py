"""The temporal convolutional network of Bai, Kolter and Koltun (2018), for MNIST read as a sequence of pixels."""

from typing import cast

from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm


class CausalConv(nn.Conv1d):
    """A dilated convolution over time that sees no later step: all its padding is at the beginning.

    Args:
        in_channels: Channels of its input.
        out_channels: Channels of its output.
        kernel_size: Steps that it sees.
        dilation: Distance between them.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, dilation: int) -> None:
        super().__init__(in_channels, out_channels, kernel_size, dilation=dilation)
        self.past = (kernel_size - 1) * dilation

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns (N, out_channels, L) for inputs (N, in_channels, L)."""
        return super().forward(nn.functional.pad(inputs, (self.past, 0)))


class TemporalBlock(nn.Module):
    """Two causal convolutions with weight normalisation, ReLU and dropout, and a way around them.

    Args:
        in_channels: Channels of its input.
        out_channels: Channels of its output.
        kernel_size: Steps that a convolution sees.
        dilation: Distance between them.
        dropout: Share of activations set to 0.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.conv1 = weight_norm(CausalConv(in_channels, out_channels, kernel_size, dilation))
        self.conv2 = weight_norm(CausalConv(out_channels, out_channels, kernel_size, dilation))
        self.dropout = nn.Dropout(dropout)
        self.downsample = nn.Conv1d(in_channels, out_channels, 1) if in_channels != out_channels else None
        # The reference draws all convolutions from N(0, 0.01), but of those with weight normalisation it sets a copy
        # that the next forward pass replaces: they keep PyTorch's default. Only this one is what was asked for.
        if self.downsample is not None:
            nn.init.normal_(self.downsample.weight, std=0.01)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns (N, out_channels, L) for inputs (N, in_channels, L)."""
        hidden = self.dropout(self.conv1(inputs).relu())
        hidden = self.dropout(self.conv2(hidden).relu())
        around = inputs if self.downsample is None else self.downsample(inputs)
        return cast(Tensor, (hidden + around).relu())


class TemporalConvNet(nn.Module):
    """Blocks whose dilation doubles from one to the next, and a linear layer on the last time step.

    A checkpoint of the reference (github.com/locuslab/TCN, `mnist_pixel`) loads into it once `tcn.` is taken away from
    its names; what they call `weight_g` and `weight_v` finds its place by itself.

    Args:
        num_classes: Number of logits C.
        in_channels: Channels of the sequence.
        width: Channels of every block.
        levels: Number of blocks.
        kernel_size: Steps that a convolution sees.
        dropout: Share of activations set to 0.

    Examples:
        >>> import torch
        >>> model = TemporalConvNet(10)
        >>> model(torch.zeros(2, 1, 784)).shape, model.receptive_field
        (torch.Size([2, 10]), 3061)
    """

    def __init__(
        self,
        num_classes: int,
        *,
        in_channels: int = 1,
        width: int = 25,
        levels: int = 8,
        kernel_size: int = 7,
        dropout: float = 0.05,
    ) -> None:
        super().__init__()
        self.network = nn.Sequential(
            *(
                TemporalBlock(width if level else in_channels, width, kernel_size, 2**level, dropout)
                for level in range(levels)
            )
        )
        self.linear = nn.Linear(width, num_classes)
        self.receptive_field = 1 + 2 * (kernel_size - 1) * (2**levels - 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns logits (N, C) for sequences (N, in_channels, L)."""
        return cast(Tensor, self.linear(self.network(inputs)[:, :, -1]))
