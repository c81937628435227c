"""Writing a file whole or not at all."""

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = ".partial-"
_ABANDONED_AFTER = 3600.0


class StorageError(OSError):
    """A file of a study cannot be written, because the disk is full for instance. What it held before stays."""

    def __str__(self) -> str:
        return (
            f"{self.filename} cannot be written: {self.strerror}. Nothing that was finished is lost: make room for it "
            "and give the same command again"
        )


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file so that its name never stands for a part of the content.

    The bytes go to a file of their own beside it, to the disk, and only then to the name. The folder is made if it is
    not there.

    Raises:
        StorageError: If that is impossible; what stood there before stays.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> write_atomically(folder / "note", b"whole")
        >>> [each.name for each in folder.iterdir()]
        ['note']
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{_PREFIX}{secrets.token_hex(8)}")
        try:
            with open(partial, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StorageError(error.errno, error.strerror, str(path)) from error


def remove_abandoned(folder: Path) -> None:
    """Removes what killed writers left in a folder; files younger than an hour may still be in use."""
    for partial in folder.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):
            if time.time() - partial.stat().st_mtime > _ABANDONED_AFTER:
                partial.unlink()
