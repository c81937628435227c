"""Several processes train one run as one process does: batch normalisation and augmentation see the whole batch."""

import atexit
import multiprocessing
import os
from dataclasses import replace
from functools import partial

import pytest
import torch

from squentropy.data.augmentation import Normalisation, PadCropFlip
from squentropy.data.images import ImageArray, ImageSet
from squentropy.models import ResNet18
from squentropy.study import Recipe, Run, Store, Task, jobs, plan
from squentropy.study.batch_norm import SharedBatchNorm, share_batch_norm
from squentropy.study.devices import Devices, train_on
from squentropy.study.execution import execute
from squentropy.tasks.images import ImageData

RECIPE = Recipe(
    epochs=2,
    batch_size=15,  # 8 rows for one process and 7 for the other, at last 5
    learning_rate=0.05,
    optimizer_options={"momentum": 0.9, "nesterov": True},
    schedule="cosine",
    precision="64-true",  # in 32 bits rounding has grown to a thousandth after eight steps
)


def load_noise(scale, data_dir):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (60, 3, 8, 8), generator=generator, dtype=torch.uint8)
    target = torch.arange(60) % 3
    pixels[target == 1, 0] //= 2
    images = ImageSet("noise", ImageArray(pixels[:50], target[:50]), ImageArray(pixels[50:], target[50:]), 3)
    return ImageData(images, Normalisation((0.5,) * 3, (0.5,) * 3), PadCropFlip(1))


NOISE = Task(
    name="noise",
    recipes={
        "small": RECIPE,
        "paper": replace(RECIPE, epochs=1, optimizer_options={"momentum": 0.9}, learning_rate=1e30),
    },
    load=load_noise,
    build=lambda data, recipe: ResNet18(3, stem="cifar", width=4),
)


def find(name):
    return {"noise": NOISE}[name]


def runs(scale):
    return plan([NOISE], ["squentropy"], 1, scale)


@pytest.mark.slow  # processes that load everything anew
def test_two_processes_train_a_network_with_batch_normalisation_as_one():
    (run,) = runs("small")
    data = load_noise("small", None)
    shares = []
    alone = train_on(Devices(), find, run, data)
    together = train_on(Devices.parse("cpu:2"), find, run, data, progress=shares.append)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    assert alone.curves["epoch"] == together.curves["epoch"] == [1, 2]
    for name, values in alone.curves.items():
        assert together.curves[name] == pytest.approx(values, rel=1e-6, abs=1e-9), name
    torch.testing.assert_close(together.logits, alone.logits, rtol=1e-4, atol=1e-5)
    assert torch.equal(together.target, data.images.test.target)


def find_and_abort_at_exit(name):
    """In a process of its own, what a thread of gloo does now and then while Python is taken down."""
    if multiprocessing.parent_process() is not None:
        atexit.register(os.abort)
    return find(name)


@pytest.mark.slow
def test_a_process_that_would_abort_at_its_exit_does_not_take_the_run_with_it():
    (run,) = runs("small")
    result = train_on(Devices.parse("cpu:2"), find_and_abort_at_exit, run, load_noise("small", None))
    assert result.curves["epoch"] == [1, 2]


@pytest.mark.slow
def test_records_say_the_devices_and_a_loss_that_explodes_is_a_failed_run(tmp_path):
    store = Store(tmp_path)
    for scale in ("small", "paper"):
        planned = runs(scale)
        for job in jobs(planned, planned, find):
            assert execute(job, find=find, store=store, devices=Devices.parse("2")) is None
    records = {record["run"]["scale"]: record for record in store.read()}
    assert records["small"]["status"] == "done"
    assert records["small"]["environment"]["devices"] == "cpu:2"
    assert records["paper"]["status"] == "failed"
    assert records["paper"]["error"]["type"] == "NonFiniteLossError"


def test_one_device_says_nothing_of_itself(tmp_path):
    store = Store(tmp_path)
    (job,) = jobs(runs("small"), runs("small"), find)
    assert execute(job, find=find, store=store) is None
    (record,) = store.read()
    assert "devices" not in record["environment"]


@pytest.fixture
def alone(tmp_path):
    """A group of one process, in which sums over processes change nothing."""
    torch.distributed.init_process_group("gloo", f"file://{tmp_path / 'group'}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (torch.nn.BatchNorm1d, (6, 4)),
        (torch.nn.BatchNorm2d, (6, 4, 5, 3)),
        (partial(torch.nn.BatchNorm2d, momentum=None), (6, 4, 2, 2)),
        (partial(torch.nn.BatchNorm2d, affine=False), (6, 4, 2, 2)),
        (partial(torch.nn.BatchNorm2d, track_running_stats=False), (6, 4, 2, 2)),
    ],
)
def test_shared_batch_normalisation_is_that_of_pytorch(alone, make, shape):
    theirs = make(4)
    ours = share_batch_norm(torch.nn.Sequential(make(4)))[0]
    assert isinstance(ours, SharedBatchNorm)
    for _ in range(3):
        inputs = 3 + 2 * torch.randn(shape)
        first, second = inputs.clone().requires_grad_(), inputs.clone().requires_grad_()
        weights = torch.randn(shape)
        torch.testing.assert_close(ours(first), theirs(second))
        (ours(first) * weights).sum().backward()
        (theirs(second) * weights).sum().backward()
        torch.testing.assert_close(first.grad, second.grad, rtol=1e-4, atol=1e-5)
    for name, value in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value)
    if make != partial(torch.nn.BatchNorm2d, track_running_stats=False):
        torch.testing.assert_close(ours.eval()(inputs), theirs.eval()(inputs))


@pytest.mark.parametrize("text", ["gpu", "cuda:0", "cpu:two", "-1", "0"])
def test_devices_that_cannot_be(text):
    with pytest.raises(ValueError, match="devices must be cpu, cuda, a number, or both as in cuda:4, got"):
        Devices.parse(text)


def test_precision_makes_other_runs():
    (run,) = runs("small")
    mixed = replace(run, recipe=replace(run.recipe, precision="bf16-mixed"))
    assert isinstance(mixed, Run)
    assert mixed.run_id != run.run_id
    result = train_on(Devices(), find, mixed, load_noise("small", None))
    assert result.last["accuracy"] > 0
    assert result.logits.dtype == torch.float32
