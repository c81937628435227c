"""What the documents say is true: their Python runs, their commands exist, every public name is explained."""

import doctest
import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import squentropy
from squentropy.cli import make_app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "squentropy"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The code blocks of a page in one language, each with its first line's number."""
    text = page.read_text()
    found = re.finditer(rf"^( *)```{language}[^\n]*\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(2)) + 1, _dedent(match[2], len(match[1]))) for match in found]


def _dedent(text: str, width: int) -> str:
    return "".join(line[width:] if line.strip() else line for line in text.splitlines(keepends=True))


def with_language(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.mark.parametrize("page", with_language("python"), ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """From top to bottom in one namespace; what they write goes to an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace: dict[str, object] = {"__name__": page.stem}
    for line, code in blocks(page, "python"):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


def commands(page: Path) -> list[list[str]]:
    """The squentropy command lines of a page's console blocks, without prompts and comments."""
    lines = "".join(code for _, code in blocks(page, "(?:console|bash)")).replace("\\\n", " ").splitlines()
    words = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines if "squentropy " in line]
    return [each[1:] for each in words if each and each[0] == "squentropy"]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_commands_and_their_options_exist(page):
    for words in commands(page):
        path = words[: next((i for i, word in enumerate(words) if not word.isalpha()), len(words))]
        shown = ""
        while path and "Usage" not in shown:  # `data list` has two words of command, `reproduce iris` one
            result = CliRunner().invoke(make_app(), [*path, "--help"], terminal_width=200)
            shown, path = (result.output if result.exit_code == 0 else ""), path[:-1]
        assert "Usage" in shown or words == ["--version"], f"no such command: {words}"
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in shown or option == "--version", f"{words}: no option {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_pictures_are_there(page):
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE).with_suffix(""))
)
def test_docstring_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags).failed == 0


@pytest.mark.parametrize("package", ["squentropy", "squentropy.calibration", "squentropy.study"])
def test_public_names_are_in_the_reference(package):
    reference = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    assert [name for name in importlib.import_module(package).__all__ if not re.search(rf"\b{name}\b", reference)] == []


def test_version_is_the_newest_in_the_changelog():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert squentropy.__version__ == version
    assert re.findall(r"^## \[?([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
