"""faircascade import against a service that runs."""

from __future__ import annotations

import gzip
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Run
from tests.service.imports.processes import ImportProcess, run_import
from tests.service.imports.product import ARGUMENTS, answers, lines, make_items, show
from tests.service.server_process import ServerProcess, running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("service")
    make_items(folder)
    with running(*ARGUMENTS, "--store", "sqlite:store.db", folder=folder) as server:
        yield server


def learned(server: ServerProcess, user: str) -> int:
    answer = httpx.get(f"{server.url}/v1/users/{user}")
    return int(answer.json()["feedback"]) if answer.status_code == 200 else 0


def test_a_file_is_imported_once_and_what_is_refused_is_told(
    run: Run, server: ServerProcess, tmp_path: Path
) -> None:
    slates = show(server.url, 30, users=10)
    put = {"type": "put_item", "item": "new", "features": [0.5] * 6, "merit": 2.0}
    events = [*answers(slates), put, "nonsense", {**put, "features": [1.0]}]
    erasure = {"type": "erase_user", "user": "user-3"}
    (tmp_path / "events.jsonl").write_bytes(lines([*events, erasure]))
    code, out, err = run("import", "events.jsonl", "--to", server.url)
    assert code == 0, err
    assert "30 answers, 1 change of an item, 1 erasure of a user" in out
    assert "2 events were refused; events.jsonl.refused says why" in out
    assert (learned(server, "user-0"), learned(server, "user-3")) == (3, 0)
    assert httpx.get(f"{server.url}/v1/items/new").json()["merit"] == 2.0
    refused = (tmp_path / "events.jsonl.refused").read_text().splitlines()
    assert [json.loads(line)["reason"] for line in refused] == [
        "it must be JSON: expected ident at line 1 column 2",
        "features must have 6 entries, got 1",
    ]
    code, out, _ = run("import", "events.jsonl", "--to", server.url)
    assert "Imported nothing" in out
    assert "34 lines were imported before" in out


def test_standard_input_may_be_compressed(server: ServerProcess, tmp_path: Path) -> None:
    events = answers(show(server.url, 8, users=1000)[:8])
    with (tmp_path / "events.gz").open("w+b") as file:
        file.write(gzip.compress(lines(events)))
        file.seek(0)
        code, out, err = run_import("-", "--to", server.url, "--json", folder=tmp_path, stdin=file)
    assert code == 0, err
    assert json.loads(out)["feedback"] == 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_file_that_is_followed_is_imported_until_a_signal(
    server: ServerProcess, tmp_path: Path, number: signal.Signals
) -> None:
    first, second = (lines(answers(show(server.url, 5, users=1000))) for _ in range(2))
    path = tmp_path / "events.jsonl"
    path.write_bytes(first)
    process = ImportProcess(["events.jsonl", "--follow", "--to", server.url, "--json"], tmp_path)
    assert process.wait_for("importing "), process.lines
    with path.open("ab") as file:
        file.write(second)
    state = tmp_path / "events.jsonl.imported"
    while not (state.exists() and json.loads(state.read_text())["lines"] == 10):
        assert process.process.poll() is None, process.lines
    process.signal(number)
    code, out, err = process.end()
    assert code == 0, err
    assert json.loads(out)["feedback"] == 10
    assert json.loads(out)["finished"] is False


def test_a_service_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    (tmp_path / "events.jsonl").write_text("{}\n")
    process = ImportProcess(["events.jsonl", "--to", url], tmp_path)
    assert process.wait_for(f"waiting for the service at {url}: could not connect"), process.lines
    process.signal(signal.SIGINT)
    code, _, err = process.end()
    assert code == 130
    assert "stopped while waiting" in err
    assert not (tmp_path / "events.jsonl.imported").exists()


def test_mistakes_are_told_in_one_line(run: Run, server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("{}\n")
    (tmp_path / "key").write_text("wrong key\n")
    for words, message in (
        (("nothing.jsonl",), "SOURCE must be a file that exists"),
        (("events.jsonl", "--to", "localhost:8000"), "url must be such as http"),
        (("events.jsonl", "--state", "no/where"), "the folder no does not exist"),
        (("events.jsonl", "--refused", "no/where"), "the folder no does not exist"),
        (("events.jsonl", "--key-file", "key"), "without spaces"),
        (("events.jsonl", "--key-file", "nothing"), "No such file"),
        (("-", "--follow"), "standard input is read to its end"),
        (("redis://localhost/0", "--to", server.url), "it needs stream=..."),
        (("events.jsonl", "--to", f"{server.url}/nowhere"), "404"),
    ):
        code, _, err = run("import", *words)
        assert (code, err.count("\n")) == (2, 1), err
        assert message in err


def test_a_key_is_read_from_a_file_or_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_items(tmp_path)
    _, key, _ = run("keys", "new", "keys.json", "stream")
    (tmp_path / "key").write_text(key)
    (tmp_path / "events.jsonl").write_text('{"type": "erase_user", "user": "ada"}\n')
    with running(*ARGUMENTS, "--keys", "keys.json", folder=tmp_path) as server:
        code, _, err = run("import", "events.jsonl", "--to", server.url)
        assert (code, "401" in err, "--key-file" in err) == (2, True, True)
        assert run("import", "events.jsonl", "--to", server.url, "--key-file", "key")[0] == 0
        monkeypatch.setenv("FAIRCASCADE_KEY", key.strip())
        assert run("import", "events.jsonl", "--to", server.url, "--state", "other")[0] == 0
