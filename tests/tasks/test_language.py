"""The language tasks: all fifteen rows, trained through the real loading code on small files of the published forms."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from squentropy.data import DataError, MissingDataError
from squentropy.study import Shard, plan
from squentropy.study.devices import Devices, train_on
from squentropy.study.published import find_row
from squentropy.study.training import train
from squentropy.tasks import TASKS
from squentropy.tasks.language import LANGUAGE
from squentropy.tasks.language_finetuning import PAPER, classification
from tests.tasks import language_files

SHARED = Path(__file__).parents[3] / "shared" / "data"
LOSSES = ("squentropy", "cross_entropy", "rescaled_square")
ROWS = {task.name.removeprefix("language/"): task for task in LANGUAGE}


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


def with_recipe(task, scale="small", options=(), model=(), **changes):
    """The task with another recipe; options that are None are left out."""
    recipe = task.recipe(scale)
    changed = {**recipe.options, **dict(options)}
    if model:
        changed["model"] = {**changed["model"], **dict(model)}
    changed = {name: value for name, value in changed.items() if value is not None}
    recipes = {scale: replace(recipe, options=changed, **changes)}
    load = partial(task.load.func, **{**task.load.keywords, "recipes": recipes})
    return replace(task, recipes=recipes, load=load)


def prepared(task, folder, loss="squentropy", scale="small"):
    """The first run of a task and its data."""
    (run,) = plan([task], [loss], 1, scale)
    return run, task, task.load(scale, folder)


def trained(task, folder, loss="squentropy", scale="small"):
    return train(*prepared(task, folder, loss, scale))


def test_all_fifteen_rows_are_there():
    names = {find_row(task.paper_row).name for task in LANGUAGE}
    assert len(names) == len(LANGUAGE) == 15
    for task in LANGUAGE:
        assert TASKS[task.name] is task
        assert set(task.recipes) == {"small", "paper"}
        assert all(task.recipe(scale).loss_parameters["rescaled_square"] == {"t": 1, "M": 1} for scale in task.recipes)
    assert all("guess" in ROWS[name].summary for name in ("bert-text5", "bert-text20", "transformer_xl-enwik8-subset"))


@pytest.mark.parametrize("task", LANGUAGE, ids=lambda task: task.name)
@pytest.mark.parametrize("scale", ["small", "paper"])
def test_without_data_each_says_in_a_sentence_where_to_get_them(task, scale, monkeypatch, tmp_path):
    monkeypatch.setattr("squentropy.data.checkpoints._in_hub_cache", lambda name: None)
    with pytest.raises(MissingDataError, match=r"is not at hand: (put|run|pip install) .*\(.*; .*\)") as caught:
        task.load(scale, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.fixture
def tiny_bert(tmp_path):
    pytest.importorskip("transformers")
    return language_files.write_checkpoint(tmp_path / "checkpoints" / "tiny")


def reviews(**changes):
    options = {"checkpoint": "tiny", "frozen_layers": None, "train": None, "test": None}
    return with_recipe(ROWS["bert-sst-2"], options=options, learning_rate=0.003, epochs=20, batch_size=12, **changes)


@pytest.mark.parametrize("loss", LOSSES)
def test_finetuning_learns_the_telling_words(tmp_path, tiny_bert, loss):
    language_files.write_sst2(tmp_path)
    result = trained(reviews(), tmp_path, loss)
    assert result.last["accuracy"] > 0.9
    assert result.logits.shape == (60, 2)


def test_batches_are_of_like_length_and_padded_no_further(tmp_path, tiny_bert):
    language_files.write_sst2(tmp_path)
    task = reviews()
    data = task.load("small", tmp_path)
    recipe = task.recipe("small")
    generator = torch.Generator().manual_seed(0)
    epochs = [[parts[0] for parts in data.train_batches(recipe, generator, Shard())] for _ in range(2)]
    assert len(epochs[0]) == data.steps(recipe) == 5
    for batch in epochs[0]:
        pieces, segments, mask = batch.columns
        assert mask.sum(dim=1).max() == pieces.shape[1]
        assert mask.sum(dim=1).min() >= pieces.shape[1] - 1  # four lengths in five batches
        assert (pieces[mask == 0] == 0).all()
        assert not segments.any()
    assert sum(len(batch.target) for batch in epochs[0]) == 60
    assert [batch.columns[0].tolist() for batch in epochs[0]] != [batch.columns[0].tolist() for batch in epochs[1]]


def test_frozen_layers_stay_as_they_were(tmp_path, tiny_bert):
    language_files.write_sst2(tmp_path)
    task = with_recipe(reviews(), options={"frozen_layers": 1})
    model = task.build(task.load("small", tmp_path), task.recipe("small"))
    assert not any(p.requires_grad for p in model.bert.embeddings.parameters())
    assert not any(p.requires_grad for p in model.bert.encoder.layer[0].parameters())
    assert all(p.requires_grad for p in model.bert.encoder.layer[1].parameters())
    assert all(p.requires_grad for p in model.classifier.parameters())


def test_any_checkpoint_by_its_directory(tmp_path, tiny_bert):
    language_files.write_sst2(tmp_path)
    recipe = replace(PAPER, options={"checkpoint": str(tiny_bert), "max_length": 16})
    task = classification("mine", "glue/SST-2", {"paper": recipe})
    data = task.load("paper", tmp_path)
    assert data.checkpoint == tiny_bert
    language_files.write_checkpoint(tmp_path / "other", hidden_size=8)
    other = replace(recipe, options={**recipe.options, "checkpoint": str(tmp_path / "other")})
    assert classification("mine", "glue/SST-2", {"paper": other}).load("paper", tmp_path).sha256 != data.sha256


def test_text5_are_five_hierarchies(tmp_path, tiny_bert):
    from tests.data.test_texts import newsgroups

    newsgroups(tmp_path / "20news", "folders")
    task = with_recipe(ROWS["bert-text5"], options={"checkpoint": "tiny"})
    data = task.load("small", tmp_path)
    assert (data.num_classes, data.train.target.tolist(), data.test.target.tolist()) == (5, [0, 4], [0])


@pytest.mark.parametrize("model", ["esim", "pwim"])
@pytest.mark.parametrize("has_vectors", [True, False])
def test_pairs_are_learned_with_and_without_vectors(tmp_path, model, has_vectors, monkeypatch):
    monkeypatch.setattr("squentropy.data.word_vectors.find_spec", lambda name: None)
    language_files.write_qqp(tmp_path)
    if has_vectors:
        words = "cat dog cow hen fox owl where is the does live ?".split()
        rows = torch.randn(len(words), 6, generator=torch.Generator().manual_seed(0)).tolist()
        lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows, strict=True))
        (tmp_path / "glove.6B.6d.txt").write_text("".join(lines))
    settings = {"width": 6, "hidden": 16}
    settings |= {"dropout": 0.0} if model == "esim" else {"size": 16, "channels": [16, 16]}
    options = {"vectors": "glove.6B.6d", "model": settings, "train": None, "test": None}
    task = with_recipe(ROWS[f"{model}-qqp"], options=options, learning_rate=0.01, epochs=20, batch_size=10)
    data = task.load("small", tmp_path)
    assert data.name == ("glue/QQP; glove.6B.6d" if has_vectors else "glue/QQP; learned embeddings")
    (run,) = plan([task], ["squentropy"], 1, "small")
    assert train(run, task, data).curves["train_loss"][-1] < 0.45


def test_words_without_a_vector_are_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr("squentropy.data.word_vectors.find_spec", lambda name: None)
    language_files.write_qqp(tmp_path)
    path = tmp_path / "glue" / "QQP" / "dev.tsv"
    path.write_text(path.read_text().replace("fox", "gnu", 1).replace("Where is the", "...", 1))
    data = with_recipe(ROWS["esim-qqp"], options={"train": None, "test": None}).load("small", tmp_path)
    assert any((row == 1).any() for column in data.test.columns for row in column)
    assert not any((row == 1).any() for column in data.train.columns for row in column)
    assert data.vectors is None


CHARACTERS = {
    "options": {"beginning": 4000, "train": None, "test": None, "length": 20, "test_length": 20, "test_streams": 3},
    "model": {"layers": 1, "width": 32, "heads": 2, "head_width": 16, "inner": 32, "memory": 20, "eval_memory": 20},
    "batch_size": 6,
    "epochs": 12,
    "learning_rate": 0.01,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_characters_are_learned(tmp_path, loss):
    language_files.write_text8(tmp_path)
    result = trained(with_recipe(ROWS["transformer_xl-text8"], **CHARACTERS), tmp_path, loss)
    assert result.last["accuracy"] > 0.8
    assert result.last["bits_per_character"] == pytest.approx(result.last["nll"] / math.log(2))
    assert len(result.target) == 199  # every character of the last twentieth but its first


def test_characters_of_the_training_part_are_seen_once_in_order(tmp_path):
    language_files.write_text8(tmp_path)
    task = with_recipe(ROWS["transformer_xl-text8"], **CHARACTERS)
    data, recipe = task.load("small", tmp_path), task.recipe("small")
    segments = [parts[0] for parts in data.train_batches(recipe, torch.Generator(), Shard())]
    assert len(segments) == data.steps(recipe)
    read = torch.cat([segment.characters for segment in segments], dim=1)
    follows = torch.cat([segment.following for segment in segments], dim=1)
    assert torch.equal(read.flatten(), data.train[: read.numel()].long())
    assert torch.equal(follows.flatten(), data.train[1 : read.numel() + 1].long())


def test_a_corpus_shorter_than_a_segment_of_each_stream(tmp_path):
    language_files.write_text8(tmp_path)
    task = with_recipe(ROWS["transformer_xl-text8"], **{**CHARACTERS, "batch_size": 200})
    with pytest.raises(DataError, match="charlm/text8 has 3,600 characters to train on, fewer than 200 segments of 20"):
        task.load("small", tmp_path)


FAMILIES = ["transformer_xl-text8", "bert-sst-2", "esim-qqp", "pwim-qqp"]


def without_dropout(folder, name):
    """A task whose training has nothing random but the order of its batches, for two epochs."""
    if name == "bert-sst-2":
        pytest.importorskip("transformers")
        none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        language_files.write_checkpoint(folder / "checkpoints" / "tiny", **none)
        language_files.write_sst2(folder)
        task = reviews()
    elif name.endswith("qqp"):
        language_files.write_qqp(folder)
        model = {"dropout": 0.0} if name == "esim-qqp" else {"size": 16, "channels": [8, 8]}
        options = {"train": None, "test": None, "vectors": "none", "model": {"width": 6, "hidden": 8, **model}}
        task = with_recipe(ROWS[name], options=options, batch_size=16)
    else:
        language_files.write_text8(folder)
        task = with_recipe(ROWS[name], **{**CHARACTERS, "model": {**CHARACTERS["model"], "dropout": 0.0}})
    return with_recipe(task, epochs=2)


def assert_same_training(result, expected):
    assert result.curves["train_loss"] == pytest.approx(expected.curves["train_loss"], rel=1e-3)
    torch.testing.assert_close(result.logits, expected.logits, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_mean_is_the_same_in_parts_as_in_one_batch(tmp_path, name):
    """Accumulation changes nothing but rounding: padding and ignored tokens count nowhere."""
    task = without_dropout(tmp_path, name)
    assert_same_training(trained(with_recipe(task, accumulate=3), tmp_path), trained(task, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_the_mean_is_the_same_in_two_processes_as_in_one(tmp_path, name):
    run, task, data = prepared(without_dropout(tmp_path, name), tmp_path)
    together = train_on(Devices.parse("cpu:2"), {task.name: task}.__getitem__, run, data)
    assert_same_training(together, train(run, task, data))


FULL_SIZES = {"bert": 109_483_778, "transformer_xl": 41_055_949, "esim": 4_330_802, "pwim": 2_161_830}
"""Parameters of the models: BERT with two classes, Transformer-XL with 205 symbols, the others without their words."""


@pytest.fixture(scope="module")
def full_size_files(tmp_path_factory):
    """Every data set of the language tasks in its published form, and a checkpoint as large as BERT-base."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("published")
    for write in ("mrpc", "sst2", "qnli", "qqp", "newsgroups"):
        getattr(language_files, f"write_{write}")(folder)
    for write in ("text8", "enwik8"):
        getattr(language_files, f"write_{write}")(folder, characters=100_000_000)
    base = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
    base |= {"vocab_size": 30522, "max_position_embeddings": 512}
    language_files.write_checkpoint(folder / "checkpoints" / "bert-base-uncased", **base)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_full_size_models_take_real_training_steps(full_size_files, name, monkeypatch):
    """At scale paper through the real loading code; only batches, segments and the rows that are taken are fewer."""
    monkeypatch.setattr("squentropy.data.word_vectors.find_spec", lambda name: None)
    changes = {"options": {"train": 16, "test": 8}, "batch_size": 8}
    if name.startswith("transformer_xl"):
        changes = {"options": {"train": 300, "test": 60, "length": 64}, "batch_size": 2}
    task = with_recipe(ROWS[name], "paper", epochs=2, evaluate_every=1, **changes)
    run, task, data = prepared(task, full_size_files, scale="paper")
    parameters = list(task.build(data, run.recipe).parameters())
    family = name.partition("-")[0]
    further = {
        "bert": (data.num_classes - 2) * (768 + 1),
        "transformer_xl": (data.num_classes - 205) * (512 + 1),
    }.get(family, parameters[0].numel())
    assert sum(each.numel() for each in parameters) == FULL_SIZES[family] + further
    curves = train(run, task, data).curves
    assert len(curves["train_loss"]) == 2
    assert all(map(math.isfinite, curves["train_loss"]))
    assert curves["weight_norm"][0] != curves["weight_norm"][1]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not at hand")
def test_small_characters_on_real_data_have_what_the_recipe_says():
    data = ROWS["transformer_xl-enwik8-subset"].load("small", SHARED)
    options = ROWS["transformer_xl-enwik8-subset"].recipe("small").options
    assert (len(data.train), len(data.test), data.num_classes) == (options["train"], options["test"], 200)
