"""The C++ library: where it lies, whether it is whole, what its functions are."""

import ctypes
import struct
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from squentropy.losses import kernels

#: The instruction sets that the library is compiled for; a processor that has one has those before it.
VARIANTS = ("baseline", "avx2", "avx512")

#: How ``Arguments`` of arguments.h is packed: pointers, integers and floats of eight bytes each.
ARGUMENTS = struct.Struct("8P 6q 3q 9q q 6d")

_ELF = b"\x7fELF\x02\x01"
_ELF_HEADER = 64


class Library(NamedTuple):
    """A library that has been loaded.

    Attributes:
        run: the function that computes; it takes the packed arguments and returns a status.
        best_variant: the best of VARIANTS that this processor runs.
    """

    run: "ctypes._NamedFuncPointer"
    best_variant: str


@lru_cache(maxsize=1)
def library() -> Library | str:
    """The library of this installation, or why there is none."""
    try:
        return load(_path())
    except OSError as error:
        return str(error)


def load(path: Path) -> Library:
    """Load the library at ``path``; raise ``OSError`` if it is not whole, or not the one of this version."""
    _check_whole(path)
    functions = ctypes.CDLL(str(path))
    try:
        size, best, run = (
            getattr(functions, f"squentropy_{name}") for name in ("size_of_arguments", "best_variant", "run")
        )
    except AttributeError as error:
        raise OSError(f"{path} is another library: {error}") from None
    size.restype = best.restype = run.restype = ctypes.c_int64
    run.argtypes = [ctypes.c_char_p]
    if size() != ARGUMENTS.size:
        raise OSError(f"{path} belongs to another version of squentropy")
    return Library(run, VARIANTS[best()])


def _path() -> Path:
    """The library lies beside this file or, in an editable installation, in the package's other folder."""
    for folder in kernels.__path__:
        for path in Path(folder).glob("libsquentropy.*"):
            return path
    raise OSError("it was not built, as there was no C++ compiler (GCC or Clang) when squentropy was installed")


def _check_whole(path: Path) -> None:
    """Raise ``OSError`` if the file's end is missing: a process that maps such a library is killed, not told.

    The table of sections, whose place the header of an ELF file says, stands at the end.
    """
    data = path.read_bytes()
    if data[: len(_ELF)] != _ELF:
        return  # not Linux's format: the loader judges it
    end = _ELF_HEADER
    if len(data) >= end:
        (start,) = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        end = max(end, start + size * count)
    if len(data) < end:
        raise OSError(f"{path} is truncated: it has {len(data)} of at least {end} bytes")
