"""Wide residual networks (Zagoruyko and Komodakis 2016); the paper has depth 28 and widening factor 20."""

from typing import cast

from torch import Tensor, nn


class WideBlock(nn.Module):
    """Two 3 x 3 convolutions, each after batch normalisation and ReLU, and a way around them.

    Args:
        in_channels: Channels of its input.
        channels: Channels of its output.
        stride: Stride of the first convolution.
        dropout: Share of activations between the convolutions set to 0.
    """

    def __init__(self, in_channels: int, channels: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu2 = nn.ReLU(inplace=True)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.convShortcut = None  # the reference's name
        if in_channels != channels:
            self.convShortcut = nn.Conv2d(in_channels, channels, 1, stride, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns (N, channels, H / stride, W / stride) for inputs (N, in_channels, H, W)."""
        active = self.relu1(self.bn1(inputs))
        around = inputs if self.convShortcut is None else self.convShortcut(active)
        hidden = self.dropout(self.relu2(self.bn2(self.conv1(active))))
        return cast(Tensor, self.conv2(hidden) + around)


class _Stage(nn.Module):
    """Blocks of one width; the reference calls their list `layer`."""

    def __init__(self, blocks: int, in_channels: int, channels: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.layer = nn.Sequential(
            WideBlock(in_channels, channels, stride, dropout),
            *(WideBlock(channels, channels, 1, dropout) for _ in range(blocks - 1)),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        return cast(Tensor, self.layer(inputs))


class WideResNet(nn.Module):
    """Three stages of (depth - 4) / 6 blocks. Names of weights are those of github.com/xternalz/WideResNet-pytorch.

    Args:
        num_classes: Number of logits C.
        depth: Number of convolutions with 3 x 3 weights, and the last layer; 4 more than a multiple of 6.
        widen: How many times wider than the first residual networks.
        dropout: Share of activations inside a block set to 0.
        base: Channels of the first convolution; stages have 1, 2 and 4 times `base * widen`.

    Examples:
        >>> import torch
        >>> model = WideResNet(100, depth=10, widen=1)
        >>> model(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 100])
    """

    def __init__(
        self, num_classes: int, *, depth: int = 28, widen: int = 20, dropout: float = 0.0, base: int = 16
    ) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise ValueError(f"depth must be 4 more than a multiple of 6, such as 16 or 28, got {depth}")
        widths = [base, base * widen, 2 * base * widen, 4 * base * widen]
        blocks = (depth - 4) // 6
        self.conv1 = nn.Conv2d(3, widths[0], 3, padding=1, bias=False)
        self.block1 = _Stage(blocks, widths[0], widths[1], 1, dropout)
        self.block2 = _Stage(blocks, widths[1], widths[2], 2, dropout)
        self.block3 = _Stage(blocks, widths[2], widths[3], 2, dropout)
        self.bn1 = nn.BatchNorm2d(widths[3])
        self.relu = nn.ReLU(inplace=True)
        self.fc = nn.Linear(widths[3], num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(self.fc.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns logits (N, C) for images (N, 3, H, W)."""
        hidden = self.block3(self.block2(self.block1(self.conv1(inputs))))
        return cast(Tensor, self.fc(self.relu(self.bn1(hidden)).mean((2, 3))))
