"""The browser helper sees what it is there to see: tests that find nothing must be able to find something."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from .browser import needs_chromium, open_page

pytestmark = needs_chromium

QUIET = """<!doctype html><html lang="en"><title>Quiet</title><body><p id="p">before</p>
<img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">
<script>document.getElementById("p").textContent = matchMedia("(prefers-color-scheme: dark)").matches</script>"""


@pytest.fixture
def server():
    """An address on loopback and the list of paths that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}", asked
        http.shutdown()
        thread.join()


def test_a_quiet_page_has_no_errors_and_no_requests(tmp_path):
    (tmp_path / "page.html").write_text(QUIET)
    page = open_page(tmp_path / "page.html", tmp_path / "page.png", dark=True)
    assert (page.console_errors, page.requests, page.title) == ([], [], "Quiet")
    assert '<p id="p">true</p>' in page.dom
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


def test_errors_of_every_kind_are_seen(tmp_path, server):
    address, asked = server
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        (tmp_path / "page.html").write_text(f"""<!doctype html><title>Loud</title>
            <link rel="stylesheet" href="{address}/style.css">
            <script src="beside.js"></script>
            <script>console.error("logged", 7)</script>
            <script>setTimeout(() => {{ throw new TypeError("thrown") }}, 50)</script>
            <script>new WebSocket("ws://127.0.0.1:{unused.getsockname()[1]}/socket")</script>
            <div style="width: 3000px">wide</div>""")
        page = open_page(tmp_path / "page.html", width=800)
    errors = "\n".join(page.console_errors)
    for seen in ("logged 7", "TypeError: thrown", "404", "beside.js", "WebSocket"):
        assert seen in errors
    assert asked == ["/style.css"]
    assert f"{address}/style.css" in page.requests
    assert (tmp_path / "beside.js").as_uri() in page.requests
    assert any(url.startswith("ws://") for url in page.requests)
    assert page.scroll_width >= 3000
