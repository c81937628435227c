"""Archives that may be hostile: members are checked one by one and read into memory, never unpacked."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from squentropy.data.errors import DataError


class Archive:
    """A tar or zip file whose members can be read by name, after all of them were found harmless.

    Refused as a whole: absolute names, ``..``, backslashes, links, devices and other special files,
    a name that occurs twice, and more than `limit` unpacked bytes.

    Args:
        path: The archive.
        limit: The most bytes that all members together may unpack to.

    Raises:
        DataError: The file is no archive, is damaged, or has a member that is refused.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.zip"
        >>> with zipfile.ZipFile(path, "w") as writer:
        ...     writer.writestr("iris/iris.txt", "n_clases= 3")
        >>> with Archive(path) as archive:
        ...     archive.names, archive.read("iris/iris.txt")
        (('iris/iris.txt',), b'n_clases= 3')
    """

    def __init__(self, path: Path, *, limit: int = 4 * 2**30) -> None:
        self.path = path
        self._file: tarfile.TarFile | zipfile.ZipFile
        try:
            if zipfile.is_zipfile(path):
                self._file = zipfile.ZipFile(path)
                self._members = self._checked(map(_zip_member, self._file.infolist()), limit)
            else:
                self._file = tarfile.open(path)
                self._members = self._checked(map(_tar_member, self._file), limit)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise DataError(f"{path} cannot be read as a tar or zip archive ({error}); fetch it again") from error

    def _checked(self, members: Iterable[tuple[str, int, str | None]], limit: int) -> dict[str, int]:
        seen: dict[str, int] = {}
        total = 0
        for name, size, fault in members:
            parts = name.split("/")
            if fault is None and ("\\" in name or ":" in parts[0] or name.startswith("/") or ".." in parts):
                fault = "points outside the archive"
            if fault is None and name in seen:
                fault = "occurs twice"
            total += size
            if fault is None and total > limit:
                fault = f"brings the unpacked size over the limit of {limit} bytes"
            if fault is not None:
                self._file.close()
                raise DataError(f"{self.path}: member {name!r} {fault}; the archive is not used")
            seen[name] = size
        return seen

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files and folders in it."""
        return tuple(self._members)

    def read(self, name: str) -> bytes:
        """The bytes of one file."""
        if name not in self._members:
            raise DataError(f"{self.path} has no member {name!r}")
        try:
            if isinstance(self._file, zipfile.ZipFile):
                return self._file.read(name)
            stream = self._file.extractfile(name)
            if stream is None:
                raise DataError(f"{self.path}: member {name!r} is a folder, not a file")
            return stream.read()
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
            raise DataError(f"{self.path}: member {name!r} is damaged ({error}); fetch it again") from error

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _zip_member(info: zipfile.ZipInfo) -> tuple[str, int, str | None]:
    file_type = info.external_attr >> 28  # the Unix mode's upper four bits, 0 when made elsewhere
    regular_or_folder = file_type in (0, 0o10, 0o4)
    return info.filename, info.file_size, None if regular_or_folder else "is a link or a special file"


def _tar_member(info: tarfile.TarInfo) -> tuple[str, int, str | None]:
    plain = (info.isreg() and not info.issparse()) or info.isdir()
    return info.name, info.size, None if plain else "is a link or a special file"
