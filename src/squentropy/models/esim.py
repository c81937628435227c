"""ESIM (Chen et al. 2017), sequential: two sentences, each read in the light of the other."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from squentropy.models.sentence_pairs import Encoder, Sentences


class ESIM(nn.Module):
    """Classifies pairs of sentences, words (B, L1) and (B, L2) padded with 0, into logits (B, C).

    Both are encoded by an LSTM; each word is compared with what it attends to in the other sentence; a second LSTM
    composes the comparisons, and their means and maxima are classified.

    Args:
        num_words: Size of the vocabulary.
        num_classes: Number of classes C.
        width: Size of the embedding.
        hidden: Size of the LSTM's states in each direction and of the layers between.
        dropout: Share of the activations that is dropped.
        vectors: Vectors of the words (num_words, width); learned from the beginning if None.

    Examples:
        >>> model = ESIM(10, 2, width=4, hidden=3)
        >>> model(torch.tensor([[2, 3, 4], [5, 0, 0]]), torch.tensor([[6, 7], [8, 9]])).shape
        torch.Size([2, 2])
    """

    def __init__(
        self,
        num_words: int,
        num_classes: int,
        *,
        width: int = 300,
        hidden: int = 300,
        dropout: float = 0.5,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.sentences = Sentences(num_words, width, hidden, dropout, vectors)
        self.projection = nn.Sequential(nn.Linear(8 * hidden, hidden), nn.ReLU())
        self.composition = Encoder(hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(8 * hidden, hidden),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Returns the logits of a batch of pairs."""
        encoded, masks = zip(*map(self.sentences, (first, second)), strict=True)
        similarity = encoded[0] @ encoded[1].transpose(1, 2)
        attended = [
            _softmax(similarity, masks[1]) @ encoded[1],
            _softmax(similarity.transpose(1, 2), masks[0]) @ encoded[0],
        ]
        pooled = []
        for own, other, mask in zip(encoded, attended, masks, strict=True):
            compared = self.projection(torch.cat([own, other, own - other, own * other], dim=2))
            composed = self.composition(self.dropout(compared), mask.sum(dim=1))
            pooled += [_mean(composed, mask), _max(composed, mask)]
        logits: Tensor = self.classifier(torch.cat(pooled, dim=1))
        return logits


def _softmax(similarity: Tensor, mask: Tensor) -> Tensor:
    return similarity.masked_fill(~mask[:, None], -math.inf).softmax(dim=2)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    return (states * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def _max(states: Tensor, mask: Tensor) -> Tensor:
    return states.masked_fill(~mask[:, :, None], -math.inf).amax(dim=1)
