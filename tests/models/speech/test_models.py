"""The speech models: sizes, what padding may not change, a step at a time as all at once, and learning."""

from functools import partial

import pytest
import torch
from torch import nn

from squentropy.losses import LOSSES
from squentropy.models.speech.attention import LocationAttention
from squentropy.models.speech.beam_search import Search
from squentropy.models.speech.encoders import ProjectedRnn, StackedRnn, Vgg
from squentropy.models.speech.model import IGNORED, AttentionCtc, Chain
from squentropy.models.speech.recurrent_decoder import RecurrentDecoder
from squentropy.models.speech.transformer import Sizes, TransformerDecoder, TransformerEncoder, positions

FEATURES, SYMBOLS = 12, 7


def recurrent(coverage=False):
    encoder = ProjectedRnn(FEATURES, hidden=16, projection=12, subsample=(1, 2))
    attention = LocationAttention(12, 16, size=10, channels=3, reach=4, coverage=coverage)
    decoder = RecurrentDecoder(12, SYMBOLS, hidden=16, num_layers=2, attention=attention)
    return AttentionCtc(encoder, decoder, SYMBOLS).eval()


def convolutional(width=12, hidden=16):
    encoder = Chain(Vgg(FEATURES), StackedRnn(128 * 3, hidden=width, projection=width, num_layers=1))
    attention = LocationAttention(width, hidden, size=10, channels=3, reach=4)
    return AttentionCtc(
        encoder, RecurrentDecoder(width, SYMBOLS, hidden=hidden, num_layers=1, attention=attention), SYMBOLS
    ).eval()


def transformer():
    sizes = Sizes(width=16, heads=2, feed_forward=32, dropout=0.0)
    encoder = TransformerEncoder(FEATURES, num_layers=2, sizes=sizes)
    return AttentionCtc(encoder, TransformerDecoder(SYMBOLS, num_layers=2, sizes=sizes), SYMBOLS).eval()


MODELS = {"recurrent": recurrent, "coverage": lambda: recurrent(True), "vgg": convolutional, "transformer": transformer}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@pytest.fixture
def batch():
    features = torch.randn(3, 40, FEATURES)
    transcripts = [torch.tensor(each) for each in ([1, 2, 2, 4], [5], [3, 1, 3])]
    return features, torch.tensor([40, 21, 30]), transcripts


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_parameters_of_the_published_sizes():
    """From the sizes of ESPnet's recipes, written out layer by layer."""

    def gru(inputs, units):
        return 2 * 3 * (inputs * units + units * units + 2 * units)

    def linear(inputs, outputs):
        return (inputs + 1) * outputs

    encoder = ProjectedRnn(83, hidden=320, projection=320, subsample=(1, 2, 2, 1, 1))
    assert count(encoder) == gru(83, 320) + 4 * gru(320, 320) + 5 * linear(640, 320)

    attention = LocationAttention(320, 300, size=320, channels=10, reach=100, coverage=True)
    assert count(attention) == linear(320, 320) + 300 * 320 + 10 * 320 + 10 * 201 + linear(320, 1)

    decoder = RecurrentDecoder(320, 42, hidden=300, num_layers=1, attention=attention)
    assert count(decoder) == count(attention) + 42 * 300 + 4 * 300 * (620 + 300 + 2) + linear(300, 42)

    sizes = Sizes(width=256, heads=4, feed_forward=2048)
    layer = 4 * linear(256, 256) + linear(256, 2048) + linear(2048, 256)
    convolutions = 256 * 10 + 256 * (256 * 9 + 1) + linear(256 * 20, 256)
    encoder = TransformerEncoder(83, num_layers=12, sizes=sizes)
    assert count(encoder) == convolutions + 12 * (layer + 2 * 512) + 512
    decoder = TransformerDecoder(52, num_layers=6, sizes=sizes)
    assert count(decoder) == 52 * 256 + 6 * (layer + 4 * linear(256, 256) + 3 * 512) + 512 + linear(256, 52)
    assert count(Vgg(83)) == linear(9, 64) + linear(576, 64) + linear(576, 128) + linear(1152, 128)


def test_positions_are_those_of_the_published_formula():
    table = positions(50, 6, torch.zeros((), dtype=torch.float64))
    for place in (0, 1, 49):
        for pair in range(3):
            angle = torch.tensor(place / 10000 ** (2 * pair / 6), dtype=torch.float64)
            torch.testing.assert_close(table[place, 2 * pair : 2 * pair + 2], torch.stack([angle.sin(), angle.cos()]))


@every_model
def test_padding_changes_nothing(make, batch):
    features, lengths, transcripts = batch
    model, features, ctc = make().double(), features.double(), 0.0
    together = model(features, lengths, transcripts)
    for row, (length, transcript) in enumerate(zip(lengths.tolist(), transcripts, strict=True)):
        alone = model(features[row : row + 1, :length], lengths[row : row + 1], [transcript])
        symbols = len(transcript) + 1
        torch.testing.assert_close(together.logits[row, :symbols], alone.logits[0])
        assert together.target[row].tolist() == [*transcript.tolist(), model.end, *[IGNORED] * (4 - len(transcript))]
        ctc = ctc + alone.ctc
    torch.testing.assert_close(together.ctc, ctc, rtol=1e-5, atol=0.0)  # CTC is in float32


@every_model
def test_symbol_by_symbol_is_all_at_once(make, batch):
    model, (features, lengths, transcripts) = make(), batch
    with torch.no_grad():
        logits = model(features, lengths, transcripts).logits
        decoder = model.decoder.searching(*model.encoder(features, lengths))
        rows = torch.tensor([2, 0])
        decoder, state = decoder.keep(rows), decoder.keep(rows).start()
        state = tuple_map(lambda each: torch.cat([each, each], 1), state)  # two hypotheses of each utterance
        for place in range(4):
            begun = [[model.end, *transcripts[row].tolist(), 0, 0, 0][place] for row in rows]
            log_probs, state = decoder.step(torch.tensor([begun, begun]).T, state)
            for row, utterance in enumerate(rows.tolist()):
                if place <= len(transcripts[utterance]):
                    expected = logits[utterance, place].log_softmax(0).expand(2, -1)
                    torch.testing.assert_close(log_probs[row], expected, atol=1e-5, rtol=1e-4)


def tuple_map(function, state):
    return function(state) if isinstance(state, torch.Tensor) else tuple(tuple_map(function, each) for each in state)


def test_attention_sees_where_it_was():
    attention = LocationAttention(4, 3, size=5, channels=2, reach=1)
    memory = attention.remember(torch.randn(1, 9, 4), torch.tensor([9]))
    query = torch.randn(1, 1, 3)
    at = torch.eye(9)[[1, 7]][:, None]
    first, second = (attention(memory, query, each[None])[1].flatten() for each in at)
    without = attention(memory, query, torch.zeros(1, 1, 9))[1].flatten()
    for weights, near in [(first, 1), (second, 7)]:
        # Frames out of the convolution's reach keep the scores that they have without any earlier weights.
        torch.testing.assert_close(weights[3] / weights[5], without[3] / without[5])
        assert not torch.isclose(weights[near] / weights[5], without[near] / without[5], rtol=1e-3)


def test_coverage_adds_up():
    attention = LocationAttention(4, 3, size=5, channels=2, reach=1, coverage=True)
    memory = attention.remember(torch.randn(1, 9, 4), torch.tensor([9]))
    seen = attention.start(memory)
    for step in range(1, 4):
        _, _, seen = attention(memory, torch.randn(1, 1, 3), seen)
        assert seen.sum().item() == pytest.approx(step + 1)


def test_an_utterance_too_short_for_the_convolutions_is_named():
    with pytest.raises(ValueError, match="has 5 frames"):
        transformer()(torch.zeros(1, 5, FEATURES), torch.tensor([5]), [torch.tensor([1])])


def test_more_symbols_than_frames_count_nothing_in_ctc(batch):
    features, _, _ = batch
    spoken = recurrent()(features[:1, :4], torch.tensor([4]), [torch.tensor([1, 2, 3, 4, 5])])
    assert spoken.ctc == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squentropy", "cross_entropy", "rescaled_square"])
@pytest.mark.parametrize(
    ("make", "rate"),
    [(recurrent, 1e-2), (partial(convolutional, 32, 32), 3e-3), (transformer, 1e-2)],
    ids=["recurrent", "vgg", "transformer"],
)
def test_ten_utterances_are_learned_without_an_error(make, rate, name):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(3)
    transcripts = [torch.randint(1, SYMBOLS - 1, (n,), generator=generator) for n in (3, 4, 5, 6, 3, 4, 5, 6, 2, 7)]
    sounds = torch.randn(SYMBOLS, FEATURES, generator=generator)
    features = [sounds[each].repeat_interleave(8, 0) for each in transcripts]
    lengths = torch.tensor([len(each) for each in features])
    padded = nn.utils.rnn.pad_sequence(features, batch_first=True)
    padded = padded + 0.1 * torch.randn(padded.shape, generator=generator)
    model = make().train()
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=400)
    for _ in range(400):
        spoken = model(padded, lengths, transcripts)
        loss = LOSSES[name](spoken.logits.flatten(0, 1), spoken.target.flatten(), reduction="sum")
        optimizer.zero_grad()
        (0.7 * loss + 0.3 * spoken.ctc).div(len(features)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
    found = model.eval().transcribe(padded, lengths, Search(model.end, beam=4))
    assert [each.symbols for each in found] == [each.tolist() for each in transcripts]
