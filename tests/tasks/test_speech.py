"""The speech tasks: their recipes, batches and error rates, and the chain from audio files to a report."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from squentropy.data import MANIFEST
from squentropy.data.speech import corpora
from squentropy.data.speech.corpora import load_speech
from squentropy.data.speech.features import FeatureKind
from squentropy.data.speech.units import Subwords, Symbols
from squentropy.models.speech.architectures import projected_gru
from squentropy.study import Recipe, Shard, plan
from squentropy.study.evaluation import evaluate
from squentropy.study.published import find_row
from squentropy.study.store import Store
from squentropy.study.training import train
from squentropy.tasks import speech_scoring
from squentropy.tasks.speech import SPEECH, recognition
from squentropy.tasks.speech_data import batch_sizes, length_buckets, prepare
from squentropy.tasks.speech_scoring import error_rates, measure
from tests.data.speech.miniature import WORDS, tones, write, write_librispeech, write_timit, write_wsj

RECIPE = Recipe(
    epochs=2,
    batch_size=4,
    learning_rate=0.01,
    optimizer="Adam",
    options={
        "corpus": "speech/librispeech",
        "units": "characters",
        "mels": 20,
        "pitch": False,
        "model": {"hidden": 12, "subsample": [2, 2], "decoder_hidden": 12},
        "decode": {"beam": 2, "ctc_weight": 0.5, "longest": 12},
    },
)
KIND = FeatureKind(20, pitch=False)


@pytest.fixture(autouse=True)
def _nothing_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "INSTALLED", tmp_path / "usr-share")
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def librispeech(tmp_path):
    write_librispeech(tmp_path / "LibriSpeech")
    return load_speech("speech/librispeech", "words", tmp_path)


def small_task(recipe=RECIPE):
    return recognition("speech", {"small": recipe}, architecture=projected_gru, ctc_weight=0.5, metric="cer")


# The tasks


def test_the_eight_results_are_there_with_the_published_ones():
    rows = [find_row(task.paper_row) for task in SPEECH]
    assert len({row.name for row in rows}) == 8
    published = {task.name: row.performance["cross_entropy"] for task, row in zip(SPEECH, rows, strict=True)}
    assert published == {
        "speech/timit-phones": 20.0,
        "speech/timit-characters": 33.4,
        "speech/vgg-blstmp-wsj": 5.3,
        "speech/vgg-blstmp-wsj-characters": 2.5,
        "speech/vgg-blstm-librispeech": 8.2,
        "speech/vgg-blstm-librispeech-subwords": 10.6,
        "speech/transformer-wsj": 4.2,
        "speech/transformer-librispeech": 9.2,
    }


def test_the_square_loss_has_the_published_scaling():
    """From the paper's appendix: no scaling for TIMIT's characters only."""
    found = {task.name: task.recipes["paper"].parameters_for("rescaled_square") for task in SPEECH}
    assert {name: (each["t"], each["M"]) for name, each in found.items()} == {
        "speech/timit-phones": (1, 15),
        "speech/timit-characters": (1, 1),
        "speech/vgg-blstmp-wsj": (1, 15),
        "speech/vgg-blstmp-wsj-characters": (1, 15),
        "speech/vgg-blstm-librispeech": (15, 30),
        "speech/vgg-blstm-librispeech-subwords": (15, 30),
        "speech/transformer-wsj": (1, 15),
        "speech/transformer-librispeech": (15, 30),
    }


def test_the_share_of_ctc_is_that_of_the_recipes():
    shares = [1 - task.recipes[scale].loss_weight for task in SPEECH for scale in ("paper", "small")]
    assert shares == pytest.approx([each for each in (0.5, 0.5, 0.2, 0.2, 0.5, 0.5, 0.3, 0.3) for _ in range(2)])


@pytest.mark.parametrize("task", SPEECH, ids=lambda task: task.name)
def test_each_scale_reads_a_corpus_of_the_manifest(task):
    assert task.data_sets_at("paper")[0] in ("speech/timit", "speech/wsj", "speech/librispeech")
    assert task.data_sets_at("small")[0] in MANIFEST
    assert task.recipes["small"].evaluate_every == task.recipes["small"].epochs


# Batches


def test_batches_are_as_long_as_they_may_be():
    lengths = torch.randint(20, 900, (200,), generator=torch.Generator().manual_seed(0))
    sizes = batch_sizes(lengths, 8, most_frames=2000)
    assert sum(sizes) == 200
    ordered = lengths.sort().values.split(sizes)
    assert all(len(each) <= 8 and len(each) * int(each.max()) <= 2000 for each in ordered)
    # None could have taken in the first utterance of the next one.
    assert all(len(each) == 8 or (len(each) + 1) * int(following[0]) > 2000 for each, following in pairwise(ordered))


def test_buckets_have_every_utterance_once_and_differ_from_epoch_to_epoch():
    lengths = torch.randint(100, 900, (60,), generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    epochs = [length_buckets(lengths, 8, generator) for _ in range(2)]
    for batches in epochs:
        assert torch.cat(batches).sort().values.tolist() == list(range(60))
        assert all(lengths[rows].max() <= 1.3 * lengths[rows].min() + 150 for rows in batches)
    assert {frozenset(rows.tolist()) for rows in epochs[0]} != {frozenset(rows.tolist()) for rows in epochs[1]}


def test_features_of_the_training_part_have_mean_0_and_deviation_1(librispeech):
    data = prepare(librispeech, "characters", KIND)
    batches = list(data.train_batches(RECIPE, torch.Generator().manual_seed(0), Shard()))
    assert len(batches) == data.steps(RECIPE) == 3
    frames = torch.cat([each[:n] for (batch,) in batches for each, n in zip(*batch[:2], strict=True)])
    torch.testing.assert_close(frames.mean(0), torch.zeros(20), atol=1e-4, rtol=0)
    torch.testing.assert_close(frames.std(0, correction=0), torch.ones(20), atol=1e-4, rtol=0)


def test_a_step_in_parts_or_in_shards_is_the_same_step(librispeech):
    data = prepare(librispeech, "characters", KIND)
    ((whole,), *_) = data.train_batches(RECIPE, torch.Generator().manual_seed(0), Shard())
    in_parts = next(iter(data.train_batches(replace(RECIPE, accumulate=3), torch.Generator().manual_seed(0), Shard())))
    shards = [
        next(iter(data.train_batches(RECIPE, torch.Generator().manual_seed(0), Shard(index, 2))))[0]
        for index in range(2)
    ]
    for parts in (in_parts, shards):
        assert sorted(row for part in parts for row in part.rows.tolist()) == sorted(whole.rows.tolist())


def test_the_objective_is_a_mean_over_utterances(librispeech):
    """Squentropy summed over symbols, and CTC, with their shares; the same however a batch is computed."""
    data, task = prepare(librispeech, "characters", KIND), small_task()
    torch.manual_seed(0)
    model = task.build(data, RECIPE)
    ((batch,), *_) = data.train_batches(RECIPE, torch.Generator().manual_seed(0), Shard())
    outputs = task.forward(model, batch, None)
    spoken = model(batch.features, batch.lengths, batch.transcripts)
    assert outputs.count == 4
    torch.testing.assert_close(outputs.extra, 0.5 * spoken.ctc)
    assert (outputs.target != -100).sum() == sum(len(each) + 1 for each in batch.transcripts)


# What is wrong with utterances


def test_utterances_above_the_limit_are_not_trained_on(librispeech):
    with pytest.warns(UserWarning, match=r"LibriSpeech: \d+ utterances are left out: .* frames, more than 70"):
        data = prepare(librispeech, "characters", KIND, longest=70)
    assert 0 < data.train_rows < 12
    assert data.train.lengths.max() <= 70
    assert data.test_rows == 2  # every test utterance counts
    assert "left out" in data.name


def test_symbols_that_training_has_not_are_errors_of_the_test(tmp_path):
    root = write_librispeech(tmp_path / "LibriSpeech")
    path = next((root / "test-clean").rglob("*.trans.txt"))
    path.write_text(re.sub(r"(-0000) .*", r"\1 ACE ÀB", path.read_text()))
    with pytest.warns(UserWarning, match="1 transcripts of the test part have symbols .* such as 'ACE ÀB'"):
        data = prepare(load_speech("speech/librispeech", "words", tmp_path), "characters", KIND)
    perfect = [data.units.encode(each) for each in data.test.references]
    assert error_rates(data.units, data.test.references, perfect)["cer"] == 1 / len("".join(data.test.references))


def test_a_study_goes_on_without_bad_recordings(tmp_path):
    root = write_librispeech(tmp_path / "LibriSpeech")
    (root / "train-clean-100" / "10" / "7" / "10-7-0002.flac").write_bytes(b"")
    write(root / "test-clean" / "12" / "7" / "12-7-0001.flac", tones("ab", rate=8000), "FLAC", rate=8000)
    task = small_task()
    with pytest.warns(UserWarning, match=r"2 utterances are left out: 10-7-0002 \(the file is empty\), 12-7-0001"):
        data = prepare(load_speech("speech/librispeech", "words", tmp_path), "characters", KIND)
    (run,) = plan([task], ["squentropy"], 1, "small")
    assert data.name == "LibriSpeech, 11 + 1 utterances, 2 left out"
    assert math.isfinite(train(run, task, data).last["cer"])


# Error rates


def test_error_rates_by_hand():
    phones = Symbols(("a", "b", "c"), " ")
    # Of "a b c" one is replaced and one is missing; of "a" nothing; two are inserted behind "b".
    found = [[2, 4], [2], [3, 3, 3]]
    assert error_rates(phones, ["a b c", "a", "b"], found)["per"] == pytest.approx(3 / 5)
    characters = Symbols((" ", "a", "b", "c"), "")
    rates = error_rates(characters, ["ab c"], [characters.encode("ab b")])
    assert rates == {"cer": 1 / 4, "wer": 1 / 2}
    assert error_rates(characters, ["ab c"], [[]]) == {"cer": 1.0, "wer": 1.0}


def test_noises_are_no_words():
    units = Symbols((" ", "<NOISE>", "a", "b"), "")
    found = [units.encode("a <NOISE>"), units.encode("b")]
    assert error_rates(units, ["a", "<NOISE> b <NOISE>"], found) == {"cer": 0.0, "wer": 0.0}


def test_the_rate_of_wrong_subwords():
    sentences = ["press one", "press two", "press three again"]
    units = Subwords.of(sentences, 20)
    right = [units.encode(each) for each in sentences]
    assert error_rates(units, sentences, right) == {"ter": 0.0, "wer": 0.0}
    wrong = [right[0], right[1][:-1], right[2]]
    assert error_rates(units, sentences, wrong)["ter"] == pytest.approx(1 / sum(map(len, right)))


# From audio files to a report


TASK_FILE = """
from squentropy.models.speech.architectures import projected_gru
from squentropy.study import Recipe
from squentropy.tasks.speech import recognition


def task(name, metric, **options):
    options = {
        "corpus": f"speech/{name}",
        "mels": 20,
        "frames": 2000,
        "model": {"hidden": 12, "subsample": [2, 2], "decoder_hidden": 12},
        "decode": {"beam": 3, "ctc_weight": 0.5, "longest": 15},
        **options,
    }
    recipe = Recipe(epochs=1, batch_size=4, learning_rate=0.01, optimizer="Adam", options=options)
    return recognition(name, {"small": recipe}, architecture=projected_gru, ctc_weight=0.5, metric=metric)


TASKS = [
    task("timit", "per", units="phones"),
    task("wsj", "wer", units="characters", pitch=False),
    task("librispeech", "ter", units=20, pitch=False),
]
"""


def test_one_command_goes_from_audio_files_to_error_rates(tmp_path):
    write_timit(tmp_path / "data" / "TIMIT")
    write_wsj(tmp_path / "data" / "wsj")
    write_librispeech(tmp_path / "data" / "LibriSpeech")
    (tmp_path / "mini.py").write_text(TASK_FILE)
    command = "-m squentropy compare mini.py --losses squentropy --seeds 1 --workers 1 --data data --out out"
    done = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    records = {record["run"]["task"]: record for record in Store(tmp_path / "out").read()}
    for name, metric in {"timit": "per", "wsj": "wer", "librispeech": "ter"}.items():
        measured = records[name]["metrics"]["last"]
        assert measured.keys() >= {metric, f"{metric}_best_path", "ece", "ece_scaled", "accuracy"}
        assert records[name]["data"]["train_rows"] == 12
    report = (tmp_path / "out" / "report" / "report.md").read_text()
    assert all(name in report for name in records)


def test_evaluation_of_an_untrained_model_has_errors(librispeech):
    data, task = prepare(librispeech, "characters", KIND), small_task()
    torch.manual_seed(0)
    measured, evaluation = evaluate(task.build(data, RECIPE), task, data, RECIPE)
    assert measured["cer"] > 0.5
    logits, target = evaluation.predictions()
    assert logits.shape == (sum(len(each) + 1 for each in data.test.symbols), data.num_classes)
    assert (target == data.num_classes - 1).sum() == data.test_rows  # every transcript ends


def test_with_a_language_model_even_an_untrained_model_says_words(librispeech, monkeypatch):
    data, said = prepare(librispeech, "characters", KIND), []

    def remember(units, references, found):
        said.append([units.decode(each) for each in found])
        return {}

    monkeypatch.setattr(speech_scoring, "error_rates", remember)
    options = {
        **RECIPE.options,
        "decode": {"beam": 3, "ctc_weight": 0.0, "language_model_weight": 50.0, "longest": 9},
        "language_model": {"epochs": 60, "hidden": 24, "dropout": 0.0, "batch_size": 4, "learning_rate": 0.02},
    }
    recipe = replace(RECIPE, options=options)
    torch.manual_seed(0)
    measure(small_task().build(data, recipe).eval(), data, recipe)
    joint, _ = said
    assert len(joint) == 2
    assert {word.lower() for each in joint for word in each.split()} <= set(WORDS)
