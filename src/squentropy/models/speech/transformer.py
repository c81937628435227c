"""The Transformer for speech (Karita et al. 2019): convolutions that quarter the frames, an encoder and a decoder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Sizes(NamedTuple):
    """The sizes of a Transformer.

    Attributes:
        width: Size D of a frame or symbol.
        heads: Attention heads.
        feed_forward: Units of the feed-forward part.
        dropout: After each part and in the feed-forward part.
    """

    width: int
    heads: int
    feed_forward: int
    dropout: float = 0.1


def positions(count: int, width: int, like: Tensor) -> Tensor:
    """Sines and cosines (count, width) of positions (Vaswani et al. 2017).

    Examples:
        >>> positions(2, 4, like=torch.zeros(()))
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    place = torch.arange(count, dtype=like.dtype, device=like.device)[:, None]
    rates = torch.exp(torch.arange(0, width, 2, dtype=like.dtype, device=like.device) * -(math.log(1e4) / width))
    return torch.stack([(place * rates).sin(), (place * rates).cos()], dim=2).flatten(1)


class Attention(nn.Module):
    """Scaled dot-product attention with several heads."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.query, self.key, self.value, self.output = (nn.Linear(sizes.width, sizes.width) for _ in range(4))

    def remember(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (N, H, T, D / H) of what is attended to (N, T, D)."""
        return self._divided(self.key(values)), self._divided(self.value(values))

    def forward(self, queries: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        """Attends from `queries` (N, L, D) to what was remembered, where `mask`, broadcast to (N, H, L, T), is true."""
        attended = F.scaled_dot_product_attention(self._divided(self.query(queries)), *memory, attn_mask=mask)
        output: Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return output

    def _divided(self, values: Tensor) -> Tensor:
        return values.view(*values.shape[:2], self.heads, -1).transpose(1, 2)


def _feed_forward(sizes: Sizes) -> nn.Sequential:
    inner = nn.Linear(sizes.width, sizes.feed_forward)
    return nn.Sequential(inner, nn.ReLU(), nn.Dropout(sizes.dropout), nn.Linear(sizes.feed_forward, sizes.width))


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward part, each with its normalisation before it."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(sizes), _feed_forward(sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.width) for _ in range(2))
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, frames: Tensor, mask: Tensor) -> Tensor:
        """Takes and returns frames (B, T, D)."""
        normed = self.norms[0](frames)
        frames = frames + self.dropout(self.attention(normed, self.attention.remember(normed), mask))
        frames = frames + self.dropout(self.feed_forward(self.norms[1](frames)))
        return frames


class TransformerEncoder(nn.Module):
    """Two convolutions with stride 2, then layers of self-attention.

    Args:
        num_features: Features d of a frame.
        num_layers: Layers of self-attention.
        sizes: Their sizes.

    Attributes:
        output_size: Size of a frame that comes out.

    Examples:
        >>> encoder = TransformerEncoder(83, num_layers=2, sizes=Sizes(8, 2, 16)).eval()
        >>> outputs, lengths = encoder(torch.randn(2, 50, 83), torch.tensor([50, 33]))
        >>> outputs.shape, lengths.tolist()
        (torch.Size([2, 11, 8]), [11, 7])
    """

    def __init__(self, num_features: int, *, num_layers: int, sizes: Sizes) -> None:
        super().__init__()
        self.output_size = sizes.width
        first, second = nn.Conv2d(1, sizes.width, 3, 2), nn.Conv2d(sizes.width, sizes.width, 3, 2)
        self.convolutions = nn.Sequential(first, nn.ReLU(), second, nn.ReLU())
        self.project = nn.Linear(sizes.width * _strided(num_features), sizes.width)
        self.layers = nn.ModuleList(EncoderLayer(sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(sizes.width)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Takes features (B, T, d) and lengths (B,), returns (B, T / 4, D) and lengths."""
        if int(lengths.min()) < 7:
            raise ValueError(f"an utterance has {int(lengths.min())} frames; two convolutions with stride 2 need 7")
        frames = self.project(self.convolutions(features[:, None]).transpose(1, 2).flatten(2))
        lengths = ((lengths - 1) // 2 - 1) // 2
        width = self.output_size
        frames = self.dropout(math.sqrt(width) * frames + positions(frames.shape[1], width, frames))
        mask = (torch.arange(frames.shape[1], device=frames.device)[None, :] < lengths[:, None])[:, None, None]
        for layer in self.layers:
            frames = layer(frames, mask)
        return self.norm(frames), lengths


def _strided(count: int) -> int:
    """What two convolutions of 3 with stride 2 leave."""
    return ((count - 1) // 2 - 1) // 2


class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's outputs, and feed-forward part, each normalised before."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.self_attention, self.attention = Attention(sizes), Attention(sizes)
        self.feed_forward = _feed_forward(sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.width) for _ in range(3))
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(
        self,
        symbols: Tensor,
        memory: tuple[Tensor, Tensor],
        mask: Tensor,
        own_mask: Tensor | None,
        earlier: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Takes symbols (N, L, D), with keys and values of those before them if any; returns both for the next call.

        The memory is that of N utterances, or of N / K with K rows of symbols for each.
        """
        normed = self.norms[0](symbols)
        own = self.self_attention.remember(normed)
        if earlier is not None:
            own = torch.cat([earlier[0], own[0]], dim=2), torch.cat([earlier[1], own[1]], dim=2)
        symbols = symbols + self.dropout(self.self_attention(normed, own, own_mask))
        # Several hypotheses of one utterance attend to its only memory, as if they were one longer row of queries.
        queries = self.norms[1](symbols)
        attended = self.attention(queries.view(len(memory[0]), -1, queries.shape[2]), memory, mask)
        symbols = symbols + self.dropout(attended.view_as(queries))
        return symbols + self.dropout(self.feed_forward(self.norms[2](symbols))), own


class TransformerDecoder(nn.Module):
    """Predicts the next symbol from all before it and from the encoder's outputs.

    Args:
        num_symbols: Symbols V.
        num_layers: Layers.
        sizes: Their sizes; the width is that of the encoder's outputs.

    Examples:
        >>> decoder = TransformerDecoder(9, num_layers=2, sizes=Sizes(8, 2, 16))
        >>> decoder(torch.randn(2, 7, 8), torch.tensor([7, 4]), torch.tensor([[8, 1, 2], [8, 3, 3]])).shape
        torch.Size([2, 3, 9])
    """

    def __init__(self, num_symbols: int, *, num_layers: int, sizes: Sizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_symbols, sizes.width)
        self.layers = nn.ModuleList(DecoderLayer(sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(sizes.width)
        self.output = nn.Linear(sizes.width, num_symbols)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, values: Tensor, lengths: Tensor, symbols: Tensor) -> Tensor:
        """Reads the true symbols (B, L), begin first; returns logits (B, L, V) of what follows each."""
        inputs, mask = self.embedded(symbols, 0), _is_frame(values, lengths)
        past = torch.ones(symbols.shape[1], symbols.shape[1], dtype=torch.bool, device=symbols.device).tril()
        for layer, memory in zip(self.layers, self.remember(values), strict=True):
            inputs, _ = layer(inputs, memory, mask, past)
        logits: Tensor = self.output(self.norm(inputs))
        return logits

    def remember(self, values: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        """Keys and values of encoder outputs (B, T, D) for each layer."""
        attentions = (cast(DecoderLayer, layer).attention for layer in self.layers)
        return tuple(attention.remember(values) for attention in attentions)

    def embedded(self, symbols: Tensor, first: int) -> Tensor:
        """Embeds symbols (N, L) that stand at the positions from `first` on."""
        embedded = self.embedding(symbols) * math.sqrt(self.embedding.embedding_dim)
        place = positions(first + symbols.shape[1], self.embedding.embedding_dim, embedded)[first:]
        result: Tensor = self.dropout(embedded + place)
        return result

    def searching(self, values: Tensor, lengths: Tensor) -> TransformerSearch:
        """Returns what `squentropy.models.speech.beam_search.search` asks for the next symbols of these utterances."""
        return TransformerSearch(self, self.remember(values), _is_frame(values, lengths))


def _is_frame(values: Tensor, lengths: Tensor) -> Tensor:
    frames = torch.arange(values.shape[1], device=values.device)
    return (frames[None, :] < lengths[:, None])[:, None, None]


@dataclass(frozen=True)
class TransformerSearch:
    """A decoder with the memory of some utterances. Its state: keys and values (B, K, H, L, D / H) of each layer."""

    decoder: TransformerDecoder
    memories: tuple[tuple[Tensor, Tensor], ...]
    mask: Tensor

    def start(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """Returns the state of one hypothesis for each utterance, which has read nothing."""
        return tuple((keys[:, None, :, :0], values[:, None, :, :0]) for keys, values in self.memories)

    def step(
        self, symbols: Tensor, state: tuple[tuple[Tensor, Tensor], ...]
    ) -> tuple[Tensor, tuple[tuple[Tensor, Tensor], ...]]:
        """Reads one more symbol (B, K) of each hypothesis; returns log probabilities (B, K, V) of the next."""
        batch, beams = symbols.shape
        read = state[0][0].shape[3]
        inputs = self.decoder.embedded(symbols.flatten()[:, None], read)
        following = []
        for layer, memory, (own_keys, own_values) in zip(self.decoder.layers, self.memories, state, strict=True):
            earlier = own_keys.flatten(0, 1), own_values.flatten(0, 1)
            inputs, own = layer(inputs, memory, self.mask, None, earlier)
            following.append((own[0].unflatten(0, (batch, beams)), own[1].unflatten(0, (batch, beams))))
        logits = self.decoder.output(self.decoder.norm(inputs))[:, 0].unflatten(0, (batch, beams))
        return logits.log_softmax(2), tuple(following)

    def keep(self, utterances: Tensor) -> TransformerSearch:
        """Returns the same for some of the utterances."""
        memories = tuple((keys[utterances], values[utterances]) for keys, values in self.memories)
        return TransformerSearch(self.decoder, memories, self.mask[utterances])
