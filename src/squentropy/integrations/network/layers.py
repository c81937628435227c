"""Linear layers with ReLU between them: as a module to keep, and flat with a backward pass written by hand to train."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

_LANES = 64  # a fused optimiser is fastest, and rounds all numbers alike, on whole vectors


def new_module(widths: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> nn.Sequential:
    """Return `Linear`, `ReLU`, ..., `Linear` with PyTorch's initial distribution, drawn from a generator.

    Args:
        widths: Number of features, widths of the hidden layers, number of classes.
        dtype: Of weights and biases.
        generator: What is drawn from; PyTorch's own is left alone.

    Examples:
        >>> new_module((4, 8, 3), torch.float32, torch.Generator().manual_seed(0))
        Sequential(
          (0): Linear(in_features=4, out_features=8, bias=True)
          (1): ReLU()
          (2): Linear(in_features=8, out_features=3, bias=True)
        )
    """
    layers: list[nn.Module] = []
    for width, following in pairwise(widths):
        layer = nn.Linear(width, following, device="meta", dtype=dtype).to_empty(device="cpu")
        for values in (layer.weight, layer.bias):
            nn.init.uniform_(values, -(width**-0.5), width**-0.5, generator=generator)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class FlatNetwork:
    """The layers of a module in one flat tensor, which an optimiser updates in one go.

    PyTorch's autograd would cost a small network more than its arithmetic does.

    Args:
        module: What `new_module` returns; its weights are copied.
        device: Where to compute.

    Attributes:
        parameter: All weights and biases; its `grad` is what `backward` writes.
        multiplications: Multiplications in the forward pass of one row.

    Examples:
        >>> module = new_module((4, 8, 3), torch.float32, torch.Generator().manual_seed(0))
        >>> inputs = torch.randn(5, 4)
        >>> torch.allclose(FlatNetwork(module, torch.device("cpu")).forward(inputs), module(inputs), atol=1e-6)
        True
    """

    def __init__(self, module: nn.Sequential, device: torch.device) -> None:
        linear = linear_layers(module)
        sizes = [(layer.out_features, layer.in_features) for layer in linear]
        self.multiplications = sum(rows * columns for rows, columns in sizes)
        count = self.multiplications + sum(rows for rows, _ in sizes)
        self.parameter = torch.zeros(count + -count % _LANES, dtype=linear[0].weight.dtype, device=device)
        self.parameter.grad = torch.zeros_like(self.parameter)
        self._weights, self._biases = _views(self.parameter, sizes)
        self._weight_gradients, self._bias_gradients = _views(self.parameter.grad, sizes)
        self._transposed = [weight.t() for weight in self._weights]
        self._buffers: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        for layer, weight, bias in zip(linear, self._weights, self._biases, strict=True):
            weight.copy_(layer.weight.detach())
            bias.copy_(layer.bias.detach())

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the logits (N, C) of inputs (N, d). The next call with as many rows writes over them."""
        products, hidden = self._buffers_for(len(inputs))
        for weight, bias, product, activations in zip(self._transposed, self._biases, products, hidden, strict=False):
            torch.addmm(bias, inputs, weight, out=product)
            inputs = torch.clamp_min(product, 0, out=activations)
        return torch.addmm(self._biases[-1], inputs, self._transposed[-1], out=products[-1])

    def backward(self, inputs: Tensor, gradient: Tensor) -> None:
        """Write the gradient of `parameter`, right after `forward(inputs)`, for that of the logits (N, C)."""
        products, hidden = self._buffers_for(len(inputs))
        for number in range(len(self._weights) - 1, -1, -1):
            below = hidden[number - 1] if number else inputs
            torch.mm(gradient.t(), below, out=self._weight_gradients[number])
            torch.sum(gradient, 0, out=self._bias_gradients[number])
            if number:
                back = torch.mm(gradient, self._weights[number], out=products[number - 1])
                gradient = torch.ops.aten.threshold_backward.grad_input(back, below, 0, grad_input=back)

    def write_to(self, module: nn.Sequential) -> None:
        """Copy the present weights into a module of the same shape."""
        for layer, weight, bias in zip(linear_layers(module), self._weights, self._biases, strict=True):
            layer.weight.data.copy_(weight)
            layer.bias.data.copy_(bias)

    def _buffers_for(self, rows: int) -> tuple[list[Tensor], list[Tensor]]:
        """Memory for what each layer's product gives, and later its gradient; and for the activations."""
        if rows not in self._buffers:
            products = [self.parameter.new_empty(rows, len(bias)) for bias in self._biases]
            self._buffers[rows] = products, [torch.empty_like(product) for product in products[:-1]]
        return self._buffers[rows]


def linear_layers(module: nn.Sequential) -> list[nn.Linear]:
    """Return the linear layers, first to last."""
    return [layer for layer in module if isinstance(layer, nn.Linear)]


def _views(flat: Tensor, sizes: Sequence[tuple[int, int]]) -> tuple[list[Tensor], list[Tensor]]:
    weights, biases, start = [], [], 0
    for rows, columns in sizes:
        end = start + rows * columns
        weights.append(flat[start:end].view(rows, columns))
        biases.append(flat[end : end + rows])
        start = end + rows
    return weights, biases
