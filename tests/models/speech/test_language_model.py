"""The language model: a step at a time as all at once, and what it does to a search that hears nothing."""

import torch

from squentropy.models.speech.beam_search import Search, search
from squentropy.models.speech.language_model import LanguageModel
from squentropy.tasks.speech_language_model import language_model

A, B, C, END = 1, 2, 3, 4
SENTENCES = ((A, B), (B, C, A), (C, C, B, A))


class Deaf:
    """A decoder for which every symbol is as likely."""

    def __init__(self, utterances):
        self.utterances = utterances

    def start(self):
        return torch.zeros(self.utterances, 1)

    def step(self, symbols, state):
        return torch.full((*symbols.shape, 5), -1.0), symbols.float()

    def keep(self, utterances):
        return Deaf(len(utterances))


def test_symbol_by_symbol_is_all_at_once():
    model = LanguageModel(5, hidden=6, num_layers=2).eval()
    symbols = torch.tensor([[END, A, B, C], [END, C, C, A]])
    expected = model(symbols).log_softmax(2)
    decoder = model.searching(3).keep(torch.tensor([0, 2]))
    state = decoder.start()
    state = tuple(torch.cat([each, each], 1) for each in state)  # two hypotheses of each utterance
    for place in range(4):
        log_probs, state = decoder.step(symbols[:, place, None].expand(-1, 2), state)
        torch.testing.assert_close(log_probs, expected[:, place, None].expand(-1, 2, -1))


def test_it_knows_the_transcripts_it_was_trained_on():
    before = torch.get_rng_state()
    model = language_model(SENTENCES, 5, epochs=150, hidden=16, dropout=0.0, learning_rate=0.02)
    assert torch.equal(torch.get_rng_state(), before)
    log_probs = model(torch.tensor([[END, B, C, A]])).log_softmax(2)[0]
    assert all(log_probs[place, symbol] > -0.1 for place, symbol in ((1, C), (2, A), (3, END)))
    # Each of the three begins with a third of the probability, and a search that hears nothing says one of them.
    torch.testing.assert_close(log_probs[0, [A, B, C]].exp(), torch.full((3,), 1 / 3), atol=0.02, rtol=0)
    options = Search(END, beam=4, ctc_weight=0.0, language_model_weight=1.0, longest=6)
    found = search(Deaf(2), torch.zeros(2, 9, 5), torch.tensor([9, 9]), options, model.searching(2))
    assert all(each.symbols in ([A, B], [B, C, A]) for each in found)


def test_it_is_trained_once():
    settings = {"epochs": 1, "hidden": 4}
    assert language_model(SENTENCES, 5, **settings) is language_model(SENTENCES, 5, **settings)
