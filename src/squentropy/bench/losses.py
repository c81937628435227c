"""The losses against cross entropy and against the ways to write squentropy without this library."""

from collections.abc import Callable
from functools import cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor

from squentropy.bench.case import COMPILED, Case, Step, Target
from squentropy.losses import focal, label_smoothing, logit_penalty, rescaled_square, squentropy
from squentropy.losses.formula import losses_of_samples, reduce_losses
from squentropy.losses.terms import Terms

BASELINE, OFFICIAL, NAIVE = "F.cross_entropy", "official formula", "naive formula"
OURS, IN_PLACE, FORMULA = "squentropy", "squentropy, in place", "squentropy, no kernel"
COPY = "copy logits to gradient"


def official_formula(logits: Tensor, target: Tensor) -> Tensor:
    """Squentropy as the paper's code computes it: all squares minus the true ones, over C - 1 and the batch.

    Examples:
        >>> official_formula(torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0]))
        tensor(1.3490)
    """
    true = logits.gather(1, target.unsqueeze(1))
    squares = (logits.square().sum() - true.square().sum()) / (logits.shape[1] - 1)
    return F.cross_entropy(logits, target) + squares / target.numel()


def compiled_formula(logits: Tensor, target: Tensor) -> Tensor:
    """The official formula, compiled for each shape at its first call."""
    loss: Tensor = _compiler()(logits, target)
    return loss


@cache
def _compiler() -> Callable[[Tensor, Tensor], Tensor]:
    return torch.compile(official_formula, dynamic=False)  # which takes seconds to load


def naive_formula(logits: Tensor, target: Tensor) -> Tensor:
    """Squentropy as one writes it first: the wrong logits by a scatter, their squares, two means.

    Examples:
        >>> naive_formula(torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0]))
        tensor(1.3490)
    """
    wrong = logits.scatter(1, target.unsqueeze(1), 0.0)
    return F.cross_entropy(logits, target) + (wrong.pow(2).sum(1) / (logits.shape[1] - 1)).mean()


def formula(logits: Tensor, target: Tensor) -> Tensor:
    """Squentropy as it is computed where no kernel can be had.

    Examples:
        >>> formula(torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0]))
        tensor(1.3490)
    """
    terms = Terms(1.0, 1.0 / (logits.shape[1] - 1), 0.0, 0.0)
    losses = losses_of_samples(logits, target, None, -100, 0.0, terms)
    return reduce_losses(losses, logits, target, None, -100, "mean")


def _steps(shape: tuple[int, ...], dtype: torch.dtype, others: bool, device: torch.device) -> dict[str, Step]:
    """Forward and backward of each loss; the in-place one has logits of its own, which it overwrites."""
    generator = torch.Generator(device).manual_seed(0)
    logits = torch.randn(shape, dtype=dtype, device=device, generator=generator).requires_grad_()
    target = torch.randint(shape[1], shape[:1] + shape[2:], device=device, generator=generator)
    overwritten, gradient = logits.detach().clone().requires_grad_(), torch.zeros_like(logits)

    def step(loss: Callable[..., Tensor], logits: Tensor = logits) -> Step:
        return lambda: torch.autograd.grad(loss(logits, target), logits)

    steps = {
        BASELINE: step(F.cross_entropy),
        OFFICIAL: step(official_formula),
        COMPILED: step(compiled_formula),
        NAIVE: step(naive_formula),
        OURS: step(squentropy),
        IN_PLACE: step(partial(squentropy, inplace_backward=True), overwritten),
        COPY: lambda: gradient.copy_(logits.detach()),
    }
    if others:
        steps |= {FORMULA: step(formula), "rescaled_square": step(rescaled_square)}
        steps |= {loss.__name__: step(loss) for loss in (label_smoothing, focal, logit_penalty)}
    return steps


def _case(
    *shape: int,
    at_most: float,
    in_place: float | None = None,
    dtype: torch.dtype = torch.float32,
    others: bool = False,
    more: tuple[Target, ...] = (),
) -> Case:
    name = "losses/" + "x".join(map(str, shape)) + ("" if dtype is torch.float32 else f"-{str(dtype)[6:]}")
    targets = [Target(OURS, at_most, BASELINE)]
    if in_place is not None:
        targets.append(Target(IN_PLACE, in_place, BASELINE))
    return Case(name, partial(_steps, shape, dtype, others), BASELINE, (*targets, *more))


LOSS_CASES = [
    _case(128, 10, at_most=1.2),
    _case(128, 100, at_most=1.2),
    _case(1024, 1000, at_most=0.45),
    _case(
        8192,
        1000,
        at_most=0.6,
        in_place=0.35,
        others=True,
        more=(
            Target(IN_PLACE, 3.0, COPY),
            Target(FORMULA, 2.5, BASELINE),
            Target(OURS, 0.5, BASELINE, "memory"),
        ),
    ),
    _case(2048, 32000, at_most=0.5, in_place=0.2),
    _case(4096, 50257, at_most=0.5, in_place=0.2),
    _case(8, 21, 256, 256, at_most=0.6),
    _case(4096, 1000, at_most=0.5, dtype=torch.bfloat16),
]
