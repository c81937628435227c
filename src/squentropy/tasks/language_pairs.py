"""Pairs of sentences without pretraining (Table 1): ESIM and pairwise word interaction on MRPC, QNLI and QQP.

The paper cites the models. Their settings are those of a public toolkit that holds both
(github.com/lanwuwei/SPM_toolkit): GloVe vectors of 840 billion words, Adam with learning rate 4e-4 and gradients
clipped at norm 10 for ESIM, RMSprop with 1e-4 for pairwise word interaction, batches of 32. Its log-softmax outputs are
left out: the losses take logits. Epochs are 10 and 20; the test part is the development part of GLUE.

Words are looked up in the vectors of the recipe's option `vectors`. Where the user has them, the embedding begins with
them, and words without one with normal noise; where not, all of it is learned. The name of the data in the record says
which it was.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from squentropy.data.text_sets import load_texts
from squentropy.data.texts import Texts
from squentropy.data.word_vectors import WordVectors, load_vectors
from squentropy.models.esim import ESIM
from squentropy.models.pairwise_word_interaction import PairwiseWordInteraction
from squentropy.models.sentence_pairs import UNKNOWN
from squentropy.study import Outputs, Recipe, Task
from squentropy.tasks.sequences import SequenceBatch, SequenceData, Sequences

_WORD = re.compile(r"\w+|[^\w\s]")
_MODELS: Mapping[str, type[nn.Module]] = {"esim": ESIM, "pwim": PairwiseWordInteraction}
_SQUARE = {"rescaled_square": {"t": 1, "M": 1}}

ESIM_PAPER = Recipe(
    epochs=10,
    batch_size=32,
    learning_rate=4e-4,
    optimizer="Adam",
    clip_norm=10.0,
    loss_parameters=_SQUARE,
    options={"vectors": "glove.840B.300d", "max_length": 100, "model": {"width": 300, "hidden": 300}},
)
PWIM_PAPER = Recipe(
    epochs=20,
    batch_size=32,
    learning_rate=1e-4,
    optimizer="RMSprop",
    loss_parameters=_SQUARE,
    options={"vectors": "glove.840B.300d", "max_length": 48, "model": {"width": 300, "hidden": 250, "size": 48}},
)
ESIM_SMALL = replace(
    ESIM_PAPER,
    learning_rate=1e-3,
    schedule="linear",
    options={"vectors": "glove.6B.50d", "max_length": 40, "model": {"width": 50, "hidden": 64, "dropout": 0.2}},
)
PWIM_SMALL = replace(
    PWIM_PAPER,
    learning_rate=5e-4,
    schedule="linear",
    warmup_steps=100,
    options={
        "vectors": "glove.6B.50d",
        "max_length": 32,
        "model": {"width": 50, "hidden": 48, "size": 32, "channels": [24, 32, 48, 48, 48]},
    },
)


@dataclass(frozen=True, kw_only=True)
class PairData(SequenceData):
    """Words of the first and of the second sentence, with what their embedding begins with.

    Attributes:
        num_words: Size of the vocabulary, padding and the unknown word included.
        vectors: Vectors (num_words, d), or None if they are learned from the beginning.
    """

    num_words: int
    vectors: Tensor | None


def words_of(sentence: str) -> list[str]:
    """Cuts a sentence into words and marks, in lower case.

    Examples:
        >>> words_of("Who's there?")
        ['who', "'", 's', 'there', '?']
    """
    return _WORD.findall(sentence.lower())


def load(scale: str, data_dir: Path | None, *, data_set: str, recipes: Mapping[str, Recipe]) -> PairData:
    """Loads the pairs of a scale, numbers their words, and looks for the vectors of these."""
    options: Mapping[str, Any] = recipes[scale].options
    texts = load_texts(data_set, data_dir, whole=scale == "paper")
    texts = texts.limited(train=options.get("train"), test=options.get("test"))
    counts = Counter(
        word
        for part in (texts.train, texts.test)
        for column in part.columns
        for each in column
        for word in words_of(each)
    )
    vectors = load_vectors(options["vectors"], counts, data_dir)
    vocabulary = _vocabulary(texts.train, vectors)
    train, test = (numbered(part, vocabulary, options["max_length"]) for part in (texts.train, texts.test))
    matrix = None if vectors is None else _matrix(vocabulary, vectors)
    content = b"" if matrix is None else matrix.numpy().tobytes()
    return PairData(
        name=f"{texts.name}; {'learned embeddings' if vectors is None else vectors.name}",
        sha256=hashlib.sha256(texts.sha256.encode() + content).hexdigest(),
        num_classes=len(texts.classes),
        train=train,
        test=test,
        num_words=len(vocabulary) + 2,
        vectors=matrix,
    )


def _vocabulary(train: Texts, vectors: WordVectors | None) -> dict[str, int]:
    """Numbers from 2 the words that occur twice in training, and those of the test part that have a vector."""
    counts = Counter(word for column in train.columns for each in column for word in words_of(each))
    words = {word for word, count in counts.items() if count > 1}.union(() if vectors is None else vectors.words)
    return {word: number for number, word in enumerate(sorted(words), start=2)}


def _matrix(vocabulary: Mapping[str, int], vectors: WordVectors) -> Tensor:
    noise = np.random.Generator(np.random.PCG64(0))
    matrix = noise.standard_normal((len(vocabulary) + 2, vectors.vectors.shape[1]), dtype=np.float32)
    matrix[[vocabulary[word] for word in vectors.words]] = vectors.vectors
    return torch.from_numpy(matrix)


def numbered(texts: Texts, vocabulary: Mapping[str, int], max_length: int) -> Sequences:
    """Makes sentences numbers of words; a sentence without any word is one unknown word."""

    def numbers(sentence: str) -> Tensor:
        words = words_of(sentence)[:max_length]
        return torch.tensor([vocabulary.get(word, UNKNOWN) for word in words] or [UNKNOWN], dtype=torch.int32)

    columns = tuple([numbers(each) for each in column] for column in texts.columns)
    return Sequences(columns, torch.from_numpy(texts.target))


def build(data: PairData, recipe: Recipe, *, model: str) -> nn.Module:
    """Builds the model with the recipe's option `model` as its settings."""
    settings: Any = recipe.options["model"]
    return _MODELS[model](data.num_words, data.num_classes, **settings, vectors=data.vectors)


def classify(model: nn.Module, batch: SequenceBatch, carried: Any) -> Outputs:
    """The forward pass: logits (N, C) of the pairs."""
    return Outputs(model(*batch.columns), batch.target)


def _row(model: str, title: str, row: str, summary: str, hours: float, recipes: Mapping[str, Recipe]) -> Task:
    data_set = f"glue/{row}"
    return Task(
        name=f"language/{model}-{row.lower()}",
        recipes=recipes,
        load=partial(load, data_set=data_set, recipes=recipes),
        build=partial(build, model=model),
        forward=classify,
        data_sets=(data_set,),
        paper_row=f"Table 1: {title}, {row}",
        summary=summary,
        seconds={"paper": hours * 3600, "small": 30.0},
    )


def _cut(recipe: Recipe, epochs: int, train: int) -> Recipe:
    return replace(recipe, epochs=epochs, options={**recipe.options, "train": train, "test": 1000})


_MODELS_OF_ROWS = (
    ("esim", "LSTM+Attention", "LSTM + attention (ESIM)", ESIM_PAPER, ESIM_SMALL),
    ("pwim", "LSTM+CNN", "LSTM + CNN (pairwise word interaction)", PWIM_PAPER, PWIM_SMALL),
)
_ROWS = (
    ("MRPC", "do two sentences say the same?", 0.3, 4, 3668),
    ("QNLI", "does a sentence answer a question?", 10.0, 2, 5000),
    ("QQP", "do two questions ask the same?", 20.0, 3, 5000),
)
PAIRS = tuple(
    _row(model, title, row, f"{what}: {question}", hours, {"paper": paper, "small": _cut(small, epochs, train)})
    for model, title, what, paper, small in _MODELS_OF_ROWS
    for row, question, hours, epochs, train in _ROWS
)
