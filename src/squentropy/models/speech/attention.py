"""Attention that knows where it was before: location-aware (Chorowski et al. 2015), or with its whole coverage."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

_SHARPNESS = 2.0  # factor of the scores before the softmax, as in ESPnet


class Memory(NamedTuple):
    """What an encoder says of B utterances, made ready for attention.

    Attributes:
        values: Outputs (B, T, E).
        keys: Their projections (B, T, A).
        is_padding: Frames (B, T) behind the end.
    """

    values: Tensor
    keys: Tensor
    is_padding: Tensor

    def of(self, utterances: Tensor) -> Memory:
        """Returns the memory of some utterances, given by number."""
        return Memory(*(each[utterances] for each in self))


class LocationAttention(nn.Module):
    """Additive attention whose scores also see the weights of the step before, through a convolution.

    Args:
        memory_size: Size E of the encoder's outputs.
        query_size: Size D of the decoder's state.
        size: Size A of the space in which they meet.
        channels: Channels of the convolution over the earlier weights.
        reach: Frames that it sees on either side.
        coverage: Whether it sees the sum of all earlier weights, instead of the last ones.

    Examples:
        >>> attention = LocationAttention(6, 5, size=4, channels=2, reach=3)
        >>> memory = attention.remember(torch.randn(2, 7, 6), torch.tensor([7, 4]))
        >>> context, weights, _ = attention(memory, torch.randn(2, 3, 5), attention.start(memory))
        >>> context.shape, weights.sum(2).allclose(torch.ones(2, 3)), weights[1, :, 4:].sum().item()
        (torch.Size([2, 3, 6]), True, 0.0)
    """

    def __init__(
        self, memory_size: int, query_size: int, *, size: int, channels: int, reach: int, coverage: bool = False
    ) -> None:
        super().__init__()
        self.of_memory = nn.Linear(memory_size, size)
        self.of_query = nn.Linear(query_size, size, bias=False)
        self.of_location = nn.Linear(channels, size, bias=False)
        self.convolution = nn.Conv1d(1, channels, 2 * reach + 1, padding=reach, bias=False)
        self.score = nn.Linear(size, 1)
        self.coverage = coverage

    def remember(self, values: Tensor, lengths: Tensor) -> Memory:
        """Prepares encoder outputs (B, T, E) of which the first `lengths` (B,) frames count."""
        is_padding = torch.arange(values.shape[1], device=values.device)[None, :] >= lengths[:, None]
        return Memory(values, self.of_memory(values), is_padding)

    def start(self, memory: Memory) -> Tensor:
        """Returns the weights (B, 1, T) before the first step: the same for all frames."""
        counts = (~memory.is_padding).to(memory.values.dtype)
        return (counts / counts.sum(1, keepdim=True))[:, None]

    def forward(self, memory: Memory, query: Tensor, earlier: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Attends once for each of K queries of each utterance.

        Args:
            memory: Of B utterances.
            query: Decoder states (B, K, D).
            earlier: What `start` or the last call returned as third, (B, K, T) or (B, 1, T).

        Returns:
            Contexts (B, K, E), weights (B, K, T), and what the next call sees of them.
        """
        earlier = earlier.expand(-1, query.shape[1], -1)
        location = self.convolution(earlier.flatten(0, 1)[:, None]).transpose(1, 2).unflatten(0, query.shape[:2])
        met = self.of_location(location)  # the largest tensor by far: what else there is goes into it
        met += memory.keys[:, None]
        met += self.of_query(query)[:, :, None]
        scores = self.score(met.tanh_())[..., 0].masked_fill(memory.is_padding[:, None], -torch.inf)
        weights = (_SHARPNESS * scores).softmax(2)
        return weights @ memory.values, weights, earlier + weights if self.coverage else weights
