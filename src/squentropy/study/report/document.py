"""What a report consists of, before it becomes HTML, Markdown or LaTeX: sections of paragraphs, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

LONG = 20  # rows; longer tables are folded where a format can fold


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Attributes:
        text: What it says.
        detail: A second, smaller line.
        is_best: Whether it is set in bold.
    """

    text: str
    detail: str = ""
    is_best: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first column names the row, the others are numbers unless listed in `text_columns`.

    Attributes:
        name: Unique in the report; the label of the table in LaTeX and its anchor in HTML.
        caption: What it shows and how to read it.
        header: A title for each column.
        rows: Entries, as many as the header in each.
        text_columns: Indices of further columns that hold text.
        notes: Sentences below it, such as errata.
    """

    name: str
    caption: str
    header: list[str]
    rows: list[list[Entry]]
    text_columns: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether it is better folded."""
        return len(self.rows) > LONG

    def is_text(self, column: int) -> bool:
        """Whether a column is set flush left."""
        return column == 0 or column in self.text_columns


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes:
        name: Unique in the report; the name of its files.
        caption: What it shows and how to read it.
        svg: The picture, as the file holds it.
        pdf: The same for LaTeX.
    """

    name: str
    caption: str
    svg: str = field(repr=False)
    pdf: bytes = field(repr=False)


Block: TypeAlias = "str | Table | Figure | Section"


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it; a text is a paragraph."""

    title: str
    blocks: list[Block]

    def walk(self) -> Iterator[Block]:
        """Iterates over all blocks of the section and of the sections in it."""
        for block in self.blocks:
            yield block
            if isinstance(block, Section):
                yield from block.walk()


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes:
        title: Its title.
        summary: What was compared and what was found, in sentences with numbers.
        sections: All else.
    """

    title: str
    summary: list[str]
    sections: list[Section]

    @property
    def figures(self) -> list[Figure]:
        """All figures in their order."""
        return [block for section in self.sections for block in section.walk() if isinstance(block, Figure)]
