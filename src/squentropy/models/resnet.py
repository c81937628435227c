"""ResNet-18 (He et al. 2016) with torchvision's stem for large images, or the one that is usual for 32 x 32."""

from typing import Literal, cast

from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions, and a way around them.

    Args:
        in_channels: Channels of its input.
        channels: Channels of its output.
        stride: Stride of the first convolution.
    """

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or in_channels != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns (N, channels, H / stride, W / stride) for inputs (N, in_channels, H, W)."""
        hidden = self.relu(self.bn1(self.conv1(inputs)))
        hidden = self.bn2(self.conv2(hidden))
        around = inputs if self.downsample is None else self.downsample(inputs)
        return cast(Tensor, self.relu(hidden + around))


class ResNet18(nn.Module):
    """Eight basic blocks in four stages of doubling width. Names of weights are those of torchvision's `resnet18`.

    Args:
        num_classes: Number of logits C.
        stem: "imagenet" is a 7 x 7 convolution of stride 2 with max-pooling, as in torchvision; "cifar" a 3 x 3
            convolution of stride 1.
        width: Channels of the first stage.

    Examples:
        >>> import torch
        >>> model = ResNet18(10, stem="cifar")
        >>> sum(parameter.numel() for parameter in model.parameters())
        11173962
        >>> model(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(self, num_classes: int, *, stem: Literal["imagenet", "cifar"] = "imagenet", width: int = 64) -> None:
        super().__init__()
        if stem not in ("imagenet", "cifar"):
            raise ValueError(f"stem must be 'imagenet' or 'cifar', got {stem!r}")
        is_large = stem == "imagenet"
        self.conv1 = nn.Conv2d(3, width, *((7, 2, 3) if is_large else (3, 1, 1)), bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1) if is_large else nn.Identity()
        self.layer1 = _stage(width, width, stride=1)
        self.layer2 = _stage(width, 2 * width, stride=2)
        self.layer3 = _stage(2 * width, 4 * width, stride=2)
        self.layer4 = _stage(4 * width, 8 * width, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8 * width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns logits (N, C) for images (N, 3, H, W)."""
        hidden = self.maxpool(self.relu(self.bn1(self.conv1(inputs))))
        hidden = self.layer4(self.layer3(self.layer2(self.layer1(hidden))))
        return cast(Tensor, self.fc(self.avgpool(hidden).flatten(1)))


def _stage(in_channels: int, channels: int, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(in_channels, channels, stride), BasicBlock(channels, channels, 1))
