"""The report says what the records say, in five formats, with the same bytes each time, and opens in a browser."""

import csv
import html.parser
import json
import random
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from squentropy.study import Store
from squentropy.study.report import write_report
from tests.browser import needs_chromium, open_page
from tests.study.synthetic import make_record, make_records

FILES = {"report.html", "report.md", "report.tex", "report.json", "means.csv", "runs.csv"}
TASKS = tuple(f"t{number}" for number in range(7))


def records():
    """Squentropy is a point better than cross entropy on each of seven tasks; one run of cross entropy failed."""
    return [
        make_record("t0", "cross_entropy", 2, failed="the training loss became nan in epoch 3")
        if (record["run"]["task"], record["run"]["loss"]["name"], record["run"]["seed"]) == ("t0", "cross_entropy", 2)
        else record
        for record in make_records(TASKS, seeds=3, spread=0.002)
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    write_report(records(), out)
    return out


def text(report, name):
    return (report / name).read_text(encoding="utf-8")


def test_all_files_are_there_and_each_figure_twice(report):
    assert {path.name for path in report.iterdir()} == {*FILES, "figures"}
    figures = sorted(path.name for path in (report / "figures").iterdir())
    assert {name.partition(".")[0] for name in figures} >= {
        "scatter-paper-last",
        "ranks-paper-last",
        "curves-ece-paper",
    }
    assert figures == sorted(f"{name.partition('.')[0]}.{end}" for name in set(figures[::2]) for end in ("pdf", "svg"))


def test_the_same_records_in_any_order_give_the_same_bytes(report, tmp_path):
    shuffled = records()
    random.Random(1).shuffle(shuffled)
    write_report(shuffled, tmp_path)
    for path in filter(lambda path: path.is_file(), report.rglob("*")):
        assert (tmp_path / path.relative_to(report)).read_bytes() == path.read_bytes(), path.name


def test_it_begins_with_what_was_compared_and_found(report):
    first, second = text(report, "report.md").split("\n\n")[1:3]
    assert first == (
        "Compared: squentropy, cross entropy and rescaled square (M=5) on 7 tasks with 3 seeds each, 63 runs, "
        "1 of which failed, at scale paper (the published recipes)."
    )
    assert second.startswith(
        "Against cross entropy, last epoch: squentropy has the better accuracy on 7, the same on 0 and the worse on 0 "
        "of 7 tasks (in points +1."
    )


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def test_tables_of_markdown_have_a_cell_in_each_column(report):
    lines = text(report, "report.md").splitlines()
    rules = [number for number, line in enumerate(lines) if re.fullmatch(r"\|( :?-+:? \|)+", line)]
    assert len(rules) > 8
    for rule in rules:
        for line in (lines[rule - 1], *lines[rule + 1 :]):
            if not line.startswith("|"):
                break
            assert len(cells_of(line)) == len(cells_of(lines[rule])), line


def test_means_are_those_of_the_records(report):
    found = pd.read_csv(report / "means.csv").query("selection == 'last' and loss == 'squentropy'")
    for measure in ("performance", "ece"):
        for task in TASKS:
            (row,) = found[(found["measure"] == measure) & (found["task"] == task)].to_dict("records")
            name = "accuracy" if measure == "performance" else "ece"
            values = [
                100 * record["metrics"]["last"][name]
                for record in records()
                if record["run"]["task"] == task and record["run"]["loss"]["name"] == "squentropy"
            ]
            assert row["mean"] == pytest.approx(np.mean(values))
            assert row["deviation"] == pytest.approx(np.std(values, ddof=1))
            assert row["n"] == 3


def test_runs_are_those_of_the_records(report):
    with open(report / "runs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 62  # the last and the best epoch of each finished run
    assert {row["selection"] for row in rows} == {"last", "best"}


def test_json_holds_every_number_and_no_bare_nan(report):
    content = json.loads(text(report, "report.json"), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert len(content["runs"]) == 63
    assert content["failures"][0]["reason"] == "NonFiniteLossError: the training loss became nan in epoch 3"
    last = next(each for each in content["comparisons"] if each["selection"] == "last")
    assert last["focus"] == "squentropy"
    assert last["measures"][0]["pairs"][0]["rounded"] == {"wins": 7, "ties": 0, "losses": 0}


def test_failed_runs_are_shown(report):
    for name in ("report.md", "report.html", "report.tex"):
        assert "the training loss became nan in epoch 3" in text(report, name)


class Structure(html.parser.HTMLParser):
    """Notes the addresses that a page names, and complains of tags that do not close."""

    VOID = frozenset(("meta", "link", "br", "img", "hr", "input"))

    def __init__(self):
        super().__init__()
        self.open, self.addresses = [], []

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing(report):
    page = text(report, "report.html")
    structure = Structure()
    structure.feed(page)
    assert structure.open == []
    assert all(each.startswith(("#", "data:")) for each in structure.addresses)
    assert "<script" not in page
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    references = {each for pair in re.findall(r'(?:url\(#([^)]+)\)|href="#([^"]+)")', page) for each in pair if each}
    assert references <= set(ids)


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (400, True)])
def test_it_opens_in_a_browser_without_a_complaint_or_a_request(report, width, dark):
    page = open_page(report / "report.html", width=width, dark=dark)
    assert (page.console_errors, page.requests) == ([], [])
    assert page.title == "Squentropy against cross entropy and rescaled square (M=5)"
    assert page.scroll_width <= width  # what is wider moves by itself


ODD = r"<b>50%_of {a}&b $x^2$ #1 \n~| π"


def test_odd_names_are_written_out_in_each_format(tmp_path):
    name = ODD.replace(" ", "-")
    write_report([make_record(name, loss) for loss in ("squentropy", "cross_entropy")], tmp_path)
    assert "<b>50%" not in text(tmp_path, "report.html")
    structure = Structure()
    structure.feed(text(tmp_path, "report.html"))
    assert structure.open == []
    check_latex(text(tmp_path, "report.tex"))
    row = next(line for line in text(tmp_path, "report.md").splitlines() if "50%" in line and line.startswith("|"))
    assert cells_of(row)[0] == name.replace("\\", "\\\\").replace("|", "\\|").replace("_", "\\_").replace("<", "&lt;")


def check_latex(source):
    """What a compiler would stumble over: unbalanced braces and environments, cells, bare special characters."""
    body = source.partition(r"\begin{document}")[2]
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", source):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    plain = re.sub(r"\\[\\{}&%$#_~^]", "", source)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    text_only = re.sub(r"\\(?:label|fitted)\{[^}]*\}", "", plain.partition(r"\begin{document}")[2])
    assert not re.search(r"[#_%~]", text_only)
    assert source.isascii() or set(re.findall(r"[^\x00-\x7f]", source)) <= set("šáéöü§\u00a0")
    for columns, table in re.findall(
        r"\\begin\{longtable\}\{((?:[^{}]|\{[^}]*\})*)\}(.*?)\\end\{longtable\}", body, re.S
    ):
        count = len(re.sub(r"\{[^}]*\}", "", columns))
        rows = re.findall(r"^(?!\\caption)(.*) \\\\", table, re.M)
        assert rows
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == count - 1, row


def test_latex_is_sound(report):
    source = text(report, "report.tex")
    check_latex(source)
    for figure in re.findall(r"\{(figures/[^}]+)\}", source):
        assert (report / figure).read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("is_odd", [False, True])
def test_latex_compiles(tmp_path, is_odd):
    write_report([make_record(ODD.replace(" ", "-"))] if is_odd else records(), tmp_path)
    for _ in range(3):
        result = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout[-2000:]
    assert "Warning" not in result.stdout


def test_published_values_stand_beside_ours(tmp_path):
    write_report(make_records(("iris", "wine"), seeds=2, paper_rows=True), tmp_path)
    page = text(tmp_path, "report.md")
    assert re.search(r"\| iris \| 2 \| \**[\d.]+ ± [\d.]+\**<br>97\.2 \([+−]?[\d.]+\)", page)
    assert "The paper counts ties as wins" in page


def test_scales_have_sections_of_their_own(tmp_path):
    write_report([make_record("iris"), make_record("iris", scale="small")], tmp_path)
    page = text(tmp_path, "report.md")
    assert page.index("## Scale paper") < page.index("## Scale small")


def test_one_loss_alone_is_reported_without_tests(tmp_path):
    write_report([make_record("iris", seed=seed) for seed in range(2)], tmp_path)
    assert text(tmp_path, "report.md").startswith("# Squentropy\n")


def test_reliability_diagrams_come_from_the_predictions_of_the_store(tmp_path):
    store = Store(tmp_path / "study")
    logits = np.array([[4.0, 0.0], [0.0, 4.0], [4.0, 0.0]], dtype=np.float32)
    for record in (make_record("iris"), make_record("iris", "cross_entropy")):
        store.write(record, logits, np.array([0, 1, 1]))
    write_report(store, tmp_path / "report")
    assert "## Reliability" in text(tmp_path / "report", "report.md")
    # Two of three are right at a confidence of e^4 / (e^4 + 1).
    assert "ECE 31.5%" in text(tmp_path / "report", "figures/reliability-paper-0.svg")


def test_no_records_are_told(tmp_path):
    with pytest.raises(ValueError, match="records is empty: run a study first"):
        write_report(Store(tmp_path), tmp_path / "report")
    assert not (tmp_path / "report").exists()
