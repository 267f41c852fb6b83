"""A real server, in a process of its own, on a free port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ADDRESS = re.compile(r"http://(\[[^\]]+\]|[^\s:/]+):\d+")
"""What the first line with an address in it says."""
PATIENCE = 60.0
"""Seconds that a start or a stop may take on a busy machine."""


class ServerProcess:
    """A process that runs `faircascade serve`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.url = ""
        """Without a slash at the end; empty if it never listened."""
        self._lines: list[str] = []
        self._told = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.append(line.rstrip("\n"))
            found = ADDRESS.search(line)
            if found and not self.url:
                self.url = found.group()
                self._told.set()
        self._told.set()  # it ended

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def logs(self) -> str:
        """All that it wrote on stderr so far."""
        return "\n".join(self._lines)

    def wait_until_ready(self) -> None:
        """Return when it answers; fail with what it said if it ended instead."""
        if not self._told.wait(PATIENCE) or not self.url:
            raise AssertionError(f"faircascade serve did not start:\n{self.logs}")
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=PATIENCE) as answer:
                assert answer.status == 200
        except urllib.error.HTTPError as error:
            raise AssertionError(f"not ready: {error.read()!r}\n{self.logs}") from None

    def wait(self) -> int:
        """Return the exit code once it has ended."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def terminate(self) -> int:
        """Ask it to stop and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill(self) -> int:
        """End it on the spot, as a power cut would, and return the exit code."""
        self.process.kill()
        return self.wait()

    def end(self) -> None:
        """Make sure that it has ended, whatever state it is in."""
        try:
            if self.process.poll() is None:
                self.terminate()
        finally:
            if self.process.poll() is None:
                self.kill()
            assert self.process.stderr is not None
            self.process.stderr.close()


def start(*arguments: str, folder: Path, env: Mapping[str, str] | None = None) -> ServerProcess:
    """Start `faircascade serve` with arguments in a folder, and do not wait for it."""
    command = [sys.executable, "-m", "faircascade", "serve", "--port", "0", *arguments]
    return ServerProcess(
        subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(env or {}),
        )
    )


@contextmanager
def running(
    *arguments: str, folder: Path, env: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    """Serve on a free port until the block ends.

    with running("--demo", folder=tmp_path) as server:
        httpx.get(f"{server.url}/v1/policy")
    """
    server = start(*arguments, folder=folder, env=env)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.end()
