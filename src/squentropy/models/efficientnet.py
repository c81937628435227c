"""EfficientNet-B0 (Tan and Le 2019) of transformers."""

import math
from typing import Any, cast

import torch
from torch import Tensor, nn

# EfficientNetConfig describes B7; these are the numbers of B0.
B0 = {
    "width_coefficient": 1.0,
    "depth_coefficient": 1.0,
    "hidden_dim": 1280,
    "dropout_rate": 0.2,
    "drop_connect_rate": 0.2,
    "image_size": 224,
    "batch_norm_momentum": 0.01,  # the share of the new batch, in PyTorch's sense; the published 0.99 is the old share
}


class DropConnect(nn.Module):
    """Leaves a block out for some images and makes up for it in the others, so that its mean stays what it is.

    Args:
        share: Of the images that go around the block in training.

    Examples:
        >>> sorted(set(DropConnect(0.5)(torch.ones(100, 1, 1, 1)).flatten().tolist()))
        [0.0, 2.0]
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, hidden: Tensor) -> Tensor:
        """Returns what is added to the way around, (N, C, H, W)."""
        if not self.training or self.share == 0:
            return hidden
        kept = torch.rand(len(hidden), 1, 1, 1, device=hidden.device) >= self.share
        return hidden * kept / (1 - self.share)


def efficientnet_b0(num_classes: int, **settings: Any) -> nn.Module:
    """Returns an EfficientNet-B0 whose output holds `logits` (N, C) for images (N, 3, H, W).

    Weights are drawn as the reference draws them, not as transformers does: convolutions with variance 2 / fan-out, the
    last layer uniformly, batch normalisation as the identity. A block is dropped for a whole image, as published.

    Args:
        num_classes: Number of logits C.
        settings: What differs from B0 in `transformers.EfficientNetConfig`.

    Examples:
        >>> import torch
        >>> model = efficientnet_b0(10, width_coefficient=0.25, hidden_dim=320)
        >>> model(torch.zeros(2, 3, 64, 64)).logits.shape
        torch.Size([2, 10])
    """
    from transformers import EfficientNetConfig, EfficientNetForImageClassification

    config = EfficientNetConfig(**{**B0, **settings, "num_labels": num_classes})
    model = cast(nn.Module, EfficientNetForImageClassification(config))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels // module.groups
            nn.init.normal_(module.weight, std=math.sqrt(2 / fan_out))
        elif isinstance(module, nn.Linear):
            nn.init.uniform_(module.weight, -1 / math.sqrt(module.out_features), 1 / math.sqrt(module.out_features))
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):  # transformers would draw its weights from N(0, 0.02)
            nn.init.ones_(module.weight)
            module.momentum, module.eps = config.batch_norm_momentum, config.batch_norm_eps
    for block in cast(Any, model).efficientnet.encoder.blocks:  # transformers drops single numbers instead
        block.projection.dropout = DropConnect(block.projection.dropout.p)
    return model
