"""Speech: joint beam search of many utterances at once, and training with batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from squentropy.bench.case import Case, Step, Target
from squentropy.losses import squentropy
from squentropy.models.speech.architectures import speech_transformer
from squentropy.models.speech.beam_search import Search
from squentropy.tasks.speech_data import length_buckets

ALONE, TOGETHER = "one utterance at a time", "16 utterances at once"
RANDOM, BUCKETS = "random batches", "length buckets"
_SYMBOLS, _FEATURES = 30, 13
_SIZES = {"feed_forward": 256, "encoder_layers": 4, "decoder_layers": 2}
_FRAMES = 6000  # of a batch
# Frames of AN4's training utterances: every twentieth quantile, from the shortest to the longest.
_AN4_QUANTILES = (
    *(69, 89, 109, 139, 159, 179, 199, 219, 229, 239, 249),
    *(269, 289, 299, 319, 339, 369, 399, 429, 479, 639),
)


def search_steps(utterances: int, beam: int, device: torch.device) -> dict[str, Step]:
    """Transcripts of 20 symbols, with attention and CTC, of utterances between two and four seconds."""
    torch.manual_seed(0)
    model = speech_transformer(_FEATURES, _SYMBOLS, width=64, **_SIZES).to(device).eval()
    lengths = torch.linspace(200, 400, utterances, device=device).long()
    features = torch.randn(utterances, 400, _FEATURES, device=device)
    options = Search(model.end, beam=beam, longest=20)

    def alone() -> object:
        rows = zip(features, lengths, strict=True)
        return [model.transcribe(each[None, :length], length[None], options) for each, length in rows]

    return {ALONE: alone, TOGETHER: lambda: model.transcribe(features, lengths, options)}


def training_steps(utterances: int, device: torch.device) -> dict[str, Step]:
    """An epoch over utterances as long as AN4's, in batches that have the same number of frames without padding."""
    torch.manual_seed(0)
    model = speech_transformer(_FEATURES, _SYMBOLS, width=96, **_SIZES).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    lengths = _lengths(utterances)
    features = [torch.randn(length, _FEATURES, device=device) for length in lengths.tolist()]
    transcripts = [torch.randint(1, _SYMBOLS - 1, (length // 14,), device=device) for length in lengths.tolist()]
    generator = torch.Generator().manual_seed(0)
    like = length_buckets(lengths, utterances, generator, _FRAMES)

    def epoch(batches: Sequence[Tensor]) -> None:
        for rows in batches:
            chosen = rows.tolist()
            padded = pad_sequence([features[row] for row in chosen], batch_first=True)
            spoken = model(padded, lengths[rows].to(device), [transcripts[row] for row in chosen])
            loss = squentropy(spoken.logits.flatten(0, 1), spoken.target.flatten())
            torch.autograd.backward(loss + spoken.ctc / len(chosen))
            optimizer.step()
            optimizer.zero_grad()

    return {RANDOM: partial(epoch, _at_random(lengths, len(like), generator)), BUCKETS: partial(epoch, like)}


def _lengths(utterances: int) -> Tensor:
    """Lengths with the distribution of AN4's."""
    quantiles = torch.tensor(_AN4_QUANTILES, dtype=torch.float64)
    place = torch.linspace(0, len(quantiles) - 1, utterances, dtype=torch.float64)
    below = place.long().clamp(max=len(quantiles) - 2)
    return torch.lerp(quantiles[below], quantiles[below + 1], place - below).long()


def _at_random(lengths: Tensor, count: int, generator: torch.Generator) -> list[Tensor]:
    """As many batches, each with the same share of all frames, of utterances in random order."""
    order = torch.randperm(len(lengths), generator=generator)
    batch = lengths[order].cumsum(0).sub(1).mul(count).div(lengths.sum(), rounding_mode="floor")
    return [order[batch == number] for number in range(count)]


SPEECH_CASES = [
    Case("speech/search", partial(search_steps, 16, 10), ALONE, (Target(TOGETHER, 1 / 4, ALONE),)),
    Case("speech/buckets", partial(training_steps, 160), RANDOM, (Target(BUCKETS, 1 / 1.5, RANDOM),)),
]
