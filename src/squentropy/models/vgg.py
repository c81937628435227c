"""VGG with eleven layers and batch normalisation (Simonyan and Zisserman 2015), as torchvision builds it."""

from typing import cast

from torch import Tensor, nn

_CONVOLUTIONS = ((1,), (2,), (4, 4), (8, 8), (8, 8))  # widths between the poolings, in units of the first


class VGG11(nn.Module):
    """Eight convolutions and three linear layers. Names of weights are those of torchvision's `vgg11_bn`.

    Args:
        num_classes: Number of logits C.
        width: Channels of the first convolution.
        hidden: Width of the two linear layers before the last.
        dropout: Share of activations after each of them set to 0.

    Examples:
        >>> import torch
        >>> model = VGG11(10, width=4, hidden=16)
        >>> model(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(self, num_classes: int, *, width: int = 64, hidden: int = 4096, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for factors in _CONVOLUTIONS:
            for factor in factors:
                convolution = nn.Conv2d(channels, factor * width, 3, padding=1)
                layers += [convolution, nn.BatchNorm2d(factor * width), nn.ReLU(inplace=True)]
                channels = factor * width
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(49 * channels, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(hidden, num_classes),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(cast(Tensor, module.bias))
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.01)
                nn.init.zeros_(module.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns logits (N, C) for images (N, 3, H, W)."""
        return cast(Tensor, self.classifier(self.avgpool(self.features(inputs)).flatten(1)))
