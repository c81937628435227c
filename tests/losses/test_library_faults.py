"""A library that cannot be loaded: one warning with the cause, and the formula computes."""

import struct
import warnings

import pytest
import torch

import squentropy as sq
from squentropy.losses import dispatch
from squentropy.losses.kernels import library as libraries

LOGITS, TARGET = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0])


@pytest.fixture
def whole():
    """The bytes of the library of this installation."""
    try:
        return libraries._path().read_bytes()
    except OSError:
        pytest.skip("the kernels were not built")


@pytest.fixture
def found_at(tmp_path, monkeypatch):
    """Let a file be the library; what was found before is forgotten, and found again afterwards."""

    def put(content):
        path = tmp_path / "libsquentropy.so"
        path.write_bytes(content)
        monkeypatch.setattr(libraries, "_path", lambda: path)
        _forget()

    _forget()
    yield put
    monkeypatch.undo()
    _forget()


def _forget():
    libraries.library.cache_clear()
    dispatch._cpu_kernel.cache_clear()


def _assert_one_warning(cause):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        losses = [sq.squentropy(LOGITS, TARGET) for _ in range(3)]
    assert [round(loss.item(), 4) for loss in losses] == [1.3490] * 3
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith("squentropy computes on the CPU by its formula, without the fast kernel: ")
    assert cause in message
    assert sq.kernels()["cpu"] == f"formula: {message.partition('kernel: ')[2]}"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated(found_at, whole, share):
    found_at(whole[: int(share * len(whole))])
    _assert_one_warning("truncated" if share else "file too short")


def test_of_another_platform(found_at, whole):
    """The same file, for a machine that is not this one: e_machine of its header says IA-64."""
    if whole[:4] != b"\x7fELF":
        pytest.skip("not an ELF file")
    found_at(whole[:18] + struct.pack("<H", 50) + whole[20:])
    _assert_one_warning("libsquentropy.so: ")


def test_no_library_at_all(found_at):
    found_at(b"MZ is how a Windows library begins" * 100)
    _assert_one_warning("invalid ELF header")


def test_of_another_version(found_at, whole, monkeypatch):
    found_at(whole)
    monkeypatch.setattr(libraries, "ARGUMENTS", struct.Struct(libraries.ARGUMENTS.format + "q"))
    _assert_one_warning("belongs to another version of squentropy")


def test_another_library(found_at):
    import _ctypes

    with open(_ctypes.__file__, "rb") as file:
        found_at(file.read())
    _assert_one_warning("is another library")


def test_not_built(found_at, monkeypatch):
    monkeypatch.setattr(libraries.kernels, "__path__", [])
    _assert_one_warning("no C++ compiler (GCC or Clang) when squentropy was installed")
