"""Writes the numbers of the 121 tables into the pages that show them: `python -m squentropy.tasks.tabular121_pages`.

The numbers of docs/tabular121.md, and the table of README.md, come from the records in studies/ alone and stand
between two comments. This writes them again, from the root of the repository; a test compares them with the records.
"""

import argparse
from pathlib import Path

from squentropy.study import Store
from squentropy.study.report.markdown import sections_to_markdown, table_to_markdown
from squentropy.tasks.tabular121_findings import KINDS, STUDIES, headline_table, sections
from squentropy.tasks.tabular121_study import TabularStudy, write_kinds

_START, _END = "<!-- {}: from studies/, by python -m squentropy.tasks.tabular121_pages -->", "<!-- end of {} -->"
HEADLINE, FINDINGS = "headline of the 121 tables", "findings on the 121 tables"
PAGES = {"docs/tabular121.md": FINDINGS, "README.md": HEADLINE}


def page(root: Path, name: str) -> str:
    """Returns a page of `PAGES` with the numbers of the records; unchanged if it has no place for them."""
    text = (root / name).read_text(encoding="utf-8")
    part = PAGES[name]
    start, end = _START.format(part), _END.format(part)
    if start not in text:
        return text
    before, _, rest = text.partition(start)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{name} has {start!r}, but no {end!r} after it: put it where the numbers end")
    studies = root / "studies"
    content = (
        sections_to_markdown(sections(studies), level=3)
        if part == FINDINGS
        else table_to_markdown(headline_table(TabularStudy.of(Store(studies / STUDIES[0]).read())))
    )
    return f"{before}{start}\n\n{content}\n\n{end}{after}"


def main() -> None:
    """Writes all pages; with data at hand also how balanced the data sets are."""
    parser = argparse.ArgumentParser(description="Write the numbers of the 121 tables into the pages again.")
    parser.add_argument("--root", type=Path, default=Path(), help="The repository.")
    parser.add_argument("--data", type=Path, help="Data directory, to count the classes again.")
    arguments = parser.parse_args()
    root = arguments.root
    if arguments.data is not None:
        study = TabularStudy.of(Store(root / "studies" / STUDIES[0]).read())
        names = {task.partition("/")[2] for task in study.results.tasks}
        write_kinds(root / "studies" / STUDIES[0] / KINDS, names, arguments.data)
    for name in PAGES:
        (root / name).write_text(page(root, name), encoding="utf-8")


if __name__ == "__main__":
    main()
