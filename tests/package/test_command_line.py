"""The program: what it says with and without its extra, and that mistakes are one line."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import squentropy
from squentropy.cli import make_app

WITHOUT_TYPER = "import sys; sys.modules['typer'] = None; from squentropy.cli import main; main()"


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "squentropy", *arguments], capture_output=True, text=True)


def test_version():
    assert program("--version").stdout == f"squentropy {squentropy.__version__}\n"


def test_a_mistake_is_one_line(tmp_path):
    result = program("report", str(tmp_path / "nothing"))
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert "nothing" in result.stderr


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("reproduce", 2)])
def test_without_the_extra(argument, code):
    result = subprocess.run([sys.executable, "-c", WITHOUT_TYPER, argument], capture_output=True, text=True)
    assert result.returncode == code
    assert "pip install 'squentropy[all]'" in result.stdout


def test_every_command_has_help_with_an_example():
    app = make_app()
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    lines = [[name] for name in names]
    lines += [
        [group, each.name or each.callback.__name__] for group, it in groups.items() for each in it.registered_commands
    ]
    assert {"reproduce", "compare", "calibrate", "report", "tasks", "data", "bench"} <= {line[0] for line in lines}
    for line in lines:
        result = CliRunner().invoke(app, [*line, "--help"])
        assert result.exit_code == 0
        assert f"squentropy {' '.join(line)}" in result.output.partition("Usage")[2].partition("\n")[2]
