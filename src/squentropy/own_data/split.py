"""Which rows are trained on, held out to fit a temperature and to choose by, and tested, for each seed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from squentropy.study.canonical import derived_seed

Indices: TypeAlias = NDArray[np.int64]
Way: TypeAlias = Literal["stratified", "group", "time"]

FRACTION = 0.2
_FOLDS = round(1 / FRACTION)


class Parts(NamedTuple):
    """Numbers of rows of the three parts."""

    train: Indices
    validation: Indices
    test: Indices


@dataclass(frozen=True, eq=False)
class Splitter:
    """Divides rows: a fifth to test on, a fifth of the others held out, the rest to train on.

    Attributes:
        way: "stratified" draws from each class by itself, anew for each seed; "group" keeps rows of the same group
            together, anew for each seed; "time" takes the last rows to test on, the same for all seeds.
        codes: Classes of the rows (N,).
        by: Groups as numbers, or times (N,); None if stratified.

    Examples:
        >>> parts = Splitter("stratified", np.array([0] * 10 + [1] * 5)).parts(seed=0)
        >>> [len(part) for part in parts]
        [9, 3, 3]
    """

    way: Way
    codes: Indices
    by: NDArray[np.float64] | None = None

    @property
    def is_anew(self) -> bool:
        """Whether each seed has another test part."""
        return self.way != "time"

    def parts(self, seed: int) -> Parts:
        """Returns the parts of a seed, rows in their order."""
        rows = np.arange(len(self.codes))
        rest, test = self._divide(rows, seed, "test")
        train, validation = self._divide(rest, seed, "validation")
        return Parts(train, validation, test)

    def held_out(self, seed: int) -> tuple[Indices, Indices]:
        """Returns all rows in two parts: to train a final model on, and to fit its temperature on."""
        return self._divide(np.arange(len(self.codes)), seed, "final")

    def _divide(self, rows: Indices, seed: int, purpose: str) -> tuple[Indices, Indices]:
        match self.way:
            case "group":
                few = self._by_group(rows, seed, purpose)
            case "time":
                few = self._last(rows)
            case _:
                few = self._by_class(rows, seed, purpose)
        return rows[~few], rows[few]

    def _by_class(self, rows: Indices, seed: int, purpose: str) -> NDArray[np.bool_]:
        """Of each class its share, at least one row and not all, so that every seed has as many rows."""
        generator = np.random.default_rng(derived_seed(seed, f"table {purpose}"))
        few = np.zeros(len(rows), bool)
        for label in np.unique(self.codes[rows]):
            of_class = np.flatnonzero(self.codes[rows] == label)
            count = min(max(1, round(FRACTION * len(of_class))), len(of_class) - 1)
            few[generator.permutation(of_class)[:count]] = True
        return few

    def _by_group(self, rows: Indices, seed: int, purpose: str) -> NDArray[np.bool_]:
        from sklearn.model_selection import StratifiedGroupKFold

        assert self.by is not None
        groups = self.by[rows]
        found = len(np.unique(groups))
        if found < _FOLDS:
            raise ValueError(f"the group column must have at least {2 * _FOLDS} different values to split by")
        state = derived_seed(seed, f"table {purpose}") % 2**32
        folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of rare classes, which are told of elsewhere
            _, few = next(folds.split(rows, self.codes[rows], groups))
        chosen = np.zeros(len(rows), bool)
        chosen[few] = True
        return chosen

    def _last(self, rows: Indices) -> NDArray[np.bool_]:
        """The last rows; those of the same moment are not divided."""
        assert self.by is not None
        times = self.by[rows]
        first = np.sort(times)[-max(1, round(FRACTION * len(rows)))]
        few: NDArray[np.bool_] = times >= first
        if few.all():
            raise ValueError("the time column must have different values, to train on earlier rows than to test on")
        return few
