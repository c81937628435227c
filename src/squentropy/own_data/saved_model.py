"""A trained network with its preprocessing as two files: weights as safetensors, all else as JSON. No pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from squentropy.models import mlp
from squentropy.own_data.columns import as_text
from squentropy.own_data.features import Preprocessing
from squentropy.study.canonical import digest
from squentropy.study.files import write_atomically
from squentropy.study.record import CorruptFileError

if TYPE_CHECKING:
    import pandas as pd

DESCRIPTION, WEIGHTS = "model.json", "model.safetensors"
_FORMAT = "squentropy table model 1"
_ROWS_AT_A_TIME = 8192
_SHOWN = 5


@dataclass(frozen=True)
class SavedModel:
    """What is needed to predict the class of a row.

    Attributes:
        target: Name of the column that is predicted.
        classes: Labels in the order of the logits.
        preprocessing: From columns to inputs.
        hidden: Widths of the hidden layers.
        temperature: What logits are divided by.
        weights: Of the network.
        training: What it was trained with, for the reader.
    """

    target: str
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    hidden: tuple[int, ...]
    temperature: float
    weights: Mapping[str, Tensor] = field(repr=False)
    training: Mapping[str, Any] = field(default_factory=dict)

    def save(self, folder: str | Path) -> Path:
        """Writes `model.safetensors` and `model.json`, which holds the hash of the first; returns the folder."""
        from safetensors.torch import save

        folder = Path(folder)
        weights = save({name: tensor.contiguous() for name, tensor in self.weights.items()})
        description = {
            "format": _FORMAT,
            "target": self.target,
            "classes": list(self.classes),
            "columns": self.preprocessing.to_json(),
            "hidden": list(self.hidden),
            "temperature": self.temperature,
            "training": dict(self.training),
            "weights_sha256": digest(weights),
        }
        write_atomically(folder / WEIGHTS, weights)
        text = json.dumps(description, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomically(folder / DESCRIPTION, text.encode())
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> SavedModel:
        """Reads what `save` wrote.

        Raises:
            FileNotFoundError: If there is no model.
            CorruptFileError: If the files are torn, changed, or do not belong together.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load

        folder = Path(folder)
        for name in (DESCRIPTION, WEIGHTS):
            if not (folder / name).is_file():
                raise FileNotFoundError(
                    f"no model in {folder}, as there is no {name}: give the folder model/ that squentropy compare wrote"
                )
        path = folder / DESCRIPTION
        weights = (folder / WEIGHTS).read_bytes()
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise CorruptFileError(
                    str(path), f"has the format {content['format']!r}, this version reads {_FORMAT!r}"
                )
            if digest(weights) != content["weights_sha256"]:
                raise CorruptFileError(str(folder / WEIGHTS), f"does not fit the hash in {DESCRIPTION}")
            return cls(
                target=str(content["target"]),
                classes=tuple(content["classes"]),
                preprocessing=Preprocessing.from_json(content["columns"]),
                hidden=tuple(content["hidden"]),
                temperature=float(content["temperature"]),
                weights=load(weights),
                training=content["training"],
            )
        except CorruptFileError:
            raise
        except (ValueError, KeyError, TypeError, SafetensorError):
            raise CorruptFileError(str(path), "is torn or no model") from None

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Returns the probabilities (N, C) of the rows of a table, which may have other columns as well.

        Raises:
            ValueError: If a column is missing or holds something else than it did.
        """
        inputs = torch.from_numpy(self.preprocessing.apply(self._values(frame)))
        network = mlp(inputs.shape[1], self.hidden, len(self.classes))
        network.load_state_dict(dict(self.weights))
        network.eval()
        with torch.no_grad():
            logits = torch.cat([network(part) for part in torch.split(inputs, _ROWS_AT_A_TIME)])
        probs: NDArray[np.float64] = torch.softmax(logits.double() / self.temperature, dim=1).numpy()
        return probs

    def _values(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Reads the values of the columns that the model was trained on."""
        import pandas as pd

        frame = frame.rename(columns=str)
        names = [encoder.column.name for encoder in self.preprocessing.encoders]
        missing = [name for name in names if name not in frame.columns]
        if missing:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            raise ValueError(
                f"the table lacks {'the column' if len(missing) == 1 else 'the columns'} "
                f"{', '.join(map(repr, missing[:_SHOWN]))}{more}, which the model was trained on: add "
                f"{'it' if len(missing) == 1 else 'them'}, empty where values are not known"
            )
        values = {}
        for encoder in self.preprocessing.encoders:
            column = encoder.column
            values[column.name] = column.values(frame[column.name])
            _check_kind(column.kind, frame[column.name], values[column.name])
        return pd.DataFrame(values)


def _check_kind(kind: str, written: pd.Series[Any], values: pd.Series[Any]) -> None:
    """Refuses a column that holds something else: not one of its values could be read."""
    present = as_text(written.dropna())
    present = present[present != ""]
    if kind != "category" and len(present) and values.isna().all():
        raise ValueError(
            f"column {written.name!r} held {kind}s when the model was trained, now it holds values such as "
            f"{present.iloc[0]!r}: write them as they were"
        )
