"""Writing a file whole or not at all."""

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = ".partial-"
_ABANDONED_AFTER = 3600.0


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file so that its name never stands for a part of the content.

    The bytes go to a file of their own beside it, to the disk, and only then to the name. On any error, a full disk
    included, what stood there before stays.

    Example:
        >>> folder = Path(tempfile.mkdtemp())
        >>> write_atomically(folder / "note", b"whole")
        >>> [each.name for each in folder.iterdir()]
        ['note']
    """
    descriptor, partial = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def remove_abandoned(folder: Path) -> None:
    """Removes what killed writers left in a folder; files younger than an hour may still be in use."""
    for partial in folder.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):
            if time.time() - partial.stat().st_mtime > _ABANDONED_AFTER:
                partial.unlink()
