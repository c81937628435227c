"""ResNet-50 from TensorFlow.js's format: a file written here, and the network computed as Keras describes it."""

import json

import pytest
import torch
import torch.nn.functional as F

from squentropy.models import resnet50, resnet50_from_tfjs
from squentropy.models.resnet50_tfjs import read_tfjs, to_transformers

BLOCKS = ("2a", "2b", "2c", "3a", "3b", "3c", "3d", "4a", "4b", "4c", "4d", "4e", "4f", "5a", "5b", "5c")


def keras_weights(*, stem=4, width=8, classes=5):
    """Random weights with the names and shapes of Keras' ResNet-50; `width` is that of the first stage's output."""
    generator = torch.Generator().manual_seed(0)
    weights = {}

    def layer(name, kernel, inside, outside):
        convolution, normalisation = (f"res{name}", f"bn{name}") if name != "conv1" else ("conv1", "bn_conv1")
        scale = (2 / (kernel * kernel * inside)) ** 0.5
        weights[f"{convolution}/kernel"] = scale * torch.randn(kernel, kernel, inside, outside, generator=generator)
        weights[f"{convolution}/bias"] = torch.randn(outside, generator=generator)
        for part in ("gamma", "beta", "moving_mean", "moving_variance"):
            weights[f"{normalisation}/{part}"] = 0.5 + torch.rand(outside, generator=generator)

    layer("conv1", 7, 3, stem)
    channels = stem
    for block in BLOCKS:
        outside = width * 2 ** (int(block[0]) - 2)
        if block[1] == "a":
            layer(f"{block}_branch1", 1, channels, outside)
        layer(f"{block}_branch2a", 1, channels, outside // 4)
        layer(f"{block}_branch2b", 3, outside // 4, outside // 4)
        layer(f"{block}_branch2c", 1, outside // 4, outside)
        channels = outside
    weights["fc1000/kernel"] = torch.randn(channels, classes, generator=generator)
    weights["fc1000/bias"] = torch.randn(classes, generator=generator)
    return weights


def keras_logits(weights, images):
    """What Keras' layers compute, one after another."""

    def layer(name, inputs, stride=1, padding=0):
        convolution, normalisation = (f"res{name}", f"bn{name}") if name != "conv1" else ("conv1", "bn_conv1")
        kernel = weights[f"{convolution}/kernel"].permute(3, 2, 0, 1)
        hidden = F.conv2d(inputs, kernel, weights[f"{convolution}/bias"], stride, padding)
        gamma, beta, mean, variance = (
            weights[f"{normalisation}/{part}"][:, None, None]
            for part in ("gamma", "beta", "moving_mean", "moving_variance")
        )
        return gamma * (hidden - mean) / (variance + 1e-3).sqrt() + beta

    hidden = F.max_pool2d(F.pad(layer("conv1", images, 2, 3).relu(), (1, 1, 1, 1)), 3, 2)
    for block in BLOCKS:
        stride = 2 if block[1] == "a" and block != "2a" else 1
        around = layer(f"{block}_branch1", hidden, stride) if block[1] == "a" else hidden
        hidden = layer(f"{block}_branch2a", hidden, stride).relu()
        hidden = layer(f"{block}_branch2b", hidden, 1, 1).relu()
        hidden = (layer(f"{block}_branch2c", hidden) + around).relu()
    return hidden.mean((2, 3)) @ weights["fc1000/kernel"] + weights["fc1000/bias"]


def write(folder, weights, *, shard=10_000):
    """`model.json` and files that hold all weights one after another, cut wherever a file is full."""
    folder.mkdir()
    content = b"".join(value.contiguous().numpy().astype("<f4").tobytes() for value in weights.values())
    shards = [content[start : start + shard] for start in range(0, len(content), shard)]
    for number, part in enumerate(shards):
        (folder / f"group1-shard{number}.bin").write_bytes(part)
    entries = [{"name": name, "shape": list(value.shape), "dtype": "float32"} for name, value in weights.items()]
    group = {"paths": [f"group1-shard{number}.bin" for number in range(len(shards))], "weights": entries}
    (folder / "model.json").write_text(json.dumps({"weightsManifest": [group]}))


def test_the_network_computes_what_keras_computes(tmp_path):
    weights = keras_weights()
    write(tmp_path / "model", weights)
    settings = {"embedding_size": 4, "hidden_sizes": [8, 16, 32, 64]}
    model = resnet50(5, downsample_in_bottleneck=True, **settings).eval()
    model.load_state_dict(to_transformers(read_tfjs(tmp_path / "model")))
    images = torch.randn(2, 3, 64, 64)
    torch.testing.assert_close(model(images).logits, keras_logits(weights, images), rtol=1e-3, atol=1e-3)


def test_names_and_shapes_are_those_of_the_whole_network():
    with torch.device("meta"):
        expected = {name: value.shape for name, value in resnet50(1000).state_dict().items()}
    state = to_transformers(keras_weights(stem=64, width=256, classes=1000))
    assert {name: value.shape for name, value in state.items()} == expected


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"is not a TensorFlow.js model that can be read .*unpack it again"):
        resnet50_from_tfjs(tmp_path)
    weights = keras_weights()
    del weights["bn4c_branch2b/beta"]
    with pytest.raises(ValueError, match="must be those of Keras' ResNet-50, but 'bn4c_branch2b/beta' is missing"):
        to_transformers(weights)
    short = {"conv1/bias": torch.ones(3)}
    write(tmp_path / "short", short)
    (tmp_path / "short" / "group1-shard0.bin").write_bytes(b"\0" * 8)
    with pytest.raises(ValueError, match="ends within the weight 'conv1/bias'; unpack it again"):
        read_tfjs(tmp_path / "short")
    manifest = json.loads((tmp_path / "short" / "model.json").read_text())
    manifest["weightsManifest"][0]["weights"][0]["quantization"] = {"dtype": "uint8"}
    (tmp_path / "short" / "model.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="the weight 'conv1/bias' is not float32, as it has to be"):
        read_tfjs(tmp_path / "short")


def test_a_model_names_no_files_elsewhere(tmp_path):
    write(tmp_path / "model", {"conv1/bias": torch.arange(3.0)})
    (tmp_path / "secret").write_bytes(b"\0" * 12)
    manifest = json.loads((tmp_path / "model" / "model.json").read_text())
    manifest["weightsManifest"][0]["paths"] = ["../secret"]
    (tmp_path / "model" / "model.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=r"is not a TensorFlow.js model that can be read"):
        read_tfjs(tmp_path / "model")
