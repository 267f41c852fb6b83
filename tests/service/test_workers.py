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
from prometheus_client.parser import text_string_to_metric_families

from faircascade.service.stores.file_guard import IN_USE
from tests.service.postgresql_server import BINARIES, WITHOUT_POSTGRESQL, PostgreSQLServer
from tests.service.processes import descendants
from tests.service.redis_server import RedisServer, needs_redis
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
    message = f"Error: faircascade.db: {IN_USE}"
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


# one service to the outside


def counted(server: ServerProcess) -> dict[str, float]:
    """Return what the metrics say, from whichever worker takes the connection."""
    families = text_string_to_metric_families(httpx.get(f"{server.url}/metrics").text)
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in families
        for sample in family.samples
    }


def test_metrics_are_those_of_all_workers_and_never_fall(folder: Path) -> None:
    with running(*TWO, folder=folder) as server:
        pids = workers_of(server)
        for _ in range(20):
            click(server, recommend(server))
        before = counted(server)
        for _ in range(8):  # as many connections, which either of them takes
            assert counted(server)["faircascade_recommendations_total[]"] == 20
        os.kill(pids[0], signal.SIGKILL)
        until(lambda: set(workers_of(server)) != set(pids))
        after = counted(server)
        for name in ("recommendations_total", "clicks_total"):
            assert after[f"faircascade_{name}[]"] == before[f"faircascade_{name}[]"]
        assert after["faircascade_worker_restarts_total[]"] == 1
        assert after["process_cpu_seconds_total[]"] >= before["process_cpu_seconds_total[]"] > 0
        timed = "faircascade_http_request_seconds_count"
        timed += "[('method', 'POST'), ('route', '/v1/feedback')]"
        assert after[timed] == before[timed] == 20
        until(lambda: counted(server)["faircascade_workers[]"] == 2)


def test_a_service_is_ready_with_fewer_workers_and_says_so(folder: Path) -> None:
    def said() -> str:
        answer = httpx.get(f"{server.url}/readyz")
        assert answer.status_code == 200
        return str(answer.json()["checks"]["workers"])

    with running(*TWO, folder=folder) as server:
        pids = workers_of(server)
        until(lambda: said() == "ok")
        os.kill(pids[1], signal.SIGKILL)
        until(lambda: said() == "1 of 2 take requests; see the log")
        until(lambda: said() == "ok")


def test_a_limit_of_requests_holds_for_all_workers_together(folder: Path) -> None:
    with running(*TWO, "--rate-limit", "5", folder=folder) as server:
        workers_of(server)
        begin = time.monotonic()
        answers = [httpx.get(f"{server.url}/v1/policy").status_code for _ in range(60)]
        seconds = time.monotonic() - begin
    assert set(answers) == {200, 429}
    assert answers.count(200) <= 5 + 5 * seconds + 1


@pytest.mark.slow
def test_workers_that_are_restarted_one_by_one_fail_no_request(folder: Path) -> None:
    with running(*TWO, folder=folder) as server:
        for turn in range(2):
            pids = workers_of(server)
            os.kill(pids[turn % 2], signal.SIGTERM)
            while set(listening(server)) == set(pids) or len(listening(server)) < 2:
                click(server, recommend(server))
        assert server.terminate() == 0
    assert "Traceback" not in server.logs


def test_ctrl_c_twice_stops_all_workers_at_once(folder: Path) -> None:
    with running(*TWO, folder=folder) as server:
        pids = workers_of(server)
        port = int(server.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as slow:
            head = (
                "POST /v1/recommendations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
            )
            slow.sendall(head.encode())  # a body that never comes: somebody waits for it
            until(lambda: httpx.get(f"{server.url}/healthz").status_code == 200)
            begin = time.monotonic()
            server.process.send_signal(signal.SIGINT)
            until(lambda: not listening(server))
            server.process.send_signal(signal.SIGINT)
            assert server.wait() == 0
            assert time.monotonic() - begin < 8  # less than requests have to finish
        assert all(gone(pid) for pid in pids)
        assert "Traceback" not in server.logs


def served_by_two(folder: Path, store: str) -> None:
    """Let two workers answer and learn, one of them killed in between."""
    with running(*TWO, "--store", store, folder=folder) as server:
        pids = workers_of(server)
        given = [recommend(server) for _ in range(20)]
        os.kill(pids[0], signal.SIGKILL)
        for one in given:
            click(server, one)
        seen = httpx.get(f"{server.url}/v1/users/ann").json()
        assert (seen["recommendations"], seen["feedback"]) == (20, 20)
        until(lambda: set(workers_of(server)) != set(pids))
        assert counted(server)["faircascade_recommendations_total[]"] == 20
        assert server.terminate() == 0
    assert "Traceback" not in server.logs


@pytest.mark.slow
@needs_redis
def test_workers_share_redis(folder: Path) -> None:
    with RedisServer(folder) as redis:
        served_by_two(folder, redis.url)


@pytest.mark.slow
@pytest.mark.skipif(BINARIES is None, reason=WITHOUT_POSTGRESQL)
def test_workers_share_postgresql(folder: Path) -> None:
    with PostgreSQLServer() as postgresql:
        served_by_two(folder, postgresql.url)
