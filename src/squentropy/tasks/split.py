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

    Examples:
        >>> import numpy as np
        >>> table = TabularSet("eleven", np.zeros((11, 2), np.float32), np.arange(11) % 2, num_classes=2)
        >>> data = random_split(table, seed=0)
        >>> data.train_rows, data.test_rows
        (8, 3)
    """
    rows = Rows(torch.tensor(table.X), torch.tensor(table.y))
    train, test = _divide(rows, test_fraction, seed, "split")
    return TensorData(table.name, train, test, table.num_classes)


def hold_out(data: TensorData, seed: int, fraction: float = 0.2) -> TensorData:
    """Sets a random part of the training rows aside as validation part, for what is fitted after training.

    Examples:
        >>> import numpy as np
        >>> table = TabularSet("eleven", np.zeros((11, 2), np.float32), np.arange(11) % 2, num_classes=2)
        >>> data = hold_out(random_split(table, seed=0), seed=0)
        >>> data.train_rows, len(data.validation.target), data.test_rows
        (6, 2, 3)
    """
    train, validation = _divide(data.train, fraction, seed, "hold out")
    return TensorData(data.name, train, data.test, data.num_classes, validation=validation)


def publishers_fold(table: TabularSet, seed: int) -> TensorData:
    """Takes one of the splits that come with the table: seed s has number s modulo their number.

    Examples:
        >>> import numpy as np
        >>> from squentropy.data import Split
        >>> folds = (Split(np.array([0, 1]), np.array([2])), Split(np.array([1, 2]), np.array([0])))
        >>> table = TabularSet("three", np.eye(3, dtype=np.float32), np.array([0, 1, 1]), num_classes=2, folds=folds)
        >>> publishers_fold(table, seed=3).test.inputs
        tensor([[1., 0., 0.]])
    """
    if not table.folds:
        raise ValueError(f"{table.name} comes without folds: use a protocol that splits at random")
    split = table.folds[seed % len(table.folds)]
    train, test = (Rows(torch.tensor(table.X[rows]), torch.tensor(table.y[rows])) for rows in split)
    return TensorData(table.name, train, test, table.num_classes)


def _divide(rows: Rows, fraction: float, seed: int, purpose: str) -> tuple[Rows, Rows]:
    """Divides rows at random into the most of them, and a share that is rounded up."""
    generator = torch.Generator().manual_seed(derived_seed(seed, purpose))
    order = torch.randperm(len(rows.target), generator=generator)
    few, most = order.tensor_split([math.ceil(fraction * len(order))])
    return Rows(rows.inputs[most], rows.target[most]), Rows(rows.inputs[few], rows.target[few])


def standardised(data: TensorData) -> TensorData:
    """Shifts and scales each feature by mean and standard deviation of the training part; a constant one becomes 0.

    Examples:
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
