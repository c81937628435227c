"""A comparison of losses on a table, with all that belongs to it, beside one fit of the same network."""

from functools import partial

import torch

from squentropy.bench.case import Case, Step, Target
from squentropy.bench.training import train_as_users_do
from squentropy.own_data.compare_table import compare_table
from squentropy.own_data.recipe import make_recipe
from squentropy.own_data.table import make_table
from squentropy.study import LossSpec, Run

_EPOCHS = 100
BASELINE, OURS = "one fit, DataLoader", "squentropy.compare"


def _steps(rows: int, features: int, classes: int, epochs: int, device: torch.device) -> dict[str, Step]:
    """Five losses with ten seeds, two yardsticks on each seed's rows, and the model that is saved."""
    import pandas as pd
    from sklearn.datasets import make_classification

    inputs, target = make_classification(rows, features, n_informative=features // 2, n_classes=classes, random_state=0)
    frame = pd.DataFrame(inputs).assign(kind=target)
    table = make_table(frame, "kind", "noise")
    data = table.data(0)
    run = Run("one", "small", LossSpec("squentropy"), 0, make_recipe(data.train_rows, epochs))
    return {
        BASELINE: partial(train_as_users_do, run, data),
        OURS: partial(compare_table, table, epochs=epochs),
    }


COMPARE_CASES = [
    Case("compare/1000x20x3", partial(_steps, 1000, 20, 3, _EPOCHS), BASELINE, (Target(OURS, 12.0, BASELINE),))
]
