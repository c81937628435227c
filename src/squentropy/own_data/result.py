"""What `squentropy.compare` returns: the answer, the numbers behind it, and the report."""

from __future__ import annotations

import shutil
import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from squentropy.own_data.answer import answer
from squentropy.own_data.outcome import Outcome
from squentropy.own_data.report import Background, write_outcome
from squentropy.own_data.saved_model import SavedModel
from squentropy.study import Store

if TYPE_CHECKING:
    import pandas as pd


class LossComparison:
    """A finished comparison of losses. Printed, it is the answer.

    Attributes:
        outcome: All that was found.
        model: The model that was trained with the best loss, of a table; None for models of your own.
    """

    def __init__(
        self,
        outcome: Outcome,
        background: Background,
        store: Store,
        model: SavedModel | None = None,
        *,
        is_temporary: bool = False,
    ) -> None:
        self.outcome, self.model = outcome, model
        self._background, self._store = background, store
        if is_temporary:
            weakref.finalize(self, shutil.rmtree, store.path, ignore_errors=True)

    def __str__(self) -> str:
        return "\n".join(self.answer)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.answer[0]}>"

    @cached_property
    def answer(self) -> list[str]:
        """The answer in sentences, the verdict first."""
        return [*answer(self.outcome), *self._background.summary]

    @property
    def notices(self) -> list[str]:
        """What you should know of how the data were read."""
        return [block for block in self._background.section.blocks if isinstance(block, str)]

    @property
    def best_loss(self) -> str:
        """The loss that predicts the held-out rows best."""
        return self.outcome.best

    @cached_property
    def models(self) -> pd.DataFrame:
        """A row for each loss and yardstick: means and standard deviations of all metrics."""
        return self.outcome.means()

    @cached_property
    def differences(self) -> pd.DataFrame:
        """A row for each other loss and metric: the first loss minus it, with a 95 % interval and p-values."""
        return self.outcome.against()

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row for each model that was trained."""
        return self.outcome.runs()

    def report(self, path: str | Path) -> Path:
        """Writes the report into a folder and returns the path of its page."""
        return write_outcome(self.outcome, self._background, self._store, Path(path))
