"""A linear head with its loss, when there are more classes than features."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.bench.case import COMPILED, Case, Step, Target
from squentropy.bench.losses import compiled_formula, official_formula
from squentropy.losses import linear_squentropy, squentropy

BASELINE, CHUNKED, OURS = "F.linear + F.cross_entropy", "F.linear_cross_entropy", "linear_squentropy"


def _steps(samples: int, in_features: int, num_classes: int, device: torch.device) -> dict[str, Step]:
    """Forward and backward, with the gradients of features and weight."""
    generator = torch.Generator(device).manual_seed(0)
    features = torch.randn(samples, in_features, device=device, generator=generator).requires_grad_()
    weight = torch.randn(num_classes, in_features, device=device, generator=generator)
    weight.div_(in_features**0.5).requires_grad_()
    target = torch.randint(num_classes, (samples,), device=device, generator=generator)

    def step(loss: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Step:
        return lambda: torch.autograd.grad(loss(features, weight, target), (features, weight))

    def with_logits(loss: Callable[[Tensor, Tensor], Tensor]) -> Step:
        return step(lambda features, weight, target: loss(F.linear(features, weight), target))

    def chunked(features: Tensor, weight: Tensor, target: Tensor) -> Tensor:
        options = torch.nn.LinearCrossEntropyOptions()
        loss: Tensor = F.linear_cross_entropy(features, weight, target, options=options)
        return loss

    return {
        BASELINE: with_logits(F.cross_entropy),
        CHUNKED: step(chunked),
        "F.linear + official formula": with_logits(official_formula),
        COMPILED: with_logits(compiled_formula),
        "F.linear + squentropy": with_logits(squentropy),
        OURS: step(linear_squentropy),
    }


HEAD_CASES = [
    Case(
        "heads/2048x512-to-32000",
        partial(_steps, 2048, 512, 32000),
        BASELINE,
        (
            Target(OURS, 1.0, BASELINE),
            Target(OURS, 0.2, BASELINE, "memory"),
            Target(OURS, 0.75, CHUNKED),
        ),
    )
]
