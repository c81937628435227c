"""Transformer-XL over characters (Table 1): text8, enwik8 and a subset of enwik8.

Scale `paper` is the base model of the reference implementation (github.com/kimiyoung/transformer-xl): 12 layers of
width 512, Adam with learning rate 2.5e-4 falling along a cosine, batches of 22 segments of 512, as many remembered;
400,000 steps are 50 epochs. It is tested in segments of 80 with a memory of 2,100, where no position attends to more
than any other. How large a model the paper trained and how long it does not say, nor what the subset of enwik8 is: here
its first 10,000,000 bytes, tested on the last 5,000,000 as the whole is.

Scale `small` is a small model on the beginning of the corpora, without dropout, as it sees no character often. Its
embedding is not tied to the output layer: tied, the square loss does not get beyond the commonest character in so few
steps.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from squentropy.data.characters import load_corpus
from squentropy.data.errors import DataError
from squentropy.models.transformer_xl import TransformerXL
from squentropy.study import Outputs, Recipe, Shard, Task
from squentropy.study.evaluation import IGNORED

PAPER = Recipe(
    epochs=50,
    batch_size=22,
    learning_rate=2.5e-4,
    optimizer="Adam",
    schedule="cosine",
    clip_norm=0.25,
    evaluate_every=10,
    loss_parameters={"rescaled_square": {"t": 1, "M": 1}},
    options={
        "length": 512,
        "test_length": 80,
        "test_streams": 10,
        "model": {"dropout": 0.1, "memory": 512, "eval_memory": 2100, "clamp": 820},
    },
)
SMALL = replace(
    PAPER,
    batch_size=8,
    learning_rate=2e-3,
    warmup_steps=50,
    evaluate_every=2,
    options={
        "length": 64,
        "test_length": 64,
        "test_streams": 10,
        "model": {
            "layers": 2,
            "width": 128,
            "heads": 4,
            "head_width": 32,
            "inner": 384,
            "dropout": 0.0,
            "memory": 64,
            "eval_memory": 128,
            "clamp": None,
            "tied": False,
        },
    },
)


class Segment(NamedTuple):
    """Characters (B, T) and the characters (B, T) that follow them."""

    characters: Tensor
    following: Tensor


@dataclass(frozen=True)
class Characters:
    """A corpus cut into streams side by side, read segment by segment.

    Attributes:
        name: Name for the record.
        sha256: Hash of the content, for the record.
        num_classes: Number of symbols.
        train: The text to train on, as numbers of symbols.
        test: The text to test on.

    Examples:
        >>> data = Characters("abc", "", 3, torch.arange(25) % 3, torch.arange(7) % 3)
        >>> recipe = replace(SMALL, batch_size=2, options={"length": 5, "test_length": 4, "test_streams": 2})
        >>> data.steps(recipe)
        3
        >>> next(iter(data.test_batches(recipe))).following
        tensor([[1, 2, 0],
                [1, 2, 0]])
    """

    name: str
    sha256: str
    num_classes: int
    train: Tensor
    test: Tensor

    @property
    def train_rows(self) -> int:
        """Characters that are predicted in training; the last few may not fill the streams."""
        return len(self.train) - 1

    @property
    def test_rows(self) -> int:
        """Characters that are predicted in the test."""
        return len(self.test) - 1

    def steps(self, recipe: Recipe) -> int:
        """Returns the number of segments in a stream of the training part."""
        return -(-(self.train_rows // recipe.batch_size) // _number(recipe, "length"))

    def train_batches(self, recipe: Recipe, generator: torch.Generator, shard: Shard) -> Iterator[list[Segment]]:
        """Yields the streams from beginning to end, so that a memory can be carried; nothing is random."""
        length = self.train_rows // recipe.batch_size
        used = self.train[: recipe.batch_size * length + 1]
        streams = [part.reshape(recipe.batch_size, length) for part in (used[:-1], used[1:])]
        for segment in zip(*(torch.split(stream, _number(recipe, "length"), dim=1) for stream in streams), strict=True):
            parts = (shard.of(each).long().tensor_split(recipe.accumulate) for each in segment)
            yield [Segment(*part) for part in zip(*parts, strict=True)]

    def test_batches(self, recipe: Recipe) -> Iterator[Segment]:
        """Yields the test part, every character of it; the last stream is filled up with what is ignored."""
        count = _number(recipe, "test_streams")
        length = -(-self.test_rows // count)
        missing = count * length - self.test_rows
        given = torch.cat([self.test[:-1].long(), torch.zeros(missing, dtype=torch.int64)])
        following = torch.cat([self.test[1:].long(), torch.full((missing,), IGNORED)])
        streams = [part.reshape(count, length) for part in (given, following)]
        segments = zip(*(torch.split(stream, _number(recipe, "test_length"), dim=1) for stream in streams), strict=True)
        return (Segment(*segment) for segment in segments)


def _number(recipe: Recipe, option: str) -> int:
    value: Any = recipe.options[option]
    return int(value)


def load(scale: str, data_dir: Path | None, *, corpus: str, recipes: Mapping[str, Recipe]) -> Characters:
    """Loads a corpus, or its beginning: of the first nine tenths is trained, of the last twentieth tested."""
    recipe = recipes[scale]
    options: Mapping[str, Any] = recipe.options
    text = load_corpus(corpus, data_dir, first=options.get("beginning"))
    train = text.codes[: len(text.codes) * 9 // 10][: options.get("train")]
    test = text.codes[len(text.codes) * 19 // 20 :][: options.get("test")]
    check_length(corpus, len(train), recipe)
    return Characters(
        name=f"{corpus}, {len(train):,} characters to train on and {len(test):,} to test on",
        sha256=hashlib.sha256(b"".join([text.symbols, train.tobytes(), test.tobytes()])).hexdigest(),
        num_classes=len(text.symbols),
        train=torch.from_numpy(train),
        test=torch.from_numpy(test),
    )


def check_length(name: str, characters: int, recipe: Recipe) -> None:
    """Raises an error unless each stream has at least one whole segment."""
    streams, length = recipe.batch_size, _number(recipe, "length")
    if characters <= streams * length:
        raise DataError(
            f"{name} has {characters:,} characters to train on, fewer than {streams} segments of {length} and one "
            "more; use a longer corpus or shorter segments"
        )


def build(data: Characters, recipe: Recipe) -> nn.Module:
    """Builds the Transformer-XL of the recipe's option `model`."""
    settings: Any = recipe.options["model"]
    return TransformerXL(data.num_classes, **settings)


def predict(model: nn.Module, batch: Segment, carried: Any) -> Outputs:
    """The forward pass: logits (B T, C) of the characters that follow, and the memory for the next segment."""
    logits, memory = model(batch.characters, carried)
    return Outputs(logits.flatten(0, 1), batch.following.flatten(), carried=memory)


def bits(logits: Tensor, target: Tensor) -> Tensor:
    """Bits (N,) that the model takes to write each character.

    Examples:
        >>> bits(torch.zeros(1, 4), torch.tensor([2]))
        tensor([2.])
    """
    return cross_entropy(logits, target, reduction="none") / math.log(2)


def _row(row: str, corpus: str, summary: str, hours: float, paper: Recipe, small: Recipe) -> Task:
    recipes = {"paper": paper, "small": small}
    return Task(
        name=f"language/transformer_xl-{row.replace(' (subset)', '-subset')}",
        recipes=recipes,
        load=partial(load, corpus=corpus, recipes=recipes),
        build=build,
        forward=predict,
        scores={"bits_per_character": bits},
        data_sets=(corpus,),
        paper_row=f"Table 1: Transformer-XL, {row}",
        summary=summary,
        seconds={"paper": hours * 3600, "small": 30.0},
    )


def _with(recipe: Recipe, *, epochs: int, **options: int) -> Recipe:
    return replace(
        recipe, epochs=epochs, evaluate_every=min(recipe.evaluate_every, epochs), options={**recipe.options, **options}
    )


CHARACTERS = (
    _row(
        "text8",
        "charlm/text8",
        "Transformer-XL: which of 27 characters follows?",
        5000,
        PAPER,
        _with(SMALL, epochs=2, beginning=3_246_000, train=100_000, test=20_000),
    ),
    _row(
        "enwik8",
        "charlm/enwik8",
        "Transformer-XL: which byte of Wikipedia's XML follows?",
        5000,
        PAPER,
        _with(SMALL, epochs=2, beginning=10_000_000, train=100_000, test=20_000),
    ),
    _row(
        "enwik8 (subset)",
        "charlm/enwik8",
        "Transformer-XL: the subset is a guess, the first 10,000,000 bytes, tested on all of the test part",
        600,
        _with(PAPER, epochs=50, train=10_000_000),
        _with(SMALL, epochs=6, beginning=10_000_000, train=25_000, test=20_000),
    ),
)
