"""The four published models: their parameters, written out layer by layer from the sizes of ESPnet's recipes."""

import pytest
import torch

from squentropy.models.speech.architectures import projected_gru, speech_transformer, vgg_lstm, vgg_projected_lstm

FEATURES = 83
VGG_FEATURES = 128 * 21  # 83 halved twice, rounded up


def linear(inputs, outputs):
    return (inputs + 1) * outputs


def recurrent(gates, inputs, units):
    """A bidirectional layer with both of PyTorch's biases."""
    return 2 * gates * (inputs * units + units * units + 2 * units)


def attention(memory, query, size):
    return linear(memory, size) + query * size + 10 * size + 10 * 201 + linear(size, 1)


def decoder(memory, symbols, units, layers, size):
    first = 4 * units * (units + memory + units + 2)
    further = (layers - 1) * 4 * units * (2 * units + 2)
    return attention(memory, units, size) + symbols * units + first + further + linear(units, symbols)


VGG = linear(9, 64) + linear(9 * 64, 64) + linear(9 * 64, 128) + linear(9 * 128, 128)
TRANSFORMER_LAYER = 4 * linear(256, 256) + linear(256, 2048) + linear(2048, 256)


def transformer(symbols):
    convolutions = linear(9, 256) + linear(9 * 256, 256) + linear(256 * 20, 256)
    encoder = convolutions + 12 * (TRANSFORMER_LAYER + 2 * 512) + 512
    layers = 6 * (TRANSFORMER_LAYER + 4 * linear(256, 256) + 3 * 512) + 512
    return encoder + layers + symbols * 256 + 2 * linear(256, symbols)


@pytest.mark.parametrize(
    ("architecture", "symbols", "expected"),
    [
        (
            projected_gru,
            42,
            recurrent(3, FEATURES, 320)
            + 4 * recurrent(3, 320, 320)
            + 5 * linear(640, 320)
            + decoder(320, 42, 300, 1, 320)
            + linear(320, 42),
        ),
        (
            vgg_projected_lstm,
            52,
            VGG
            + recurrent(4, VGG_FEATURES, 320)
            + 5 * recurrent(4, 320, 320)
            + 6 * linear(640, 320)
            + decoder(320, 52, 300, 1, 320)
            + linear(320, 52),
        ),
        (
            vgg_lstm,
            1002,
            VGG
            + recurrent(4, VGG_FEATURES, 1024)
            + 4 * recurrent(4, 2048, 1024)
            + linear(2048, 1024)
            + decoder(1024, 1002, 1024, 2, 1024)
            + linear(1024, 1002),
        ),
        (speech_transformer, 52, transformer(52)),
    ],
    ids=["projected_gru", "vgg_projected_lstm", "vgg_lstm", "speech_transformer"],
)
def test_parameters_of_the_published_sizes(architecture, symbols, expected):
    with torch.device("meta"):
        model = architecture(FEATURES, symbols)
    assert sum(each.numel() for each in model.parameters()) == expected
    assert model.end == symbols - 1
