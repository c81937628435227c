"""A report as Markdown, for a repository or an issue."""

from collections.abc import Iterable

from squentropy.study.report.document import Block, Entry, Figure, Report, Section, Table


def to_markdown(report: Report) -> str:
    """Writes a report as Markdown; its pictures are the files in `figures/`.

    Examples:
        >>> table = Table("t", "All.", ["loss", "ECE"], [[Entry("a|b"), Entry("1.5", "2.0 (−0.5)", is_best=True)]])
        >>> print(to_markdown(Report("Title", ["Summary."], [Section("Part", [table])])))
        # Title
        <BLANKLINE>
        Summary.
        <BLANKLINE>
        ## Part
        <BLANKLINE>
        All.
        <BLANKLINE>
        | loss | ECE |
        | :--- | ---: |
        | a\\|b | **1.5**<br>2.0 (−0.5) |
        <BLANKLINE>
    """
    return "\n\n".join([f"# {report.title}", *report.summary, sections_to_markdown(report.sections, level=2)]) + "\n"


def sections_to_markdown(sections: Iterable[Section], level: int) -> str:
    """Writes sections with headings of a level, for a page that has a title of its own."""
    return "\n\n".join(part for section in sections for part in _section(section, level))


def table_to_markdown(table: Table) -> str:
    """Writes a table with its caption and notes."""
    return "\n\n".join(_table(table))


def _section(section: Section, level: int) -> list[str]:
    return [f"{'#' * level} {section.title}", *(part for block in section.blocks for part in _block(block, level))]


def _block(block: Block, level: int) -> list[str]:
    match block:
        case Section():
            return _section(block, level + 1)
        case Table():
            return _table(block)
        case Figure():
            return [f"![{block.caption}](figures/{block.name}.svg)", f"*{block.caption}*"]
    return [block]


def _table(table: Table) -> list[str]:
    rule = [":---" if table.is_text(column) else "---:" for column in range(len(table.header))]
    lines = [_row([_escaped(title) for title in table.header]), _row(rule)]
    lines += [_row([_entry(entry) for entry in row]) for row in table.rows]
    body = "\n".join(lines)
    if table.is_long:
        return [f"<details><summary>{table.caption}</summary>", body, "</details>", *table.notes]
    return [table.caption, body, *table.notes]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _entry(entry: Entry) -> str:
    text = _escaped(entry.text)
    return (f"**{text}**" if entry.is_best else text) + (f"<br>{_escaped(entry.detail)}" if entry.detail else "")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")
