"""Predicting the rows of a file with a saved model, part after part, so that a file may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from squentropy.own_data.columns import as_text
from squentropy.own_data.saved_model import SavedModel

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Known:
    """How many rows came with their class, and how many of these were predicted rightly."""

    rows: int = 0
    right: int = 0


def predictions(model: SavedModel, frame: pd.DataFrame) -> pd.DataFrame:
    """Returns for each row the class, how probable it is, and the probability of each class.

    Args:
        model: The model.
        frame: The table.
    """
    import pandas as pd

    probs = model.predict_proba(frame)
    answer = probs.argmax(1)
    columns: dict[str, Sequence[Any]] = {
        "prediction": [model.classes[number] for number in answer.tolist()],
        "confidence": probs.max(1).tolist(),
    }
    columns |= {f"probability of {label}": probs[:, number].tolist() for number, label in enumerate(model.classes)}
    return pd.DataFrame(columns, index=frame.index)


def write_predictions(model: SavedModel, parts: Iterable[pd.DataFrame], file: TextIO) -> Known:
    """Writes the predictions of the parts of a table as CSV.

    Args:
        model: The model.
        parts: The parts, which may have the column that is predicted as well.
        file: Where to write.

    Returns:
        How the predictions compare with the classes that are known.

    Raises:
        ValueError: If there are no rows.
    """
    known, names = Known(), True
    for part in parts:
        found = predictions(model, part)
        found.to_csv(file, index=False, header=names, float_format="%.6g", lineterminator="\n")
        names = False
        if model.target in part.columns:
            labels = as_text(part[model.target])
            known.rows += int((labels.notna() & (labels != "")).sum())
            known.right += int((found["prediction"] == labels).sum())
    if names:
        raise ValueError("the table has names of columns but no rows: give one with rows to predict")
    return known


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """Opens a file to write, which has its name only once everything is in it."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with open(partial, "w", encoding="utf-8") as file:
            yield file
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
