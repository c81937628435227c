"""What the two models of sentence pairs share: words of padded sentences, embedded and read in both directions."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

#: The index of padding in sentences, and of words that have no vector of their own.
PADDING, UNKNOWN = 0, 1


class Sentences(nn.Module):
    """Embeds words (B, L) padded with 0 and reads them with a bidirectional LSTM.

    Args:
        num_words: Size of the vocabulary.
        width: Size d of the embedding.
        hidden: Size of the LSTM's state in each direction.
        dropout: Share of the embedding that is dropped.
        vectors: Vectors of the words (num_words, d) that the embedding begins with; learned from the beginning if None.

    Examples:
        >>> states, mask = Sentences(5, width=2, hidden=3)(torch.tensor([[2, 4], [3, PADDING]]))
        >>> states.shape, mask.tolist()
        (torch.Size([2, 2, 6]), [[True, True], [True, False]])
    """

    def __init__(
        self, num_words: int, width: int, hidden: int, dropout: float = 0.0, vectors: Tensor | None = None
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_words, width, padding_idx=PADDING)
        with torch.no_grad():
            if vectors is not None:
                self.embedding.weight.copy_(vectors)
            self.embedding.weight[PADDING] = 0
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(width, hidden)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the states (B, L, 2 hidden) at the words, and where (B, L) there are any."""
        mask = words != PADDING
        return self.encoder(self.dropout(self.embedding(words)), mask.sum(dim=1)), mask


class Encoder(nn.Module):
    """A bidirectional LSTM over padded sequences (B, L, d) that gives (B, L, 2 hidden), 0 at the padding.

    Args:
        width: Size d of the inputs.
        hidden: Size of the state in each direction.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        for name, weight in self.lstm.named_parameters():
            if "weight_hh" in name:
                for gate in weight.data.chunk(4):
                    nn.init.orthogonal_(gate)

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Returns the states at each position, forward and backward side by side."""
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=inputs.shape[1])
        result: Tensor = states
        return result
