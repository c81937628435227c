"""Attention and CTC on one encoder: what both are trained on, and the transcripts that they find together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from squentropy.models.speech import beam_search
from squentropy.models.speech.beam_search import Decoder, Search, Transcript

IGNORED = -100


class Encoder(Protocol):
    """Features (B, T, d) and lengths (B,) to frames (B, T', E) and their lengths."""

    output_size: int

    def __call__(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encodes a batch."""
        ...


class Chain(nn.Module):
    """One encoder behind the other, such as VGG and recurrent layers."""

    def __init__(self, *encoders: nn.Module) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)
        self.output_size: int = encoders[-1].output_size  # type: ignore[assignment]

    def forward(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Takes features (B, T, d) and lengths (B,), returns outputs and lengths of the last encoder."""
        for encoder in self.encoders:
            features, lengths = encoder(features, lengths)
        return features, lengths


class Spoken(NamedTuple):
    """What the model says of a batch under the true transcripts.

    Attributes:
        logits: The decoder's raw scores (B, L, V) of each symbol and the end.
        target: What they should be (B, L), `IGNORED` behind the end.
        ctc: The sum of CTC's losses over the batch.
    """

    logits: Tensor
    target: Tensor
    ctc: Tensor


class AttentionCtc(nn.Module):
    """An encoder whose frames are read by an attention decoder and by CTC.

    Symbol 0 is CTC's blank and the last one both begins and ends a transcript, as in ESPnet.

    Args:
        encoder: Features to frames.
        decoder: Frames and the symbols so far to logits: a `RecurrentDecoder` or a `TransformerDecoder`.
        num_symbols: Symbols V, blank and end among them.

    Examples:
        >>> from squentropy.models.speech.transformer import Sizes, TransformerDecoder, TransformerEncoder
        >>> sizes = Sizes(8, 2, 16)
        >>> model = AttentionCtc(TransformerEncoder(9, num_layers=1, sizes=sizes),
        ...                      TransformerDecoder(6, num_layers=1, sizes=sizes), num_symbols=6)
        >>> spoken = model(torch.randn(2, 30, 9), torch.tensor([30, 20]), [torch.tensor([1, 2, 4]), torch.tensor([3])])
        >>> spoken.logits.shape, spoken.target
        (torch.Size([2, 4, 6]), tensor([[   1,    2,    4,    5],
                [   3,    5, -100, -100]]))
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, num_symbols: int) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.ctc = nn.Linear(encoder.output_size, num_symbols)  # type: ignore[arg-type]
        self.end = num_symbols - 1

    def forward(self, features: Tensor, lengths: Tensor, transcripts: Sequence[Tensor]) -> Spoken:
        """Reads the true transcripts.

        Args:
            features: Features (B, T, d).
            lengths: Frames (B,) of each utterance.
            transcripts: Symbols of each, without begin and end.
        """
        frames, lengths = self.encoder(features, lengths)
        end = torch.tensor([self.end], device=features.device)
        begun = pad_sequence([torch.cat([end, each]) for each in transcripts], True, float(self.end))
        target = pad_sequence([torch.cat([each, end]) for each in transcripts], True, float(IGNORED))
        counts = torch.tensor([len(each) for each in transcripts], device=features.device)
        # An utterance with fewer frames than symbols has no alignment: it counts nothing, instead of infinitely much.
        ctc = F.ctc_loss(
            self._frames(frames).transpose(0, 1),
            torch.cat(list(transcripts)),
            lengths,
            counts,
            reduction="sum",
            zero_infinity=True,
        )
        return Spoken(self.decoder(frames, lengths, begun), target, ctc)

    def _frames(self, frames: Tensor) -> Tensor:
        log_probs: Tensor = self.ctc(frames).float().log_softmax(2)
        return log_probs

    @torch.no_grad()
    def transcribe(
        self, features: Tensor, lengths: Tensor, options: Search, language_model: Decoder | None = None
    ) -> list[Transcript]:
        """Finds the best transcript of each utterance by attention and CTC together."""
        frames, lengths = self.encoder(features, lengths)
        decoder = self.decoder.searching(frames, lengths)  # type: ignore[operator]
        return beam_search.search(decoder, self._frames(frames), lengths, options, language_model)

    @torch.no_grad()
    def best_path(self, features: Tensor, lengths: Tensor) -> list[list[int]]:
        """Finds transcripts by CTC alone, without a search."""
        frames, lengths = self.encoder(features, lengths)
        return beam_search.best_path(self._frames(frames), lengths)
