"""Probability, under CTC, of all transcripts that begin with a prefix, for many prefixes of many utterances at once."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_NEVER = -1e30  # a log probability of zero with which differences stay finite


class Prefixes(NamedTuple):
    """Prefixes under CTC: K of each of B utterances.

    Attributes:
        forward: Log probability (T, 2, B, K) that the frames up to t spell exactly the prefix, and that frame t is its
            last symbol (0) or a blank (1).
        last: The last symbol (B, K) of each prefix; -1 for the empty one.
    """

    forward: Tensor
    last: Tensor


class CtcPrefixScorer:
    """Scores what can be appended to a prefix (Graves 2008; algorithm 2 of Watanabe et al. 2017).

    Args:
        log_probs: Log probabilities (B, T, V) of each frame, the blank's among them.
        lengths: Frames (B,) of each utterance; what follows is padding.
        blank: Index of the blank.

    Examples:
        >>> frames = torch.tensor([[[0.5, 0.5], [0.25, 0.75]]]).log()  # blank, a
        >>> scorer = CtcPrefixScorer(frames, torch.tensor([2]))
        >>> prefixes = scorer.start()
        >>> scorer.complete(prefixes).exp()  # nothing at all: both frames are blank
        tensor([[0.1250]])
        >>> scores, prefixes = scorer.extend(prefixes, torch.tensor([[[1]]]))
        >>> scores.exp(), scorer.complete(prefixes).exp()  # "a...", and "a" alone
        (tensor([[[0.8750]]]), tensor([[0.8750]]))
    """

    def __init__(self, log_probs: Tensor, lengths: Tensor, blank: int = 0) -> None:
        padding = torch.arange(log_probs.shape[1], device=log_probs.device)[None, :] >= lengths[:, None]
        frames = log_probs.clamp(min=_NEVER).masked_fill(padding[:, :, None], _NEVER)
        # A certain blank adds nothing, so that an utterance ends with the values of its last frame.
        frames[..., blank] = frames[..., blank].masked_fill(padding, 0.0)
        self._frames = frames.transpose(0, 1)
        self._blank = blank

    def start(self) -> Prefixes:
        """Returns one empty prefix for each utterance, K = 1."""
        blanks = self._frames[:, :, self._blank].cumsum(0)
        forward = torch.stack([torch.full_like(blanks, _NEVER), blanks], dim=1)[..., None]
        return Prefixes(forward, self._frames.new_full((self._frames.shape[1], 1), -1, dtype=torch.int64))

    def extend(self, prefixes: Prefixes, symbols: Tensor) -> tuple[Tensor, Prefixes]:
        """Appends each of P symbols to each prefix.

        Args:
            prefixes: K prefixes of each utterance.
            symbols: What to append (B, K, P); no blanks.

        Returns:
            The log probability (B, K, P) of all transcripts that begin with the longer prefix, and these K P prefixes.
        """
        num_frames = len(self._frames)
        emitted = self._frames.gather(2, symbols.flatten(1).expand(num_frames, -1, -1)).view(-1, *symbols.shape)
        blank = self._frames[:, :, self._blank, None, None]
        ends_in_symbol, ends_in_blank = prefixes.forward[:, 0, ..., None], prefixes.forward[:, 1, ..., None]
        # A symbol like the last one is a new one only behind a blank.
        repeats = (symbols == prefixes.last[..., None]).expand(num_frames, -1, -1, -1)
        before = torch.where(repeats, ends_in_blank, torch.logaddexp(ends_in_symbol, ends_in_blank))
        starts = torch.full_like(emitted, _NEVER)  # the frame is the first one of the new symbol
        starts[1:] = before[:-1] + emitted[1:]
        starts[0] = torch.where(prefixes.last[..., None] < 0, emitted[0], _NEVER)

        forward = torch.empty(num_frames, 2, *symbols.shape, dtype=emitted.dtype, device=emitted.device)
        in_symbol, in_blank = starts[0], torch.full_like(starts[0], _NEVER)
        forward[0, 0], forward[0, 1] = in_symbol, in_blank
        for frame in range(1, num_frames):
            in_blank = torch.logaddexp(in_blank, in_symbol) + blank[frame]
            in_symbol = torch.logaddexp(starts[frame], in_symbol + emitted[frame])
            forward[frame, 0], forward[frame, 1] = in_symbol, in_blank
        return starts.logsumexp(0), Prefixes(forward.flatten(3), symbols.flatten(1))

    def complete(self, prefixes: Prefixes) -> Tensor:
        """Returns the log probability (B, K) that each prefix is the whole transcript."""
        return torch.logaddexp(prefixes.forward[-1, 0], prefixes.forward[-1, 1])

    def select(self, prefixes: Prefixes, chosen: Tensor) -> Prefixes:
        """Keeps the prefixes with the numbers `chosen` (B, K'), each row in its utterance."""
        index = chosen.expand(*prefixes.forward.shape[:2], -1, -1)
        return Prefixes(prefixes.forward.gather(3, index), prefixes.last.gather(1, chosen))
