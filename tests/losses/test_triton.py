"""The Triton kernels, in Triton's interpreter, against closed forms in float64; and that they compile for GPUs."""

import itertools
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from tests.losses.configurations import (
    CROSS_ENTROPY,
    ROUNDING,
    assert_close,
    configuration,
    expected,
    rescaled_square_of,
    squentropy_of,
)

pytest.importorskip("triton")
from squentropy.losses.kernels.triton import losses_of_samples

INF, NAN = float("inf"), float("nan")


def loss_and_gradient(logits, *arguments, out=None, **options):
    gradient = torch.empty_like(logits) if out is None else out
    return losses_of_samples(logits, *arguments, out=gradient, **options), gradient


def assert_right(logits, target, weight, ignore_index, label_smoothing, terms, *, scale=1.0, in_place=False):
    true_losses, true_gradient = expected(logits, target, weight, ignore_index, label_smoothing, terms)
    true_gradient *= scale.double().unsqueeze(1) if isinstance(scale, torch.Tensor) and scale.ndim else float(scale)
    options = (target, weight, ignore_index, label_smoothing, terms)
    alone = losses_of_samples(logits, *options)
    losses, gradient = loss_and_gradient(logits, *options, scale=scale, out=logits if in_place else None)
    assert torch.equal(alone, losses)
    assert_close(losses, true_losses, ROUNDING[losses.dtype], losses.dtype)
    assert_close(gradient, true_gradient, ROUNDING[losses.dtype], logits.dtype)


@pytest.mark.parametrize("seed", range(4))
def test_random_configurations(seed):
    torch.manual_seed(seed)
    generator = random.Random(seed)
    for _ in range(60):
        assert_right(**configuration(generator))


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("order", [1, -1], ids=["rising", "falling"])
@pytest.mark.parametrize("terms", [squentropy_of, rescaled_square_of])
@pytest.mark.parametrize("shape", [(2, 9000), (2, 70, 67)], ids=str)
def test_more_classes_than_a_tile_holds(shape, terms, order, label_smoothing):
    """The running maximum of the first loop rises in each block, or stays."""
    logits = 10 * torch.randn(shape).sort(1, descending=order < 0).values
    target = torch.randint(0, shape[1], shape[:1] + shape[2:])
    weight = torch.rand(shape[1])
    assert_right(logits, target, None, -100, label_smoothing, terms(shape[1]))
    assert_right(logits, target, weight, -100, label_smoothing, terms(shape[1]), in_place=True)


def test_one_sample_without_a_batch():
    logits, target = torch.tensor([2.0, 1.0, -1.0]), torch.tensor(0)
    losses, gradient = loss_and_gradient(logits, target, None, -100, 0.0, rescaled_square_of(3))
    assert losses.item() == pytest.approx((15 * 28**2 + 2) / 3)
    torch.testing.assert_close(gradient, torch.tensor([-280.0, 2 / 3, -2 / 3]))


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [None, torch.ones(3)])
@pytest.mark.parametrize("index", [-1, 3, 2**40])
def test_an_index_out_of_range_is_nan_for_its_sample_alone(index, weight, label_smoothing):
    logits, target = torch.randn(4, 3), torch.tensor([0, index, 2, -100])
    losses, gradient = loss_and_gradient(logits, target, weight, -100, label_smoothing, squentropy_of(3))
    assert losses.isnan().tolist() == [False, True, False, False]
    assert gradient.isnan().tolist() == [[False] * 3, [True] * 3, [False] * 3, [False] * 3]


@pytest.mark.parametrize("shape", [(5, 3), (3, 5000), (2, 3, 7)], ids=str)
def test_nothing_is_written_beside_the_gradient(shape):
    around = torch.full((shape[0] + 2, shape[1] + 2, *(n + 2 for n in shape[2:])), 7.0)
    inside = tuple(slice(1, -1) for _ in shape)
    logits, target = torch.randn(shape), torch.randint(0, shape[1], shape[:1] + shape[2:])
    loss_and_gradient(logits, target, None, -100, 0.0, squentropy_of(shape[1]), out=around[inside])
    assert (around[inside] != 7).all()
    around[inside] = 7
    assert (around == 7).all()


@pytest.mark.parametrize("kind", ["indices", "smoothed", "probabilities"])
@pytest.mark.parametrize("terms", [CROSS_ENTROPY, squentropy_of(3), rescaled_square_of(3)])
def test_finite_logits_never_give_nan_and_nan_is_passed_on(terms, kind):
    huge = torch.finfo(torch.float32).max
    values = itertools.product([-huge, -1e20, 0.0, 1e20, huge], repeat=3)
    logits = torch.tensor(list(values))
    target = torch.zeros(len(logits), dtype=torch.int64)
    options = {
        "label_smoothing": 0.1 if kind == "smoothed" else 0.0,
        "weight": None,
        "ignore_index": -100,
        "terms": terms,
    }
    if kind == "probabilities":
        target = torch.tensor([0.0, 1.0, 0.0]).expand(len(logits), 3)
    for each in loss_and_gradient(logits, target, **options):
        assert not each.isnan().any()
    for place in range(3):
        logits = torch.zeros(1, 3).index_fill(1, torch.tensor([place]), NAN)
        losses, _ = loss_and_gradient(logits, target[:1], **options)
        assert losses.isnan().all()


def test_masked_logits_of_cross_entropy():
    logits = torch.tensor([[1.0, -INF, 0.0], [-INF, 2.0, -INF]], dtype=torch.float64)
    losses, gradient = loss_and_gradient(logits, torch.tensor([0, 1]), None, -100, 0.0, CROSS_ENTROPY)
    p = 1 / (1 + np.exp(1.0))
    torch.testing.assert_close(losses, torch.tensor([-np.log(1 - p), 0.0], dtype=torch.float64))
    torch.testing.assert_close(gradient, torch.tensor([[-p, 0.0, p], [0.0, 0.0, 0.0]], dtype=torch.float64))


COMPILE = """
import sys
from triton import compile, language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from squentropy.losses.kernels.triton_indices import loss_of_indices
from squentropy.losses.kernels.triton_masses import loss_of_masses

kernel, dtype, capability, is_whole = sys.argv[1:]
kernel = {"indices": loss_of_indices, "masses": loss_of_masses}[kernel]
computed = {"fp64": "fp64"}.get(dtype, "fp32")
constants = {
    "DTYPE": {"fp64": tl.float64, "fp32": tl.float32}[computed], "HAS_ENTROPY": True, "HAS_WRONG_SQUARE": True,
    "HAS_TRUE_SQUARE": True, "IS_WHOLE": is_whole == "whole", "SAMPLES": 1, "CLASSES": 4096,
    "IS_SOFT": False, "IS_SMOOTHED": True,
}
types = {"losses": "*" + computed, "logits": "*" + dtype, "gradient": "*" + dtype, "weight": "*" + computed,
         "numbers": "*fp64", "scale": "*fp64", "target": "*i64"}
names = kernel.arg_names
signature = {name: "constexpr" if name in constants else types.get(name, "i64") for name in names}
source = ASTSource(kernel, signature, {(names.index(name),): constants[name] for name in names if name in constants})
print(len(compile(source, target=GPUTarget("cuda", int(capability), 32), options={"num_warps": 8}).asm["ptx"]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("indices", "fp32", "90", "whole"),
        ("indices", "bf16", "80", "blocks"),
        ("masses", "fp16", "90", "blocks"),
        ("masses", "fp64", "80", "whole"),
    ],
    ids=" ".join,
)
def test_compiles_for_gpus(arguments, tmp_path):
    """The compiler is stricter than the interpreter, and needs no GPU."""
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", COMPILE, *arguments], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 1000
