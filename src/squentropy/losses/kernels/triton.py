"""The loss and its gradient in one pass over the logits on the GPU, as a Triton kernel.

A program holds a tile of the logits: some samples, and all their classes or a block of them. Where a tile holds
all classes, each logit is read once and its gradient written once, which is the least that can be done. With more
classes a first loop keeps the softmax's running maximum and sum, and a second one writes the gradient; the second
reading mostly comes from the cache.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from squentropy.losses.arguments import is_probabilities
from squentropy.losses.formula import computed_in
from squentropy.losses.terms import Terms

_LARGEST_TILE = 16384  # logits that one program holds in registers
_USUAL_TILE = 4096
_COMPUTED = {torch.float32: tl.float32, torch.float64: tl.float64}


def loss_and_gradient(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    terms: Terms,
    *,
    scale: float | Tensor = 1.0,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return each sample's loss, and ``scale`` times the gradient of their sum.

    Args:
        logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)`` with any strides, on a CUDA device.
        target: class indices or probabilities, as in :func:`squentropy.squentropy`.
        weight: ``(C,)`` or None.
        ignore_index: as in :func:`squentropy.squentropy`.
        label_smoothing: as there.
        terms: the factors of the loss's parts.
        scale: a factor on the gradient; a tensor of one number saves waiting for the device.
        out: where to write the gradient; may be ``logits``.

    Returns:
        The losses, shaped as class indices are, in the dtype of the computation; and the gradient, in that of the logits.
    """
    dtype = computed_in(logits)
    sample_shape = logits.shape[:1] + logits.shape[2:] if logits.ndim > 1 else logits.shape[:0]
    losses = torch.empty(sample_shape, dtype=dtype, device=logits.device)
    gradient = torch.empty_like(logits) if out is None else out
    if logits.numel() == 0:
        return losses, gradient
    source, written = _rows(logits), _rows(gradient)
    outer, num_classes, inner = source.shape
    is_soft = is_probabilities(logits, target)
    labels = _rows(target) if is_soft else target.contiguous()
    tile = _tile(source)
    grid = (outer * triton.cdiv(inner, tile.samples),)
    with _on(logits.device):
        _kernel[grid](
            losses,
            written,
            source,
            labels,
            None if weight is None else weight.to(dtype).contiguous(),
            _numbers(logits.device, *terms, label_smoothing),
            scale.to(torch.float64) if isinstance(scale, Tensor) else _numbers(logits.device, scale),
            num_classes,
            inner,
            *source.stride(),
            *written.stride(),
            *(labels.stride() if is_soft else (0, 0, 0)),
            ignore_index,
            DTYPE=_COMPUTED[dtype],
            IS_SOFT=is_soft,
            IS_SMOOTHED=label_smoothing > 0.0,
            HAS_ENTROPY=terms.cross_entropy != 0.0,
            HAS_TRUE_SQUARE=terms.true_square != 0.0,
            IS_WHOLE=num_classes <= tile.classes,
            SAMPLES=tile.samples,
            CLASSES=tile.classes,
            num_warps=tile.warps,
        )
    if written.data_ptr() != gradient.data_ptr():  # the samples of `gradient` have no common stride
        gradient.copy_(written.view(gradient.shape))
    return losses, gradient


def _rows(logits: Tensor) -> Tensor:
    """The logits as (outer, classes, inner), where all samples of the inner dimension have one stride.

    A view, unless d1, ..., dK have no common stride.
    """
    if logits.ndim <= 2:
        return logits.reshape(-1, logits.shape[-1]).T.unsqueeze(0)
    return logits.flatten(2)


class _Tile(NamedTuple):
    samples: int
    classes: int
    warps: int


def _tile(rows: Tensor) -> _Tile:
    """The tile of a program; its longer side lies along the dimension in which neighbours are adjacent in memory."""
    _, num_classes, inner = rows.shape
    classes, samples = triton.next_power_of_2(num_classes), triton.next_power_of_2(inner)
    if rows.stride(1) <= rows.stride(2):
        classes = min(classes, _LARGEST_TILE)
        samples = min(samples, max(1, _USUAL_TILE // classes))
    else:
        samples = min(samples, 128)
        classes = min(classes, max(1, _USUAL_TILE // samples))
    return _Tile(samples, classes, warps=min(16, max(4, samples * classes // 512)))


@lru_cache(maxsize=256)
def _numbers(device: torch.device, *values: float) -> Tensor:
    """Values on the device, in double precision, which a kernel's float arguments have not."""
    return torch.tensor(values, dtype=torch.float64, device=device)


def _on(device: torch.device) -> Any:
    """The device that Triton launches on is the current one; its interpreter runs on the CPU."""
    return torch.cuda.device(device) if device.type == "cuda" else torch.device(device)


@triton.jit(do_not_specialize=["ignore_index"])
def _kernel(
    losses,
    gradient,
    logits,
    target,
    weight,
    numbers,
    scale,
    num_classes,
    inner,
    logits_outer,
    logits_class,
    logits_inner,
    gradient_outer,
    gradient_class,
    gradient_inner,
    target_outer,
    target_class,
    target_inner,
    ignore_index,
    DTYPE: tl.constexpr,
    IS_SOFT: tl.constexpr,
    IS_SMOOTHED: tl.constexpr,
    HAS_ENTROPY: tl.constexpr,
    HAS_TRUE_SQUARE: tl.constexpr,
    IS_WHOLE: tl.constexpr,
    SAMPLES: tl.constexpr,
    CLASSES: tl.constexpr,
):
    entropy_factor = tl.load(numbers).to(DTYPE)
    wrong_factor = tl.load(numbers + 1).to(DTYPE)
    true_factor = tl.load(numbers + 2).to(DTYPE)
    M = tl.load(numbers + 3).to(DTYPE)
    smoothing = tl.load(numbers + 4).to(DTYPE)
    gradient_factor = tl.load(scale).to(DTYPE)

    tiles = tl.cdiv(inner, SAMPLES)
    i = (tl.program_id(0) // tiles).to(tl.int64)  # offsets have 64 bits: there may be more than 2^31 logits
    k = (tl.program_id(0) % tiles).to(tl.int64) * SAMPLES + tl.arange(0, SAMPLES)
    is_sample = k < inner
    logits += (i * logits_outer + k * logits_inner)[:, None]
    gradient += (i * gradient_outer + k * gradient_inner)[:, None]
    if IS_SOFT:
        target += (i * target_outer + k * target_inner)[:, None]
        is_kept = is_sample
    else:
        target = tl.load(target + i * inner + k, mask=is_sample, other=0).to(tl.int64)[:, None]
        is_kept = is_sample & (target[:, 0] != ignore_index)

    # The sample's total mass W. Without class weights, probabilities are taken to sum to 1, as in the formula.
    total = is_kept.to(DTYPE)
    if weight is not None:
        total = tl.zeros([SAMPLES], DTYPE)
        for start in range(0, num_classes, CLASSES):
            c = (start + tl.arange(0, CLASSES)).to(tl.int64)[None, :]
            is_logit = is_kept[:, None] & (c < num_classes)
            total += tl.sum(
                _mass(c, is_logit, num_classes, target, target_class, weight, smoothing, DTYPE, IS_SOFT, IS_SMOOTHED), 1
            )

    top = tl.full([SAMPLES], float("-inf"), DTYPE)  # max_j f_j so far
    exponentials = tl.zeros([SAMPLES], DTYPE)  # sum_j exp(f_j - top)
    mass = tl.zeros([SAMPLES], DTYPE)  # sum_j u_j
    below = tl.zeros([SAMPLES], DTYPE)  # sum_j u_j (top - f_j), in which nothing cancels
    squares = tl.zeros([SAMPLES], DTYPE)
    for start in range(0, num_classes, CLASSES):
        c = (start + tl.arange(0, CLASSES)).to(tl.int64)[None, :]
        is_logit = is_kept[:, None] & (c < num_classes)
        f = tl.load(logits + c * logits_class, mask=is_logit, other=float("-inf")).to(DTYPE)
        u = _mass(c, is_logit, num_classes, target, target_class, weight, smoothing, DTYPE, IS_SOFT, IS_SMOOTHED)
        wrong = tl.where(is_logit, wrong_factor * (total[:, None] - u), 0.0)
        if HAS_ENTROPY:
            old = _finite(top)
            top = tl.maximum(top, tl.max(f, 1))
            new = _finite(top)
            exponentials = exponentials * tl.exp(old - new) + tl.sum(tl.exp(f - new[:, None]), 1)
            below += tl.where(mass == 0.0, 0.0, mass * (new - old))
            below += tl.sum(tl.where(u == 0.0, 0.0, u * (new[:, None] - f)), 1)
            mass += tl.sum(u, 1)
        squares += tl.sum(tl.where(wrong == 0.0, 0.0, wrong * f * f), 1)
        if HAS_TRUE_SQUARE:
            squares += tl.sum(tl.where(u == 0.0, 0.0, true_factor * u * (f - M) * (f - M)), 1)
        if IS_WHOLE:
            g = _slope(f, u, wrong, top, exponentials, mass, entropy_factor, true_factor, M, HAS_ENTROPY, HAS_TRUE_SQUARE)
            _store(gradient + c * gradient_class, gradient_factor * g, is_logit, is_sample[:, None] & (c < num_classes))

    loss = squares
    if HAS_ENTROPY:
        loss += entropy_factor * (mass * tl.log(exponentials) + below)
    tl.store(losses + i * inner + k, tl.where(is_kept, loss, 0.0), mask=is_sample)

    if not IS_WHOLE:
        for start in range(0, num_classes, CLASSES):
            c = (start + tl.arange(0, CLASSES)).to(tl.int64)[None, :]
            is_logit = is_kept[:, None] & (c < num_classes)
            f = tl.load(logits + c * logits_class, mask=is_logit, other=float("-inf")).to(DTYPE)
            u = _mass(c, is_logit, num_classes, target, target_class, weight, smoothing, DTYPE, IS_SOFT, IS_SMOOTHED)
            wrong = tl.where(is_logit, wrong_factor * (total[:, None] - u), 0.0)
            g = _slope(f, u, wrong, top, exponentials, mass, entropy_factor, true_factor, M, HAS_ENTROPY, HAS_TRUE_SQUARE)
            _store(gradient + c * gradient_class, gradient_factor * g, is_logit, is_sample[:, None] & (c < num_classes))


@triton.jit
def _mass(
    c,
    is_logit,
    num_classes,
    target,
    target_class,
    weight,
    smoothing,
    DTYPE: tl.constexpr,
    IS_SOFT: tl.constexpr,
    IS_SMOOTHED: tl.constexpr,
):
    """``u``: class weight times the target's probability, and 0 for what is no logit of a kept sample."""
    if IS_SOFT:
        u = tl.load(target + c * target_class, mask=is_logit, other=0.0).to(DTYPE)
    else:
        u = (c == target).to(DTYPE)
    if IS_SMOOTHED:
        u = u * (1.0 - smoothing) + smoothing / num_classes
    if weight is not None:
        u *= tl.load(weight + c, mask=c < num_classes, other=0.0)
    return tl.where(is_logit, u, 0.0)


@triton.jit
def _slope(
    f,
    u,
    wrong,
    top,
    exponentials,
    mass,
    entropy_factor,
    true_factor,
    M,
    HAS_ENTROPY: tl.constexpr,
    HAS_TRUE_SQUARE: tl.constexpr,
):
    """The gradient: of the squares ``2 (W - u_j) f_j`` and ``2 u_j (f_j - M)``, of cross entropy ``p_j sum(u) - u_j``."""
    g = tl.where(wrong == 0.0, 0.0, 2.0 * wrong * f)
    if HAS_ENTROPY:
        p = tl.exp(f - _finite(top)[:, None]) / exponentials[:, None]
        g += entropy_factor * (p * mass[:, None] - u)
    if HAS_TRUE_SQUARE:
        g += tl.where(u == 0.0, 0.0, 2.0 * true_factor * u * (f - M))
    return g


@triton.jit
def _store(pointers, g, is_logit, is_written):
    """Write the gradient, which is 0 for samples that are left out."""
    tl.store(pointers, tl.where(is_logit, g, 0.0).to(pointers.dtype.element_ty), mask=is_written)


@triton.jit
def _finite(top):
    """A number to subtract: -inf, the maximum of nothing, would make NaN of -inf."""
    return tl.where(top == float("-inf"), 0.0, top)
