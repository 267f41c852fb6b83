"""A PostgreSQL of one's own, which can be killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.service.redis_server import free_port


def _binaries() -> Path | None:
    """Return the folder with initdb and postgres; Debian keeps it out of the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


BINARIES = _binaries() if find_spec("asyncpg") else None
WITHOUT_POSTGRESQL = f"{'postgresql' if find_spec('asyncpg') else 'asyncpg'} is not installed"
needs_postgresql = pytest.mark.skipif(BINARIES is None, reason=WITHOUT_POSTGRESQL)

_STARTING_SECONDS = 30.0
_PASSWORD = "se:cret%"  # of a superuser, on the loopback, for as long as a test
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "autovacuum_naptime": "10s",
}


class PostgreSQLServer:
    """A server on the loopback; PostgreSQL refuses to run as root, so another user runs it."""

    def __init__(self, **settings: str) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="faircascade-postgresql-"))
        self.settings = {**_SETTINGS, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        if os.getuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(self.folder, user)
            self._as = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        else:
            self._as = {}
        secret = self.folder / "secret"
        secret.write_text(_PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb", "--no-sync", "-U", "ada", "-A", "scram-sha-256", "-E", "UTF8",
            "--locale", "C", "--pwfile", str(secret), "-D", str(self.data),
        )  # fmt: skip

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        """Where to connect."""
        password = _PASSWORD.replace("%", "%25").replace(":", "%3A")
        return f"postgresql://ada:{password}@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The id of the process that runs."""
        if self._process is None:
            raise RuntimeError("this postgres is not running")
        return self._process.pid

    def use(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL, such as pg_dump, on the first database."""
        self._run(program, *arguments, "-d", self.url)

    def database(self, name: str) -> str:
        """Make an empty database and return its address."""
        self.use("psql", "-qc", f"CREATE DATABASE {name}")
        return self.url.removesuffix("/postgres") + f"/{name}"

    def _command(self, program: str, *arguments: str) -> list[str]:
        if BINARIES is None:
            raise RuntimeError(WITHOUT_POSTGRESQL)
        return [str(BINARIES / program), *arguments]

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            self._command(program, *arguments),
            cwd=self.folder, capture_output=True, text=True, **self._as,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")

    def start(self) -> PostgreSQLServer:
        """Start it with what its folder holds, and return when it answers."""
        options = [word for pair in self.settings.items() for word in ("-c", "{}={}".format(*pair))]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", str(self.data), "-p", str(self.port), *options),
                cwd=self.folder, stdout=log, stderr=log, **self._as,
            )  # fmt: skip
        deadline = time.monotonic() + _STARTING_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"postgres: {(self.folder / 'log').read_text()}")
            time.sleep(0.02)
        return self

    def _is_ready(self) -> bool:
        try:
            status = (self.data / "postmaster.pid").read_text().splitlines()[7].strip()
        except (OSError, IndexError):
            return False
        return status == "ready" and str(self.pid) in (self.data / "postmaster.pid").read_text()

    def kill(self) -> None:
        """End it as a crash would: all its processes at once, whatever they are doing."""
        if self._process is None:
            return
        if self._process.poll() is None:
            os.kill(self.pid, signal.SIGSTOP)  # so that it starts no more of them
            listed = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
            everyone = [self.pid, *map(int, listed.split())]
            for pid in everyone:
                os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + _STARTING_SECONDS
            while any(map(_is_running, everyone)) and time.monotonic() < deadline:
                time.sleep(0.01)  # it would not start while one of them has its memory
        self._process.wait(timeout=10)
        self._process = None

    def stop(self) -> None:
        """End it in peace; nothing happens if it has ended."""
        if self._process is None:
            return
        if self._process.poll() is None:
            os.kill(self.pid, signal.SIGINT)  # does not wait for clients
        self._process.wait(timeout=30)
        self._process = None

    def __enter__(self) -> PostgreSQLServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    """Tell whether a process has not ended, be it that nobody has noticed yet."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")
