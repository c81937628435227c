"""Opens a file in headless Chromium, spoken to through a pipe, and tells what went wrong and what it asked for."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

_QUIET_SECONDS = 0.5
_PATIENCE_SECONDS = 60
# What Chromium itself would ask the network for.
_FLAGS = """--headless=new --no-sandbox --no-first-run --disable-gpu --disable-dev-shm-usage --disable-extensions
    --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars
    --remote-debugging-pipe""".split()


@dataclass(frozen=True)
class Page:
    """What a page did.

    Attributes:
        console_errors: Errors logged, exceptions nobody caught, and what the browser could not load.
        requests: Every address asked for, of any scheme, besides the page itself and its own data: and blob: parts.
        title: The title of the document.
        dom: The document as it stands after its scripts have run, as HTML.
        scroll_width: Width of the content in CSS pixels; more than the window's width if it overflows.
    """

    console_errors: list[str]
    requests: list[str]
    title: str
    dom: str
    scroll_width: int


def open_page(path: Path, screenshot: Path | None = None, *, width: int = 1200, dark: bool = False) -> Page:
    """Open a file, wait until it is loaded and quiet, and return what it did.

    Args:
        path: File to open.
        screenshot: Where to write a PNG of the whole page.
        width: Width of the window in CSS pixels.
        dark: Whether the reader prefers dark colours.

    Returns:
        The page.
    """
    url = path.resolve().as_uri()
    with _browser() as browser:
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.call("Emulation.setEmulatedMedia", features=[scheme])
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        browser.events.clear()
        browser.call("Page.navigate", url=url)
        browser.wait_until_quiet()
        events = list(browser.events)
        if screenshot is not None:
            picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            screenshot.write_bytes(base64.b64decode(picture))
        return Page(
            console_errors=[text for event in events if (text := _error(event))],
            requests=[address for event in events if (address := _request(event)) and address != url],
            title=browser.evaluate("document.title"),
            dom=browser.evaluate("document.documentElement.outerHTML"),
            scroll_width=browser.evaluate("document.documentElement.scrollWidth"),
        )


def _error(event: dict[str, Any]) -> str | None:
    params = event["params"]
    match event["method"]:
        case "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            return str(details.get("exception", {}).get("description", details["text"]))
        case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
            return " ".join(str(part.get("value", part.get("description"))) for part in params["args"])
        case "Log.entryAdded" if params["entry"]["level"] == "error":
            entry = params["entry"]
            return f"{entry['text']} {entry.get('url', '')}".strip()
    return None


def _request(event: dict[str, Any]) -> str | None:
    match event["method"]:
        case "Network.requestWillBeSent":
            url = str(event["params"]["request"]["url"])
            return None if url.startswith(("data:", "blob:")) else url
        case "Network.webSocketCreated" | "Network.webTransportCreated":
            return str(event["params"]["url"])
    return None


@contextmanager
def _browser() -> Iterator["_Browser"]:
    """A browser with a fresh profile that reads commands from file descriptor 3 and answers on 4."""
    assert CHROMIUM is not None
    read_command, write_command = os.pipe()
    read_answer, write_answer = os.pipe()
    # Numbers above 9, so that neither is 3 or 4 before the shell makes it so.
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_command, write_answer)]
    os.close(read_command)
    os.close(write_answer)
    # Chromium's last children may still write into the profile while it is being removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        shell = ["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash"]
        process = subprocess.Popen(
            [*shell, CHROMIUM, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in theirs:
            os.close(end)
        try:
            browser = _Browser(write_command, read_answer)
            yield browser
            browser.close()
            process.wait(timeout=20)
        finally:
            process.kill()
            process.wait()
            os.close(write_command)
            os.close(read_answer)


class _Browser:
    """The DevTools protocol: JSON messages that end with a zero byte."""

    def __init__(self, write: int, read: int):
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        self._write, self._read = write, read
        self._ids = itertools.count(1)
        self._rest = b""

    def call(self, method: str, **params: object) -> dict[str, Any]:
        message: dict[str, Any] = {"id": next(self._ids), "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (answer := self._message(deadline)) is not None:
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"Chromium refused {method}: {answer['error']['message']}")
                return dict(answer["result"])
        raise TimeoutError(f"Chromium gave no answer to {method} in {_PATIENCE_SECONDS} seconds")

    def evaluate(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def wait_until_quiet(self) -> None:
        """Wait for the load event, and then until nothing has happened for a while."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            if self._message(deadline) is None:
                raise TimeoutError(f"the page did not load in {_PATIENCE_SECONDS} seconds")
        while time.monotonic() < deadline and self._message(time.monotonic() + _QUIET_SECONDS) is not None:
            pass

    def close(self) -> None:
        self.session = None
        self.call("Browser.close")

    def _message(self, deadline: float) -> dict[str, Any] | None:
        """The next message, or None at the deadline; events are kept."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("Chromium ended before it answered")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message
