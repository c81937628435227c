"""The fully connected network against its formula and its sizes."""

import pytest
import torch
from torch import nn

from squentropy.models import mlp


def test_it_is_the_formula_with_relu_between_layers_and_none_at_the_end():
    model = mlp(3, (5, 4), 2)
    inputs = torch.randn(7, 3)
    (w1, b1, w2, b2, w3, b3) = (parameter.detach() for parameter in model.parameters())
    hidden = (inputs @ w1.T + b1).clamp(min=0)
    hidden = (hidden @ w2.T + b2).clamp(min=0)
    torch.testing.assert_close(model(inputs), hidden @ w3.T + b3)
    nn.init.constant_(model[-1].bias, -9.0)
    assert model(inputs).max() < 0


@pytest.mark.parametrize(
    ("sizes", "parameters"),
    [
        ((2, (12, 12, 12), 2), 2 * 12 + 12 + 2 * (12 * 12 + 12) + 12 * 2 + 2),
        ((20, (64, 128, 64), 3), 20 * 64 + 64 + 64 * 128 + 128 + 128 * 64 + 64 + 64 * 3 + 3),
        ((4, (), 3), 4 * 3 + 3),
    ],
)
def test_number_of_parameters(sizes, parameters):
    assert sum(parameter.numel() for parameter in mlp(*sizes).parameters()) == parameters


def test_initial_weights_are_those_that_pytorch_gives_its_layers():
    torch.manual_seed(3)
    model = mlp(4, (6,), 3)
    torch.manual_seed(3)
    first, last = nn.Linear(4, 6), nn.Linear(6, 3)
    torch.testing.assert_close(model[0].weight, first.weight, rtol=0, atol=0)
    torch.testing.assert_close(model[-1].bias, last.bias, rtol=0, atol=0)


def test_batch_norm_comes_before_each_linear_layer():
    kinds = [type(layer) for layer in mlp(4, (6, 5), 3, batch_norm=True)]
    assert kinds == [nn.BatchNorm1d, nn.Linear, nn.ReLU, nn.BatchNorm1d, nn.Linear, nn.ReLU, nn.BatchNorm1d, nn.Linear]


def test_an_impossible_size_is_refused():
    with pytest.raises(ValueError, match="num_classes at least 2, got 3 and 1"):
        mlp(3, (4,), 1)
