"""The recurrent decoder with attention: LSTM cells that read the last symbol and what was attended to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from squentropy.models.speech.attention import LocationAttention, Memory


class DecoderState(NamedTuple):
    """State of K hypotheses of B utterances.

    Attributes:
        hidden: Outputs (B, K, D) of each layer.
        cells: Cells (B, K, D) of each layer.
        attended: What attention has seen (B, K, T).
    """

    hidden: tuple[Tensor, ...]
    cells: tuple[Tensor, ...]
    attended: Tensor


class RecurrentDecoder(nn.Module):
    """Predicts the next symbol from the last ones and, by attention, from the encoder's outputs.

    Args:
        memory_size: Size E of the encoder's outputs.
        num_symbols: Symbols V, those for begin, end and blank among them.
        hidden: Units D of a layer, and size of a symbol's embedding.
        num_layers: How many layers.
        attention: The attention.
        dropout: Before each layer.

    Examples:
        >>> attention = LocationAttention(6, 5, size=4, channels=2, reach=3)
        >>> decoder = RecurrentDecoder(6, 9, hidden=5, num_layers=2, attention=attention)
        >>> decoder(torch.randn(2, 7, 6), torch.tensor([7, 4]), torch.tensor([[8, 1, 2], [8, 3, 3]])).shape
        torch.Size([2, 3, 9])
    """

    def __init__(
        self,
        memory_size: int,
        num_symbols: int,
        *,
        hidden: int,
        num_layers: int,
        attention: LocationAttention,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_symbols, hidden)
        sizes = [hidden + memory_size, *[hidden] * (num_layers - 1)]
        self.layers = nn.ModuleList(nn.LSTMCell(size, hidden) for size in sizes)
        self.attention = attention
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, num_symbols)
        self.hidden = hidden

    def forward(self, values: Tensor, lengths: Tensor, symbols: Tensor) -> Tensor:
        """Reads the true symbols, begin first.

        Args:
            values: Encoder outputs (B, T, E).
            lengths: Frames (B,) of each utterance.
            symbols: Symbols (B, L).

        Returns:
            Logits (B, L, V) of what follows each symbol.
        """
        memory = self.attention.remember(values, lengths)
        state, logits = self.start(memory), []
        for column in symbols.unbind(1):
            scores, state = self.step(memory, column[:, None], state)
            logits.append(scores)
        return torch.cat(logits, dim=1)

    def start(self, memory: Memory) -> DecoderState:
        """Returns the state of one hypothesis for each utterance, before the first symbol."""
        zeros = memory.values.new_zeros(len(memory.values), 1, self.hidden)
        return DecoderState((zeros,) * len(self.layers), (zeros,) * len(self.layers), self.attention.start(memory))

    def step(self, memory: Memory, symbols: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Reads one more symbol (B, K) of each hypothesis; returns logits (B, K, V) of the next."""
        context, _, attended = self.attention(memory, state.hidden[0], state.attended)
        inputs = torch.cat([self.dropout(self.embedding(symbols)), context], dim=2)
        hidden, cells = [], []
        for layer, before, cell in zip(self.layers, state.hidden, state.cells, strict=True):
            output, new_cell = layer(inputs.flatten(0, 1), (before.flatten(0, 1), cell.flatten(0, 1)))
            hidden.append(output.view_as(before))
            cells.append(new_cell.view_as(cell))
            inputs = self.dropout(hidden[-1])
        return self.output(inputs), DecoderState(tuple(hidden), tuple(cells), attended)

    def searching(self, values: Tensor, lengths: Tensor) -> RecurrentSearch:
        """Returns what `squentropy.models.speech.beam_search.search` asks for the next symbols of these utterances."""
        return RecurrentSearch(self, self.attention.remember(values, lengths))


@dataclass(frozen=True)
class RecurrentSearch:
    """A recurrent decoder with the memory of some utterances."""

    decoder: RecurrentDecoder
    memory: Memory

    def start(self) -> DecoderState:
        """Returns the state of one hypothesis for each utterance."""
        return self.decoder.start(self.memory)

    def step(self, symbols: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Reads one more symbol (B, K) of each hypothesis; returns log probabilities (B, K, V) of the next."""
        logits, state = self.decoder.step(self.memory, symbols, DecoderState(*state))
        return logits.log_softmax(2), state

    def keep(self, utterances: Tensor) -> RecurrentSearch:
        """Returns the same for some of the utterances."""
        return RecurrentSearch(self.decoder, self.memory.of(utterances))
