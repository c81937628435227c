"""The vision rows: what each is trained on and how, at both scales, on real and on tiny data."""

from pathlib import Path

import pytest
import torch

from squentropy.data import MANIFEST, MissingDataError
from squentropy.data.image_sets import LAYOUTS
from squentropy.models import vit
from squentropy.study import Shard, plan
from squentropy.study.published import find_row, published_rows
from squentropy.tasks import TASKS, select_tasks
from squentropy.tasks.vision import VISION, is_among_top5
from tests.data import image_files

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not at hand")
AT_HAND = [task for task in VISION if task.data_sets[0] in ("mnist", "cifar10", "cifar100", "tiny-imagenet")]


@pytest.fixture(autouse=True)
def _nothing_else_at_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


def by_name(name):
    return TASKS[f"vision/{name}"]


def test_every_vision_row_of_table_1_has_its_task():
    vision = {name for name in published_rows() if any(find_row(task.paper_row).name == name for task in VISION)}
    top5 = {"Table 1: ResNet-50, ImageNet (Top-5 acc.)", "Table 1: EfficientNet, ImageNet (Top-5 acc.)"}
    assert len(vision) == 9
    assert len(vision | top5) == 11
    assert top5 <= published_rows().keys()
    for task in VISION:
        assert ("top5_accuracy" in task.scores) == ("ImageNet" in task.paper_row)
        assert "ImageNet" not in task.paper_row or "(Top-5 acc.)" in task.summary
    assert select_tasks(["vision"]) == list(VISION)


def test_the_recipes_that_the_paper_states():
    """Section 4 and the appendix: learning rates, epochs, t and M."""
    for name in ("resnet18-stl10", "vgg-svhn"):
        recipe = by_name(name).recipe("paper")
        assert recipe.for_loss("cross_entropy").learning_rate == 0.1
        assert recipe.for_loss("squentropy").learning_rate == 0.02
        assert recipe.for_loss("rescaled_square").learning_rate == 0.02
        assert recipe.parameters_for("rescaled_square") == {"t": 1, "M": 1}
        assert recipe.epochs == 200
    for name in ("wide-resnet-cifar100", "wide-resnet-cifar100-subset"):
        recipe = by_name(name).recipe("paper")
        assert (recipe.epochs, recipe.batch_size, recipe.learning_rate) == (200, 128, 0.1)
        assert recipe.parameters_for("rescaled_square") == {"t": 1, "M": 10}
        assert not recipe.loss_learning_rate
    for name in ("resnet50-imagenet", "efficientnet-imagenet"):
        assert by_name(name).recipe("paper").parameters_for("rescaled_square") == {"t": 15, "M": 30}
    assert by_name("tcn-mnist").recipe("paper").parameters_for("rescaled_square") == {"t": 1, "M": 1}
    assert by_name("resnet18-cifar10").recipe("paper").parameters_for("rescaled_square") == {"t": 1, "M": 10}
    steps = by_name("vit-cifar10").recipe("paper").epochs * -(-50_000 // 512)
    assert steps == pytest.approx(10_000, rel=0.01)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("tcn-mnist", 66_910),
        ("resnet18-cifar10", 11_173_962),
        ("resnet18-stl10", 11_181_642),  # torchvision's with 10 classes
        ("wide-resnet-cifar100", 145_930_804),
        ("vgg-svhn", 128_812_810),
        ("vit-cifar10", 85_806_346),
        ("resnet50-imagenet", 25_557_032),
        ("efficientnet-imagenet", 5_288_548),
    ],
)
def test_at_scale_paper_the_networks_are_of_the_published_size(name, parameters):
    task = by_name(name)

    class Described:
        num_classes = MANIFEST["imagenet" if "imagenet" in name else task.data_sets[0]].classes
        checkpoint = None

    with torch.device("meta"):
        model = task.build(Described(), task.recipe("paper"))
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


@needs_shared
@pytest.mark.parametrize("task", AT_HAND, ids=lambda task: task.name.partition("/")[2])
def test_at_scale_small_a_step_of_each_row_lowers_its_loss(task):
    data = task.load("small", SHARED)
    recipe = task.recipe("small")
    (part,) = next(data.train_batches(recipe, torch.Generator().manual_seed(0), Shard()))
    model = task.build(data, recipe)
    (run,) = plan([task], ["squentropy"], 1, "small")
    loss = run.loss.function()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = []
    for _ in range(4):
        outputs = task.forward(model, part, None)
        assert outputs.logits.shape == (64, MANIFEST[task.data_sets[0]].classes)
        value = loss(outputs.logits, outputs.target)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert values[-1] < values[0]
    counts = torch.bincount(data.images.test.target)
    assert (counts == counts[0]).all()  # the cut is balanced


@needs_shared
def test_the_subset_is_a_part_of_the_whole():
    whole, subset = (by_name(f"wide-resnet-cifar100{end}").load("small", SHARED) for end in ("", "-subset"))
    assert (whole.train_rows, subset.train_rows) == (5000, 1000)
    assert torch.equal(whole.images.test.pixels, subset.images.test.pixels)
    rows = {each.numpy().tobytes() for each in whole.images.train.pixels}
    assert all(each.numpy().tobytes() in rows for each in subset.images.train.pixels)


@needs_shared
def test_pixels_are_permuted_alike_in_every_image_and_study():
    data = by_name("tcn-mnist").load("paper", SHARED)
    original = LAYOUTS["mnist"].forms[0].read(SHARED / "mnist")
    order = torch.randperm(784, generator=torch.Generator().manual_seed(1111))
    for part, source in ((data.images.train, original.train), (data.images.test, original.test)):
        assert torch.equal(part.pixels[:50, 0, 0], source.pixels[:50].flatten(1)[:, order])
    assert (data.train_rows, data.test_rows) == (60_000, 10_000)


def test_top_5():
    logits = torch.tensor([[9.0, 8, 7, 6, 5, 4, 3], [1, 2, 3, 4, 5, 6, 7]])
    assert is_among_top5(logits, torch.tensor([4, 1])).tolist() == [True, False]


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(MissingDataError, match=r"svhn is not at hand: download train_32x32.mat"):
        by_name("vgg-svhn").load("small", tmp_path)
    with pytest.raises(MissingDataError, match=r"imagenet is not at hand: download ILSVRC 2012 \(155 GB\)"):
        by_name("resnet50-imagenet").load("paper", tmp_path)


def test_the_vision_transformer_needs_its_checkpoint_at_scale_paper(tmp_path):
    task = by_name("vit-cifar10")
    image_files.write_tiny(tmp_path, "cifar10")
    with pytest.raises(
        MissingDataError, match=r"run `hf download google/vit-base-patch16-224-in21k` \(346 MB; Apache-2.0\)"
    ):
        task.load("paper", tmp_path)
    small = {
        "image_size": 32, "patch_size": 16, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8,
    }  # fmt: skip
    vit(21, **small).save_pretrained(tmp_path / "vit-base-patch16-224-in21k", safe_serialization=True)
    model = task.build(task.load("paper", tmp_path), task.recipe("paper"))
    assert model.classifier.weight.shape == (10, 8)
