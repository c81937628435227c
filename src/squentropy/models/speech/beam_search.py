"""Joint decoding with attention and CTC (Watanabe et al. 2017): the best transcripts of a batch of utterances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

from squentropy.models.speech.ctc_prefix import CtcPrefixScorer, Prefixes

State: TypeAlias = Any  # tensors, or tuples of them; the utterance is the first dimension, the hypothesis the second


class Decoder(Protocol):
    """What scores the next symbol: the attention decoder, or a language model."""

    def start(self) -> State:
        """Returns the state of one hypothesis (B, 1, ...) for each utterance, before the first symbol."""
        ...

    def step(self, symbols: Tensor, state: State) -> tuple[Tensor, State]:
        """Reads one more symbol (B, K) of each hypothesis; returns log probabilities (B, K, V) of the next one."""
        ...

    def keep(self, utterances: Tensor) -> Decoder:
        """Returns the decoder of some of its utterances, given by number."""
        ...


@dataclass(frozen=True)
class Search:
    """How transcripts are searched for.

    Attributes:
        end: Index of the symbol that begins and ends a transcript.
        beam: Hypotheses kept for each utterance.
        ctc_weight: Share of the CTC score; the rest is the attention decoder's.
        language_model_weight: Factor of the language model's score, added to both.
        blank: Index of CTC's blank, which no transcript has.
        choices: Continuations of each hypothesis that CTC scores, those that the decoder finds likeliest;
            one and a half times the beam if None.
        longest: Most symbols of a transcript; as many as the utterance has frames if None.
    """

    end: int
    beam: int = 10
    ctc_weight: float = 0.3
    language_model_weight: float = 0.0
    blank: int = 0
    choices: int | None = None
    longest: int | None = None

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ValueError(f"beam must be at least 1, got {self.beam}")
        if not 0 <= self.ctc_weight <= 1:
            raise ValueError(f"ctc_weight must be a share from 0 to 1, got {self.ctc_weight}")


class Transcript(NamedTuple):
    """What was found for one utterance: symbols without begin and end, and its joint score."""

    symbols: list[int]
    score: float


class _Beam(NamedTuple):
    """K hypotheses of each of B utterances, the best first."""

    symbols: Tensor  # (B, K, length), the beginning included
    scores: Tensor  # (B, K) of attention and language model, weighted
    totals: Tensor  # (B, K), CTC included
    prefixes: Prefixes | None
    states: tuple[State, ...]


@torch.no_grad()
def search(
    decoder: Decoder,
    frames: Tensor,
    lengths: Tensor,
    options: Search,
    language_model: Decoder | None = None,
) -> list[Transcript]:
    """Finds the transcript of each utterance with the highest joint score.

    The score is `(1 - w) log p_attention + w log p_ctc + v log p_language`, of the whole transcript with its end. It
    falls with each symbol, so an utterance is done when a finished hypothesis is above all unfinished ones.

    Args:
        decoder: The attention decoder, with the encoder's output of these utterances.
        frames: CTC's log probabilities (B, T, V).
        lengths: Frames (B,) of each utterance.
        options: How to search.
        language_model: Scores symbols, too, if its weight is not 0.
    """
    return _Search(decoder, frames, lengths, options, language_model).run()


class _Search:
    def __init__(
        self, decoder: Decoder, frames: Tensor, lengths: Tensor, options: Search, language_model: Decoder | None
    ) -> None:
        self.options = options
        self.models = [(1 - options.ctc_weight, decoder)]
        if language_model is not None and options.language_model_weight > 0:
            self.models.append((options.language_model_weight, language_model))
        self.frames, self.lengths = frames, lengths
        self.ctc = CtcPrefixScorer(frames, lengths, options.blank) if options.ctc_weight > 0 else None
        self.utterances = torch.arange(len(frames))  # those that are not done yet
        self.longest = lengths.clone() if options.longest is None else torch.full_like(lengths, options.longest)
        self.best = [Transcript([], -math.inf)] * len(frames)

    def run(self) -> list[Transcript]:
        batch = len(self.frames)
        beam = _Beam(
            symbols=torch.full((batch, 1, 1), self.options.end),
            scores=torch.zeros(batch, 1),
            totals=torch.zeros(batch, 1),
            prefixes=None if self.ctc is None else self.ctc.start(),
            states=tuple(model.start() for _, model in self.models),
        )
        while len(self.utterances):
            beam = self._drop_done(self._step(beam))
        return self.best

    def _step(self, beam: _Beam) -> _Beam:
        """Ends each hypothesis, and goes on with the best continuations."""
        scores, states = self._scores_of_next(beam)
        self._finish(beam, beam.scores + scores[..., self.options.end])
        scores[..., [self.options.end, self.options.blank]] = -math.inf
        beams, symbols = scores.shape[1], scores.shape[2] - len({self.options.end, self.options.blank})
        choices = min(self.options.choices or math.ceil(1.5 * self.options.beam), symbols)
        gained, candidates = scores.topk(symbols if self.ctc is None else choices, dim=2)
        extended = beam.scores[..., None] + gained
        totals, prefixes = extended, None
        if self.ctc is not None and beam.prefixes is not None:
            begins, prefixes = self.ctc.extend(beam.prefixes, candidates)
            totals = extended + self.options.ctc_weight * begins
        kept = min(self.options.beam, beams * candidates.shape[2])
        best, chosen = totals.flatten(1).topk(kept, dim=1)
        parent = chosen // candidates.shape[2]
        last = candidates.flatten(1).gather(1, chosen)
        history = beam.symbols.gather(1, parent[..., None].expand(-1, -1, beam.symbols.shape[2]))
        return _Beam(
            symbols=torch.cat([history, last[..., None]], dim=2),
            scores=extended.flatten(1).gather(1, chosen),
            totals=best,
            prefixes=None if self.ctc is None or prefixes is None else self.ctc.select(prefixes, chosen),
            states=tuple(_of_hypotheses(state, parent) for state in states),
        )

    def _scores_of_next(self, beam: _Beam) -> tuple[Tensor, list[State]]:
        """Weighted log probabilities (B, K, V) of the next symbol."""
        scores, states = torch.zeros(()), []
        for (weight, model), state in zip(self.models, beam.states, strict=True):
            log_probs, following = model.step(beam.symbols[..., -1], state)
            scores = scores + weight * log_probs
            states.append(following)
        return scores, states

    def _finish(self, beam: _Beam, scores: Tensor) -> None:
        """Takes note of the best hypothesis of each utterance that ends here."""
        if self.ctc is not None and beam.prefixes is not None:
            scores = scores + self.options.ctc_weight * self.ctc.complete(beam.prefixes)
        highest, place = scores.max(dim=1)
        for row, utterance in enumerate(self.utterances.tolist()):
            if float(highest[row]) > self.best[utterance].score:
                symbols = beam.symbols[row, place[row], 1:].tolist()
                self.best[utterance] = Transcript(symbols, float(highest[row]))

    def _drop_done(self, beam: _Beam) -> _Beam:
        """Leaves out the utterances whose best transcript is found, so that the others go on faster."""
        found = torch.tensor([self.best[utterance].score for utterance in self.utterances.tolist()])
        too_long = beam.symbols.shape[2] - 1 > self.longest
        rows = (~((found >= beam.totals[:, 0]) | too_long)).nonzero()[:, 0]
        if len(rows) == len(self.utterances):
            return beam
        self.utterances, self.longest = self.utterances[rows], self.longest[rows]
        self.models = [(weight, model.keep(rows)) for weight, model in self.models]
        self.frames, self.lengths = self.frames[rows], self.lengths[rows]
        prefixes = None
        if self.ctc is not None and beam.prefixes is not None and len(rows):
            frames = int(self.lengths.max())
            self.frames = self.frames[:, :frames]
            self.ctc = CtcPrefixScorer(self.frames, self.lengths, self.options.blank)
            prefixes = Prefixes(beam.prefixes.forward[:frames, :, rows], beam.prefixes.last[rows])
        return _Beam(
            symbols=beam.symbols[rows],
            scores=beam.scores[rows],
            totals=beam.totals[rows],
            prefixes=prefixes,
            states=tuple(_of_utterances(state, rows) for state in beam.states),
        )


def _of_hypotheses(state: State, parent: Tensor) -> State:
    """The states of the hypotheses that were continued, each row of `parent` (B, K) in its utterance."""
    if isinstance(state, Tensor):
        index = parent.view(*parent.shape, *[1] * (state.ndim - 2)).expand(-1, -1, *state.shape[2:])
        return state.gather(1, index)
    return tuple(_of_hypotheses(each, parent) for each in state)


def _of_utterances(state: State, rows: Tensor) -> State:
    if isinstance(state, Tensor):
        return state[rows]
    return tuple(_of_utterances(each, rows) for each in state)


def best_path(frames: Tensor, lengths: Tensor, blank: int = 0) -> list[list[int]]:
    """CTC's own transcript: the likeliest symbol of each frame, repeated ones once, without blanks.

    Examples:
        >>> frames = torch.eye(3)[[0, 1, 1, 0, 1, 2]].log()[None]
        >>> best_path(frames, torch.tensor([6]))
        [[1, 1, 2]]
    """
    likeliest = frames.argmax(2)
    paths = (row[:length].unique_consecutive().tolist() for row, length in zip(likeliest, lengths, strict=True))
    return [[symbol for symbol in path if symbol != blank] for path in paths]
