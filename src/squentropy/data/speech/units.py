"""What a transcript is made of: characters, phones or sub-words, as numbers for a model.

Number 0 is CTC's blank, 1 a symbol that training never had, and the last one begins and ends a transcript.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

UNKNOWN = 1
_NOISE = re.compile("<[A-Z]+>")
_CHARACTER = re.compile(f"{_NOISE.pattern}|.")
_STRANGE = "\N{REPLACEMENT CHARACTER}"  # is in no transcript, so that it is an error wherever it is found


class Units(Protocol):
    """Transcripts to numbers and back."""

    @property
    def count(self) -> int:
        """How many numbers there are, those without a symbol included."""
        ...

    def encode(self, transcript: str) -> list[int]:
        """Returns the numbers of a transcript's symbols."""
        ...

    def decode(self, numbers: Iterable[int]) -> str:
        """Returns the transcript of numbers."""
        ...


@dataclass(frozen=True)
class Symbols:
    """Characters, or phones with spaces between them. A noise such as `<NOISE>` is one character.

    Attributes:
        names: The symbols.
        separator: What stands between two of them: nothing, or a space.

    Examples:
        >>> units = Symbols(("a", "b"), separator="")
        >>> units.encode("abc"), units.decode([2, 3, 1]), units.count
        ([2, 3, 1], 'ab�', 5)
    """

    names: tuple[str, ...]
    separator: str

    @classmethod
    def of(cls, transcripts: Iterable[str], separator: str) -> Symbols:
        """Returns the symbols that occur in transcripts, in alphabetical order."""
        return cls(tuple(sorted({symbol for each in transcripts for symbol in _cut(each, separator)})), separator)

    @property
    def count(self) -> int:
        """How many numbers there are: blank, unknown symbol and end are among them."""
        return len(self.names) + 3

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names, start=2)}

    def encode(self, transcript: str) -> list[int]:
        """Returns the numbers of a transcript's symbols."""
        return [self._numbers.get(symbol, UNKNOWN) for symbol in _cut(transcript, self.separator)]

    def decode(self, numbers: Iterable[int]) -> str:
        """Returns the transcript of numbers, with single spaces between words."""
        last = len(self.names) + 1
        symbols = (self.names[number - 2] if UNKNOWN < number <= last else _STRANGE for number in numbers)
        return " ".join(self.separator.join(symbols).split())


def _cut(transcript: str, separator: str) -> list[str]:
    return transcript.split(separator) if separator else _CHARACTER.findall(transcript)


def without_noises(transcript: str) -> str:
    """A transcript without symbols such as `<NOISE>`, which are heard but not said.

    Examples:
        >>> without_noises("SO <NOISE> IT IS")
        'SO IT IS'
    """
    return " ".join(_NOISE.sub(" ", transcript).split())


@dataclass(frozen=True)
class Subwords:
    """Pieces of words that sentencepiece has found.

    Attributes:
        model: The model that it has trained.

    Examples:
        >>> units = Subwords.of(["press one", "press two", "press one or two"], size=14)
        >>> units.decode(units.encode("press two")), units.count <= 16
        ('press two', True)
    """

    model: bytes

    @classmethod
    def of(cls, transcripts: Iterable[str], size: int) -> Subwords:
        """Trains a unigram model (Kudo 2018) with about so many pieces; the same transcripts give the same one."""
        from sentencepiece import SentencePieceTrainer

        written = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=iter(list(transcripts)),
            model_writer=written,
            vocab_size=size,
            hard_vocab_limit=False,  # fewer if the transcripts have not as many
            model_type="unigram",
            character_coverage=1.0,
            num_threads=1,
            bos_id=-1,
            eos_id=-1,
            minloglevel=2,
        )
        return cls(written.getvalue())

    @cached_property
    def _processor(self) -> SentencePieceProcessor:
        from sentencepiece import SentencePieceProcessor

        return SentencePieceProcessor(model_proto=self.model)

    @property
    def count(self) -> int:
        """How many numbers there are: blank, unknown piece and end are among them."""
        return int(self._processor.get_piece_size()) + 2

    def encode(self, transcript: str) -> list[int]:
        """Returns the numbers of a transcript's pieces."""
        return [int(number) + 1 for number in self._processor.encode(transcript)]

    def decode(self, numbers: Iterable[int]) -> str:
        """Returns the transcript of numbers."""
        last = self.count - 2
        pieces = (self._processor.id_to_piece(n - 1) if UNKNOWN < n <= last else _STRANGE for n in numbers)
        return " ".join("".join(pieces).replace("▁", " ").split())
