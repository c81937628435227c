"""Downloads from a real server on loopback: checked, whole or nothing, made once."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from squentropy.data import DataError, WrongHashError
from squentropy.data.download import check_sha256, download

CONTENT = bytes(range(256)) * 4096
RIGHT = hashlib.sha256(CONTENT).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/missing":
            return self.send_error(404)
        if self.path.startswith("/redirect:"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/redirect:"))
            return self.end_headers()
        body = CONTENT[:-1] + b"!" if self.path == "/changed" else CONTENT
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:300_000] if self.path == "/cut" else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        running.asked = []
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


check = partial(check_sha256, expected=RIGHT)


def files(folder):
    return {each.name for each in folder.iterdir() if not each.name.endswith(".lock")}


def test_the_bytes_arrive_with_progress(server, tmp_path):
    seen = []
    download(f"{server.url}/data", tmp_path / "new" / "data", check, progress=lambda *done: seen.append(done))
    assert (tmp_path / "new" / "data").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert len(seen) >= 4
    assert files(tmp_path / "new") == {"data"}


def test_a_right_copy_is_not_fetched_again(server, tmp_path):
    (tmp_path / "data").write_bytes(CONTENT)
    download(f"{server.url}/data", tmp_path / "data", check)
    assert server.asked == []


@pytest.mark.parametrize("was_there", [False, True], ids=["fresh", "cached"])
def test_wrong_bytes_are_kept_aside(server, tmp_path, was_there):
    if was_there:
        (tmp_path / "data").write_bytes(CONTENT[:-1] + b"!")
    bad = f"data.bad-{hashlib.sha256(CONTENT[:-1] + b'!').hexdigest()[:12]}"
    with pytest.raises(WrongHashError, match=f"the manifest says {RIGHT}; kept as .*{bad}"):
        download(f"{server.url}/changed", tmp_path / "data", check)
    assert files(tmp_path) == {bad}
    assert (tmp_path / bad).read_bytes() == CONTENT[:-1] + b"!"
    download(f"{server.url}/data", tmp_path / "data", check)
    assert (tmp_path / "data").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/cut", "300000 of 1048576 bytes|IncompleteRead"),
        ("/missing", "404"),
        ("/redirect:http://example.invalid/data", "not https"),
        ("/redirect:ftp://127.0.0.1/data", "not https|not allowed"),
    ],
)
def test_what_fails_leaves_nothing(server, tmp_path, address, message):
    with pytest.raises(DataError, match=message):
        download(f"{server.url}{address}", tmp_path / "data", check)
    assert files(tmp_path) == set()


def test_a_user_who_interrupts_leaves_nothing(server, tmp_path):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(f"{server.url}/data", tmp_path / "data", check, progress=interrupt)
    assert files(tmp_path) == set()


def test_a_server_that_is_not_there(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as gone:
        port = gone.server_port
    with pytest.raises(DataError, match=f"http://127.0.0.1:{port}/data could not be downloaded"):
        download(f"http://127.0.0.1:{port}/data", tmp_path / "data", check)


@pytest.mark.parametrize("url", ["http://example.invalid/data", "ftp://127.0.0.1/data", "file:///etc/passwd"])
def test_only_https(tmp_path, url):
    with pytest.raises(DataError, match="fetched over https only"):
        download(url, tmp_path / "data", check)


def test_many_ask_and_one_fetches(server, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: download(f"{server.url}/data", tmp_path / "data", check), range(8)))
    assert server.asked == ["/data"]
    assert (tmp_path / "data").read_bytes() == CONTENT
