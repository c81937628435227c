"""One spelling for each value: canonical JSON, its digest, and an immutable mapping to build values from."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str | None
Json: TypeAlias = "Scalar | list[Json] | dict[str, Json]"


class Settings(Mapping[str, object]):
    """An immutable, hashable mapping of names to plain values, so that a frozen dataclass can hold options.

    Lists become tuples and mappings become Settings. What JSON cannot say is refused.

    Examples:
        >>> Settings({"momentum": 0.9, "milestones": [30, 60]})
        Settings({'milestones': (30, 60), 'momentum': 0.9})
    """

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values = {name: _frozen(name, value) for name, value in sorted((values or {}).items())}

    def __getitem__(self, name: str) -> object:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Settings({self._values!r})"


def _frozen(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return Settings(value)
    if isinstance(value, list | tuple):
        return tuple(_frozen(name, item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name!r} must be a number, text, None, or a list or mapping of these, got {value!r}")


def plain(value: object) -> Json:
    """Turns frozen values back into the lists and dictionaries that `json` writes.

    Examples:
        >>> plain(Settings({"milestones": [30, 60]}))
        {'milestones': [30, 60]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"only plain values can be written as JSON, got {value!r} of type {type(value).__name__}")


def canonical_json(value: object) -> str:
    """Writes plain values in the one way that identities are made from.

    Keys are sorted, nothing is spaced, and 5.0 is written as 5, so that equal values have equal text. NaN and
    infinity are refused.

    Examples:
        >>> canonical_json({"t": 1.0, "M": 5})
        '{"M":5,"t":1}'
    """
    return json.dumps(_shortest(plain(value)), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _shortest(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _shortest(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_shortest(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def digest(content: str | bytes) -> str:
    """Returns the SHA-256 of a text (as UTF-8) or of bytes, in hexadecimal.

    Examples:
        >>> digest("")[:16]
        'e3b0c44298fc1c14'
    """
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def derived_seed(seed: int, purpose: str) -> int:
    """Returns a seed for one purpose, so that initial weights and data order do not share a random stream.

    Examples:
        >>> derived_seed(0, "order") != derived_seed(0, "weights")
        True
    """
    return int(digest(f"{purpose}:{seed}")[:15], 16)
