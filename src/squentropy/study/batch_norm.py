"""Batch normalisation over the whole batch, also where several processes share it."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, distributed, nn
from torch.nn.modules.batchnorm import _BatchNorm


class _Sum(torch.autograd.Function):
    """The sum of a tensor over all processes; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(total)
        return total


class SharedBatchNorm(_BatchNorm):
    """Batch normalisation with mean and variance over the rows of all processes; on the CPU, too.

    PyTorch's `SyncBatchNorm` needs a GPU. Processes may have different numbers of rows.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Returns the normalised input (N, C, ...)."""
        if not self.training:
            return super().forward(input)
        values = input.to(torch.promote_types(input.dtype, torch.float32))
        dims = [0, *range(2, values.ndim)]
        count = values.new_tensor([values.numel() / values.shape[1]])
        totals = _sum(torch.cat([values.sum(dims), count]))
        count = totals[-1].detach()
        mean = totals[:-1] / count
        centred = values - _channels(mean, values)
        variance = _sum(centred.square().sum(dims)) / count
        self._follow(mean.detach(), variance.detach() * count / (count - 1))
        normalised = centred * _channels((variance + self.eps).rsqrt(), values)
        if self.affine:
            normalised = normalised * _channels(self.weight, values) + _channels(self.bias, values)
        return normalised.to(input.dtype)

    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_(variance.to(self.running_var.dtype), share)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"input must be (N, C, ...), got {tuple(input.shape)}")


def _sum(values: Tensor) -> Tensor:
    return cast(Tensor, _Sum.apply(values))  # type: ignore[no-untyped-call]


def _channels(values: Tensor, like: Tensor) -> Tensor:
    return values.view(1, -1, *[1] * (like.ndim - 2))


def share_batch_norm(module: nn.Module) -> nn.Module:
    """Makes all batch normalisation in a module see the rows of all processes; names of weights stay as they are.

    Examples:
        >>> module = share_batch_norm(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)))
        >>> type(module[1]).__name__, list(module[1].state_dict())[:2]
        ('SharedBatchNorm', ['weight', 'bias'])
    """
    for each in module.modules():
        if isinstance(each, _BatchNorm):
            each.__class__ = SharedBatchNorm
    return module
