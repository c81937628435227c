"""Random configurations of a loss, and its value and gradient in float64 from closed forms; imports no loss of ours."""

import random
from collections.abc import Sequence

import numpy as np
import torch

from squentropy.losses.terms import Terms

CROSS_ENTROPY = Terms(1.0, 0.0, 0.0, 0.0)
# Of float32, a sum of 9000 squares in four lanes. Of the halves, in which Triton's interpreter cuts off where a GPU
# rounds, two units in the last place.
ROUNDING = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 1.6e-2, torch.float16: 2e-3}


def squentropy_of(num_classes: int) -> Terms:
    return Terms(1.0, 1.0 / (num_classes - 1), 0.0, 0.0)


def rescaled_square_of(num_classes: int) -> Terms:
    return Terms(0.0, 1.0 / num_classes, 15.0 / num_classes, 30.0)


def expected(logits, target, weight, ignore_index, label_smoothing, terms):
    """Loss and gradient of ``sum_k u_k L_k`` in float64, from the closed forms of the paper's gradient."""
    f = np.moveaxis(logits.double().numpy(), 1, -1)
    num_classes = f.shape[-1]
    if target.shape == logits.shape:
        q, kept = np.moveaxis(target.double().numpy(), 1, -1), 1.0
    else:
        index = target.numpy().astype(np.int64)
        kept = (index != ignore_index)[..., None]
        q = np.eye(num_classes)[np.where(index == ignore_index, 0, index)]
    q = q * (1 - label_smoothing) + label_smoothing / num_classes
    u = kept * q * (1.0 if weight is None else weight.double().numpy())
    total = kept * np.ones_like(u) if weight is None else u.sum(-1, keepdims=True)
    a, b, d, m = terms
    log_p = f - f.max(-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(-1, keepdims=True))
    losses = (b * (total - u) * f**2 + d * u * (f - m) ** 2 - a * u * log_p).sum(-1)
    gradient = 2 * b * (total - u) * f + 2 * d * u * (f - m) + a * (np.exp(log_p) * u.sum(-1, keepdims=True) - u)
    return torch.from_numpy(losses), torch.from_numpy(np.moveaxis(gradient, -1, 1).copy())


def assert_close(ours, theirs, computed, dtype, summands=0.0):
    """Within the rounding of the computation, relative to the largest or its summands, and that of the dtype."""
    largest = max(theirs.abs().max().item(), summands) if theirs.numel() else 0.0
    theirs = torch.where(theirs.to(dtype).isinf(), theirs.to(dtype).double(), theirs)
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    torch.testing.assert_close(ours.double(), theirs, rtol=ROUNDING[dtype], atol=computed * largest + smallest)


SHAPES = [(1, 2), (5, 3), (70, 10), (3, 130), (2, 7, 5), (2, 3, 70), (2, 40, 3, 3), (1, 2, 2, 3, 2), (0, 4), (2, 3, 0)]
LAYOUTS = {
    "contiguous": lambda x: x,
    "classes far apart": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "every other class": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "last dimension first": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
}


def configuration(random: random.Random, more_shapes: Sequence[tuple[int, ...]] = ()) -> dict:
    shape, kind = random.choice([*SHAPES, *more_shapes]), random.choice(["indices", "probabilities"])
    num_classes, dtype = shape[1], random.choice(list(ROUNDING))
    layout = LAYOUTS[random.choice(list(LAYOUTS))]
    logits = layout((random.choice([0.1, 3.0, 30.0]) * torch.randn(shape) + random.choice([0.0, -200.0])).to(dtype))
    ignore_index = random.choice([-100, 1, 255])
    if kind == "indices":
        dtype_of_indices = random.choice([torch.uint8 if num_classes <= 255 else torch.int32, torch.int64])
        target = torch.randint(0, num_classes, shape[:1] + shape[2:], dtype=dtype_of_indices)
        if ignore_index >= 0:
            target[torch.rand(target.shape) < 0.3] = ignore_index
    else:
        target = layout(torch.randn(shape).softmax(1).to(random.choice([dtype, torch.float32])))
    return {
        "logits": logits,
        "target": target,
        "weight": random.choice([None, torch.rand(num_classes), torch.rand(num_classes).double()]),
        "ignore_index": ignore_index,
        "label_smoothing": random.choice([0.0, 0.0, 0.1, 1.0]),
        "terms": random.choice([CROSS_ENTROPY, squentropy_of(num_classes), rescaled_square_of(num_classes)]),
        "scale": random.choice([1.0, torch.tensor(0.25), torch.rand(shape[:1] + shape[2:], dtype=torch.float64)]),
        "in_place": random.random() < 0.3,
    }
