"""`faircascade serve` as a process: what it keeps, how it ends, what it refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from faircascade.policies import CascadeKLUCB, LinUCB
from faircascade.ranker import Ranker
from faircascade.service.stores.file_guard import IN_USE
from tests.service.redis_server import RedisServer, free_port, needs_redis
from tests.service.server_process import ServerProcess, running, start

CSV = "item,x,y,supplier\n" + "".join(f"song-{n},{n % 3},{n % 5},s{n % 2}\n" for n in range(1, 13))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "items.csv").write_text(CSV)
    return tmp_path


def recommend(server: ServerProcess, user: str = "ann", k: int = 3) -> dict:
    answer = httpx.post(f"{server.url}/v1/recommendations", json={"user": user, "k": k})
    assert answer.status_code == 200, answer.text
    return answer.json()


def click(server: ServerProcess, given: dict, position: int | None = 1) -> None:
    body = {"impression_id": given["impression_id"], "clicked_position": position}
    answer = httpx.post(f"{server.url}/v1/feedback", json=body)
    assert answer.status_code == 200, answer.text


def wait_until_deaf(server: ServerProcess) -> None:
    """Return when it takes no more connections."""
    try:
        while True:
            httpx.get(f"{server.url}/healthz")
    except httpx.TransportError:
        return


def refused(*arguments: str, folder: Path, code: int = 2) -> str:
    """Return the one line that a start that fails says."""
    server = start(*arguments, folder=folder)
    try:
        assert server.wait() == code, server.logs
    finally:
        server.end()
    lines = server.logs.splitlines()
    assert lines[-1].startswith("Error: "), server.logs
    assert sum(line.startswith("Error: ") for line in lines) == 1
    assert "Traceback" not in server.logs
    return lines[-1]


def test_what_was_learned_is_there_after_a_restart(folder: Path) -> None:
    with running("--items", "items.csv", folder=folder) as server:
        given = recommend(server)
        assert len(given["items"]) == 3
        click(server, given)
        late = recommend(server)
        before = httpx.get(f"{server.url}/v1/users/ann").json()
        assert server.terminate() == 0
        assert "Traceback" not in server.logs
    with running(folder=folder) as server:
        assert httpx.get(f"{server.url}/v1/users/ann").json() == before
        assert before["recommendations"] == 2
        assert before["feedback"] == 1
        exposure = httpx.get(f"{server.url}/v1/exposure").json()
        assert (exposure["recommendations"], exposure["answers"]) == (2, 1)
        click(server, late)  # handed out before, answered after
        assert httpx.get(f"{server.url}/v1/users/ann").json()["feedback"] == 2


def test_on_sigterm_those_who_are_connected_are_sent_elsewhere_first(folder: Path) -> None:
    with (
        running("--items", "items.csv", folder=folder) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        assert "connection" not in client.get("/readyz").headers
        os.kill(server.pid, signal.SIGTERM)
        answer = client.get("/readyz")
        while answer.status_code == 200:  # the signal is on its way
            answer = client.get("/readyz")
        assert answer.json()["checks"]["service"] == "is stopping"
        assert answer.headers["connection"] == "close"
        assert server.wait() == 0


def test_ctrl_c_ends_it_like_sigterm(folder: Path) -> None:
    with running("--items", "items.csv", folder=folder) as server:
        assert server.interrupt() == 0
        assert "Traceback" not in server.logs


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_start_can_be_stopped_too(folder: Path, number: int) -> None:
    os.mkfifo(folder / "slow.csv")  # nobody writes to it: reading waits
    server = start("--items", "slow.csv", folder=folder)
    try:
        with (folder / "slow.csv").open("w"):  # returns when the server reads
            server.process.send_signal(number)
            assert server.wait() == 0, server.logs
        assert "Traceback" not in server.logs
    finally:
        server.end()


def test_requests_under_way_are_answered_before_it_ends(folder: Path) -> None:
    with running("--items", "items.csv", folder=folder) as server:
        body = json.dumps({"user": "ann", "k": 2}).encode()
        head = (
            "POST /v1/recommendations HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as wire:
            wire.sendall(head.encode() + body[:5])  # a request that is not complete yet
            httpx.get(f"{server.url}/healthz")  # the one above has been taken up by now
            server.process.send_signal(signal.SIGTERM)
            wait_until_deaf(server)
            wire.sendall(body[5:])
            assert wire.recv(12) == b"HTTP/1.1 200"
        assert server.wait() == 0


def test_a_second_ctrl_c_ends_it_at_once_and_without_noise(folder: Path) -> None:
    with running("--items", "items.csv", folder=folder) as server:
        given = recommend(server)
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as wire:
            wire.sendall(
                b"POST /v1/recommendations HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"
            )
            httpx.get(f"{server.url}/healthz")  # the one above has been taken up by now
            server.process.send_signal(signal.SIGINT)
            wait_until_deaf(server)
            assert server.interrupt() == 0
    assert "Traceback" not in server.logs
    last = json.loads(server.logs.splitlines()[-1])
    assert last["event"] == "stopped at once; requests under way were cut off"
    with running(folder=folder) as server:
        click(server, given)  # the store was left in order


def test_a_page_under_another_name_cannot_use_a_service_without_keys(folder: Path) -> None:
    from faircascade.service.keys import new_key

    key = new_key(folder / "keys.json", "shop", "write")
    evil = {"Host": "evil.example"}
    with running("--items", "items.csv", folder=folder) as server:
        assert httpx.get(f"{server.url}/v1/policy", headers=evil).status_code == 421
        assert httpx.get(f"{server.url}/readyz", headers=evil).status_code == 200
        port = server.url.rpartition(":")[2]
        assert httpx.get(f"http://localhost:{port}/v1/policy").status_code == 200
    with running("--keys", "keys.json", folder=folder) as server:
        headers = evil | {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{server.url}/v1/policy", headers=headers).status_code == 200
    with running("--no-keys", "--host", "0.0.0.0", folder=folder) as server:
        assert httpx.get(f"{server.url}/v1/policy", headers=evil).status_code == 200


def test_an_item_that_was_removed_stays_removed(folder: Path) -> None:
    with running("--items", "items.csv", folder=folder) as server:
        assert httpx.delete(f"{server.url}/v1/items/song-3").status_code == 204
    with running("--items", "items.csv", folder=folder) as server:
        assert httpx.get(f"{server.url}/v1/items/song-3").status_code == 404
        assert httpx.get(f"{server.url}/v1/items").json()["total"] == 11
        assert "items.csv: unchanged" in server.logs


def test_a_saved_ranker_is_served(folder: Path) -> None:
    ranker = Ranker(LinUCB(alpha=0.4), items=np.eye(4), item_ids=list("abcd"))
    ranker.update(ranker.recommend("ann", k=2), clicked=2)
    ranker.save(folder / "ranker.npz")
    with running("--ranker", "ranker.npz", folder=folder) as server:
        policy = httpx.get(f"{server.url}/v1/policy").json()
        assert policy["parameters"]["alpha"] == 0.4
        given = recommend(server, k=2)
        assert tuple(item["item"] for item in given["items"]) == ranker.recommend("ann", k=2).items
    line = refused("--ranker", "ranker.npz", "--alpha", "1", folder=folder)
    assert "--alpha cannot be combined with --ranker" in line
    Ranker(CascadeKLUCB(), items=np.eye(4)).save(folder / "table.npz")
    line = refused("--ranker", "table.npz", "--store", "sqlite:other.db", folder=folder)
    assert "policy 'cascade-kl-ucb' cannot be served" in line


def test_a_store_serves_one_process_at_a_time(folder: Path) -> None:
    with running("--items", "items.csv", folder=folder):
        line = refused("--items", "items.csv", folder=folder)
    assert line == f"Error: faircascade.db: {IN_USE}"


def test_a_port_in_use_is_told(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        line = refused("--items", "items.csv", "--port", str(port), folder=folder)
    assert f"port {port} of 127.0.0.1 is in use; choose another" in line


def test_keys_are_asked_for(folder: Path) -> None:
    from faircascade.service.keys import new_key

    write = new_key(folder / "keys.json", "shop", "write")
    env = {"FAIRCASCADE_KEYS": "keys.json"}
    with running("--items", "items.csv", "--host", "0.0.0.0", folder=folder, env=env) as server:
        assert '"keys":"on"' in server.logs
        body = {"user": "ann"}
        address = f"{server.url}/v1/recommendations"
        assert httpx.post(address, json=body).status_code == 401
        headers = {"Authorization": f"Bearer {write}"}
        assert httpx.post(address, json=body, headers=headers).status_code == 200


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 on this machine")
def test_an_ipv6_address_works(folder: Path) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("there is no IPv6 on this machine")
    with running("--items", "items.csv", "--host", "::1", folder=folder) as server:
        assert server.url.startswith("http://[::1]:")
        recommend(server)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "sqlite:faircascade.db: has no items yet; start with --items FILE, --ranker FILE"),
        (["--no-click-shown", "3"], "--no-click-shown needs --no-click-after, got 3"),
        (
            ["--no-click-after", "1440", "--ttl", "1"],
            "--no-click-after must be less than --ttl, 1,440 minutes, got 1440.0",
        ),
        (
            ["--traces", "localhost:4318"],
            "--traces must be an address such as http://localhost:4318, got 'localhost:4318'",
        ),
        (["--items", "nowhere.csv"], "nowhere.csv: cannot be read (No such file or directory)"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(
    folder: Path, arguments: list[str], message: str
) -> None:
    assert message in refused(*arguments, folder=folder)


def test_a_redis_that_is_down_is_one_line_and_exit_code_one(folder: Path) -> None:
    address = f"redis://:secret@127.0.0.1:{free_port()}/0"
    line = refused("--items", "items.csv", "--store", address, folder=folder, code=1)
    assert "cannot be used now" in line
    assert "secret" not in line


def test_logs_are_lines_of_json_unless_a_person_reads_them(folder: Path) -> None:
    with running("--items", "items.csv", "--access-log", folder=folder) as server:
        recommend(server)
        assert server.terminate() == 0
    events = [json.loads(line) for line in server.logs.splitlines()]
    by_name = {event["event"]: event for event in events}
    assert by_name["serving"]["items"] == 12
    assert by_name["request"]["status"] == 200
    assert "stopped" in by_name
    with running("--log-format", "text", folder=folder) as server:
        assert f"Dashboard:     {server.url}/" in server.logs


@needs_redis
def test_several_processes_share_a_redis(folder: Path, tmp_path_factory: Any) -> None:
    with RedisServer(tmp_path_factory.mktemp("redis")) as redis:
        arguments = ("--items", "items.csv", "--store", redis.url)
        with running(*arguments, folder=folder) as first:
            given = recommend(first)
            with running(*arguments, folder=folder) as second:
                assert "items.csv: unchanged" in second.logs
                click(second, given)
                seen = httpx.get(f"{first.url}/v1/users/ann").json()
                assert (seen["recommendations"], seen["feedback"]) == (1, 1)
                assert second.terminate() == 0
            recommend(first)
            assert first.terminate() == 0


@needs_redis
def test_a_redis_that_wants_a_password_is_one_line_and_exit_code_one(
    folder: Path, tmp_path_factory: Any
) -> None:
    with RedisServer(tmp_path_factory.mktemp("redis")) as redis:
        with socket.create_connection(("127.0.0.1", redis.port)) as wire:
            wire.sendall(b"CONFIG SET requirepass secret\r\n")
            assert wire.recv(16).startswith(b"+OK")
        line = refused("--items", "items.csv", "--store", redis.url, folder=folder, code=1)
    assert "uthentication" in line
