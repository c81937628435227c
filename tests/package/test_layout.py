"""Imports point one way, and a bare installation needs torch and numpy only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import squentropy

SOURCE = Path(squentropy.__file__).parent
ALLOWED = {
    "losses": set(),
    "calibration": {"losses"},
    "study": {"losses", "calibration"},
    "models": {"losses"},
    "data": set(),
    "tasks": {"losses", "calibration", "study", "models", "data"},
    "own_data": {"losses", "calibration", "study", "models", "data", "tasks"},
    "integrations": {"losses", "calibration"},
    "bench": {"losses", "calibration", "study", "models", "data", "tasks", "own_data", "integrations"},
    "__main__": {"cli"},
    "cli": {"losses", "calibration", "study", "models", "data", "tasks", "own_data", "integrations", "bench"},
}
HEAVY = (
    "pandas scipy sklearn matplotlib typer rich jinja2 lightning_fabric ray torchmetrics triton torchvision torchaudio"
)


def imported_parts(source: str) -> set[str]:
    """The parts of squentropy that a module's text imports, wherever in it the import stands."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("squentropy.")}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def forbidden_imports(part: str, source: str) -> set[str]:
    parts = {each for each in imported_parts(source) if (SOURCE / each).is_dir() or (SOURCE / f"{each}.py").is_file()}
    return parts - ALLOWED[part] - {part}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    if part_of(path) != "__init__":
        assert not forbidden_imports(part_of(path), path.read_text())


def test_the_check_can_fail():
    assert forbidden_imports("losses", "from squentropy.calibration import CalibrationBins") == {"calibration"}
    assert forbidden_imports("study", "def later():\n    import squentropy.tasks.spiral") == {"tasks"}
    assert forbidden_imports("calibration", "from squentropy import losses, study") == {"study"}


def test_every_part_has_its_line():
    parts = {part_of(path) for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert parts <= set(ALLOWED)


def loaded_after(statement: str, names: str) -> set[str]:
    """Which of some modules a fresh process has loaded after a statement."""
    report = f"import sys; {statement}; print(*set({names.split()!r}) & set(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True).stdout.split()
    )


def test_import_loads_nothing_that_is_an_extra():
    # Of what torch itself loads, when it is there, squentropy is not to blame.
    assert loaded_after("import squentropy", HEAVY) <= loaded_after("import torch", HEAVY)
    assert loaded_after("import squentropy, typer", HEAVY) >= {"typer"}


def test_import_costs_little_more_than_torch():
    code = """
import time
start = time.perf_counter()
import numpy, torch
middle = time.perf_counter()
import squentropy
print((time.perf_counter() - start) / (middle - start))
"""
    ratios = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)]
    while ratios[-1] > 1.1 and len(ratios) < 5:  # a busy machine may hold up any single one
        ratios.append(float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))
    assert min(ratios) <= 1.1
