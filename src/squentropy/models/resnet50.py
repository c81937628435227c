"""ResNet-50 (He et al. 2016) of transformers, with the stride of a stage in its 3 x 3 convolution."""

from typing import Any, cast

from torch import nn


def resnet50(num_classes: int, **settings: Any) -> nn.Module:
    """Returns a ResNet-50 whose output holds `logits` (N, C) for images (N, 3, H, W).

    Args:
        num_classes: Number of logits C.
        settings: What differs from ResNet-50 in `transformers.ResNetConfig`.

    Examples:
        >>> import torch
        >>> model = resnet50(10, embedding_size=4, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1])
        >>> model(torch.zeros(2, 3, 64, 64)).logits.shape
        torch.Size([2, 10])
    """
    from transformers import ResNetConfig, ResNetForImageClassification

    return cast(nn.Module, ResNetForImageClassification(ResNetConfig(**{**settings, "num_labels": num_classes})))
