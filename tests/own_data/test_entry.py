"""squentropy.compare in Python: tables, models, and what is wrong with either."""

import gc
import tempfile

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

import squentropy
from squentropy.own_data import compare_table, memory
from squentropy.own_data.frames import frame_of
from squentropy.own_data.samples import SourceData, make_data
from tests.own_data.tables import flowers

TWO = ["squentropy", "cross_entropy"]


def points(rows=300, seed=0):
    inputs = torch.randn(rows, 4, generator=torch.Generator().manual_seed(seed))
    return inputs, (inputs[:, 0] > 0).long() + (inputs[:, 1] > 0).long()


class Pairs(Dataset):
    def __init__(self, inputs, target):
        self.inputs, self.target = inputs, target

    def __len__(self):
        return len(self.target)

    def __getitem__(self, number):
        return self.inputs[number], int(self.target[number])


def small():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def with_dropout():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 3))


def compared(make_model, train, test, **options):
    return squentropy.compare(make_model, train, test, **{"losses": TWO, "seeds": 2, "epochs": 3, **options})


def test_a_table():
    frame = flowers()
    before = torch.get_rng_state()
    result = squentropy.compare(frame.drop(columns="kind"), frame["kind"], losses=TWO, seeds=2, epochs=3)
    assert torch.equal(before, torch.get_rng_state())
    assert str(result).startswith("Squentropy instead of cross entropy: ")
    assert list(result.models.index) == [
        *(name.replace("_", " ") for name in TWO),
        "logistic regression",
        "gradient boosting",
    ]
    assert result.model.target == "kind"
    assert set(result.differences["metric"]) == {"accuracy", "ece", "nll"}


def test_seeds_of_a_large_table_train_a_few_at_a_time(monkeypatch):
    together = squentropy.compare(flowers(), "kind", losses=TWO, seeds=3, epochs=3)
    monkeypatch.setattr(compare_table, "_BYTES_TOGETHER", 1.0)
    apart = squentropy.compare(flowers(), "kind", losses=TWO, seeds=3, epochs=3)
    pd.testing.assert_frame_equal(together.runs, apart.runs, rtol=1e-4, atol=1e-5)


def test_a_table_whose_inputs_do_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1e4)
    with pytest.raises(ValueError, match=r"120 rows with 8 inputs of the network each would need .* --sample 200000"):
        squentropy.compare(flowers(), "kind", losses=TWO, seeds=1, epochs=1)


def test_what_is_temporary_goes_with_the_result(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = compared(small, points(), points(seed=1))
    assert len(list(tmp_path.glob("*/records/*"))) == 4
    del result
    gc.collect()
    assert list(tmp_path.glob("squentropy-*")) == []
    with pytest.raises(ValueError, match="unknown loss"):
        compared(small, points(), points(), losses=["hinge"])
    assert list(tmp_path.glob("squentropy-*")) == []


def test_a_model_in_every_form_of_data_gives_the_same():
    """Whether pairs come as tensors or one by one, the same rows are seen in the same order."""
    train, test = points(), points(seed=1)
    as_tensors = compared(with_dropout, train, test, batch_size=32)
    as_arrays = compared(with_dropout, tuple(each.numpy() for each in train), test, batch_size=32)
    as_loader = compared(with_dropout, DataLoader(Pairs(*train), batch_size=32), Pairs(*test))
    pd.testing.assert_frame_equal(as_tensors.runs, as_arrays.runs)
    pd.testing.assert_frame_equal(as_tensors.runs, as_loader.runs)


def test_stacks_of_linear_layers_train_together_and_as_well():
    train, test = points(1000), points(seed=1)
    result = compared(small, train, test, epochs=15, learning_rate=0.01)
    assert result.outcome.mean("squentropy", "accuracy") > 0.9

    class Alone(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = small()

        def forward(self, inputs):
            return self.layers(inputs)

    alone = compared(Alone, train, test, epochs=15, learning_rate=0.01)
    pd.testing.assert_frame_equal(result.runs, alone.runs, rtol=1e-2, atol=2e-2)


def test_outputs_at_many_places():
    class Places(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv1d(1, 2, 1)

        def forward(self, inputs):
            return self.layer(inputs)

    inputs = torch.randn(40, 1, 5)
    pairs = [(each, (each[0] > 0).long()) for each in inputs]
    result = compared(Places, pairs, pairs, num_classes=2, batch_size=8)
    assert len(result.outcome.networks["squentropy"][0].rows.correct) == 200


def test_a_folder_keeps_what_was_done(tmp_path):
    first = compared(small, points(), points(seed=1), out=tmp_path)
    records = {path: path.stat().st_mtime_ns for path in tmp_path.glob("records/*")}
    second = compared(small, points(), points(seed=1), out=tmp_path)
    assert len(records) == 4
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("records/*")} == records
    assert str(first) == str(second)
    compared(small, points(seed=2), points(seed=1), out=tmp_path, seeds=1)
    assert len(list(tmp_path.glob("records/*"))) == 6  # other data, other runs


def test_held_out_rows_are_not_trained_on():
    data = make_data("points", points(), points(seed=1), None, None)
    assert (data.train_rows, len(data.validation.target), data.num_classes) == (270, 30, 3)
    rows = {tuple(row) for row in data.train.inputs.tolist()}
    assert not rows & {tuple(row) for row in data.validation.inputs.tolist()}
    given = make_data("points", points(), points(seed=1), Pairs(*points(seed=2)), None)
    assert isinstance(given, SourceData)
    assert (given.train_rows, len(given.validation)) == (300, 300)


class Endless(IterableDataset):
    def __iter__(self):
        return iter(zip(*points(), strict=True))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: compared(lambda: nn.Linear(4, 2), points(), points()), ValueError, r"must return logits \(N, 3\)"),
        (lambda: compared(small(), points(), points()), TypeError, "a function that returns a new model"),
        (lambda: compared(lambda: 3, points(), points()), TypeError, "new nn.Module, got int"),
        (lambda: compared(small, points(), None), ValueError, "test must be given"),
        (lambda: compared(small, Endless(), points()), TypeError, "IterableDataset"),
        (lambda: compared(small, (points()[0], points(7)[1]), points()), ValueError, "as many inputs as targets"),
        (lambda: compared(small, (points()[0], torch.rand(300)), points()), ValueError, "class indices"),
        (lambda: compared(small, points(), points(), hidden=[3]), ValueError, "hidden is for tables"),
        (lambda: squentropy.compare(np.zeros((9, 2)), np.zeros(9), points()), TypeError, "test is for a model"),
        (lambda: squentropy.compare(np.zeros((9, 2)), np.zeros(8)), ValueError, "a label for each of the 9 rows"),
        (lambda: squentropy.compare(np.zeros(9), np.zeros(9)), ValueError, r"a table \(N, d\)"),
    ],
)
def test_mistakes_are_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_frames_of_arrays_and_tensors():
    frame, column = frame_of(torch.ones(2, 1), torch.tensor([0, 1]))
    assert frame.to_dict("list") == {"feature 0": [1.0, 1.0], "target": [0, 1]}
    assert column == "target"
    named, column = frame_of(pd.DataFrame({"kind": [1, 2]}), pd.Series(["a", "b"], name="kind"))
    assert (list(named.columns), column) == (["kind", "kind_"], "kind_")
