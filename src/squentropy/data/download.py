"""Downloads: https only, checked before they get their name, made once however many processes ask."""

from __future__ import annotations

import hashlib
import http.client
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from filelock import FileLock

from squentropy.data.errors import DataError, WrongHashError

Progress = Callable[[int, int | None], None]
"""Called with the bytes done so far and the bytes in all, where the server says how many."""

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_CHUNK = 2**18


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """Raise `WrongHashError` unless the file has the expected SHA-256."""
    found = sha256_of(path)
    if found != expected:
        raise WrongHashError(f"{path} has SHA-256 {found}, the manifest says {expected}")


def download(
    url: str,
    path: Path,
    check: Callable[[Path], None],
    *,
    progress: Progress | None = None,
    timeout: float = 60.0,
) -> None:
    """Download `url` to `path`, unless a copy that passes `check` is there already.

    The bytes go to a temporary file beside `path`, which gets its name only after `check` has passed. A
    download that was cut short leaves nothing that counts and starts again; of many processes one downloads
    and the others wait for it.

    Args:
        url: An https address (http only to this machine itself).
        path: The file to make.
        check: Raises `WrongHashError` if the bytes are not the right ones. The bad file is then kept beside
            `path` for inspection, under a name with its hash.
        progress: Called after each chunk.
        timeout: Seconds without a byte after which the server counts as gone.

    Raises:
        WrongHashError: The bytes are not the expected ones, now or of an earlier copy.
        DataError: The address is not https, the server cannot be reached, or the download was cut short.
    """
    _require_https(url, secure_before=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        if path.exists():
            _check_or_set_aside(path, path, check)
            return
        part = path.with_name(f".{path.name}.part")
        try:
            _receive(url, part, progress, timeout)
            _check_or_set_aside(part, path, check)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _check_or_set_aside(found: Path, path: Path, check: Callable[[Path], None]) -> None:
    try:
        check(found)
    except WrongHashError as error:
        bad = path.with_name(f"{path.name}.bad-{sha256_of(found)[:12]}")
        found.replace(bad)
        raise WrongHashError(f"{error}; kept as {bad}; look at it, then fetch again") from error


def _receive(url: str, part: Path, progress: Progress | None, timeout: float) -> None:
    request = Request(url, headers={"User-Agent": "squentropy"})
    try:
        with build_opener(_HttpsRedirects()).open(request, timeout=timeout) as response, part.open("wb") as out:
            length = response.headers.get("Content-Length")
            total = int(length) if length is not None else None
            done = 0
            while chunk := response.read(_CHUNK):
                out.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)
            out.flush()
            os.fsync(out.fileno())
    except (URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DataError(f"{url} could not be downloaded ({error}); nothing was kept, try again") from error
    if total is not None and done != total:
        raise DataError(f"{url} ended after {done} of {total} bytes; nothing was kept, try again")


def _require_https(url: str, *, secure_before: bool) -> None:
    address = urlsplit(url)
    to_itself = address.scheme == "http" and address.hostname in _LOOPBACK and not secure_before
    if address.scheme != "https" and not to_itself:
        raise DataError(f"{url} is not https; data are fetched over https only")


class _HttpsRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        _require_https(newurl, secure_before=req.type == "https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
