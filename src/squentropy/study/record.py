"""A record: one run's metrics, curves and circumstances as one line of JSON with a checksum at its end."""

import json
from typing import Any, TypeAlias

from squentropy.study.canonical import digest

Record: TypeAlias = dict[str, Any]
SCHEMA = 1
REQUIRED = (
    "schema",
    "run_id",
    "run",
    "paper_row",
    "status",
    "error",
    "metric",
    "metrics",
    "curves",
    "data",
    "environment",
    "predictions",
)
_CHECKSUM = ',"checksum":"'


class CorruptFileError(ValueError):
    """A file of a study is torn, edited or of another kind. It is kept as it is, for the user to look at.

    Attributes:
        path: The file.
        reason: What is wrong with it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} {self.reason}. It was left as it is: move it away, and what it held is computed again"


def dump_record(record: Record) -> bytes:
    """Writes a record as one line that ends with the checksum of all that stands before it.

    NaN and infinity are refused: a run that ends with them has failed.
    """
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)[:-1]
    return f'{text}{_CHECKSUM}{digest(text)}"}}\n'.encode()


def load_record(content: bytes, source: str) -> Record:
    """Reads a record back.

    Args:
        content: What `dump_record` wrote.
        source: The name of the file, for the error.

    Raises:
        CorruptFileError: If anything was changed, is missing or comes from a later version.
    """
    try:
        text, found, tail = content.decode().rpartition(_CHECKSUM)
    except UnicodeDecodeError:
        raise CorruptFileError(source, "is not text") from None
    if not found:
        raise CorruptFileError(source, "is torn or no record")
    if tail != f'{digest(text)}"}}\n':
        raise CorruptFileError(source, "does not fit its checksum: it was edited or damaged")
    record: Record = json.loads(text + "}")
    if record.get("schema") != SCHEMA:
        raise CorruptFileError(source, f"has schema {record.get('schema')!r}, this version reads {SCHEMA}")
    missing = [name for name in REQUIRED if name not in record]
    if missing:
        raise CorruptFileError(source, f"lacks {', '.join(missing)}")
    return record


def thinned(record: Record, points: int, digits: int = 4) -> Record:
    """Returns a record with shorter curves: so many points at most, evenly spaced, the last among them, and rounded.

    Examples:
        >>> thinned({"curves": {"epoch": [1, 2, 3, 4], "ece": [0.5, 0.123456, 0.3, 0.2]}}, points=2)
        {'curves': {'epoch': [2, 4], 'ece': [0.1235, 0.2]}}
    """

    def shorter(curve: list[float]) -> list[float]:
        every = -(-len(curve) // points)
        kept = curve[(len(curve) - 1) % every :: every] if curve else []
        return [value if isinstance(value, int) else float(f"{value:.{digits}g}") for value in kept]

    return {**record, "curves": {name: shorter(curve) for name, curve in record["curves"].items()}}
