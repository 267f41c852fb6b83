"""Runs of `faircascade import` in processes of their own."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PATIENCE = 120.0
STARTED = "importing "
"""What a run says once it has found the service and the source."""


_FORK = multiprocessing.get_context("forkserver")
_FORK.set_forkserver_preload(
    [
        "faircascade.cli.main",
        "faircascade.service.imports.importer",
        "faircascade.service.imports.sources.file",
        "faircascade.service.imports.sources.kafka",
        "faircascade.service.imports.sources.redis",
        "anyio._backends._asyncio",
        "confluent_kafka",
        "httpcore",
        "httpx",
    ]
)


class ForkedImport:
    """A run that begins at once: its process is forked from one that has read all modules."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self._process = _FORK.Process(target=_run, args=(["import", *arguments], folder))
        self._process.start()

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        """End it on the spot."""
        self._process.kill()
        self._process.join(PATIENCE)
        self._process.close()


def _run(arguments: Sequence[str], folder: Path) -> None:
    os.chdir(folder)
    sys.argv = ["faircascade", *arguments]
    with Path("import.log").open("w") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    from faircascade.cli.main import main

    main()


class ImportProcess:
    """A run in a folder."""

    def __init__(self, arguments: Sequence[str], folder: Path, stdin: Any = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "faircascade", "import", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def wait_for(self, text: str) -> bool:
        """Return once it has said something; False if it ended before."""

        def said() -> bool:
            return any(text in line for line in self.lines)

        with self._news:
            assert self._news.wait_for(lambda: said() or self._ended, PATIENCE), self.lines
            return said()

    def kill(self) -> None:
        """End it on the spot."""
        self.process.kill()
        self.end()

    def signal(self, number: signal.Signals) -> None:
        """Press Ctrl-C, or what is like it."""
        self.process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; return its code, and what it printed and said."""
        assert self.process.stdout is not None
        out = self.process.stdout.read()
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return code, out, "\n".join(self.lines)


def run_import(*arguments: str, folder: Path, stdin: Any = None) -> tuple[int, str, str]:
    """Run it to its end."""
    return ImportProcess(arguments, folder, stdin).end()


def imported(*arguments: str, folder: Path) -> dict[str, Any]:
    """Run it to its end and return what it did."""
    code, out, err = run_import(*arguments, "--json", folder=folder)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found
