"""A report as LaTeX: a document that compiles, whose tables (booktabs) can be taken out one by one."""

from squentropy.study.report.document import Block, Entry, Figure, Report, Section, Table

_PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=2cm,landscape]{geometry}
\usepackage{booktabs,longtable,graphicx}
\setlength{\LTcapwidth}{0.8\textwidth}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.6\baselineskip}
% A picture in its own size, or smaller where the page is.
\newsavebox{\picturebox}
\newcommand{\shrunk}[1]{\includegraphics[width=\linewidth,height=0.8\textheight,keepaspectratio]{#1}}
\newcommand{\fitted}[1]{%
  \sbox{\picturebox}{\includegraphics{#1}}%
  \ifdim\wd\picturebox>\linewidth \shrunk{#1}\else
  \ifdim\ht\picturebox>0.8\textheight \shrunk{#1}\else \usebox{\picturebox}\fi\fi}
\begin{document}
"""
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "|": r"$|$", "±": r"$\pm$",
    "−": r"$-$", "–": "--", "×": r"$\times$", "π": r"$\pi$",
}  # fmt: skip
_LAST_LETTER = "ſ"  # the fonts have no letters after those of the European languages
_LEVELS = ("section", "subsection", "subsubsection")


def to_latex(report: Report) -> str:
    """Writes a report as a LaTeX document; its pictures are the files in `figures/`."""
    parts = [
        rf"\title{{{escaped(report.title)}}}",
        r"\author{}",
        r"\date{}",
        r"\maketitle",
        *map(escaped, report.summary),
    ]
    for section in report.sections:
        parts += _section(section, level=0)
    return _PREAMBLE + "\n\n".join(parts) + "\n\n\\end{document}\n"


def escaped(text: str) -> str:
    """A text with LaTeX's special characters written out, and by number those that its fonts do not have.

    Examples:
        >>> escaped("50 % ± 1 of a_b < −0.1, 花")
        '50 \\\\% $\\\\pm$ 1 of a\\\\_b $<$ $-$0.1, [U+82B1]'
    """
    return "".join(
        _SPECIAL.get(letter) or (letter if letter <= _LAST_LETTER else f"[U+{ord(letter):04X}]") for letter in text
    )


def _section(section: Section, level: int) -> list[str]:
    heading = rf"\{_LEVELS[level]}{{{escaped(section.title)}}}"
    return [heading, *(part for block in section.blocks for part in _block(block, level))]


def _block(block: Block, level: int) -> list[str]:
    match block:
        case Section():
            return _section(block, level + 1)
        case Table():
            return [_table(block), *map(escaped, block.notes)]
        case Figure():
            return [_figure(block)]
    return [escaped(block)]


def _figure(figure: Figure) -> str:
    return "\n".join(
        [
            r"\begin{figure}[htbp]",
            r"\centering",
            rf"\fitted{{figures/{figure.name}.pdf}}",
            rf"\caption{{{escaped(figure.caption)}}}\label{{fig:{figure.name}}}",
            r"\end{figure}",
        ]
    )


def _table(table: Table) -> str:
    """A longtable, which may go over pages; text that could be long gets a column that breaks its lines."""
    columns = "".join(_column(table, column) for column in range(len(table.header)))
    head = [r"\toprule", _row([escaped(title) for title in table.header]), r"\midrule"]
    lines = [
        r"{\footnotesize",
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{escaped(table.caption)}}}\label{{tab:{table.name}}}\\",
        *head,
        r"\endfirsthead",
        *head,
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *(_row([_entry(entry, table.is_text(column)) for column, entry in enumerate(row)]) for row in table.rows),
        r"\end{longtable}}",
    ]
    return "\n".join(lines)


def _column(table: Table, column: int) -> str:
    if not table.is_text(column):
        return "r"
    longest = max((len(row[column].text) for row in table.rows), default=0)
    return r"p{0.5\textwidth}" if longest > 60 else "l"


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _entry(entry: Entry, is_text: bool) -> str:
    text = rf"\textbf{{{escaped(entry.text)}}}" if entry.is_best else escaped(entry.text)
    if not entry.detail:
        return text
    lines = rf"{text}\\{{\scriptsize {escaped(entry.detail)}}}"
    return rf"\begin{{tabular}}[t]{{@{{}}{'l' if is_text else 'r'}@{{}}}}{lines}\end{{tabular}}"
