"""`faircascade serve --workers`: several processes that are one service."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.service.processes import descendants
from tests.service.server_process import PATIENCE, ServerProcess, running, start
from tests.service.test_serve import CSV, click, recommend, refused

TWO = ("--items", "items.csv", "--workers", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "items.csv").write_text(CSV)
    return tmp_path


def until(true: Callable[[], object], *, seconds: float = PATIENCE) -> None:
    """Return when something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def workers_of(server: ServerProcess) -> list[int]:
    """Return the ids of all workers once there are two that take requests."""
    until(lambda: len(listening(server)) == 2)
    return listening(server)


def listening(server: ServerProcess) -> list[int]:
    """Return which workers take connections."""
    port = int(server.url.rpartition(":")[2])
    return [pid for pid in descendants(server.pid) if listens(pid, port)]


def listens(pid: int, port: int) -> bool:
    """Return whether the event loop of a process watches the socket at a port."""
    try:
        watched = {
            line.split()[1]
            for info in Path(f"/proc/{pid}/fdinfo").iterdir()
            for line in info.read_text().splitlines()
            if line.startswith("tfd:")
        }
        links = {fd: str(Path(f"/proc/{pid}/fd/{fd}").readlink()) for fd in watched}
    except FileNotFoundError:  # it has ended, or closed a file
        return False
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if int(row[1].split(":")[1], 16) == port and row[3] == "0A"}
    return any(f"socket:[{inode}]" in links.values() for inode in inodes)


def gone(pid: int) -> bool:
    """Return whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_workers_are_one_service(folder: Path) -> None:
    with running(*TWO, folder=folder) as server:
        assert len(workers_of(server)) == 2
        rounds = {recommend(server, k=2)["impression_id"] for _ in range(20)}
        assert len(rounds) == 20
        assert httpx.get(f"{server.url}/v1/users/ann").json()["recommendations"] == 20
        assert server.terminate() == 0
    assert "Traceback" not in server.logs
    assert server.logs.count('"event":"serving"') == 1
    assert server.logs.count("items.csv: 12 items (12 new)") == 1


def test_a_store_serves_one_service_at_a_time(folder: Path) -> None:
    message = "Error: faircascade.db: another service is using this store"
    with running(*TWO, folder=folder):
        assert refused(*TWO, folder=folder) == message
        assert refused("--items", "items.csv", folder=folder) == message
    with running("--items", "items.csv", folder=folder):
        assert refused(*TWO, folder=folder) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--items", "nowhere.csv"], "nowhere.csv: cannot be read (No such file or directory)"),
        (["--items", "items.csv", "--policy", "nobody"], "'nobody'"),
        ([], "sqlite:faircascade.db: has no items yet"),
        (["--store", "sqlite:nowhere/a.db"], "nowhere/a.db: the folder"),
        (["--store", "mine:x"], "store must be one of"),
    ],
)
def test_a_start_that_fails_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    assert message in refused(*arguments, "--workers", "2", folder=folder)


def test_a_number_of_workers_has_bounds(folder: Path) -> None:
    line = refused("--items", "items.csv", "--workers", "0", folder=folder)
    assert line == "Error: --workers must be between 1 and 64, got 0"


def test_a_port_in_use_is_told_before_any_worker_starts(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        line = refused(*TWO, "--port", str(port), folder=folder)
    assert f"port {port} of 127.0.0.1 is in use; choose another" in line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_of_them_in_order(folder: Path, number: int) -> None:
    with running(*TWO, folder=folder) as server:
        pids = workers_of(server)
        given = recommend(server)
        server.process.send_signal(number)
        assert server.wait() == 0
        assert all(gone(pid) for pid in pids)
        assert "Traceback" not in server.logs
    with running(folder=folder) as server:
        click(server, given)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_start_can_be_stopped_too(folder: Path, number: int) -> None:
    os.mkfifo(folder / "slow.csv")  # nobody writes to it: reading waits
    server = start("--items", "slow.csv", "--workers", "2", folder=folder)
    try:
        with (folder / "slow.csv").open("w"):  # returns when a worker reads
            server.process.send_signal(number)
            assert server.wait() == 0, server.logs
        assert "Traceback" not in server.logs
    finally:
        server.end()


def test_no_worker_outlives_the_supervisor(folder: Path) -> None:
    with running(*TWO, folder=folder) as server:
        pids = workers_of(server)
        given = recommend(server)
        server.kill()
        until(lambda: all(gone(pid) for pid in pids))
    with running(*TWO, folder=folder) as server:  # port and store are free
        click(server, given)


def test_a_worker_that_dies_is_replaced_and_the_others_go_on(folder: Path) -> None:
    with running(*TWO, folder=folder) as server:
        for turn in range(2):
            first, second = workers_of(server)
            os.kill((first, second)[turn], signal.SIGKILL)
            for _ in range(20):
                click(server, recommend(server))
            until(lambda pids={first, second}: set(workers_of(server)) != pids)
        seen = httpx.get(f"{server.url}/v1/users/ann").json()
        assert (seen["recommendations"], seen["feedback"]) == (40, 40)
        assert server.terminate() == 0
    assert server.logs.count("a worker ended, and is started again") == 2
