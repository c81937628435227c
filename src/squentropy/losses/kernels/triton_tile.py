"""What the Triton kernels share: the tile of a program, running sums over the classes, guards.

Letters as in the kernels: ``f`` is a tile of logits (samples, classes), ``c`` its classes, ``g`` its gradient; ``top``
and ``exponentials`` are a sample's largest logit and ``sum_j exp(f_j - top)``, so far.
"""

import triton
import triton.language as tl


@triton.jit
def samples(inner, SAMPLES: tl.constexpr):
    """The program's outer index and its samples, in 64 bits: there may be more than 2^31 logits."""
    tiles = tl.cdiv(inner, SAMPLES)
    i = (tl.program_id(0) // tiles).to(tl.int64)
    k = (tl.program_id(0) % tiles).to(tl.int64) * SAMPLES + tl.arange(0, SAMPLES)
    return i, k


@triton.jit
def block(start, num_classes, is_kept, CLASSES: tl.constexpr):
    """The classes of a tile, and which of its places hold a logit that counts."""
    c = (start + tl.arange(0, CLASSES))[None, :]
    return c, is_kept[:, None] & (c < num_classes)


@triton.jit
def load(rows, c, stride, mask, other, DTYPE: tl.constexpr):
    """A tile of logits or probabilities, in the dtype of the computation."""
    return tl.load(rows[:, None] + c.to(tl.int64) * stride, mask=mask, other=other).to(DTYPE)


@triton.jit
def store(gradient, c, stride, is_sample, is_logit, num_classes, g):
    """Write the gradient, which is 0 for samples that are left out."""
    g = tl.where(is_logit, g, 0.0).to(gradient.dtype.element_ty)
    tl.store(gradient[:, None] + c.to(tl.int64) * stride, g, mask=is_sample[:, None] & (c < num_classes))


@triton.jit
def add_exponentials(top, exponentials, f):
    """The running maximum and the sum of ``exp(f_j - top)`` with the tile ``f``."""
    new = tl.maximum(top, tl.max(f, 1))
    exponentials = exponentials * tl.exp(top - finite(new))
    return new, exponentials + tl.sum(tl.exp(f - finite(new)[:, None]), 1)


@triton.jit
def softmax(f, top, exponentials):
    """The probabilities of a tile, once its samples' sums are known."""
    return tl.exp(f - finite(top)[:, None]) * (1.0 / exponentials)[:, None]


@triton.jit
def finite(top):
    """A number to subtract: -inf, the maximum of nothing, would make NaN of -inf."""
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def product(mass, x):
    """Nothing times something is nothing, even if it has overflowed."""
    return tl.where(mass == 0.0, 0.0, mass * x)
