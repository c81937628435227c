"""EfficientNet-B0 (Tan and Le 2019) of transformers."""

import math
from typing import Any, cast

from torch import nn

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


def efficientnet_b0(num_classes: int, **settings: Any) -> nn.Module:
    """Returns an EfficientNet-B0 whose output holds `logits` (N, C) for images (N, 3, H, W).

    Weights are drawn as the reference draws them: convolutions with variance 2 / fan-out, the last layer uniformly.

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
        elif isinstance(module, nn.BatchNorm2d):  # transformers heeds its own settings in some of them only
            module.momentum, module.eps = config.batch_norm_momentum, config.batch_norm_eps
    return model
