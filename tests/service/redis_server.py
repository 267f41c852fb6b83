"""Real servers for tests: a redis-server of one's own, which can be killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

REDIS = shutil.which("redis-server")
WITHOUT_REDIS = "redis-server is not installed"
needs_redis = pytest.mark.skipif(REDIS is None, reason=WITHOUT_REDIS)

_STARTING_SECONDS = 10.0


def free_port() -> int:
    """Return a port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """A redis-server on the loopback that writes each command to disk before it answers."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where to connect."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """The id of the process that runs."""
        if self._process is None:
            raise RuntimeError("this redis-server is not running")
        return self._process.pid

    def start(self) -> RedisServer:
        """Start it with what its folder holds, and return when it answers."""
        if REDIS is None:
            raise RuntimeError(WITHOUT_REDIS)
        settings = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.folder),
            "logfile": "redis.log",
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
        }
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        self._process = subprocess.Popen([REDIS, *options, *self.options])
        deadline = time.monotonic() + _STARTING_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"redis-server: {(self.folder / 'redis.log').read_text()}")
            time.sleep(0.01)
        return self

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")  # an error while it loads
        except OSError:
            return False

    def kill(self) -> None:
        """End it as a crash would: at once, whatever it is doing."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in peace; nothing happens if it has ended."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            os.kill(self._process.pid, how)
        self._process.wait(timeout=10)
        self._process = None

    def __enter__(self) -> RedisServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
