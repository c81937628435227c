"""Tables as data to train on: how their rows are split for a seed, and standardised."""

import math

import torch
from torch import Tensor

from squentropy.data import TabularSet
from squentropy.study import Rows, TensorData
from squentropy.study.canonical import derived_seed


def random_split(table: TabularSet, seed: int, test_fraction: float = 0.2) -> TensorData:
    """Splits the rows of a table at random, anew for each seed and not by classes.

    The test part has `ceil(test_fraction n)` of the n rows: with 0.2 that is the size that the paper's published
    accuracies reveal, all of them multiples of `1 / (5 ceil(0.2 n))`.

    Args:
        table: The table; its separate test file, if it has one, is left out.
        seed: Seed of the split, the same for each loss.
        test_fraction: Share of the rows to test on.

    Example:
        >>> import numpy as np
        >>> table = TabularSet("eleven", np.zeros((11, 2), np.float32), np.arange(11) % 2, num_classes=2)
        >>> data = random_split(table, seed=0)
        >>> data.train_rows, data.test_rows
        (8, 3)
    """
    inputs, target = torch.tensor(table.X), torch.tensor(table.y)
    order = torch.randperm(len(target), generator=torch.Generator().manual_seed(derived_seed(seed, "split")))
    test, train = order.tensor_split([math.ceil(test_fraction * len(target))])
    return TensorData(
        table.name, Rows(inputs[train], target[train]), Rows(inputs[test], target[test]), table.num_classes
    )


def standardised(data: TensorData) -> TensorData:
    """Shifts and scales each feature by mean and standard deviation of the training part; a constant one becomes 0.

    Example:
        >>> train = Rows(torch.tensor([[1.0, 5.0], [3.0, 5.0]]), torch.tensor([0, 1]))
        >>> test = Rows(torch.tensor([[4.0, 6.0]]), torch.tensor([0]))
        >>> standardised(TensorData("two rows", train, test, num_classes=2)).test.inputs
        tensor([[2., 1.]])
    """
    train = data.train.inputs.double()
    mean, deviation = train.mean(0), train.std(0, correction=0)
    deviation = torch.where(deviation == 0, 1.0, deviation)

    def scaled(rows: Rows) -> Rows:
        inputs: Tensor = ((rows.inputs.double() - mean) / deviation).float()
        return Rows(inputs, rows.target)

    return TensorData(data.name, scaled(data.train), scaled(data.test), data.num_classes)
