"""Pairwise word interaction (He & Lin 2016): a convolutional network over the similarities of all pairs of words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from squentropy.models.sentence_pairs import Sentences

MAPS = 13
_OUT_OF_FOCUS = 0.1


class PairwiseWordInteraction(nn.Module):
    """Classifies pairs of sentences, words (B, L1) and (B, L2) padded with 0, into logits (B, C).

    The states of a bidirectional LSTM at each pair of words are compared in twelve ways, and a thirteenth map says
    where words are. Pairs that match best are in focus, the others count a tenth. A convolutional network reads the
    cube as an image.

    Args:
        num_words: Size of the vocabulary.
        num_classes: Number of classes C.
        width: Size of the embedding.
        hidden: Size of the LSTM's states in each direction.
        size: Height and width of the cube; longer sentences are cut.
        channels: Output channels of the convolutions; each is followed by a maximum over 2 x 2, the last by one over
            all that is left.
        vectors: Vectors of the words (num_words, width); learned from the beginning if None.

    Examples:
        >>> model = PairwiseWordInteraction(10, 2, width=4, hidden=3, size=8, channels=(6, 5))
        >>> model(torch.tensor([[2, 3, 4], [5, 0, 0]]), torch.tensor([[6, 7], [8, 9]])).shape
        torch.Size([2, 2])
    """

    def __init__(
        self,
        num_words: int,
        num_classes: int,
        *,
        width: int = 300,
        hidden: int = 250,
        size: int = 48,
        channels: Sequence[int] = (128, 164, 192, 192, 128),
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if size < 2 ** (len(channels) - 1):
            raise ValueError(
                f"size must be at least {2 ** (len(channels) - 1)} for {len(channels)} poolings, got {size}"
            )
        self.size = size
        self.sentences = Sentences(num_words, width, hidden, vectors=vectors)
        blocks: list[nn.Module] = []
        for incoming, outgoing in pairwise((MAPS, *channels)):
            blocks += [nn.Conv2d(incoming, outgoing, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True)]
        self.convolutions = nn.Sequential(*blocks[:-1], nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.classifier = nn.Sequential(
            nn.Linear(channels[-1], channels[-1]), nn.ReLU(), nn.Linear(channels[-1], num_classes)
        )

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Returns the logits of a batch of pairs."""
        cut = (words[:, : self.size] for words in (first, second))
        states, masks = zip(*map(self.sentences, cut), strict=True)
        here = masks[0][:, :, None] & masks[1][:, None]
        cube = torch.cat([similarities(*states), here[:, None].to(states[0].dtype)], dim=1) * here[:, None]
        cube = cube * in_focus(cube[:, 9].detach(), cube[:, 10].detach(), here)[:, None]
        cube = F.pad(cube, (0, self.size - cube.shape[3], 0, self.size - cube.shape[2]))
        logits: Tensor = self.classifier(self.convolutions(cube))
        return logits


def similarities(first: Tensor, second: Tensor) -> Tensor:
    """Compares all pairs of states (B, L1, 2h) and (B, L2, 2h), both directions side by side, in (B, 12, L1, L2).

    Both directions, the forward one, the backward one and their sum are compared by cosine, negative Euclidean distance
    and scalar product, in this order.

    Examples:
        >>> similarities(torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[3.0, 4.0]]]))[0, :3, 0, 0].tolist()
        [1.0, -0.0, 25.0]
    """
    views = []
    for states in (first, second):
        forward, backward = states.chunk(2, dim=2)
        views.append((states, forward, backward, forward + backward))
    maps = []
    for a, b in zip(*views, strict=True):
        product = a @ b.transpose(1, 2)
        squares = (a.square().sum(dim=2)[:, :, None], b.square().sum(dim=2)[:, None])
        # The square root has an infinite slope at 0, where the same word stands twice.
        distance = (squares[0] + squares[1] - 2 * product).clamp(min=0)
        distance = torch.where(distance > 1e-12, distance, 1e-12).sqrt() * (distance > 1e-12)
        cosine = product / (squares[0] * squares[1]).clamp(min=1e-12).sqrt()
        maps += [cosine, -distance, product]
    return torch.stack(maps, dim=1)


def in_focus(cosine: Tensor, closeness: Tensor, here: Tensor) -> Tensor:
    """Returns the weights (B, L1, L2) of the pairs of words: 1 for those that match best, 0.1 for the others.

    For each of two measures, pairs are taken from the best on, and no word twice.

    Args:
        cosine: A measure of similarity (B, L1, L2).
        closeness: Another one.
        here: Where there are words.

    Examples:
        >>> measure = torch.tensor([[[0.9, 0.8], [0.7, 0.1]]])
        >>> in_focus(measure, measure, torch.ones(1, 2, 2, dtype=torch.bool))
        tensor([[[1.0000, 0.1000],
                 [0.1000, 1.0000]]])
    """
    focus = _matching(cosine, here) | _matching(closeness, here)
    return torch.where(focus, 1.0, _OUT_OF_FOCUS).to(cosine.dtype)


def _matching(measure: Tensor, here: Tensor) -> Tensor:
    """Takes the best pair whose words are both free, until none is left, for all pairs of sentences at a time."""
    batch, rows, columns = measure.shape
    free = measure.masked_fill(~here, -math.inf).clone()
    taken = torch.zeros_like(here)
    each = torch.arange(batch, device=measure.device)
    for _ in range(min(rows, columns)):
        value, place = free.flatten(1).max(dim=1)
        row, column = place // columns, place % columns
        taken[each, row, column] |= value > -math.inf
        free[each, row] = -math.inf
        free[each, :, column] = -math.inf
    return taken
