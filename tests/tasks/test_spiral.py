"""The spiral's points lie where their formula says, and its study measures what a plain training loop gives."""

import csv
import io
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import squentropy
from squentropy.study import Store, plan
from squentropy.study.canonical import derived_seed
from squentropy.study.report.supplement import Supplement, read_supplements, write_supplements
from squentropy.tasks import spiral, spiral_figure
from squentropy.tasks.boundary import find_boundary
from squentropy.tasks.spiral import SPIRAL, draw_spiral, load_spiral, spiral_study
from squentropy.tasks.spiral_figure import supplement


@pytest.fixture
def short(monkeypatch):
    """Training that ends at the first epoch shown."""
    monkeypatch.setattr(spiral, "RECIPE", replace(spiral.RECIPE, epochs=100))
    for module in (spiral, spiral_figure):
        monkeypatch.setattr(module, "EPOCHS_SHOWN", (100,))


def test_points_lie_on_their_arm():
    inputs, target = draw_spiral(500, seed=3, noise=0.0)
    radius, angle = inputs.norm(dim=1), torch.atan2(inputs[:, 1], inputs[:, 0])
    turned = (radius + math.pi * target - angle) / (2 * math.pi)
    torch.testing.assert_close(turned, turned.round(), atol=1e-5, rtol=0)
    assert target.bincount().tolist() == [250, 250]


def test_the_density_over_the_disc_is_even():
    radius = draw_spiral(4000, seed=0, noise=0.0).inputs.norm(dim=1).numpy()
    assert stats.kstest((radius / (2 * math.pi * 1.5)) ** 2, "uniform").pvalue > 0.01


def test_the_noise_has_its_size():
    noisy, clean = (draw_spiral(4000, seed=0, noise=noise).inputs for noise in (0.3, 0.0))
    assert float((noisy - clean).std()) == pytest.approx(0.3, rel=0.05)


def test_each_seed_has_its_own_points_and_the_sizes_of_the_paper():
    first, second = load_spiral(0), load_spiral(1)
    assert (first.train_rows, first.test_rows, first.num_classes) == (1000, 500, 2)
    assert first.sha256 == load_spiral(0).sha256 != second.sha256
    everything = torch.cat([first.train.inputs, first.test.inputs])
    assert len(everything.unique(dim=0)) == 1500


def test_the_network_and_its_training_are_those_of_the_figure():
    model = SPIRAL.build(load_spiral(0), SPIRAL.recipe("paper"))
    assert [layer.weight.shape[0] for layer in model if isinstance(layer, nn.Linear)] == [12, 12, 12, 2]
    runs = plan([SPIRAL], spiral.LOSSES_SHOWN, 1, "paper")
    assert [run.recipe.epochs for run in runs] == [1000] * 3
    assert dict(runs[2].loss.parameters) == {"t": 1, "M": 1}


def trained_plainly(seed):
    """A hundred epochs of squentropy, as one would write them."""
    train = load_spiral(seed).train
    torch.manual_seed(derived_seed(seed, "weights"))
    model = SPIRAL.build(load_spiral(seed), SPIRAL.recipe("paper"))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        squentropy.squentropy(model(train.inputs), train.target).backward()
        optimizer.step()
    return model


def test_a_study_measures_what_a_plain_loop_gives(short):
    study = spiral_study(seeds=[0, 1], losses=["squentropy"])
    assert [(each.loss, each.seed, each.epoch) for each in study.measurements] == [
        ("squentropy", seed, 100) for seed in (0, 1)
    ]
    for measured in study.measurements:
        model, data = trained_plainly(measured.seed), load_spiral(measured.seed)
        with torch.no_grad():
            right = [model(rows.inputs).argmax(1) == rows.target for rows in (data.train, data.test)]
        boundary = find_boundary(model, spiral.HALF_WIDTH)
        assert measured.train_accuracy == pytest.approx(float(right[0].double().mean()), abs=0.005)
        assert measured.test_accuracy == pytest.approx(float(right[1].double().mean()), abs=0.005)
        assert measured.length == pytest.approx(boundary.length, rel=0.02)
        margin = boundary.mean_margin(data.train.inputs.double().numpy(), right[0].numpy())
        assert measured.margin == pytest.approx(margin, abs=0.02)


def test_the_supplement_shows_what_was_measured(short, tmp_path):
    study = spiral_study(seeds=[0, 1, 2], losses=["squentropy", "cross_entropy"])
    made = supplement(study)
    rows = list(csv.DictReader(io.StringIO(made.csv)))
    assert rows == [{name: str(value) for name, value in asdict(each).items()} for each in study.measurements]
    first, second = made.table.rows
    ours, theirs = (
        np.array([each.margin for each in study.measurements if each.loss == loss])
        for loss in ("squentropy", "cross_entropy")
    )
    assert [entry.text for entry in first[:3]] == [
        "epoch 100",
        "squentropy",
        f"{ours.mean():.2f} ± {ours.std(ddof=1):.2f}",
    ]
    interval = stats.ttest_rel(ours, theirs).confidence_interval()
    assert first[2].is_best == (interval.low > 0 or interval.high < 0)
    assert f"({interval.low:.2f} to {interval.high:.2f})".replace("-", "−") in first[2].detail
    assert second[2].detail == ""
    assert "squentropy" in made.figure.svg
    assert made.figure.pdf.startswith(b"%PDF")
    assert Supplement.from_json(made.to_json()) == made
    # Made once, with the study, and read back for each report.
    store, calls = Store(tmp_path), []
    task = replace(SPIRAL, supplement=lambda store: calls.append(1) or made)
    for _ in range(2):
        write_supplements([task], store)
    assert (read_supplements(store, ["spiral", "iris"]), calls) == ([made], [1])
