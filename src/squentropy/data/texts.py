"""Texts in memory: single texts or pairs of them, with their classes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from squentropy.data.errors import DataError


@dataclass(frozen=True)
class Texts:
    """Texts, or pairs of texts, with their classes.

    Attributes:
        first: The texts (N).
        second: The other text of each pair (N), or None.
        target: Classes (N,).
    """

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    target: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """Returns some of the rows, in the order asked for."""

        def chosen(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(texts[row] for row in rows)

        return Texts(chosen(self.first), None if self.second is None else chosen(self.second), self.target[rows])

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """The texts as one column, or the pairs as two."""
        return (self.first,) if self.second is None else (self.first, self.second)


@dataclass(frozen=True)
class TextSet:
    """A data set of texts with a part to train on and one to test on.

    Attributes:
        name: Name for the record.
        train: Texts to train on.
        test: Texts to test on.
        classes: Names of the classes.

    Examples:
        >>> train = Texts(("good", "bad", "fine"), None, np.array([1, 0, 1]))
        >>> texts = TextSet("reviews", train, train, ("negative", "positive"))
        >>> texts.limited(train=3, test=2).test.target.shape
        (2,)
    """

    name: str
    train: Texts
    test: Texts
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            if len(getattr(self, part)) == 0:
                raise DataError(f"{self.name}: the {part} part has no rows; look at its files")
        unseen = sorted(set(self.test.target.tolist()) - set(self.train.target.tolist()))
        if unseen:
            raise DataError(
                f"{self.name}: the test part has the label {self.classes[unseen[0]]!r}, which no row of the training "
                "part has; correct the files"
            )

    def limited(self, *, train: int | None, test: int | None) -> TextSet:
        """Returns at most so many rows of each part, always the same ones for the same files."""
        return TextSet(self.name, _draw(self.train, train), _draw(self.test, test), self.classes)

    @cached_property
    def sha256(self) -> str:
        """Hash of the names of the classes, all texts and targets: the same for every form of file."""
        content = hashlib.sha256(repr(self.classes).encode())
        for part in (self.train, self.test):
            for column in part.columns:
                for text in column:
                    content.update(text.encode(errors="surrogatepass") + b"\0")
            content.update(part.target.astype("<i8").tobytes())
        return content.hexdigest()


def _draw(texts: Texts, rows: int | None) -> Texts:
    if rows is None or rows >= len(texts):
        return texts
    return texts.take(np.sort(np.random.Generator(np.random.PCG64(0)).permutation(len(texts))[:rows]))


def indexed(classes: tuple[str, ...]) -> Callable[[str], int]:
    """Returns the function from a label as written to its class: the name or the number of the class.

    Examples:
        >>> class_of = indexed(("entailment", "not_entailment"))
        >>> class_of("not_entailment"), class_of("0")
        (1, 0)
    """
    numbers = {name: number for number, name in enumerate(classes)} | {str(n): n for n in range(len(classes))}

    def class_of(label: str) -> int:
        try:
            return numbers[label]
        except KeyError:
            raise DataError(f"the label {label!r} is none of {', '.join(classes)}") from None

    return class_of
