"""The committed study of the vision rows: its runs are planned ones, and report and page are made of its records."""

import shutil
from pathlib import Path

import pytest

from squentropy.study import Store, plan
from squentropy.study.report import write_report, write_supplements
from squentropy.tasks import find_task, select_tasks

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "vision"
LOSSES = ["squentropy", "cross_entropy", "rescaled_square"]
STANDARD_SQUARE = "rescaled_square:t=1,M=1"  # the fourth loss of Figure 1
SEEDS = 3


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report that the committed records give, as `squentropy reproduce` writes it."""
    folder = tmp_path_factory.mktemp("vision")
    shutil.copy(STUDY / "records.jsonl.xz", folder)
    store = Store(folder)
    write_supplements([find_task("vision/wide-resnet-cifar100")], store)
    write_report(store, folder / "report")
    return folder / "report"


def test_all_runs_are_planned_ones_and_finished():
    figure1 = [find_task("vision/wide-resnet-cifar100")]
    planned = plan(select_tasks(["vision"]), LOSSES, SEEDS, "small") + plan(figure1, [STANDARD_SQUARE], SEEDS, "small")
    records = list(Store(STUDY).read())
    assert {record["run_id"] for record in records} <= {run.run_id for run in planned}
    assert {record["status"] for record in records} == {"done"}


def test_every_run_has_learnt():
    """Far above chance: three times as many right answers."""
    for record in Store(STUDY).read():
        assert record["metrics"]["last"]["accuracy"] > 3 / record["data"]["num_classes"], record["run"]


@pytest.mark.slow
def test_the_report_is_made_of_the_records_with_its_figures(report):
    committed = sorted((STUDY / "report").iterdir())
    assert {path.name for path in committed} >= {"means.csv", "report.html", "report.md"}
    for path in committed:
        assert (report / path.name).read_bytes() == path.read_bytes()
    assert (report / "figures" / "curves-weight_norm-small.svg").is_file()  # Figure 4


def test_the_page_shows_the_tables_of_the_report():
    page = (ROOT / "docs" / "vision.md").read_text(encoding="utf-8")
    text = (STUDY / "report" / "report.md").read_text(encoding="utf-8").partition("The same at the best test epoch")[0]
    rows = [line for line in text.splitlines() if line.startswith("| vision/")]
    assert len(rows) >= 2 * len({record["run"]["task"] for record in Store(STUDY).read()})
    assert all(row in page for row in rows)
