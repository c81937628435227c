"""A language model of symbols: what follows in transcripts, whatever is heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor, nn

State: TypeAlias = tuple[Tensor, Tensor]


class LanguageModel(nn.Module):
    """LSTM layers that predict the next symbol from all before it.

    Args:
        num_symbols: Symbols V of the model of speech beside it; the last one begins and ends a transcript.
        hidden: Units D of a layer, and size of a symbol's embedding.
        num_layers: How many layers.
        dropout: Before and behind each layer.

    Examples:
        >>> import torch
        >>> LanguageModel(9, hidden=4)(torch.tensor([[8, 1, 2], [8, 3, 3]])).shape
        torch.Size([2, 3, 9])
    """

    def __init__(self, num_symbols: int, *, hidden: int = 650, num_layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_symbols, hidden)
        self.layers = nn.ModuleList(nn.LSTM(hidden, hidden, batch_first=True) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, num_symbols)
        self.hidden = hidden

    def forward(self, symbols: Tensor) -> Tensor:
        """Reads symbols (B, L), begin first; returns logits (B, L, V) of what follows each."""
        outputs = self.dropout(self.embedding(symbols))
        for layer in self.layers:
            outputs = self.dropout(layer(outputs)[0])
        logits: Tensor = self.output(outputs)
        return logits

    def searching(self, utterances: int) -> LanguageSearch:
        """Returns what `squentropy.models.speech.beam_search.search` asks for the next symbols of some utterances."""
        return LanguageSearch(self, utterances)


@dataclass(frozen=True)
class LanguageSearch:
    """A language model beside the search for transcripts of some utterances. Its state: (B, K, layers, D), twice."""

    model: LanguageModel
    utterances: int

    def start(self) -> State:
        """Returns the state of one hypothesis for each utterance, which has read nothing."""
        weight = self.model.output.weight
        zeros = weight.new_zeros(self.utterances, 1, len(self.model.layers), self.model.hidden)
        return zeros, zeros

    def step(self, symbols: Tensor, state: State) -> tuple[Tensor, State]:
        """Reads one more symbol (B, K) of each hypothesis; returns log probabilities (B, K, V) of the next."""
        outputs = self.model.dropout(self.model.embedding(symbols)).flatten(0, 1)[:, None]
        hidden, cells = (each.flatten(0, 1).clone() for each in state)
        for number, layer in enumerate(self.model.layers):
            before = hidden[None, :, number].contiguous(), cells[None, :, number].contiguous()
            outputs, (after, cell) = layer(outputs, before)
            hidden[:, number], cells[:, number] = after[0], cell[0]
            outputs = self.model.dropout(outputs)
        log_probs: Tensor = self.model.output(outputs[:, 0]).log_softmax(1).view(*symbols.shape, -1)
        return log_probs, (hidden.view_as(state[0]), cells.view_as(state[1]))

    def keep(self, utterances: Tensor) -> LanguageSearch:
        """Returns the same for some of the utterances."""
        return LanguageSearch(self.model, len(utterances))
