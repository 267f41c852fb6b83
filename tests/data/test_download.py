"""Downloads from a server on this machine."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from faircascade.data.base import DataError
from faircascade.data.load import load_dataset
from faircascade.data.movielens import MovieLens1M, MovieLensLatestSmall
from faircascade.storage import cache_folder


def archive_of(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


ML_1M = archive_of({"ml-1m/ratings.dat": "1::1::5::0\n2::1::4::0\n" + "3::9::1::0\n" * 9})
SMALL = archive_of({"s/ratings.csv": "userId,movieId,rating,timestamp\n1,1,5,0\n"})


class Server(ThreadingHTTPServer):
    """Serves `bodies` by path, cut to `cut` bytes of what it announces."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: dict[str, bytes] = {}
        self.cut: int | None = None
        self.requests: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        body = self.server.bodies.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.cut])

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("FAIRCASCADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRCASCADE_MIRROR", f"http://127.0.0.1:{server.server_port}/mirror/")
    monkeypatch.setattr(MovieLens1M, "md5", hashlib.md5(ML_1M).hexdigest())
    server.bodies = {"/mirror/ml-1m.zip": ML_1M, "/mirror/ml-latest-small.zip": SMALL}
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def refusal(name: str) -> str:
    with pytest.raises(DataError) as caught:
        load_dataset(name)
    message = str(caught.value)
    assert "\n" not in message
    assert f"{name}.zip" in message
    return message


def cached() -> list[str]:
    return sorted(path.name for path in cache_folder().iterdir()) if cache_folder().exists() else []


def test_an_archive_is_downloaded_once(server: Server) -> None:
    first = load_dataset("ml-1m")
    second = load_dataset("ml-1m")
    assert first.user_ids.tolist() == second.user_ids.tolist() == [1, 2, 3]
    assert not any("official" in note for note in first.notes)
    assert server.requests == ["/mirror/ml-1m.zip"]
    assert cached() == ["ml-1m.zip"]
    assert MovieLens1M().fetch() == cache_folder() / "ml-1m.zip"


def test_an_archive_without_a_known_checksum_is_downloaded_once(server: Server) -> None:
    assert len(load_dataset("ml-latest-small")) == 1
    assert len(load_dataset("ml-latest-small")) == 1
    assert len(server.requests) == 1


def test_progress_goes_from_the_start_to_the_size(server: Server) -> None:
    steps: list[tuple[str, int, int]] = []
    MovieLens1M().fetch(lambda *step: steps.append(step))
    assert {what for what, _, _ in steps} == {"downloading ml-1m.zip"}
    assert all(0 <= done <= total == len(ML_1M) for _, done, total in steps)
    assert steps[-1][1] == len(ML_1M)


def test_a_wrong_checksum_is_refused_and_leaves_nothing(server: Server) -> None:
    server.bodies["/mirror/ml-1m.zip"] = SMALL
    message = refusal("ml-1m")
    assert "MD5" in message
    assert "pass it with path=FILE" in message
    assert "https://grouplens.org" in message
    assert cached() == []


def test_a_cached_file_that_is_damaged_is_downloaded_again(server: Server) -> None:
    cache_folder().mkdir()
    (cache_folder() / "ml-1m.zip").write_bytes(ML_1M[:-9])
    assert len(load_dataset("ml-1m").user_ids) == 3
    assert len(server.requests) == 1


def test_a_missing_file_on_the_server_says_what_to_do(server: Server) -> None:
    server.bodies.clear()
    message = refusal("ml-1m")
    assert "HTTP 404" in message
    assert "pass it with path=FILE" in message
    assert cached() == []


def test_no_server_says_what_to_do(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = Server()
    port = closed.server_port
    closed.server_close()
    monkeypatch.setenv("FAIRCASCADE_MIRROR", f"http://127.0.0.1:{port}")
    message = refusal("ml-1m")
    assert "no connection" in message
    assert "pass it with path=FILE" in message
    assert cached() == []


@pytest.mark.parametrize("name", ["ml-1m", "ml-latest-small"])
def test_a_download_that_breaks_off_leaves_nothing(server: Server, name: str) -> None:
    server.cut = 40
    assert "the download failed" in refusal(name)
    assert cached() == []
    server.cut = None
    assert len(load_dataset(name)) >= 1


def test_a_page_instead_of_an_archive_is_refused(server: Server) -> None:
    server.bodies["/mirror/ml-latest-small.zip"] = b"<html>log in first</html>"
    assert "not a zip file" in refusal("ml-latest-small")
    assert cached() == []


def test_a_download_that_is_interrupted_leaves_nothing(server: Server) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MovieLensLatestSmall().fetch(interrupt)
    assert cached() == []


def test_a_cache_folder_that_cannot_be_made_is_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FAIRCASCADE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DataError, match="FAIRCASCADE_CACHE") as caught:
        load_dataset("ml-1m")
    assert "\n" not in str(caught.value)


def test_the_cache_folder_is_the_platforms_unless_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRCASCADE_CACHE", raising=False)
    assert "faircascade" in str(cache_folder())
    monkeypatch.setenv("FAIRCASCADE_CACHE", "~/somewhere")
    assert cache_folder() == Path.home() / "somewhere"
