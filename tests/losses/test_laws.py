"""Laws that hold for any logits, by hypothesis."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import squentropy as sq
from squentropy import LOSSES

pytestmark = [pytest.mark.parametrize("name", LOSSES), pytest.mark.usefixtures("path")]


@st.composite
def batches(draw, scale=50):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(2, 6)))
    logits = draw(hnp.arrays(np.float64, shape, elements=st.floats(-scale, scale, width=32)))
    target = draw(hnp.arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1)))
    return torch.from_numpy(logits), torch.from_numpy(target)


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@given(batches(), st.randoms(use_true_random=False))
def test_renaming_the_classes_changes_nothing(name, batch, random):
    logits, target = batch
    order = torch.tensor(random.sample(range(logits.shape[1]), logits.shape[1]))
    close(LOSSES[name](logits[:, order], order.argsort()[target]), LOSSES[name](logits, target))


@given(batches(), st.randoms(use_true_random=False))
def test_order_of_the_batch_changes_nothing(name, batch, random):
    logits, target = batch
    order = torch.tensor(random.sample(range(len(logits)), len(logits)))
    losses = LOSSES[name](logits, target, reduction="none")
    close(LOSSES[name](logits[order], target[order], reduction="none"), losses[order])


@given(batches())
def test_reductions_agree(name, batch):
    logits, target = batch
    losses = LOSSES[name](logits, target, reduction="none")
    close(LOSSES[name](logits, target, reduction="sum"), losses.sum())
    close(LOSSES[name](logits, target), losses.mean())


@given(batches(), st.floats(-50, 50))
def test_shift(name, batch, c):
    """Exact for squentropy: ``L(f + c) - L(f) = square_weight * (2 c mean_wrong(f) + c^2)``."""
    logits, target = batch
    for square_weight in (1.0, 0.25):
        parameters = {"square_weight": square_weight} if name == "squentropy" else {}
        before, after = (LOSSES[name](f, target, reduction="none", **parameters) for f in (logits, logits + c))
        true = logits.gather(1, target[:, None]).squeeze(1)
        mean_wrong = (logits.sum(1) - true) / (logits.shape[1] - 1)
        expected = {
            "squentropy": square_weight * (2 * c * mean_wrong + c * c),
            "rescaled_square": (2 * c * (logits.sum(1) - 1) + logits.shape[1] * c * c) / logits.shape[1],
            "logit_penalty": 5e-4 * (2 * c * logits.sum(1) + logits.shape[1] * c * c),
        }.get(name, torch.zeros_like(true))
        torch.testing.assert_close(after - before, expected, rtol=1e-10, atol=1e-9)


@given(batches())
def test_never_below_its_bound(name, batch):
    logits, target = batch
    losses = LOSSES[name](logits, target, reduction="none")
    assert (losses >= 0).all()
    if name in ("squentropy", "logit_penalty"):
        assert (losses >= LOSSES["cross_entropy"](logits, target, reduction="none") - 1e-12).all()


@given(batches(), st.floats(0.1, 1e3))
def test_true_logit_moves_only_cross_entropy(name, batch, step):
    logits, target = batch
    moved = logits.scatter_add(1, target[:, None], torch.full_like(logits[:, :1], step))
    if name == "squentropy":
        difference = sq.squentropy(moved, target) - sq.squentropy(logits, target)
        expected = LOSSES["cross_entropy"](moved, target) - LOSSES["cross_entropy"](logits, target)
        torch.testing.assert_close(difference, expected, rtol=1e-10, atol=1e-10)
    else:
        assert LOSSES[name](moved, target).isfinite()
