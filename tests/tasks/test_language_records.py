"""The committed study of the language rows: of planned runs, its report made of it, and the page says what it says."""

from dataclasses import replace
from pathlib import Path

import pytest

from squentropy.study import Store, plan
from squentropy.study.report import write_report
from squentropy.tasks.language import LANGUAGE

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "language"
LOSSES = ("squentropy", "cross_entropy", "rescaled_square")
WHOLE = {"language/esim-qqp"}  # the rows whose nine runs are there


def in_half_precision(run):
    return replace(run, recipe=replace(run.recipe, precision="bf16-mixed")) if "bert" in run.task else run


def test_the_records_are_of_runs_as_they_are_planned_now():
    planned = {in_half_precision(run).run_id: run.task for run in plan(LANGUAGE, LOSSES, 3, "small")}
    records = list(Store(STUDY).read())
    assert {record["run_id"] for record in records} <= planned.keys()
    assert {record["status"] for record in records} == {"done"}
    runs = [planned[record["run_id"]] for record in records]
    assert {task for task in runs if runs.count(task) == 9} == WHOLE
    assert all("glove.6B.50d" in record["data"]["name"] for record in records if "esim" in record["run"]["task"])


@pytest.mark.slow
def test_the_report_is_made_of_the_records_with_its_diagrams(tmp_path):
    store = Store(STUDY)
    write_report(store, tmp_path)
    committed = sorted((STUDY / "report").iterdir())
    assert [path.name for path in committed] == ["means.csv", "report.html", "report.md"]
    for path in committed:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    tasks = {record["run"]["task"] for record in store.read()}
    assert len(list((tmp_path / "figures").glob("reliability-small-*.svg"))) == len(tasks)


def test_the_page_shows_the_tables_of_the_report():
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    report = (STUDY / "report" / "report.md").read_text(encoding="utf-8").partition("at the best test epoch")[0]
    rows = [line for line in report.splitlines() if line.startswith("| language/")]
    assert rows
    assert all(row in page for row in rows)
