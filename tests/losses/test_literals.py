"""Values in float64 against 100-digit arithmetic (literals.json, written by make_literals.py)."""

import json
from pathlib import Path

import pytest
import torch

from squentropy import LOSSES
from tests.losses.make_literals import LOGITS

pytestmark = pytest.mark.usefixtures("path")

LITERALS = json.loads(Path(__file__).with_name("literals.json").read_text())


@pytest.mark.parametrize("case", LOGITS)
def test_value(case):
    logits = torch.tensor(LOGITS[case][0], dtype=torch.float64)
    rows = [row for row in LITERALS if row[2] == case]
    assert len(rows) >= 8
    for name, parameters, _, target, value in rows:
        loss = LOSSES[name](logits, torch.tensor(target), **parameters)
        assert loss.item() == pytest.approx(float(value), rel=1e-15, abs=1e-15), (name, parameters, target)


def test_the_literals_are_not_the_losses_own():
    """Of squentropy, three values that a pocket calculator gives."""
    values = {tuple(row[2:4]): float(row[4]) for row in LITERALS if row[0] == "squentropy" and not row[1]}
    assert values["cancellation", 0] == 1.0
    assert values["thousand", 1] == 999 + (1e6 + 1) / 2
    assert values["zero 3", 1] == pytest.approx(1.0986122886681098, rel=1e-15)
