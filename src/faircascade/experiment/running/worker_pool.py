"""Worker processes that run cells, and their messages."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from faircascade.experiment.cell import Cell
from faircascade.experiment.store.results import Results

_PROGRAM = "faircascade.experiment.running.worker_main"
_STDERR_TAIL = 2000
"""How many characters of a dead worker's stderr are reported."""


@dataclass(frozen=True)
class WorkerMessage:
    """A message of a worker process; None means that the process has ended."""

    worker: Worker
    said: dict[str, Any] | None


class Worker:
    """One worker process and the cell that it runs."""

    def __init__(
        self,
        results: Results,
        messages: queue.Queue[WorkerMessage],
        components: Mapping[str, Any],
    ) -> None:
        self.cell: Cell | None = None
        self.share = 0.0
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        self.is_ready = False
        """True once it accepts cells."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _PROGRAM, str(results.folder), json.dumps(components)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._reader = threading.Thread(target=self._listen, args=(messages,), daemon=True)
        self._reader.start()

    def give(self, cell: Cell, threads: int) -> None:
        """Give it a cell to work on."""
        self.cell, self.share = cell, 0.0
        self._send({"cell": cell.document(), "threads": threads})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has died, and its silence will tell
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def _listen(self, messages: queue.Queue[WorkerMessage]) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                messages.put(WorkerMessage(self, json.loads(line)))
        except ValueError:  # not what it should say: there is no telling what it will do
            self._process.kill()
        finally:
            messages.put(WorkerMessage(self, None))

    def exit_message(self) -> str:
        """Return how the process ended, with the end of its stderr."""
        code = self._process.wait()
        self._errors.seek(0)
        words = self._errors.read().decode("utf-8", "replace").strip()[-_STDERR_TAIL:]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"its process ended with {how}" + (f": {words.splitlines()[-1]}" if words else "")

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):  # what was still to be sent cannot be
                if pipe is not None:
                    pipe.close()
