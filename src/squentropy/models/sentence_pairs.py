"""What the two models of sentence pairs share: embedding and encoding of padded sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

#: The index of padding in sentences, and of words that have no vector of their own.
PADDING, UNKNOWN = 0, 1


def embedding(num_words: int, width: int, vectors: Tensor | None) -> nn.Embedding:
    """Makes an embedding of words, learned or from given vectors (num_words, width).

    Examples:
        >>> embedding(3, 2, torch.ones(3, 2))(torch.tensor([PADDING, 2])).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    layer = nn.Embedding(num_words, width, padding_idx=PADDING)
    with torch.no_grad():
        if vectors is not None:
            layer.weight.copy_(vectors)
        layer.weight[PADDING] = 0
    return layer


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
