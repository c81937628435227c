"""Transformer-XL (Dai et al. 2019): attention by relative position, with a memory that goes from segment to segment."""

from __future__ import annotations

import math
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Memory: TypeAlias = tuple[Tensor, ...]


class TransformerXL(nn.Module):
    """A language model over a small set of symbols.

    Called with tokens (B, T) and the memory that the last call returned, it gives logits (B, T, C) and the new memory:
    for each layer its inputs at the last M positions (B, M, d), detached.

    The defaults are the published base model, 41 million parameters with the 205 symbols of enwik8.

    Args:
        num_tokens: Number of symbols C.
        layers: Number of layers.
        width: Size d of the embedding and of all hidden states.
        heads: Attention heads.
        head_width: Size of a head.
        inner: Hidden size of the feed-forward layers.
        dropout: Share of the activations that is dropped.
        memory: Positions M that are remembered in training.
        eval_memory: The same in evaluation. There each position attends to this many positions, itself included,
            wherever in its segment it stands ("same length"); in training, to all that are there.
        clamp: Greatest distance in evaluation that is told from greater ones; None tells all.
        tied: Whether the embedding is the weight of the output layer, too, as published. If not, that weight begins at
            0: the square loss first shrinks what makes the logits large, and a shrunken embedding says nothing of the
            symbols for long.

    Examples:
        >>> model = TransformerXL(27, layers=2, width=16, heads=2, head_width=8, inner=32, memory=4, eval_memory=6)
        >>> logits, memory = model(torch.zeros(3, 5, dtype=torch.int64), None)
        >>> logits.shape, [tuple(each.shape) for each in memory]
        (torch.Size([3, 5, 27]), [(3, 4, 16), (3, 4, 16)])
    """

    def __init__(
        self,
        num_tokens: int,
        *,
        layers: int = 12,
        width: int = 512,
        heads: int = 8,
        head_width: int = 64,
        inner: int = 2048,
        dropout: float = 0.1,
        memory: int = 512,
        eval_memory: int = 2100,
        clamp: int | None = 820,
        tied: bool = True,
    ) -> None:
        super().__init__()
        self.memory, self.eval_memory, self.clamp = memory, eval_memory, clamp
        self.embedding = nn.Embedding(num_tokens, width)
        self.content_bias = nn.Parameter(torch.empty(heads, head_width))
        self.position_bias = nn.Parameter(torch.empty(heads, head_width))
        self.layers = nn.ModuleList(_Layer(width, heads, head_width, inner, dropout) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, num_tokens)
        self._initialise()
        if tied:
            self.head.weight = self.embedding.weight
        else:
            nn.init.zeros_(self.head.weight)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.LayerNorm):
                nn.init.normal_(module.weight, mean=1.0, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.content_bias, std=0.02)
        nn.init.normal_(self.position_bias, std=0.02)

    def forward(self, tokens: Tensor, memory: Memory | None = None) -> tuple[Tensor, Memory]:
        """Returns the logits (B, T, C) of what follows each token, and the memory for the next segment."""
        kept = self.memory if self.training else self.eval_memory
        hidden = self.dropout(self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim))
        remembered = memory[0].shape[1] if memory else 0
        length = remembered + tokens.shape[1]
        positions = self.dropout(self._positions(length, hidden))
        hides = self._hides(tokens.shape[1], remembered, tokens.device)
        states: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            context = torch.cat([memory[number], hidden], dim=1) if memory else hidden
            states.append(context[:, max(length - kept, 0) :].detach())
            hidden = layer(hidden, context, positions, hides, self.content_bias, self.position_bias)
        logits: Tensor = self.head(self.dropout(hidden))
        return logits, tuple(states)

    def _positions(self, length: int, like: Tensor) -> Tensor:
        """The encodings (K, d) of the distances K - 1, ..., 0."""
        distance = torch.arange(length - 1, -1, -1, device=like.device)
        if self.clamp is not None and not self.training:
            distance = distance.clamp(max=self.clamp)
        return sinusoids(distance, self.embedding.embedding_dim).to(like.dtype)

    def _hides(self, length: int, remembered: int, device: torch.device) -> Tensor:
        """Which of the positions (K) each position (T) does not see."""
        own = torch.arange(remembered, remembered + length, device=device)
        distance = own[:, None] - torch.arange(remembered + length, device=device)
        hides = distance < 0
        return hides if self.training else hides | (distance >= max(self.eval_memory, 1))


def sinusoids(distance: Tensor, width: int) -> Tensor:
    """Encodes distances (K) as sines and then cosines (K, width) of wavelengths from 2 pi to 20,000 pi.

    Examples:
        >>> sinusoids(torch.tensor([0]), 4)
        tensor([[0., 0., 1., 1.]])
    """
    frequency = 10_000.0 ** -(torch.arange(0, width, 2, device=distance.device) / width)
    angle = distance[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class _Layer(nn.Module):
    """Attention by relative position and a feed-forward network, each followed by layer normalisation."""

    def __init__(self, width: int, heads: int, head_width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, heads * head_width, bias=False)
        self.key_value = nn.Linear(width, 2 * heads * head_width, bias=False)
        self.position = nn.Linear(width, heads * head_width, bias=False)
        self.output = nn.Linear(heads * head_width, width, bias=False)
        self.attention_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, width), nn.Dropout(dropout)
        )
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        hidden: Tensor,
        context: Tensor,
        positions: Tensor,
        hides: Tensor,
        content_bias: Tensor,
        position_bias: Tensor,
    ) -> Tensor:
        """Returns the layer's output (B, T, d) for its input (B, T, d) and what it sees of it, (B, K, d)."""
        query = self._split(self.query(hidden))
        key, value = (self._split(each) for each in self.key_value(context).chunk(2, dim=2))
        distance = self._split(self.position(positions))
        scale = 1 / math.sqrt(query.shape[-1])
        by_distance = shifted((query + position_bias[:, None]) @ distance.transpose(-1, -2)) * scale
        attended = F.scaled_dot_product_attention(
            query + content_bias[:, None], key, value, by_distance.masked_fill(hides, -math.inf), scale=scale
        )
        attended = attended.transpose(1, 2).flatten(2)
        hidden = self.attention_norm(hidden + self.dropout(self.output(attended)))
        result: Tensor = self.norm(hidden + self.feed_forward(hidden))
        return result

    def _split(self, states: Tensor) -> Tensor:
        """Makes (..., length, heads * size) to (..., heads, length, size)."""
        return states.reshape(*states.shape[:-1], self.heads, -1).transpose(-3, -2)


def shifted(scores: Tensor) -> Tensor:
    """Moves row i of scores (..., T, K) left by T - 1 - i, so that columns of distances become columns of positions.

    Before, column c stands for the distance K - 1 - c; after, for the position c of the context, whose last T positions
    are the rows' own. What comes in at the right belongs to positions that a row must not see.

    Examples:
        >>> shifted(torch.tensor([[3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 1.0, 0.0]]))[0]
        tensor([2., 1., 0., 0.])
    """
    *outer, rows, columns = scores.shape
    padded = F.pad(scores, (1, 0)).reshape(*outer, columns + 1, rows)
    return padded[..., 1:, :].reshape(*outer, rows, columns)
