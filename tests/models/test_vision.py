"""The vision models: parameter counts as published, names as in public checkpoints, weights as first drawn."""

import math
import re

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from squentropy.models import VGG11, ResNet18, TemporalConvNet, WideResNet, efficientnet_b0, resnet50, vit


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


# torchvision's and transformers' pages of models, and the tables of the papers (WRN-28-10: 36.5 M)
@pytest.mark.parametrize(
    ("build", "parameters"),
    [
        (lambda: ResNet18(1000), 11_689_512),
        (lambda: ResNet18(10, stem="cifar"), 11_173_962),
        (lambda: WideResNet(10, widen=10), 36_479_194),
        (lambda: WideResNet(100, widen=10), 36_536_884),
        (lambda: WideResNet(100), 145_930_804),
        (lambda: VGG11(1000), 132_868_840),
        (lambda: VGG11(10), 128_812_810),
        (lambda: resnet50(1000), 25_557_032),
        (lambda: efficientnet_b0(1000), 5_288_548),
        (lambda: vit(1000), 86_567_656),
        (lambda: vit(10), 85_806_346),
        (lambda: TemporalConvNet(10), 66_910),
    ],
    ids=lambda each: str(each) if isinstance(each, int) else "",
)
def test_parameter_counts_are_the_published_ones(build, parameters):
    with torch.device("meta"):
        assert count(build()) == parameters


# Billions of multiply-adds for an image: torchvision's table of weights, and for WRN-28-10 the table of its paper.
@pytest.mark.parametrize(
    ("build", "size", "billions"),
    [
        (lambda: ResNet18(1000), 224, 1.81),
        (lambda: VGG11(1000), 224, 7.61),
        (lambda: resnet50(1000), 224, 4.09),
        (lambda: efficientnet_b0(1000), 224, 0.39),
        (lambda: vit(1000), 224, 17.56),
        (lambda: WideResNet(10, widen=10), 32, 5.2),
    ],
    ids=["resnet18", "vgg11", "resnet50", "efficientnet", "vit", "wide_resnet"],
)
def test_whole_networks_compute_as_much_as_the_published_ones(build, size, billions):
    """Strides, paddings and groups show in it: numbers of parameters are the same without them."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        output = build().eval()(torch.empty(1, 3, size, size))
    assert getattr(output, "logits", output).shape == (1, 10 if size == 32 else 1000)
    assert counter.get_total_flops() / 2e9 == pytest.approx(billions, rel=0.02)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (ResNet18(7, width=4), (2, 3, 96, 96)),
        (ResNet18(7, stem="cifar", width=4), (2, 3, 32, 32)),
        (WideResNet(7, depth=16, widen=1), (2, 3, 32, 32)),
        (VGG11(7, width=2, hidden=8), (2, 3, 32, 32)),
        (TemporalConvNet(7, width=3, levels=2), (2, 1, 50)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_each_model_gives_logits_that_reach_every_weight(model, shape):
    logits = model(torch.randn(shape))
    assert logits.shape == (2, 7)
    (logits**2).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_resnet_takes_torchvision_state_dicts():
    """Some names and shapes of torchvision's `resnet18`, read off its published checkpoint."""
    with torch.device("meta"):
        shapes = {name: tuple(value.shape) for name, value in ResNet18(1000).state_dict().items()}
    assert len(shapes) == 122
    assert shapes["conv1.weight"] == (64, 3, 7, 7)
    assert shapes["bn1.num_batches_tracked"] == ()
    assert shapes["layer1.0.conv1.weight"] == (64, 64, 3, 3)
    assert shapes["layer2.0.downsample.0.weight"] == (128, 64, 1, 1)
    assert shapes["layer2.0.downsample.1.running_mean"] == (128,)
    assert "layer1.0.downsample.0.weight" not in shapes
    assert shapes["layer4.1.bn2.weight"] == (512,)
    assert shapes["fc.weight"] == (1000, 512)


def test_vgg_takes_torchvision_state_dicts():
    """Some names and shapes of torchvision's `vgg11_bn`, read off its published checkpoint."""
    with torch.device("meta"):
        shapes = {name: tuple(value.shape) for name, value in VGG11(1000).state_dict().items()}
    # Convolutions with weight and bias, each before the five tensors of a batch normalisation.
    convolutions = {
        "features.0": (64, 3, 3, 3),
        "features.4": (128, 64, 3, 3),
        "features.8": (256, 128, 3, 3),
        "features.11": (256, 256, 3, 3),
        "features.15": (512, 256, 3, 3),
        "features.18": (512, 512, 3, 3),
        "features.22": (512, 512, 3, 3),
        "features.25": (512, 512, 3, 3),
    }
    linear = {"classifier.0": (4096, 25088), "classifier.3": (4096, 4096), "classifier.6": (1000, 4096)}
    for name, shape in {**convolutions, **linear}.items():
        assert shapes[f"{name}.weight"] == shape
        assert shapes[f"{name}.bias"] == shape[:1]
    assert shapes["features.26.running_var"] == (512,)
    assert len(shapes) == 8 * 7 + 3 * 2


def test_wide_resnet_takes_the_state_dicts_of_its_reference():
    """Names of github.com/xternalz/WideResNet-pytorch; a first block has a shortcut, the others have none."""
    with torch.device("meta"):
        names = set(WideResNet(10, widen=10).state_dict())
    assert {"conv1.weight", "block1.layer.0.convShortcut.weight", "block3.layer.3.bn2.running_mean", "fc.bias"} <= names
    assert "block1.layer.1.convShortcut.weight" not in names


def test_tcn_takes_weights_of_the_old_weight_normalisation():
    model, other = TemporalConvNet(10, width=3, levels=2), TemporalConvNet(10, width=3, levels=2)
    published = {
        name.replace("parametrizations.weight.original0", "weight_g").replace(
            "parametrizations.weight.original1", "weight_v"
        ): value
        for name, value in model.state_dict().items()
    }
    assert "network.1.conv2.weight_v" in published
    other.load_state_dict(published)
    inputs = torch.randn(2, 1, 30)
    torch.testing.assert_close(other.eval()(inputs), model.eval()(inputs))


def test_tcn_sees_no_later_step_and_all_earlier_ones():
    model = TemporalConvNet(4, width=3, levels=3, kernel_size=3).eval()
    assert model.receptive_field == 1 + 2 * 2 * 7
    inputs = torch.randn(1, 1, 60, requires_grad=True)
    model.network(inputs)[:, :, 40].sum().backward()
    reached = inputs.grad[0, 0].nonzero()[:, 0]
    assert reached.max() == 40
    assert reached.min() >= 40 - model.receptive_field + 1
    assert reached.min() <= 14  # a ReLU may hide the very last


def test_a_block_of_resnet_is_the_published_formula():
    block = ResNet18(10, stem="cifar", width=4).eval().layer2[0]
    for module in block.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
    inputs = torch.randn(2, 4, 8, 8)

    def normalised(values, bn):
        mean, variance = (each[:, None, None] for each in (bn.running_mean, bn.running_var))
        return (values - mean) / (variance + 1e-5).sqrt()

    hidden = normalised(torch.conv2d(inputs, block.conv1.weight, stride=2, padding=1), block.bn1).clamp(min=0)
    hidden = normalised(torch.conv2d(hidden, block.conv2.weight, padding=1), block.bn2)
    around = normalised(torch.conv2d(inputs, block.downsample[0].weight, stride=2), block.downsample[1])
    torch.testing.assert_close(block(inputs), (hidden + around).clamp(min=0))


def name_in_transformers(name):
    """`layer1.0.conv2.weight` is `resnet.encoder.stages.0.layers.0.layer.1.convolution.weight` there."""
    if name.startswith("fc"):
        return name.replace("fc", "classifier.1")
    for ours, theirs in {"downsample.0": "shortcut.convolution", "downsample.1": "shortcut.normalization"}.items():
        name = name.replace(ours, theirs)
    stage = re.match(r"layer(\d)\.(\d)\.", name)
    for ours, theirs in {"conv": "convolution", "bn": "normalization"}.items():
        place = f"layer.{{}}.{theirs}" if stage else f"embedder.embedder.{theirs}"
        name = re.sub(rf"\b{ours}(\d)", lambda found, place=place: place.format(int(found[1]) - 1), name)
    return f"resnet.{name}" if stage is None else f"resnet.encoder.stages.{int(stage[1]) - 1}.layers.{name[7:]}"


def test_resnet_computes_what_another_implementation_does_with_its_weights():
    """The same weights in transformers' network of basic blocks, under its names."""
    ours = ResNet18(10, width=8).eval()
    for module in ours.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
    theirs = resnet50(10, layer_type="basic", embedding_size=8, hidden_sizes=[8, 16, 32, 64], depths=[2, 2, 2, 2])
    theirs.load_state_dict({name_in_transformers(name): value for name, value in ours.state_dict().items()})
    images = torch.randn(2, 3, 64, 64)
    torch.testing.assert_close(ours(images), theirs.eval()(images).logits)


@pytest.mark.parametrize("model", [ResNet18(10), WideResNet(10, widen=4, depth=16), VGG11(10, hidden=64)], ids=type)
def test_convolutions_begin_with_the_variance_of_he(model):
    """Normal with variance 2 / fan-out (He et al. 2015); biases 0, batch normalisation the identity."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and module.weight.numel() > 4000:
            fan_out = module.out_channels * math.prod(module.kernel_size)
            assert module.weight.std().item() == pytest.approx(math.sqrt(2 / fan_out), rel=0.05)
        if isinstance(module, nn.BatchNorm2d):
            assert (module.weight == 1).all()
            assert (module.bias == 0).all()


def test_the_classifier_of_vgg_begins_small():
    linear = VGG11(10, width=8, hidden=64).classifier[0]
    assert linear.weight.std().item() == pytest.approx(0.01, rel=0.02)
    assert (linear.bias == 0).all()


def test_efficientnet_begins_as_its_reference():
    model = efficientnet_b0(1000)
    depthwise = next(m for m in model.modules() if isinstance(m, nn.Conv2d) and m.groups == m.out_channels == 672)
    assert depthwise.weight.std().item() == pytest.approx(math.sqrt(2 / math.prod(depthwise.kernel_size)), rel=0.05)
    assert model.classifier.weight.abs().max().item() == pytest.approx(1 / math.sqrt(1000), rel=1e-3)
    normalisations = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    assert {(m.momentum, m.eps) for m in normalisations} == {(0.01, 1e-3)}
    assert all((m.weight == 1).all() and (m.bias == 0).all() for m in normalisations)


def test_what_efficientnet_sees_reaches_its_last_layer():
    features = []
    model = efficientnet_b0(10, width_coefficient=0.25, depth_coefficient=0.5, hidden_dim=320)
    model.classifier.register_forward_hook(lambda module, inputs, output: features.append(inputs[0]))
    model(torch.randn(16, 3, 64, 64))
    assert features[0].std(0).mean() > 0.1


def test_efficientnet_drops_whole_blocks_more_often_the_deeper_they_are():
    blocks = efficientnet_b0(10).efficientnet.encoder.blocks
    assert [block.projection.dropout.share for block in blocks] == [0.2 * n / 16 for n in range(16)]
    dropped = blocks[10].projection.dropout(torch.ones(4000, 3, 2, 2))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.875])
    assert (dropped == dropped[:, :1, :1, :1]).all()  # all of an image or nothing
    assert dropped.mean().item() == pytest.approx(1, abs=0.03)
    assert torch.equal(blocks[10].eval().projection.dropout(dropped), dropped)


def test_vit_starts_from_a_checkpoint_with_a_new_last_layer(tmp_path):
    small = {
        "image_size": 8, "patch_size": 4, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8,
    }  # fmt: skip
    published = vit(21, **small)
    published.save_pretrained(tmp_path, safe_serialization=True)
    tuned = vit(10, checkpoint=tmp_path)
    assert tuned.classifier.weight.shape == (10, 8)
    name = "vit.embeddings.patch_embeddings.projection.weight"
    assert torch.equal(tuned.state_dict()[name], published.state_dict()[name])
    with pytest.raises(ValueError, match="settings are for new weights"):
        vit(10, checkpoint=tmp_path, hidden_size=8)


def test_what_cannot_be_built_is_said():
    with pytest.raises(ValueError, match="stem must be 'imagenet' or 'cifar', got 'stl'"):
        ResNet18(10, stem="stl")
    with pytest.raises(ValueError, match="depth must be 4 more than a multiple of 6, such as 16 or 28, got 20"):
        WideResNet(10, depth=20)
