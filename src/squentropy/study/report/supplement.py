"""What a task shows in a report beside the tables of all tasks, such as the spiral's decision boundaries."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from squentropy.study.files import write_atomically
from squentropy.study.record import CorruptFileError
from squentropy.study.report.document import Entry, Figure, Section, Table

if TYPE_CHECKING:
    from squentropy.study.store import Store
    from squentropy.study.task import Task


@dataclass(frozen=True)
class Supplement:
    """A section of a report that is computed once, with the study, and kept beside its records.

    Attributes:
        name: Name of its files.
        title: Heading of the section.
        text: What was done, in sentences.
        figure: Its picture.
        table: Its numbers.
        csv: What the numbers were computed from.
    """

    name: str
    title: str
    text: str
    figure: Figure
    table: Table
    csv: str

    def section(self) -> Section:
        """The section of the report."""
        return Section(self.title, [self.text, self.figure, self.table])

    def to_json(self) -> str:
        """Writes it as one JSON object."""
        content = asdict(self)
        content["figure"]["pdf"] = base64.b64encode(self.figure.pdf).decode()
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Supplement:
        """Reads what `to_json` wrote."""
        content = json.loads(text)
        figure, table = content["figure"], content["table"]
        figure["pdf"] = base64.b64decode(figure["pdf"])
        table["rows"] = [[Entry(**entry) for entry in row] for row in table["rows"]]
        table["text_columns"], table["notes"] = tuple(table["text_columns"]), tuple(table["notes"])
        return cls(**{**content, "figure": Figure(**figure), "table": Table(**table)})


def write_supplements(tasks: Iterable[Task], store: Store) -> None:
    """Computes the supplements of tasks that have one, unless the store has them."""
    for task in tasks:
        path = _path(store, task.name)
        if task.supplement is not None and not path.exists() and (made := task.supplement(store)) is not None:
            write_atomically(path, made.to_json().encode())


def read_supplements(store: Store, tasks: Iterable[str]) -> list[Supplement]:
    """The supplements of tasks, as far as the store has them.

    Raises:
        CorruptFileError: If one cannot be read.
    """
    found = []
    for task in tasks:
        path = _path(store, task)
        if path.exists():
            try:
                found.append(Supplement.from_json(path.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError):
                raise CorruptFileError(str(path), "is torn or no supplement") from None
    return found


def _path(store: Store, task: str) -> Path:
    return store.path / "supplements" / f"{task.replace('/', '-')}.json"
