"""Where data lie: a directory of the user's, and the cache that downloads go to."""

from __future__ import annotations

import os
from pathlib import Path

from squentropy.data.errors import MissingDataError


def cache_dir() -> Path:
    """The directory that downloads go to: `SQUENTROPY_CACHE`, or the platform's own place for caches.

    Examples:
        >>> import os
        >>> os.environ["SQUENTROPY_CACHE"] = "/tmp/cache"
        >>> str(cache_dir())
        '/tmp/cache'
        >>> del os.environ["SQUENTROPY_CACHE"]
    """
    chosen = os.environ.get("SQUENTROPY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("squentropy")


def data_directories(data_dir: Path | None = None) -> list[Path]:
    """The directories that are searched for data, first to last.

    Args:
        data_dir: The user's own directory; the one in `SQUENTROPY_DATA` if None.

    Raises:
        MissingDataError: The user's directory does not exist.
    """
    chosen = data_dir or os.environ.get("SQUENTROPY_DATA")
    if not chosen:
        return [cache_dir()]
    own = Path(chosen).expanduser()
    if not own.is_dir():
        raise MissingDataError(f"the data directory {own} does not exist; check --data or SQUENTROPY_DATA")
    return [own, cache_dir()]


def find(path: str, data_dir: Path | None = None) -> Path | None:
    """The first copy of a file of the manifest, or None if there is none."""
    for directory in data_directories(data_dir):
        if (candidate := directory / path).is_file():
            return candidate
    return None
