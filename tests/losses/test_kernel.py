"""The CPU kernel: where it writes, on how many threads, and in place of the logits."""

import multiprocessing

import pytest
import torch

import squentropy as sq
from squentropy.losses.dispatch import loss_and_gradient, use
from squentropy.losses.terms import squentropy_terms
from tests.losses.conftest import KERNELS

pytestmark = pytest.mark.skipif(not KERNELS, reason="the kernels were not built")


@pytest.fixture(params=KERNELS)
def variant(request):
    with use(request.param):
        yield request.param


def test_kernels_says_what_is_in_use():
    assert sq.kernels() == {"cpu": KERNELS[-1], "cuda": "triton" if torch.cuda.is_available() else sq.kernels()["cuda"]}
    for name in KERNELS:
        with use(name):
            assert sq.kernels()["cpu"] == name
    with use("formula"):
        assert sq.kernels() == {"cpu": "formula: asked for", "cuda": "formula: asked for"}
    if not torch.cuda.is_available():
        assert sq.kernels()["cuda"] == "formula: no CUDA device"
    with (
        pytest.raises(ValueError, match="path is 'fastest'; this machine has formula, triton, baseline"),
        use("fastest"),
    ):
        pass


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("shape", [(5, 3), (3, 40), (4, 33), (2, 9001), (2, 3, 7), (2, 40, 9)], ids=str)
def test_nothing_is_written_beside_the_gradient(variant, shape, dtype):
    around = torch.full((shape[0] + 2, shape[1] + 2, *(n + 2 for n in shape[2:])), 7.0, dtype=dtype)
    inside = tuple(slice(1, -1) for _ in shape)
    logits, target = torch.randn(shape).to(dtype), torch.randint(0, shape[1], shape[:1] + shape[2:])
    target.view(-1)[0] = -100
    terms = squentropy_terms(shape[1])
    _, gradient = loss_and_gradient(logits, target, None, -100, 0.0, terms, out=around[inside])
    assert torch.equal(gradient, loss_and_gradient(logits, target, None, -100, 0.0, terms)[1])
    around[inside] = 7
    assert (around == 7).all()


@pytest.mark.parametrize("shape", [(3, 5), (3, 50), (2, 5, 3)], ids=str)
def test_an_index_out_of_range_leaves_the_memory_as_it_was(variant, shape):
    logits = torch.randn(shape)
    before, target = logits.clone(), torch.zeros(shape[:1] + shape[2:], dtype=torch.int64)
    target.view(-1)[-1] = shape[1]
    with pytest.raises(ValueError, match=f"is {shape[1]}, but logits have {shape[1]} classes"):
        loss_and_gradient(logits, target, None, -100, 0.0, squentropy_terms(shape[1]), out=logits)
    assert torch.equal(logits, before)


def _results(shape, threads):
    torch.manual_seed(0)
    logits, target = 3 * torch.randn(shape), torch.randint(0, shape[1], shape[:1] + shape[2:])
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        leaf = logits.clone().requires_grad_()
        loss = sq.squentropy(leaf, target, torch.rand(shape[1]))
        return loss.item(), torch.autograd.grad(loss, leaf)[0].numpy().tobytes()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("shape", [(3000, 40), (500, 7), (4, 10, 40, 40)], ids=str)
def test_threads_change_no_bit(shape):
    alone = _results(shape, 1)
    assert all(_results(shape, threads) == alone for threads in (2, 3, 16))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    """A fork has none of the threads that its parent's pool lists; who waits for them waits for ever."""
    shape = (3000, 40)
    expected = _results(shape, 3)
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_forked, args=(theirs, shape))
    child.start()
    assert ours.poll(60), "the forked process hangs"
    assert ours.recv() == expected
    child.join()


def _forked(pipe, shape):
    """Without PyTorch's own operations, which would wait for ever on more than one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    logits, target = 3 * torch.randn(shape), torch.randint(0, shape[1], shape[:1] + shape[2:])
    leaf, weight = logits.clone().requires_grad_(), torch.rand(shape[1])
    torch.set_num_threads(3)
    loss = sq.squentropy(leaf, target, weight)
    pipe.send((loss.item(), torch.autograd.grad(loss, leaf)[0].numpy().tobytes()))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(5, 3), (5, 40), (3, 9000), (2, 5, 3)], ids=str)
@pytest.mark.parametrize("loss", [sq.squentropy, sq.rescaled_square])
def test_in_place_is_the_same_gradient_over_the_logits(variant, loss, shape, label_smoothing, reduction):
    logits, target = torch.randn(shape), torch.randint(0, shape[1], shape[:1] + shape[2:])
    target.view(-1)[0] = -100
    options = {"reduction": reduction, "label_smoothing": label_smoothing}
    leaf, overwritten = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    value, same = loss(leaf, target, **options), loss(overwritten, target, **options, inplace_backward=True)
    assert torch.equal(same, value)
    assert torch.equal(overwritten, logits)  # until backward
    upstream = torch.rand_like(value)
    (expected,) = torch.autograd.grad(value, leaf, upstream)
    (gradient,) = torch.autograd.grad(same, overwritten, upstream, retain_graph=True)
    assert gradient.data_ptr() == overwritten.data_ptr()
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-7)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(same, overwritten, upstream)


def test_in_place_leaves_logits_alone_whose_samples_share_memory():
    logits = torch.randn(1, 40).expand(3, 40).requires_grad_()
    before, target = logits.detach().clone(), torch.tensor([1, 2, 3])
    (gradient,) = torch.autograd.grad(sq.squentropy(logits, target, inplace_backward=True), logits)
    assert torch.equal(logits, before)
    (expected,) = torch.autograd.grad(sq.squentropy(logits, target), logits)
    torch.testing.assert_close(gradient, expected)


def test_in_place_under_a_layer_trains_as_not_in_place():
    target, inputs = torch.tensor([0, 1, 2, 1]), torch.randn(4, 6)
    gradients = []
    for in_place in (False, True):
        torch.manual_seed(1)
        layer = torch.nn.Linear(6, 3)
        sq.squentropy(layer(inputs), target, inplace_backward=in_place).backward()
        gradients.append(layer.weight.grad)
    torch.testing.assert_close(*gradients)


# More elements, or places in memory, than 32 bits can count. Memory that nobody writes to takes no room.
MANY = 2**31


@pytest.mark.slow
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_more_than_two_to_the_31_elements(label_smoothing):
    samples, num_classes = MANY // 2**15 + 1, 2**15
    row = torch.randn(1, num_classes)
    logits, target = row.expand(samples, num_classes), torch.zeros(samples, dtype=torch.int64)
    target[-1] = 7
    ours = sq.squentropy(logits, target, ignore_index=0, label_smoothing=label_smoothing)
    torch.testing.assert_close(ours, sq.squentropy(row, target[-1:], label_smoothing=label_smoothing))
    everyone = sq.squentropy(logits, target, label_smoothing=label_smoothing, reduction="sum")
    alone = sq.squentropy(row.double(), torch.tensor([0]), label_smoothing=label_smoothing)
    torch.testing.assert_close(everyone.double(), (samples - 1) * alone + ours, rtol=5e-6, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["formula", *KERNELS])
@pytest.mark.parametrize("strides", [(2**30 + 7, 1), (1, 2**30 + 7), (2**30 + 7, 3)], ids=str)
def test_places_beyond_two_to_the_31(strides, path):
    memory = torch.zeros(MANY + 200, dtype=torch.bfloat16)
    shape = (40, 3) if strides[1] > 3 else (3, 40)
    logits, target = torch.as_strided(memory, shape, strides), torch.tensor([0, 1, 2] + [1] * 37)[: shape[0]]
    values = torch.randn(shape).bfloat16()
    logits.copy_(values)
    with use(path):
        losses, gradient = loss_and_gradient(
            logits, target, None, -100, 0.0, squentropy_terms(shape[1]), scale=0.5, out=logits
        )
        same = loss_and_gradient(values, target, None, -100, 0.0, squentropy_terms(shape[1]), scale=0.5)
    assert gradient is logits
    torch.testing.assert_close((losses, logits.contiguous()), same)
