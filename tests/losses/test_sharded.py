"""Classes divided among processes: real gloo processes on loopback, against the loss of all logits at once."""

import itertools
import traceback

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import squentropy as sq

NUM_CLASSES = 13
SLICES = {2: (9, 4), 4: (5, 1, 0, 7)}


def batch(dtype):
    torch.manual_seed(0)
    logits = 5 * torch.randn(17, NUM_CLASSES, dtype=torch.float64)
    target = torch.randint(NUM_CLASSES, (17,))
    logits[0, target[0]] = 3e4  # in float32 "all squares minus the true one" would be 0
    return logits.to(dtype), target


def cases(dtype):
    """(target, options) pairs that between them have every option."""
    _, target = batch(dtype)
    ignored = target.masked_fill(torch.arange(17) % 5 == 1, -100)
    probabilities = torch.rand(17, NUM_CLASSES, dtype=dtype).softmax(1)
    weight = torch.rand(NUM_CLASSES, dtype=dtype)
    for reduction, smoothing, w in itertools.product(("none", "mean", "sum"), (0.0, 0.1), (None, weight)):
        options = {"reduction": reduction, "label_smoothing": smoothing, "weight": w, "square_weight": 0.5}
        yield ignored, options
        yield probabilities, options


def same_as_all_at_once(rank, processes):
    slices = SLICES[processes]
    here = slice(sum(slices[:rank]), sum(slices[: rank + 1]))
    for dtype, rtol in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
        logits = batch(dtype)[0]
        for number, (target, options) in enumerate(cases(dtype)):
            mine, whole = logits[:, here].clone().requires_grad_(), logits.clone().requires_grad_()
            local = target[:, here] if target.ndim == 2 else target
            loss = sq.sharded_squentropy(mine, local, slices=slices if number % 2 else None, **options)
            expected = sq.squentropy(whole, target, **options)
            torch.testing.assert_close(loss, expected, rtol=rtol, atol=rtol)
            upstream = torch.linspace(0.5, 1.5, loss.numel(), dtype=dtype).view(loss.shape)
            (gradient,) = torch.autograd.grad(loss, mine, upstream)
            (of_all,) = torch.autograd.grad(expected, whole, upstream)
            torch.testing.assert_close(gradient, of_all[:, here], rtol=rtol, atol=rtol)


def dtensors_bring_their_slices(rank, processes):
    mesh = init_device_mesh("cpu", (processes,))
    logits, target = batch(torch.float64)
    whole = logits.clone().requires_grad_()
    expected = sq.squentropy(whole, target)
    (of_all,) = torch.autograd.grad(expected, whole)
    for labels in (target, DTensor.from_local(target, mesh, [Replicate()])):
        sharded = distribute_tensor(logits, mesh, [Shard(1)]).requires_grad_()
        loss = sq.sharded_squentropy(sharded, labels)
        torch.testing.assert_close(loss, expected)
        loss.backward()
        torch.testing.assert_close(sharded.grad.full_tensor(), of_all)
    probabilities = torch.rand(17, NUM_CLASSES, dtype=torch.float64).softmax(1)
    loss = sq.sharded_squentropy(
        distribute_tensor(logits, mesh, [Shard(1)]), distribute_tensor(probabilities, mesh, [Shard(1)])
    )
    torch.testing.assert_close(loss, sq.squentropy(logits, probabilities))
    with pytest.raises(ValueError, match="shard them over dimension 1, the classes, only"):
        sq.sharded_squentropy(distribute_tensor(logits, mesh, [Shard(0)]), target)


def extreme_logits_are_exact(rank, processes):
    slices = SLICES[processes]
    here = slice(sum(slices[:rank]), sum(slices[: rank + 1]))
    logits, target = batch(torch.float32)
    for changed in (
        logits * 1e4,
        logits * 0,
        logits + 1e8,
        logits.clone().index_fill_(0, torch.tensor([2]), torch.nan),
    ):
        loss = sq.sharded_squentropy(changed[:, here], target, reduction="none")
        torch.testing.assert_close(
            loss, sq.squentropy(changed, target, reduction="none"), rtol=1e-5, atol=1e-5, equal_nan=True
        )
    with pytest.raises(ValueError, match=f"slices are .*, but process {rank} of {processes} has"):
        sq.sharded_squentropy(logits[:, here], target, slices=(99,) * processes)
    with pytest.raises(ValueError, match="is 13, but logits have 13 classes"):
        sq.sharded_squentropy(logits[:, here], target.clone().fill_(13))


def _process(rank, processes, address, failures):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{address}", world_size=processes, rank=rank)
    try:
        for check in (same_as_all_at_once, dtensors_bring_their_slices, extreme_logits_are_exact):
            check(rank, processes)
    except BaseException:
        failures.put(traceback.format_exc())
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("processes", [2, 4])
def test_in_processes(processes, tmp_path):
    context = mp.get_context("spawn")
    failures = context.SimpleQueue()
    mp.spawn(_process, (processes, tmp_path / "address", failures), processes)
    assert failures.empty(), failures.get()


def test_without_a_group():
    with pytest.raises(ValueError, match=r"call torch\.distributed\.init_process_group first"):
        sq.sharded_squentropy(torch.zeros(2, 3), torch.zeros(2, dtype=torch.long))
