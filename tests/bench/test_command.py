"""`squentropy bench` in a process, from the case to the files, and what it refuses before it measures."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from squentropy.bench.losses import BASELINE, COPY, IN_PLACE, NAIVE, OFFICIAL, OURS
from squentropy.bench.process import Settings, _ask
from squentropy.cli import make_app


def test_a_small_case_from_end_to_end(tmp_path):
    files = {"--json": tmp_path / "b.json", "--markdown": tmp_path / "b.md", "--plot": tmp_path / "b.svg"}
    options = [str(part) for option in files.items() for part in option]
    command = [sys.executable, "-m", "squentropy", "bench", "losses/128x10", "--quick", "--threads", "1", *options]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "120"})
    assert result.returncode == 0, result.stderr
    found = json.loads(files["--json"].read_text())
    assert found["settings"]["threads"] == 1
    (case,) = found["cases"]
    assert case["missing"] == {}
    assert case["seconds"].keys() == case["extra_bytes"].keys() == {BASELINE, OFFICIAL, NAIVE, OURS, IN_PLACE, COPY}
    for times in case["seconds"].values():
        assert len(times) >= 5
        assert all(1e-7 < time < 1 for time in times)
    where, mean = found["targets"]
    assert (where["where"], where["contestant"], where["against"]) == ("losses/128x10", OURS, BASELINE)
    assert mean["where"] == "losses"
    assert "128x10" in result.stdout
    assert "| time | 128x10 |" in files["--markdown"].read_text()
    assert "<svg" in files["--plot"].read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["loss"], "no benchmark is called 'loss'"),
        (["losses/128x10", "--device", "tpu"], "device is 'tpu'; use 'cpu'"),
        (["losses/128x10", "--json", "nowhere/b.json"], "there is no folder for nowhere/b.json: make it first"),
        (["losses/128x10", "--plot", "b.gif"], "--plot is b.gif: end the name in .svg, .pdf or .png"),
        (["losses/128x10", "--threads", "0"], "--threads"),
    ],
    ids=["name", "device", "folder", "format", "threads"],
)
def test_what_cannot_be_is_said_before_anything_is_measured(arguments, message, monkeypatch):
    monkeypatch.setattr("squentropy.bench.process.measure", None)
    result = CliRunner().invoke(make_app(), ["bench", *arguments])
    assert result.exit_code != 0
    assert message in (str(result.exception) + result.output)
    assert isinstance(result.exception, ValueError | SystemExit)  # which the program makes one line of


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="losses/0x0 was not measured: KeyError"):
        _ask("losses/0x0", Settings())
