"""The choice of validation rows, which stop training early."""

import numpy as np
import torch
from numpy.typing import NDArray


def validation_rows(classes: NDArray[np.int64], fraction: float, generator: torch.Generator) -> NDArray[np.bool_]:
    """Choose a fraction of the rows at random, of each class its share, at least one row, never the last of a class.

    Args:
        classes: Class indices (N,).
        fraction: Of the rows, between 0 and 1.
        generator: What the choice is drawn from.

    Returns:
        Whether a row is chosen (N,).

    Examples:
        >>> chosen = validation_rows(np.repeat([0, 1, 2], [40, 20, 1]), 0.1, torch.Generator().manual_seed(0))
        >>> np.bincount(np.repeat([0, 1, 2], [40, 20, 1])[chosen])
        array([4, 2])
    """
    order = torch.randperm(len(classes), generator=generator).numpy()
    order = order[np.argsort(classes[order], kind="stable")]  # class by class, each in random order
    shares = np.floor(np.arange(len(classes) + 1) * fraction + 1e-9)
    first_of_class = np.diff(classes[order], prepend=-1) != 0
    chosen = np.zeros(len(classes), dtype=bool)
    chosen[order[(np.diff(shares) > 0) & ~first_of_class]] = True
    if not chosen.any():
        if first_of_class.all():
            raise ValueError(
                "early_stopping needs a class with two rows, but y has one of each: use early_stopping=False"
            )
        chosen[order[~first_of_class][0]] = True
    return chosen
