"""The data sets that come inside scikit-learn: at hand without any download."""

from __future__ import annotations

import importlib

import numpy as np

from squentropy.data.tabular import TabularSet


def read_embedded(loader: str, *, manifest_name: str) -> TabularSet:
    """Read a data set of `sklearn.datasets`, for instance with the loader ``"load_iris"``."""
    bunch = getattr(importlib.import_module("sklearn.datasets"), loader)()
    return TabularSet(
        name=manifest_name,
        X=bunch.data.astype(np.float32),
        y=bunch.target.astype(np.int64),
        num_classes=len(bunch.target_names),
    )
