"""Transformer-XL against a plain transcription of its published equations, and what its memory must and must not do."""

import math

import pytest
import torch

from squentropy.models.transformer_xl import TransformerXL

LAYERS, WIDTH, HEADS, SIZE, INNER, SYMBOLS = 2, 6, 2, 4, 5, 7


def small(**changes):
    torch.manual_seed(0)
    settings = {"memory": 4, "eval_memory": 5, "clamp": None, "dropout": 0.0, **changes}
    model = TransformerXL(
        SYMBOLS, layers=LAYERS, width=WIDTH, heads=HEADS, head_width=SIZE, inner=INNER, **settings
    ).double()
    for parameter in model.parameters():  # so that each of the terms matters
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def tokens(rows, length, seed=1):
    return torch.randint(SYMBOLS, (rows, length), generator=torch.Generator().manual_seed(seed))


def encoding(distance):
    """R of the paper: sines and cosines of the distance."""
    angles = [distance / 10_000 ** (2 * k / WIDTH) for k in range(WIDTH // 2)]
    values = [*map(math.sin, angles), *map(math.cos, angles)]
    return torch.tensor(values, dtype=torch.float64)


def normalised(x, norm):
    return (x - x.mean()) / (x.var(unbiased=False) + norm.eps).sqrt() * norm.weight + norm.bias


def transcription(model, sequence, memory, span, clamp):
    """One sequence through all layers, one position and head after another (Dai et al. 2019, section 3.3)."""
    hidden = [model.embedding.weight[token] * math.sqrt(WIDTH) for token in sequence]
    for number, layer in enumerate(model.layers):
        remembered = [] if memory is None else list(memory[number])
        seen = remembered + hidden
        key_weight, value_weight = layer.key_value.weight.chunk(2)
        following = []
        for i, state in enumerate(hidden):
            place = len(remembered) + i
            heads = []
            for head in range(HEADS):
                rows = slice(head * SIZE, (head + 1) * SIZE)
                q = layer.query.weight[rows] @ state
                u, v = model.content_bias[head], model.position_bias[head]
                scores, values = [], []
                for j in range(place + 1):
                    if span is not None and place - j >= span:
                        continue
                    k = key_weight[rows] @ seen[j]
                    r = layer.position.weight[rows] @ encoding(min(place - j, clamp or place))
                    scores.append((q @ k + q @ r + u @ k + v @ r) / math.sqrt(SIZE))
                    values.append(value_weight[rows] @ seen[j])
                heads.append(torch.softmax(torch.stack(scores), 0) @ torch.stack(values))
            attended = normalised(state + layer.output.weight @ torch.cat(heads), layer.attention_norm)
            first, _, _, second, _ = layer.feed_forward
            inner = torch.relu(first.weight @ attended + first.bias)
            following.append(normalised(attended + second.weight @ inner + second.bias, layer.norm))
        hidden = following
    return torch.stack([model.embedding.weight @ state + model.head.bias for state in hidden])


@pytest.mark.parametrize(("training", "clamp", "segments"), [(True, None, 2), (False, None, 3), (False, 2, 3)], ids=str)
def test_equals_the_published_equations(training, clamp, segments):
    model = small(clamp=clamp).train(training)
    span = None if training else model.eval_memory
    memory = None
    for number in range(segments):
        batch = tokens(2, 3, seed=number)
        logits, following = model(batch, memory)
        for row in range(2):
            remembered = None if memory is None else [each[row] for each in memory]
            expected = transcription(model, batch[row].tolist(), remembered, span, None if training else clamp)
            torch.testing.assert_close(logits[row], expected)
        memory = following


def test_gradients_are_those_of_the_equations():
    model = small()
    batch = tokens(1, 4)
    _, memory = model(tokens(1, 4, seed=2), None)
    ours = torch.autograd.grad(model(batch, memory)[0].square().sum(), list(model.parameters()))
    expected = transcription(model, batch[0].tolist(), [each[0] for each in memory], None, None)
    theirs = torch.autograd.grad(expected.square().sum(), list(model.parameters()))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_the_base_model_has_41_million_parameters():
    model = TransformerXL(205)
    attention = 512 * 5 * 512 + 2 * 512
    feed_forward = 512 * 2048 + 2048 + 2048 * 512 + 512 + 2 * 512
    expected = 12 * (attention + feed_forward) + 2 * 512 + 205 * 512 + 205
    assert sum(parameter.numel() for parameter in model.parameters()) == expected == 41_055_949
    assert model.head.weight is model.embedding.weight


def test_untied_from_the_embedding_the_output_layer_begins_at_zero():
    torch.manual_seed(0)
    model = TransformerXL(7, layers=1, width=6, heads=2, head_width=4, inner=5, tied=False)
    assert model(tokens(2, 3), None)[0].tolist() == [[[0.0] * 7] * 3] * 2
    assert model.embedding.weight.abs().min() > 0


@pytest.mark.parametrize("training", [True, False])
def test_segments_with_memory_are_one_long_segment(training):
    model = small(memory=12, eval_memory=12).train(training)
    whole = tokens(2, 12)
    expected, _ = model(whole, None)
    found, memory = [], None
    for segment in whole.split([5, 4, 3], dim=1):
        logits, memory = model(segment, memory)
        found.append(logits)
    torch.testing.assert_close(torch.cat(found, dim=1), expected)


def test_memory_is_no_longer_than_it_may_be_and_has_no_gradient():
    model = small()
    memory = None
    for _ in range(3):
        _, memory = model(tokens(2, 3), memory)
    assert [tuple(each.shape) for each in memory] == [(2, 4, WIDTH)] * LAYERS
    assert not any(each.requires_grad for each in memory)
    _, memory = small(memory=0)(tokens(2, 3), None)
    assert memory[0].shape == (2, 0, WIDTH)


def changes(model, position, length=8):
    """At which positions the logits change with the token at one position."""
    batch = tokens(1, length)
    other = batch.clone()
    other[0, position] = (other[0, position] + 1) % SYMBOLS
    difference = (model(batch, None)[0] - model(other, None)[0]).abs().amax(dim=(0, 2))
    return difference > 0


def test_no_position_sees_what_follows_it():
    assert changes(small().train(), 5).tolist() == [False] * 5 + [True] * 3


def test_of_equal_length_each_position_sees_as_many():
    torch.manual_seed(0)
    model = TransformerXL(SYMBOLS, layers=1, width=6, heads=2, head_width=4, inner=5, eval_memory=3, clamp=None).eval()
    assert changes(model, 2).tolist() == [False, False, True, True, True, False, False, False]
