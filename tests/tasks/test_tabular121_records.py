"""The committed studies: they are whole, their pages and reports are made of them, and training gives them again."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from squentropy.cli import make_app
from squentropy.study import Store, plan
from squentropy.study.environment import environment
from squentropy.study.record import thinned
from squentropy.tasks import select_tasks
from squentropy.tasks.tabular121_pages import page

ROOT = Path(__file__).parents[2]
STUDIES, DATA = ROOT / "studies", ROOT.parent / "shared" / "data"
PAPER = ["squentropy", "cross_entropy", "rescaled_square"]
OTHERS = ["label_smoothing", "focal", "logit_penalty", "squentropy:square_weight=0.1", "squentropy:square_weight=0.3"]
NOT_AT_HAND = "miniboone"


@pytest.mark.parametrize(
    ("study", "group", "losses", "max_rows", "sets"),
    [
        ("tabular121", "tabular121", PAPER, None, 120),
        ("tabular121-plain", "tabular121-plain", PAPER, 5000, 106),
        ("tabular121-folds", "tabular121-folds", PAPER, 1000, 79),
        ("tabular121-temperature", "tabular121-temperature", PAPER + OTHERS, 1000, 79),
        ("tabular121-ablations", "tabular121", OTHERS, 1000, 79),
    ],
)
def test_a_study_has_all_its_runs_and_no_other(study, group, losses, max_rows, sets):
    if not (STUDIES / study).is_dir():
        pytest.skip(f"the repository has no records of {study}")
    tasks = [task for task in select_tasks([group], max_rows) if not task.name.endswith(f"/{NOT_AT_HAND}")]
    assert len(tasks) == sets
    records = list(Store(STUDIES / study).read())
    assert {record["run_id"] for record in records} == {run.run_id for run in plan(tasks, losses, 5, "paper")}
    assert {record["status"] for record in records} <= {"done", "failed"}
    assert all(record["error"]["type"] == "NonFiniteLossError" for record in records if record["status"] == "failed")


def test_the_files_are_small():
    assert all(path.stat().st_size < 2 * 2**20 for path in STUDIES.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["README.md", pytest.param("docs/tabular121.md", marks=pytest.mark.slow)])
def test_pages_say_what_the_records_say(name):
    assert page(ROOT, name) == (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_fresh_clone_has_everything_done_and_the_same_report(tmp_path, monkeypatch):
    shutil.copytree(
        STUDIES / "tabular121", tmp_path / "studies" / "tabular121", ignore=shutil.ignore_patterns("report")
    )
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(make_app(), ["reproduce", "tabular121", "--data", "data"])
    assert answer.exit_code == 0
    assert "everything is done: 1800 runs in studies/tabular121" in answer.output
    committed = sorted((STUDIES / "tabular121" / "report").iterdir())
    assert committed
    for path in committed:
        assert (tmp_path / "studies" / "tabular121" / "report" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "uci121").is_dir(), reason="needs the data sets in ../shared/data")
def test_training_gives_the_same_numbers_bit_for_bit(tmp_path):
    names = ["balloons", "lenses", "trains"]
    committed = Store(STUDIES / "tabular121")
    same = ("torch", "numpy", "platform", "cpu")
    circumstances = next(committed.read())["environment"]
    if any(circumstances[name] != environment()[name] for name in same):
        pytest.skip(f"needs the versions and the processor of the records, {circumstances}")
    arguments = ["reproduce", *(f"tabular121/{name}" for name in names), "--data", str(DATA), "--out", str(tmp_path)]
    assert CliRunner().invoke(make_app(), [*arguments, "--workers", "1", "--quiet"]).exit_code == 0
    found = list(Store(tmp_path).read())
    assert len(found) == len(names) * len(PAPER) * 5
    for record in found:
        expected = committed.get(record["run_id"])
        assert record["metrics"] == expected["metrics"]
        assert record["data"] == expected["data"]
        assert record["predictions"] == expected["predictions"]  # the hash of all logits
        assert thinned(record, len(expected["curves"]["epoch"]))["curves"] == expected["curves"]
