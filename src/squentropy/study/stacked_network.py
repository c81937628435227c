"""Many replicas of one small network as batched matrix products, with a backward pass written by hand."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

# A fused optimiser rounds the few numbers after the last whole vector otherwise than the rest. With a length that is a
# multiple of all vectors there are none, and a replica's numbers do not depend on where in the tensor it stands.
_LANES = 64


class StackedNetwork:
    """Replicas of a stack of `Linear` and `ReLU`: the same widths, each with weights of its own.

    A layer of all R replicas is one tensor (R, in + 1, out): the transposed weights, and the bias as the last row,
    which meets a column of ones in the layer's inputs. So value and gradient of weights and bias are one matrix product
    each. All layers lie in one flat tensor, which an elementwise optimiser updates in one go.

    Args:
        models: The replicas, whose weights are copied.

    Attributes:
        parameters: All weights and biases, flat, and some zeros at the end.
        gradient: The gradient of `parameters`, which `backward` writes.
        layers: The layers (R, in + 1, out), first to last; they share the memory of `parameters`.

    Examples:
        >>> model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> inputs = torch.randn(1, 5, 3)
        >>> logits = StackedNetwork([model]).forward(with_ones(inputs))
        >>> torch.allclose(logits, model(inputs), atol=1e-6)
        True
    """

    def __init__(self, models: Sequence[nn.Module]) -> None:
        replicas = [linear_layers(model) for model in models]
        self.num_replicas = len(replicas)
        self._shapes = [(layer.in_features + 1, layer.out_features) for layer in replicas[0]]
        count = self.num_replicas * sum(rows * columns for rows, columns in self._shapes)
        self.parameters = torch.zeros(count + -count % _LANES)
        self.gradient = torch.zeros_like(self.parameters)
        self.layers = self._by_layer(self.parameters)
        self._gradients = self._by_layer(self.gradient)
        # Seen by the backward pass: the weights without the biases, back from outputs to inputs.
        self._transposed = [layer[:, :-1].transpose(1, 2) for layer in self.layers]
        self._buffers: dict[int, _Buffers] = {}
        for number, replica in enumerate(replicas):
            for layer, linear in zip(self.layers, replica, strict=True):
                layer[number, :-1] = linear.weight.detach().T
                layer[number, -1] = linear.bias.detach()

    def _by_layer(self, flat: Tensor) -> list[Tensor]:
        layers, start = [], 0
        for rows, columns in self._shapes:
            size = self.num_replicas * rows * columns
            layers.append(flat[start : start + size].view(self.num_replicas, rows, columns))
            start += size
        return layers

    def forward(self, inputs: Tensor) -> Tensor:
        """Computes the logits (R, N, C) of inputs (R, N, d + 1) that end with a column of ones.

        The logits may be written over; the next call with as many rows does so.
        """
        buffers = self._buffers_for(inputs.shape[1])
        for layer, product, hidden in zip(self.layers, buffers.products, buffers.hidden, strict=False):
            torch.bmm(inputs, layer, out=product)
            torch.clamp_min(product, 0, out=hidden[:, :, :-1])
            inputs = hidden
        return torch.bmm(inputs, self.layers[-1], out=buffers.products[-1])

    def backward(self, inputs: Tensor, gradient: Tensor) -> None:
        """Writes `self.gradient`, right after `forward(inputs)`.

        Args:
            inputs: What `forward` got.
            gradient: The gradient of the logits (R, N, C).
        """
        buffers = self._buffers_for(inputs.shape[1])
        for number in range(len(self.layers) - 1, 0, -1):
            hidden, back = buffers.hidden[number - 1], buffers.products[number - 1]
            torch.bmm(hidden.transpose(1, 2), gradient, out=self._gradients[number])
            torch.bmm(gradient, self._transposed[number], out=back)
            gradient = torch.ops.aten.threshold_backward.grad_input(back, hidden[:, :, :-1], 0, grad_input=back)
        torch.bmm(inputs.transpose(1, 2), gradient, out=self._gradients[0])

    def clip(self, max_norm: float) -> None:
        """Scales the gradient of each replica down to a norm, as `torch.nn.utils.clip_grad_norm_` does."""
        squares = torch.stack([layer.square().sum((1, 2)) for layer in self._gradients])
        factor = (max_norm / (squares.sum(0).sqrt() + 1e-6)).clamp(max=1)
        for layer in self._gradients:
            layer *= factor[:, None, None]

    def last_layer_norms(self) -> list[float]:
        """Returns the Frobenius norm of each replica's last weights, without bias."""
        norms: list[float] = self.layers[-1][:, :-1].flatten(1).norm(dim=1).tolist()
        return norms

    def _buffers_for(self, rows: int) -> "_Buffers":
        if rows not in self._buffers:
            self._buffers[rows] = _Buffers(self.num_replicas, rows, [columns for _, columns in self._shapes])
        return self._buffers[rows]


class _Buffers:
    """Memory for the steps on one number of rows: new memory in each step would cost as much as the arithmetic.

    Attributes:
        products: What each layer's matrix product gives (R, N, out), and later its gradient.
        hidden: The inputs (R, N, out + 1) of the following layers, with their column of ones.
    """

    def __init__(self, replicas: int, rows: int, widths: Sequence[int]) -> None:
        self.products = [torch.empty(replicas, rows, width) for width in widths]
        self.hidden = [torch.ones(replicas, rows, width + 1) for width in widths[:-1]]


def linear_layers(model: nn.Module) -> list[nn.Linear]:
    """Returns the linear layers of a stack of `Linear`, `ReLU`, `Linear`, ..., `Linear`.

    Raises:
        ValueError: If the model is anything else.
    """
    layers = list(model) if isinstance(model, nn.Sequential) else []
    linear = [layer for layer in layers[::2] if isinstance(layer, nn.Linear) and layer.bias is not None]
    if (
        len(layers) % 2 == 0
        or len(linear) != len(layers[::2])
        or not all(type(each) is nn.ReLU for each in layers[1::2])
    ):
        raise ValueError(
            "a stacked task needs an nn.Sequential of Linear (with bias), ReLU, Linear, ..., Linear, got "
            f"{type(model).__name__}({', '.join(type(layer).__name__ for layer in layers)}): "
            "set stacked=False to train it by itself"
        )
    return linear


def with_ones(inputs: Tensor) -> Tensor:
    """Appends to inputs (..., d) the column of ones that meets the biases.

    Examples:
        >>> with_ones(torch.zeros(2, 1))
        tensor([[0., 1.],
                [0., 1.]])
    """
    return torch.cat([inputs, inputs.new_ones(*inputs.shape[:-1], 1)], dim=-1)
