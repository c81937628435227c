"""The vision rows train: the published networks on a few images in the published formats, and by one command."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app
from squentropy.data.images import ImageSet, reduced
from squentropy.models import vit
from squentropy.study import Store, plan
from squentropy.study.training import train
from squentropy.tasks import TASKS
from squentropy.tasks.vision import VISION
from tests.data import image_files

SHARED = Path(__file__).parents[3] / "shared" / "data"
LOSSES = ["squentropy", "cross_entropy", "rescaled_square"]
# The published learning rates are for batches of 128 and more.
FEW = {"epochs": 1, "batch_size": 4, "accumulate": 1, "learning_rate": 1e-3, "warmup_steps": 0}
NARROW = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


@pytest.fixture(autouse=True)
def _nothing_else_at_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


def write_checkpoint(folder, **settings):
    """A vision transformer for 21 classes, where Google's weights belong."""
    vit(21, **settings).save_pretrained(folder / "vit-base-patch16-224-in21k", safe_serialization=True)


def command(folder, *arguments):
    """Runs a command on the data in a folder; returns its records and its report as text."""
    places = ["--data", str(folder), "--out", str(folder / "study")]
    answer = CliRunner().invoke(make_app(), [*arguments, *places, "--losses", "squentropy", "--seeds", "1"])
    assert answer.exit_code == 0, answer.output
    return list(Store(folder / "study").read()), (folder / "study" / "report" / "report.md").read_text()


@pytest.mark.parametrize("name", ["vgg-svhn", "resnet18-stl10"])
def test_rows_whose_data_cannot_be_had_run_at_scale_small_on_their_formats(tmp_path, name):
    task = TASKS[f"vision/{name}"]
    image_files.write_tiny(tmp_path, task.data_sets[0])
    data = task.load("small", tmp_path)
    for run in plan([task], LOSSES, 1, "small"):
        result = train(replace(run, recipe=replace(run.recipe, epochs=2)), task, data)
        assert np.isfinite(result.curves["train_loss"]).all()
        assert result.logits.shape == (20, 10)


@pytest.mark.slow  # the published networks
@pytest.mark.parametrize("task", [task for task in VISION if task.data_sets != ("mnist",)], ids=lambda task: task.name)
def test_the_full_networks_take_training_steps_on_tiny_files(tmp_path, task):
    data_set = "imagenet" if "imagenet" in task.name else task.data_sets[0]
    image_files.write_tiny(tmp_path, data_set)
    if task.name == "vision/vit-cifar10":
        write_checkpoint(tmp_path)
    data = task.load("paper", tmp_path)
    assert one_epoch(task, data).shape[1] == {"cifar100": 100, "imagenet": 1000}.get(data_set, 10)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not at hand")
def test_the_full_sequence_network_takes_training_steps_on_real_images():
    """MNIST has no tiny copy: its files are checked against their published hashes."""
    task = TASKS["vision/tcn-mnist"]
    data = task.load("paper", SHARED)
    parts = (reduced(part, per_class=1) for part in (data.images.train, data.images.test))
    assert one_epoch(task, replace(data, images=ImageSet("mnist", *parts, 10))).shape == (10, 10)


def one_epoch(task, data):
    """Trains the published network for an epoch of small batches; returns its logits."""
    (run,) = plan([task], ["squentropy"], 1, "paper")
    result = train(replace(run, recipe=replace(run.recipe, **FEW)), task, data)
    assert np.isfinite(result.curves["train_loss"]).all()
    assert result.logits.isfinite().all()
    return result.logits


@pytest.mark.slow
def test_a_command_trains_the_full_networks_on_a_folder_of_classes(tmp_path):
    """The recipes of scale paper but for the number of epochs, in a worker, with records and a report."""
    image_files.write_tiny(tmp_path, "imagenet")
    (tmp_path / "short.py").write_text(
        "from dataclasses import replace\n"
        "from squentropy.tasks import TASKS\n"
        "rows = [TASKS[f'vision/{name}-imagenet'] for name in ('resnet50', 'efficientnet')]\n"
        "TASKS = [replace(row, recipes={'paper': replace(row.recipe('paper'), epochs=2)}) for row in rows]\n"
    )
    records, _ = command(tmp_path, "compare", str(tmp_path / "short.py"))
    assert [record["status"] for record in records] == ["done", "done"]
    assert all({"accuracy", "top5_accuracy", "ece"} <= set(record["metrics"]["last"]) for record in records)
    assert {record["data"]["num_classes"] for record in records} == {1000}


@pytest.mark.slow  # all 102 epochs
def test_a_row_at_scale_paper_is_one_command(tmp_path):
    image_files.write_tiny(tmp_path, "cifar10")
    write_checkpoint(tmp_path, **NARROW)
    (record,), report = command(tmp_path, "reproduce", "vision/vit-cifar10")
    assert (record["status"], record["curves"]["epoch"][-1]) == ("done", 102)
    assert "99.3" in report  # what is published stands beside it at this scale
