"""The inputs of a network, dense or sparse, from which batches are taken as dense tensors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Rows:
    """Rows of numbers in one dtype, the dense ones on the device, the sparse ones with the CPU until they are needed.

    Args:
        values: A NumPy array (N, d), or SciPy's sparse matrix in CSR form, of finite numbers.
        dtype: What is computed in.
        device: Where.

    Raises:
        ValueError: If a number is too large for the dtype.

    Examples:
        >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.float32, torch.device("cpu"))
        >>> rows.take(torch.tensor([2, 0]))
        tensor([[5., 6.],
                [1., 2.]])
    """

    def __init__(self, values: Any, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype, self._device = dtype, device
        self._is_sparse = not isinstance(values, np.ndarray)
        numbers = torch.from_numpy(_writable(values.data if self._is_sparse else values)).to(dtype)
        if not torch.isfinite(numbers).all():
            raise ValueError(
                f"X has a value of {np.abs(values).max():.3g}, too large for {dtype}: standardise it first, "
                "make_pipeline(StandardScaler(), SquentropyClassifier())"
            )
        if self._is_sparse:
            self._values: Any = type(values)((numbers.numpy(), values.indices, values.indptr), shape=values.shape)
        else:
            self._values = numbers.to(device)
        self._buffers: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return int(self._values.shape[0])

    @property
    def num_features(self) -> int:
        """Numbers in a row."""
        return int(self._values.shape[1])

    def take(self, index: Tensor) -> Tensor:
        """Return the rows (n, d) of an index (n,). The next call with as many rows may write over them."""
        if self._is_sparse:
            return torch.from_numpy(self._values[index.cpu().numpy()].toarray()).to(self._device)
        if len(index) not in self._buffers:
            self._buffers[len(index)] = self._values.new_empty(len(index), self._values.shape[1])
        return torch.index_select(self._values, 0, index, out=self._buffers[len(index)])

    def in_order(self, size: int) -> Iterator[Tensor]:
        """Yield all rows, at most `size` at a time."""
        for start in range(0, len(self), size):
            part = self._values[start : start + size]
            yield torch.from_numpy(part.toarray()).to(self._device) if self._is_sparse else part


def _writable(values: Any) -> Any:
    """The array itself, or a copy if it may only be read, of which PyTorch would warn."""
    return values if values.flags.writeable else values.copy()
