"""Wrong arguments: the error names the argument, the value and the cure."""

import pytest
import torch

import squentropy as sq
from squentropy import LOSSES

pytestmark = pytest.mark.usefixtures("path")

OURS = [name for name in LOSSES if name not in ("cross_entropy", "label_smoothing")]
LOGITS, TARGET = torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])

WRONG = {
    "one class": (ValueError, "1 class.*at least 2", {"logits": torch.zeros(4, 1), "target": torch.zeros(4).long()}),
    "no class": (ValueError, "0 classes", {"logits": torch.zeros(4, 0)}),
    "no dimension": (ValueError, "no dimension", {"logits": torch.tensor(1.0)}),
    "integer logits": (TypeError, r"logits have dtype torch.int64.*float", {"logits": LOGITS.long()}),
    "target too large": (ValueError, r"target\[2\] is 3.*3 classes.*0 to 2", {"target": torch.tensor([0, 1, 3, 7])}),
    "target negative": (ValueError, r"target\[1\] is -1", {"target": torch.tensor([0, -1, 2, 0])}),
    "unbatched target": (ValueError, "target is 3", {"logits": LOGITS[0], "target": torch.tensor(3)}),
    "target shape": (ValueError, r"target has shape \(3,\).*\(4,\)", {"target": TARGET[:3]}),
    "target dimensions": (ValueError, r"shape \(4, 1\)", {"target": TARGET[:, None]}),
    "float indices": (TypeError, r"float32.*target\.long", {"target": TARGET.float()}),
    "boolean indices": (TypeError, "bool.*long", {"target": TARGET.bool()}),
    "integer probabilities": (TypeError, "floating-point target", {"target": LOGITS.long()}),
    "ignored probabilities": (ValueError, "ignore_index is 1.*prob", {"target": LOGITS.softmax(1), "ignore_index": 1}),
    "weight shape": (ValueError, r"weight has shape \(2,\).*3 classes", {"weight": torch.ones(2)}),
    "weight dtype": (TypeError, "weight has dtype torch.int64", {"weight": torch.ones(3).long()}),
    "reduction": (ValueError, "'average'.*'none', 'mean', 'sum'", {"reduction": "average"}),
    "smoothing": (ValueError, "label_smoothing is 1.5", {"label_smoothing": 1.5}),
    "smoothing nan": (ValueError, "label_smoothing is nan", {"label_smoothing": float("nan")}),
}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("case", WRONG)
def test_error(case, name):
    error, message, arguments = WRONG[case]
    with pytest.raises(error, match=message):
        LOSSES[name](**{"logits": LOGITS, "target": TARGET, **arguments})


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_square_weight(value):
    with pytest.raises(ValueError, match=f"square_weight is {value}"):
        sq.squentropy(LOGITS, TARGET, square_weight=value)
    with pytest.raises(ValueError, match="square_weight"):
        sq.SquentropyLoss(square_weight=value)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["t", "M"])
def test_t_and_m(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}.*finite and positive"):
        sq.rescaled_square(LOGITS, TARGET, **{name: value})
    with pytest.raises(ValueError, match=f"{name} is"):
        sq.RescaledSquareLoss(**{name: value})


@pytest.mark.parametrize("value", [-0.5, 0.5, float("nan")])
def test_gamma(value):
    with pytest.raises(ValueError, match=f"gamma is {value}"):
        LOSSES["focal"](LOGITS, TARGET, gamma=value)


def test_beta():
    with pytest.raises(ValueError, match="beta is -1"):
        LOSSES["logit_penalty"](LOGITS, TARGET, beta=-1)


def test_an_ignored_index_out_of_range_is_no_error():
    assert sq.squentropy(LOGITS, torch.tensor([0, 255, 1, 2]), ignore_index=255).isfinite()
