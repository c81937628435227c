"""A language model of the transcripts that a task is trained on, for the search of those of its test part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

from squentropy.models.speech.language_model import LanguageModel
from squentropy.study.canonical import derived_seed
from squentropy.study.evaluation import IGNORED
from squentropy.tasks.speech_data import length_buckets

Transcripts: TypeAlias = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=1)  # every evaluation of every run of a task asks for the same one
def language_model(
    transcripts: Transcripts,
    num_symbols: int,
    *,
    epochs: int,
    hidden: int = 650,
    num_layers: int = 1,
    dropout: float = 0.5,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    device: str = "cpu",
) -> LanguageModel:
    """Trains a language model with cross entropy, the same one for each loss and seed that it is to help.

    Args:
        transcripts: Numbers of the symbols of each transcript, without begin and end.
        num_symbols: Symbols V; the last one begins and ends a transcript.
        epochs: Passes over the transcripts.
        hidden: Units of a layer.
        num_layers: How many layers.
        dropout: Before and behind each layer.
        batch_size: Transcripts of a step.
        learning_rate: Of Adam; it falls linearly to 0.
        device: Where it is trained and used.
    """
    with torch.random.fork_rng(devices=[device] if device != "cpu" else []), torch.enable_grad():
        torch.manual_seed(derived_seed(0, "language model"))
        model = LanguageModel(num_symbols, hidden=hidden, num_layers=num_layers, dropout=dropout).to(device)
        optimizer = torch.optim.Adam(model.parameters(), learning_rate)
        lengths = torch.tensor([len(each) for each in transcripts])
        order = torch.Generator().manual_seed(derived_seed(0, "order of the language model"))
        for epoch in range(epochs):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * (1 - epoch / epochs)
            for rows in length_buckets(lengths, batch_size, order):
                _step(model, optimizer, [transcripts[row] for row in rows.tolist()], num_symbols - 1, device)
    return model.eval()


def _step(
    model: LanguageModel,
    optimizer: torch.optim.Optimizer,
    transcripts: Sequence[tuple[int, ...]],
    end: int,
    device: str,
) -> None:
    begun = pad_sequence([torch.tensor([end, *each]) for each in transcripts], True, float(end)).to(device)
    target = pad_sequence([torch.tensor([*each, end]) for each in transcripts], True, float(IGNORED)).to(device)
    torch.autograd.backward(F.cross_entropy(model(begun).flatten(0, 1), target.flatten(), ignore_index=IGNORED))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
