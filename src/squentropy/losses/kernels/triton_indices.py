"""The Triton kernel for class indices: beside the exponential, a logit costs a handful of operations."""

import triton
import triton.language as tl

from squentropy.losses.kernels.triton_tile import add_exponentials, block, finite, load, samples, softmax, store


@triton.jit(do_not_specialize=["ignore_index"])
def loss_of_indices(
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
    DTYPE: tl.constexpr,
    HAS_ENTROPY: tl.constexpr,
    HAS_WRONG_SQUARE: tl.constexpr,
    HAS_TRUE_SQUARE: tl.constexpr,
    IS_WHOLE: tl.constexpr,
    SAMPLES: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """The loss where all of a sample's mass lies on one class, y."""
    i, k = samples(inner, SAMPLES)
    is_sample = k < inner
    logits += i * logits_outer + k * logits_inner
    if gradient is not None:
        gradient += i * gradient_outer + k * gradient_inner
    y = tl.load(target + i * inner + k, mask=is_sample, other=0).to(tl.int64)
    is_kept = is_sample & (y != ignore_index)
    is_class = (y >= 0) & (y < num_classes)
    true = tl.load(logits + y * logits_class, mask=is_kept & is_class, other=0.0).to(DTYPE)
    mass = tl.full([SAMPLES], 1.0, DTYPE)
    if weight is not None:
        mass = tl.load(weight + y, mask=is_kept & is_class, other=0.0)
    mass = tl.where(is_class, mass, float("nan"))
    y = y.to(tl.int32)[:, None]

    a = mass * tl.load(numbers).to(DTYPE)
    b = mass * tl.load(numbers + 1).to(DTYPE)
    d = mass * tl.load(numbers + 2).to(DTYPE)
    M = tl.load(numbers + 3).to(DTYPE)
    factor = tl.load(scale + (i * inner + k) * scale_step, mask=is_sample, other=0.0).to(DTYPE)
    top = tl.full([SAMPLES], float("-inf"), DTYPE)  # max_j f_j so far
    exponentials = tl.zeros([SAMPLES], DTYPE)  # sum_j exp(f_j - top)
    squares = tl.zeros([SAMPLES], DTYPE)
    for start in range(0, num_classes, CLASSES):
        c, is_logit = block(start, num_classes, is_kept, CLASSES)
        f = load(logits, c, logits_class, is_logit, float("-inf"), DTYPE)
        if HAS_ENTROPY:
            top, exponentials = add_exponentials(top, exponentials, f)
        if HAS_WRONG_SQUARE:
            wrong = tl.where(is_logit & (c != y), f, 0.0)
            squares += tl.sum(b[:, None] * wrong * wrong, 1)
        if IS_WHOLE and gradient is not None:
            g = _slope_at_index(
                f, c == y, top, exponentials, a, b, d, M, factor, HAS_ENTROPY, HAS_WRONG_SQUARE, HAS_TRUE_SQUARE
            )
            store(gradient, c, gradient_class, is_sample, is_logit, num_classes, g)

    loss = squares
    if HAS_ENTROPY:
        loss += a * (tl.log(exponentials) + (finite(top) - true))
    if HAS_TRUE_SQUARE:
        loss += d * (true - M) * (true - M)
    tl.store(losses + i * inner + k, tl.where(is_kept, loss, 0.0), mask=is_sample)

    if not IS_WHOLE and gradient is not None:
        for start in range(0, num_classes, CLASSES):
            c, is_logit = block(start, num_classes, is_kept, CLASSES)
            f = load(logits, c, logits_class, is_logit, float("-inf"), DTYPE)
            g = _slope_at_index(
                f, c == y, top, exponentials, a, b, d, M, factor, HAS_ENTROPY, HAS_WRONG_SQUARE, HAS_TRUE_SQUARE
            )
            store(gradient, c, gradient_class, is_sample, is_logit, num_classes, g)


@triton.jit
def _slope_at_index(
    f,
    is_true,
    top,
    exponentials,
    a,
    b,
    d,
    M,
    factor,
    HAS_ENTROPY: tl.constexpr,
    HAS_WRONG_SQUARE: tl.constexpr,
    HAS_TRUE_SQUARE: tl.constexpr,
):
    """``a (p_j - 1[j = y])``, and ``2 b f_j`` for the wrong classes, ``2 d (f_j - M)`` for the true one."""
    g = tl.zeros_like(f)
    if HAS_WRONG_SQUARE:
        g = tl.where(is_true, 0.0, (2.0 * factor * b)[:, None] * f)
    if HAS_TRUE_SQUARE:
        g += tl.where(is_true, (2.0 * factor * d)[:, None] * (f - M), 0.0)
    if HAS_ENTROPY:
        g += (factor * a)[:, None] * (softmax(f, top, exponentials) - is_true.to(f.dtype))
    return g
