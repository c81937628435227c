"""Joint decoding against search through all transcripts, with CTC's probabilities from all alignments."""

import itertools
import math

import pytest
import torch

from squentropy.models.speech.beam_search import Search, best_path, search
from squentropy.models.speech.ctc_prefix import CtcPrefixScorer

BLANK, A, B, END = range(4)
FRAMES = 4


class TableDecoder:
    """Log probabilities of the next symbol from a table by the two last symbols, another one for each utterance."""

    def __init__(self, table):
        self.table = table  # (B, V, V, V)

    def start(self):
        return torch.full((len(self.table), 1), END)

    def step(self, symbols, state):
        rows = torch.arange(len(self.table))[:, None]
        return self.table[rows, state, symbols], symbols

    def keep(self, utterances):
        return TableDecoder(self.table[utterances])


@pytest.fixture
def utterances():
    generator = torch.Generator().manual_seed(5)
    lengths = torch.tensor([4, 2, 3, 1])
    frames = torch.randn(len(lengths), FRAMES, 4, generator=generator)
    frames[..., END] = -math.inf  # CTC knows no end
    table = torch.randn(len(lengths), 4, 4, 4, generator=generator)
    return frames.log_softmax(2), lengths, table.log_softmax(3)


def probability_of_all_transcripts(frames):
    """Of each transcript, the sum over all alignments: every symbol in every frame."""
    found = {}
    for path in itertools.product(range(3), repeat=len(frames)):
        transcript = tuple(symbol for symbol, _ in itertools.groupby(path) if symbol != BLANK)
        score = math.exp(sum(float(frames[t, symbol]) for t, symbol in enumerate(path)))
        found[transcript] = found.get(transcript, 0.0) + score
    return found


def table_score(table, transcript):
    history = [END, END, *transcript, END]
    return sum(float(table[a, b, c]) for a, b, c in zip(history, history[1:], history[2:], strict=False))


def test_prefix_scores_are_sums_over_all_transcripts(utterances):
    frames, lengths, _ = utterances
    scorer = CtcPrefixScorer(frames, lengths)
    for prefix in itertools.product((A, B), repeat=3):
        prefixes = scorer.start()
        for count, symbol in enumerate(prefix, start=1):
            scores, prefixes = scorer.extend(prefixes, torch.full((4, 1, 1), symbol))
            for row, length in enumerate(lengths.tolist()):
                all_of_them = probability_of_all_transcripts(frames[row, :length])
                begins = sum(p for transcript, p in all_of_them.items() if transcript[:count] == prefix[:count])
                assert math.exp(scores[row]) == pytest.approx(begins, abs=1e-6)
                complete = math.exp(scorer.complete(prefixes)[row])
                assert complete == pytest.approx(all_of_them.get(prefix[:count], 0.0), abs=1e-6)


def test_whole_transcripts_are_what_ctc_loss_gives():
    frames = torch.randn(1, 30, 7, generator=torch.Generator().manual_seed(0)).log_softmax(2)
    scorer, transcript = CtcPrefixScorer(frames, torch.tensor([30])), [3, 3, 1, 6, 2, 2, 2]
    prefixes = scorer.start()
    for symbol in transcript:
        _, prefixes = scorer.extend(prefixes, torch.tensor([[[symbol]]]))
    loss = torch.nn.functional.ctc_loss(
        frames.transpose(0, 1), torch.tensor([transcript]), torch.tensor([30]), torch.tensor([7]), reduction="sum"
    )
    torch.testing.assert_close(scorer.complete(prefixes)[0, 0], -loss)


@pytest.mark.parametrize("ctc_weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("language_model_weight", [0.0, 0.7])
def test_wide_search_finds_the_best_of_all(utterances, ctc_weight, language_model_weight):
    frames, lengths, table = utterances
    language = torch.randn(4, 4, 4, 4, generator=torch.Generator().manual_seed(9)).log_softmax(3)
    options = Search(END, 64, ctc_weight, language_model_weight)
    found = search(TableDecoder(table), frames, lengths, options, TableDecoder(language))
    for row, length in enumerate(lengths.tolist()):
        spoken = probability_of_all_transcripts(frames[row, :length])
        every = [each for n in range(length + 1) for each in itertools.product((A, B), repeat=n)]
        scores = {
            each: (1 - ctc_weight) * table_score(table[row], each)
            + language_model_weight * table_score(language[row], each)
            + (ctc_weight * math.log(spoken.get(each, 0.0) or 1e-300) if ctc_weight else 0.0)
            for each in every
        }
        best = max(scores, key=scores.get)
        assert found[row].symbols == list(best)
        assert found[row].score == pytest.approx(scores[best], abs=1e-5)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_batch_gives_what_each_utterance_gives_alone(utterances, beam):
    frames, lengths, table = utterances
    options = Search(END, beam)
    together = search(TableDecoder(table), frames, lengths, options)
    for row, length in enumerate(lengths.tolist()):
        alone = search(
            TableDecoder(table[row : row + 1]), frames[row : row + 1, :length], lengths[row : row + 1], options
        )
        assert alone[0].symbols == together[row].symbols
        assert alone[0].score == pytest.approx(together[row].score, abs=1e-5)


def test_narrow_search_with_a_sure_decoder_follows_it():
    table = torch.full((1, 4, 4, 4), -20.0)
    for before, last, following in [(END, END, A), (END, A, B), (A, B, B), (B, B, END)]:
        table[0, before, last, following] = 0.0
    found = search(TableDecoder(table), torch.zeros(1, 6, 4), torch.tensor([6]), Search(END, 1, ctc_weight=0.0))
    assert found[0].symbols == [A, B, B]


def test_no_transcript_is_longer_than_allowed():
    table = torch.full((1, 4, 4, 4), -20.0)
    table[..., A] = 0.0  # never ends by itself
    frames, lengths = torch.zeros(1, 6, 4), torch.tensor([6])
    assert search(TableDecoder(table), frames, lengths, Search(END, 2, ctc_weight=0.0))[0].symbols == []
    table[..., END] = -1.0
    options = Search(END, 1, ctc_weight=0.0, longest=2)
    assert len(search(TableDecoder(table), frames, lengths, options)[0].symbols) <= 2


def test_best_path_drops_padding_and_repetitions():
    frames = torch.eye(4)[torch.tensor([[A, A, BLANK, A, B, B], [B, BLANK, A, A, A, A]])].log()
    assert best_path(frames, torch.tensor([6, 2])) == [[A, A, B], [B]]


@pytest.mark.parametrize(("name", "value"), [("beam", 0), ("ctc_weight", 1.5)])
def test_bad_options_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*{value}"):
        Search(END, **{name: value})
