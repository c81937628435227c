"""The Triton kernel for probabilities and smoothed indices: every class has a mass."""

import triton
import triton.language as tl

from squentropy.losses.kernels.triton_tile import (
    add_exponentials,
    block,
    finite,
    load,
    product,
    samples,
    softmax,
    store,
)


@triton.jit(do_not_specialize=["ignore_index"])
def loss_of_masses(
    losses,
    gradient,
    logits,
    weight,
    numbers,
    scale,
    scale_step,
    num_classes,
    inner,
    logits_outer,
    logits_class,
    logits_inner,
    gradient_outer,
    gradient_class,
    gradient_inner,
    ignore_index,
    target,
    target_outer,
    target_class,
    target_inner,
    IS_SOFT: tl.constexpr,
    IS_SMOOTHED: tl.constexpr,
    DTYPE: tl.constexpr,
    HAS_ENTROPY: tl.constexpr,
    HAS_WRONG_SQUARE: tl.constexpr,
    HAS_TRUE_SQUARE: tl.constexpr,
    IS_WHOLE: tl.constexpr,
    SAMPLES: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """The loss where class j has the mass ``u_j``: for probabilities, and for smoothed indices."""
    i, k = samples(inner, SAMPLES)
    is_sample = k < inner
    logits += i * logits_outer + k * logits_inner
    if gradient is not None:
        gradient += i * gradient_outer + k * gradient_inner
    is_kept = is_sample
    if IS_SOFT:
        target += i * target_outer + k * target_inner
    else:
        target = tl.load(target + i * inner + k, mask=is_sample, other=0).to(tl.int64)
        is_kept &= target != ignore_index
    smoothing = tl.load(numbers + 4).to(DTYPE)

    # Without class weights, probabilities are taken to sum to 1, as in the formula.
    total = is_kept.to(DTYPE)  # W
    if weight is not None:
        total = tl.zeros([SAMPLES], DTYPE)
        for start in range(0, num_classes, CLASSES):
            c, is_logit = block(start, num_classes, is_kept, CLASSES)
            u = _mass(c, is_logit, target, target_class, weight, smoothing, num_classes, DTYPE, IS_SOFT, IS_SMOOTHED)
            total += tl.sum(u, 1)
    if not IS_SOFT:
        total = tl.where((target >= 0) & (target < num_classes), total, float("nan"))

    a = tl.load(numbers).to(DTYPE)
    b = tl.load(numbers + 1).to(DTYPE)
    d = tl.load(numbers + 2).to(DTYPE)
    M = tl.load(numbers + 3).to(DTYPE)
    factor = tl.load(scale + (i * inner + k) * scale_step, mask=is_sample, other=0.0).to(DTYPE)
    top = tl.full([SAMPLES], float("-inf"), DTYPE)  # max_j f_j so far
    exponentials = tl.zeros([SAMPLES], DTYPE)  # sum_j exp(f_j - top)
    below = tl.zeros([SAMPLES], DTYPE)  # sum_j u_j (top - f_j), in which nothing cancels
    mass = tl.zeros([SAMPLES], DTYPE)  # sum_j u_j
    squares = tl.zeros([SAMPLES], DTYPE)
    for start in range(0, num_classes, CLASSES):
        c, is_logit = block(start, num_classes, is_kept, CLASSES)
        f = load(logits, c, logits_class, is_logit, float("-inf"), DTYPE)
        u = _mass(c, is_logit, target, target_class, weight, smoothing, num_classes, DTYPE, IS_SOFT, IS_SMOOTHED)
        wrong = tl.where(is_logit, total[:, None] - u, 0.0)
        if HAS_ENTROPY:
            old = finite(top)
            top, exponentials = add_exponentials(top, exponentials, f)
            below += product(mass, finite(top) - old)
            below += tl.sum(product(u, finite(top)[:, None] - f), 1)
            mass += tl.sum(u, 1)
        if HAS_WRONG_SQUARE:
            squares += tl.sum(product(b * wrong, f * f), 1)
        if HAS_TRUE_SQUARE:
            squares += tl.sum(product(d * u, (f - M) * (f - M)), 1)
        if IS_WHOLE and gradient is not None:
            g = _slope_at_masses(
                f, u, wrong, top, exponentials, mass, a, b, d, M, HAS_ENTROPY, HAS_WRONG_SQUARE, HAS_TRUE_SQUARE
            )
            store(gradient, c, gradient_class, is_sample, is_logit, num_classes, factor[:, None] * g)

    loss = squares
    if HAS_ENTROPY:
        loss += a * (mass * tl.log(exponentials) + below)
    tl.store(losses + i * inner + k, tl.where(is_kept, loss, 0.0), mask=is_sample)

    if not IS_WHOLE and gradient is not None:
        for start in range(0, num_classes, CLASSES):
            c, is_logit = block(start, num_classes, is_kept, CLASSES)
            f = load(logits, c, logits_class, is_logit, float("-inf"), DTYPE)
            u = _mass(c, is_logit, target, target_class, weight, smoothing, num_classes, DTYPE, IS_SOFT, IS_SMOOTHED)
            wrong = tl.where(is_logit, total[:, None] - u, 0.0)
            g = _slope_at_masses(
                f, u, wrong, top, exponentials, mass, a, b, d, M, HAS_ENTROPY, HAS_WRONG_SQUARE, HAS_TRUE_SQUARE
            )
            store(gradient, c, gradient_class, is_sample, is_logit, num_classes, factor[:, None] * g)


@triton.jit
def _mass(
    c,
    is_logit,
    target,
    target_class,
    weight,
    smoothing,
    num_classes,
    DTYPE: tl.constexpr,
    IS_SOFT: tl.constexpr,
    IS_SMOOTHED: tl.constexpr,
):
    """``u``: class weight times the target's probability, and 0 for what is no logit of a kept sample."""
    if IS_SOFT:
        u = load(target, c, target_class, is_logit, 0.0, DTYPE)
    else:
        u = (c == target[:, None]).to(DTYPE)
    if IS_SMOOTHED:
        u = u * (1.0 - smoothing) + smoothing / num_classes
    if weight is not None:
        u *= tl.load(weight + c, mask=c < num_classes, other=0.0)
    return tl.where(is_logit, u, 0.0)


@triton.jit
def _slope_at_masses(
    f,
    u,
    wrong,
    top,
    exponentials,
    mass,
    a,
    b,
    d,
    M,
    HAS_ENTROPY: tl.constexpr,
    HAS_WRONG_SQUARE: tl.constexpr,
    HAS_TRUE_SQUARE: tl.constexpr,
):
    """``a (p_j sum(u) - u_j) + 2 b (W - u_j) f_j + 2 d u_j (f_j - M)``."""
    g = tl.zeros_like(f)
    if HAS_WRONG_SQUARE:
        g = product(2.0 * b * wrong, f)
    if HAS_TRUE_SQUARE:
        g += product(2.0 * d * u, f - M)
    if HAS_ENTROPY:
        g += a * (softmax(f, top, exponentials) * mass[:, None] - u)
    return g
