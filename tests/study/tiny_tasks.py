"""A tiny task of each kind that the engine must be able to train, each in a second or less.

`CLASSIFICATION`, `LANGUAGE`, `SPEECH` and `STACKED` show all that a task can be; tests of the engine use them, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import ctc_loss

from squentropy.models import mlp
from squentropy.study import Outputs, Recipe, Rows, Shard, Task, TensorData
from squentropy.study.canonical import derived_seed

LOSSES = ("squentropy", "cross_entropy", "rescaled_square")
_SQUARE = {"rescaled_square": {"t": 1, "M": 3}}


# Plain classification: points of three classes around the corners of a triangle; the same network, stacked.


def _points(rows: int, seed: int) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    target = torch.arange(rows) % 3
    corners = torch.tensor([[0.0, 1.0], [1.0, -0.5], [-1.0, -0.5]])
    return Rows(corners[target] + 0.4 * torch.randn(rows, 2, generator=generator), target)


def _load_points(scale, data_dir):
    return _points(190, seed=0)


def _split_points(points, seed):
    order = torch.randperm(190, generator=torch.Generator().manual_seed(derived_seed(seed, "split")))
    train, test = order.tensor_split([150])
    return TensorData("points", *(Rows(*(each[part] for each in points)) for part in (train, test)), num_classes=3)


def _build_mlp(data, recipe):
    return mlp(data.train.inputs.shape[1], recipe.options.get("hidden", [8]), data.num_classes)


def points_task(name, stacked, **changes):
    """The task of the points with another recipe."""
    settings = {
        "epochs": 4,
        "batch_size": 32,
        "learning_rate": 0.1,
        "optimizer_options": {"momentum": 0.9},
        "loss_parameters": _SQUARE,
        **changes,
    }
    return Task(
        name=name,
        recipes={"small": Recipe(**settings)},
        load=_load_points,
        split=_split_points,
        build=_build_mlp,
        stacked=stacked,
        summary="190 points around three corners",
        seconds={"small": 0.1},
    )


CLASSIFICATION = points_task("tiny_classification", stacked=False)
STACKED = points_task("tiny_stacked", stacked=True)


# Language: a recurrent network predicts the next token of a periodic text. Its memory is carried from window to
# window, and each text ends with padding that must not count.

PADDING = -100


class Window(NamedTuple):
    """Tokens (N, T) and the tokens (N, T) that follow them."""

    tokens: Tensor
    following: Tensor


@dataclass(frozen=True)
class Text:
    """Texts of different length side by side, cut into windows that follow each other."""

    train: Tensor
    test: Tensor
    length: int = 10
    name: str = "text"
    sha256: str = "0" * 64
    num_classes: int = 5

    @property
    def train_rows(self) -> int:
        return int((self.train[:, 1:] != PADDING).sum())

    @property
    def test_rows(self) -> int:
        return int((self.test[:, 1:] != PADDING).sum())

    def steps(self, recipe: Recipe) -> int:
        return len(list(self._windows(self.train)))

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[Window]]:
        for window in self._windows(self.train):
            yield [Window(*map(shard.of, window))]

    def test_batches(self, recipe: Recipe) -> Iterator[Window]:
        return self._windows(self.test)

    def _windows(self, texts: Tensor) -> Iterator[Window]:
        windows = zip(texts[:, :-1].split(self.length, dim=1), texts[:, 1:].split(self.length, dim=1), strict=True)
        return (Window(tokens.clamp(min=0), following) for tokens, following in windows)


def _load_text(scale, data_dir):
    # "0 1 2 3 4 0 ..." and "0 2 4 1 3 0 ...": which of the two it is, only the memory tells.
    texts = torch.stack([torch.arange(61) * (1 + row % 2) % 5 for row in range(8)])
    for row in range(8):
        texts[row, 61 - 3 * row :] = PADDING
    return Text(texts, texts[:4])


class Recurrent(nn.Module):
    """An embedding, a recurrent layer and a classifier of each position."""

    def __init__(self, num_tokens: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, 8)
        self.recurrent = nn.GRU(8, 16, batch_first=True)
        self.classifier = nn.Linear(16, num_tokens)

    def forward(self, tokens: Tensor, memory: Tensor | None) -> tuple[Tensor, Tensor]:
        states, memory = self.recurrent(self.embedding(tokens), memory)
        return self.classifier(states), memory


def _predict_tokens(model, batch, carried):
    logits, memory = model(batch.tokens, carried)
    return Outputs(logits.flatten(0, 1), batch.following.flatten(), carried=memory.detach())


LANGUAGE = Task(
    name="tiny_language",
    recipes={
        "small": Recipe(
            epochs=30,
            batch_size=8,
            learning_rate=0.02,
            optimizer="Adam",
            clip_norm=1.0,
            evaluate_every=10,
            loss_parameters=_SQUARE,
        )
    },
    load=_load_text,
    build=lambda data, recipe: Recurrent(data.num_classes),
    forward=_predict_tokens,
    keep_predictions=False,
    summary="two periodic texts",
    seconds={"small": 0.5},
)


# Speech: each frame of a sequence is classified, CTC is added to the loss, and what counts is the share of wrong
# sequences after decoding. Class 0 is CTC's blank.


def _load_speech(scale, data_dir):
    generator = torch.Generator().manual_seed(0)
    spoken = torch.tensor([[1, 2, 3], [3, 1, 2], [2, 3, 1], [1, 3, 2]]).repeat(12, 1)
    frames = torch.stack([torch.zeros_like(spoken), spoken], dim=2).repeat_interleave(2, dim=2).flatten(1)
    features = nn.functional.one_hot(frames, 4) + 0.3 * torch.randn(*frames.shape, 4, generator=generator)
    return TensorData("speech", Rows(features[:40], frames[:40]), Rows(features[40:], frames[40:]), num_classes=4)


def _without_repeats(frames):
    return [token for token, _ in groupby(frames.tolist()) if token != 0]


def _classify_frames(model, batch, carried):
    features, frames = batch
    logits = model(features)
    spoken = [_without_repeats(row) for row in frames]
    extra = ctc_loss(
        logits.log_softmax(2).transpose(0, 1),
        torch.tensor([token for each in spoken for token in each]),
        torch.full((len(frames),), frames.shape[1]),
        torch.tensor([len(each) for each in spoken]),
        reduction="sum",
    )
    return Outputs(logits.flatten(0, 1), frames.flatten(), extra=0.1 * extra)


def _sequence_error(model, data, recipe):
    features, frames = data.test
    with torch.no_grad():
        decoded = model(features).argmax(dim=2)
    wrong = [_without_repeats(said) != _without_repeats(meant) for said, meant in zip(decoded, frames, strict=True)]
    return {"sequence_error": sum(wrong) / len(wrong)}


SPEECH = Task(
    name="tiny_speech",
    recipes={
        "small": Recipe(
            epochs=8,
            batch_size=8,
            learning_rate=0.05,
            optimizer="Adam",
            loss_weight=0.9,
            loss_parameters=_SQUARE,
        )
    },
    load=_load_speech,
    build=lambda data, recipe: nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, data.num_classes)),
    forward=_classify_frames,
    measure=_sequence_error,
    metric="sequence_error",
    higher_is_better=False,
    summary="noisy sequences of three sounds",
    seconds={"small": 0.3},
)

TASKS = {task.name: task for task in (CLASSIFICATION, LANGUAGE, SPEECH, STACKED)}
