"""The protocol of the tabular tasks: a rounded-up test part, drawn anew for each seed, scaled by the training part."""

import numpy as np
import pytest
import torch

from squentropy.data import TabularSet
from squentropy.study import Rows, TensorData
from squentropy.tasks.split import random_split, standardised


def table_of(rows):
    numbers = np.arange(rows, dtype=np.float32)
    return TabularSet("numbers", numbers.reshape(-1, 1), np.arange(rows) % 2, num_classes=3)


@pytest.mark.parametrize(("rows", "test_rows"), [(2, 1), (5, 1), (6, 2), (10, 2), (150, 30), (171, 35), (178, 36)])
def test_the_test_part_is_a_fifth_rounded_up(rows, test_rows):
    data = random_split(table_of(rows), seed=0)
    assert data.test_rows == test_rows
    everything = torch.cat([data.train.inputs, data.test.inputs]).flatten()
    assert everything.sort().values.tolist() == list(range(rows))


def test_rows_keep_their_classes_and_the_table_its_number_of_them():
    data = random_split(table_of(40), seed=3)
    for inputs, target in (data.train, data.test):
        assert torch.equal(inputs.flatten().long() % 2, target)
    assert data.num_classes == 3


def test_each_seed_draws_another_split_and_always_the_same():
    first, again, other = (random_split(table_of(40), seed) for seed in (1, 1, 2))
    assert torch.equal(first.test.inputs, again.test.inputs)
    assert not torch.equal(first.test.inputs.sort(0).values, other.test.inputs.sort(0).values)


def test_each_row_is_tested_in_a_fifth_of_the_seeds():
    table = table_of(50)
    counts = torch.bincount(
        torch.cat([random_split(table, seed).test.inputs.flatten().long() for seed in range(400)]), minlength=50
    )
    # Binomial(400, 1/5): mean 80, standard deviation 8.
    assert 80 - 4 * 8 < counts.min()
    assert counts.max() < 80 + 4 * 8


def test_scaling_knows_the_training_part_only():
    torch.manual_seed(1)
    train, test = 5 + 3 * torch.randn(30, 4), 100 * torch.randn(10, 4)
    data = standardised(
        TensorData("noise", Rows(train, torch.zeros(30, dtype=torch.long)), Rows(test, torch.zeros(10).long()), 2)
    )
    torch.testing.assert_close(data.train.inputs.mean(0), torch.zeros(4), atol=1e-6, rtol=0)
    torch.testing.assert_close(data.train.inputs.var(0, correction=0), torch.ones(4))
    expected = (test.double() - train.double().mean(0)) / train.double().var(0, correction=0).sqrt()
    torch.testing.assert_close(data.test.inputs, expected.float())


def test_a_constant_feature_stays_finite():
    train, test = (
        Rows(torch.full((4, 1), 7.0), torch.zeros(4).long()),
        Rows(torch.full((1, 1), 9.0), torch.zeros(1).long()),
    )
    data = standardised(TensorData("constant", train, test, 2))
    assert data.train.inputs.flatten().tolist() == [0, 0, 0, 0]
    assert data.test.inputs.item() == 2
