"""The contestants of a case compute the same, so that their times can be compared."""

import pytest
import torch

from squentropy.bench import calibration, heads, losses, training
from squentropy.bench.case import COMPILED
from squentropy.bench.cases import CASES, MEAN_TARGETS, select

CPU = torch.device("cpu")
OTHER_LOSSES = {losses.BASELINE, "rescaled_square", "label_smoothing", "focal", "logit_penalty"}
STEPS = {
    "losses": lambda: losses._steps((6, 5), torch.float32, True, CPU),
    "heads": lambda: heads._steps(6, 4, 9, CPU),
    "calibration": lambda: calibration._steps(1000, 10, CPU),
    "training": lambda: training._training_steps(CPU) | training._planning_steps(400, CPU),
}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_targets_and_baseline_are_among_the_contestants(case):
    contestants = STEPS[case.group]().keys()
    assert case.name.startswith(f"{case.group}/")
    assert case.baseline in contestants
    for target in (*case.targets, *filter(None, [MEAN_TARGETS.get(case.group)])):
        assert {target.contestant, target.against or target.contestant} <= contestants
        assert target.at_most > 0


@pytest.mark.parametrize("shape", [(6, 5), (2, 5, 3, 4)], ids=str)
def test_all_ways_to_write_squentropy_have_one_gradient(shape):
    steps = losses._steps(shape, torch.float32, True, CPU)
    squentropies = steps.keys() - OTHER_LOSSES - {losses.COPY, COMPILED}
    assert squentropies == {losses.OURS, losses.IN_PLACE, losses.FORMULA, losses.OFFICIAL, losses.NAIVE}
    (expected,) = steps[losses.OURS]()
    expected = expected.clone()
    for name in squentropies:
        torch.testing.assert_close(steps[name]()[0], expected)
    for name in OTHER_LOSSES:
        assert not torch.allclose(steps[name]()[0], expected)


def test_heads_have_one_gradient():
    steps = heads._steps(6, 4, 9, CPU)
    for ours, theirs in ((heads.OURS, "F.linear + official formula"), (heads.CHUNKED, heads.BASELINE)):
        torch.testing.assert_close(steps[ours](), steps[theirs]())


def test_calibration_errors_are_one():
    steps = calibration._steps(1000, 10, CPU)
    assert steps[calibration.OURS]() == pytest.approx(steps[calibration.BASELINE]().item(), abs=1e-6)


def test_planning_gives_as_many_ids_as_runs():
    ids = training._planning_steps(800, CPU)["plan"]()
    assert len(ids) == len(set(ids)) == 800


def test_selection():
    assert [case.name for case in select(["all"])] == list(CASES)
    assert {case.group for case in select(["heads", "losses/128x10"])} == {"heads", "losses"}
    assert select(["losses/128x10", "losses"]) == select(["losses"])
    with pytest.raises(ValueError, match="no benchmark is called 'loss': choose among all, losses"):
        select(["heads", "loss"])
