"""The vision transformer (Dosovitskiy et al. 2021) of transformers, new or from published weights."""

from pathlib import Path
from typing import Any, cast

from torch import nn

BASE = {
    "image_size": 224,
    "patch_size": 16,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}


def vit(num_classes: int, *, checkpoint: Path | None = None, **settings: Any) -> nn.Module:
    """Returns a vision transformer whose output holds `logits` (N, C) for images (N, 3, H, W).

    Args:
        num_classes: Number of logits C.
        checkpoint: Folder with `config.json` and `model.safetensors`, such as Google's ViT-B/16 trained on
            ImageNet-21k, to start from; its last layer is drawn anew. New weights if None.
        settings: What differs from ViT-B/16 in `transformers.ViTConfig`; not for a checkpoint.

    Examples:
        >>> import torch
        >>> model = vit(10, image_size=32, patch_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        ...             intermediate_size=32)
        >>> model(torch.zeros(2, 3, 32, 32)).logits.shape
        torch.Size([2, 10])
    """
    from transformers import ViTConfig, ViTForImageClassification

    if checkpoint is None:
        return cast(nn.Module, ViTForImageClassification(ViTConfig(**{**BASE, **settings, "num_labels": num_classes})))
    if settings:
        raise ValueError(f"settings are for new weights, but checkpoint {str(checkpoint)!r} has its own: {settings}")
    model = ViTForImageClassification.from_pretrained(
        checkpoint, num_labels=num_classes, ignore_mismatched_sizes=True, local_files_only=True, use_safetensors=True
    )
    return cast(nn.Module, model)
