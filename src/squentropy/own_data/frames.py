"""A data frame of whatever holds a table in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

if TYPE_CHECKING:
    import pandas as pd

_TARGET = "target"


def frame_of(data: Any, target: Any) -> tuple[pd.DataFrame, str]:
    """Returns a frame with features and target, and the name of the target's column.

    Args:
        data: A data frame of pandas or polars, or an array (N, d).
        target: Labels (N,), or the name of a column of the frame.

    Examples:
        >>> frame, column = frame_of(np.zeros((2, 2)), ["a", "b"])
        >>> list(frame.columns), column
        (['feature 0', 'feature 1', 'target'], 'target')
    """
    import pandas as pd

    if hasattr(data, "to_pandas"):  # polars, pyarrow
        data = data.to_pandas()
    if isinstance(data, Tensor):
        data = data.detach().cpu().numpy()
    if not isinstance(data, pd.DataFrame):
        if hasattr(data, "toarray"):
            raise TypeError("X is a sparse matrix, which a network for tables cannot read: pass X.toarray()")
        values = np.asarray(data)
        if values.ndim != 2:
            raise ValueError(f"X must be a table (N, d), got shape {values.shape}")
        data = pd.DataFrame(values, columns=[f"feature {number}" for number in range(values.shape[1])])
    if isinstance(target, str):
        return data, target
    if isinstance(target, Tensor):
        target = target.detach().cpu().numpy()
    labels = np.asarray(target)
    if labels.ndim != 1 or len(labels) != len(data):
        raise ValueError(f"y must hold a label for each of the {len(data)} rows of X, got shape {labels.shape}")
    name = str(getattr(target, "name", None) or _TARGET)
    while name in data.columns:
        name += "_"
    return data.assign(**{name: labels}), name
