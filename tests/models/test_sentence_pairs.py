"""ESIM and pairwise word interaction against transcriptions without batches or padding."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from squentropy.models.esim import ESIM
from squentropy.models.pairwise_word_interaction import PairwiseWordInteraction, in_focus, similarities

FIRST = torch.tensor([[2, 3, 4, 5], [6, 2, 0, 0], [7, 0, 0, 0]])
SECOND = torch.tensor([[3, 8, 0], [4, 4, 9], [7, 0, 0]])


@pytest.fixture(params=["esim", "pwim"])
def model(request):
    torch.manual_seed(0)
    if request.param == "esim":
        return ESIM(10, 3, width=4, hidden=3).double().eval()
    return PairwiseWordInteraction(10, 3, width=4, hidden=3, size=8, channels=(6, 5)).double().eval()


def test_padding_changes_nothing(model):
    together = model(FIRST, SECOND)
    assert together.shape == (3, 3)
    for row, logits in enumerate(together):
        alone = model(*(words[row : row + 1, : int((words[row] > 0).sum())] for words in (FIRST, SECOND)))
        torch.testing.assert_close(alone[0], logits)


def test_given_vectors_are_trained_and_padding_is_not(model):
    model(FIRST, SECOND).square().sum().backward()
    touched = model.sentences.embedding.weight.grad.abs().sum(dim=1) > 0
    assert touched.tolist() == [False, False] + [True] * 8
    kind = type(model)
    vectors = torch.arange(40.0).reshape(10, 4)
    given = kind(10, 3, width=4, hidden=3, vectors=vectors)
    torch.testing.assert_close(given.sentences.embedding.weight[1:], vectors[1:])
    assert given.sentences.embedding.weight[0].tolist() == [0] * 4


def test_esim_equals_its_equations():
    """Chen et al. 2017, equations 11 to 19, for one pair."""
    torch.manual_seed(1)
    model = ESIM(10, 2, width=4, hidden=3).double().eval()
    words = [torch.tensor([2, 3, 4]), torch.tensor([5, 6])]
    a, b = (model.sentences(each[None])[0][0] for each in words)
    e = torch.stack([torch.stack([x @ y for y in b]) for x in a])
    a_attended = torch.stack([torch.softmax(e[i], 0) @ b for i in range(3)])
    b_attended = torch.stack([torch.softmax(e[:, j], 0) @ a for j in range(2)])
    pooled = []
    for own, other in ((a, a_attended), (b, b_attended)):
        compared = model.projection(torch.cat([own, other, own - other, own * other], dim=1))
        composed = model.composition.lstm(compared[None])[0][0]
        pooled += [composed.mean(dim=0), composed.max(dim=0).values]
    torch.testing.assert_close(model(*(each[None] for each in words))[0], model.classifier(torch.cat(pooled)))


def test_similarities_are_cosine_distance_and_product_of_four_views():
    a, b = torch.randn(1, 2, 6, dtype=torch.float64), torch.randn(1, 3, 6, dtype=torch.float64)
    maps = similarities(a, b)
    assert maps.shape == (1, 12, 2, 3)
    for i in range(2):
        for j in range(3):
            x, y = a[0, i], b[0, j]
            views = [(x, y), (x[:3], y[:3]), (x[3:], y[3:]), (x[:3] + x[3:], y[:3] + y[3:])]
            expected = [
                value
                for p, q in views
                for value in (cosine_similarity(p, q, dim=0), -(p - q).pow(2).sum().sqrt(), p @ q)
            ]
            torch.testing.assert_close(maps[0, :, i, j], torch.stack(expected))


def test_the_same_word_twice_has_a_finite_gradient():
    states = torch.ones(1, 2, 4, requires_grad=True)
    similarities(states, states.detach().clone()).sum().backward()
    assert torch.isfinite(states.grad).all()


def greedy(measure):
    """He & Lin 2016, algorithm 2, for one measure: from the best pair on, no word twice."""
    rows, columns = measure.shape
    order = sorted(((i, j) for i in range(rows) for j in range(columns)), key=lambda pair: -measure[pair])
    taken, used_rows, used_columns = set(), set(), set()
    for i, j in order:
        if i not in used_rows and j not in used_columns:
            taken.add((i, j))
            used_rows.add(i)
            used_columns.add(j)
    return taken


def test_focus_is_on_the_best_pairs_of_free_words():
    generator = torch.Generator().manual_seed(0)
    one, two = torch.randn(5, 4, 6, generator=generator), torch.randn(5, 4, 6, generator=generator)
    here = torch.ones(5, 4, 6, dtype=torch.bool)
    here[3, 2:] = False
    here[4, :, 3:] = False
    focus = in_focus(one, two, here)
    for each, (rows, columns) in enumerate([(4, 6), (4, 6), (4, 6), (2, 6), (4, 3)]):
        pairs = greedy(one[each, :rows, :columns]) | greedy(two[each, :rows, :columns])
        expected = torch.full((4, 6), 0.1)
        for pair in pairs:
            expected[pair] = 1.0
        torch.testing.assert_close(focus[each], expected)


def test_full_sizes():
    esim = ESIM(1000, 2)
    assert sum(p.numel() for p in esim.parameters()) - 300_000 == (
        2 * 2 * (4 * 300 * 600 + 8 * 300) + (2400 * 300 + 300) * 2 + 300 * 2 + 2
    )
    pwim = PairwiseWordInteraction(1000, 2)
    convolutions = [(13, 128), (128, 164), (164, 192), (192, 192), (192, 128)]
    assert sum(p.numel() for p in pwim.parameters()) - 300_000 == (
        2 * (4 * 250 * 550 + 8 * 250) + sum(9 * i * o + o for i, o in convolutions) + 128 * 128 + 128 + 128 * 2 + 2
    )
    with pytest.raises(ValueError, match="size must be at least 16 for 5 poolings, got 8"):
        PairwiseWordInteraction(10, 2, size=8)
