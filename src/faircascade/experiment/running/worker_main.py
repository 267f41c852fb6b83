"""A process that works on cells: `python -m ...running.worker_main FOLDER COMPONENTS`.

Components are files and modules of somebody's own, as `component_files.references` names them, in
JSON; they are loaded first.
It reads one line of JSON for each job on its standard input and answers on its standard output;
when its input ends, so does it, whatever it is doing: what it writes is whole or not at all.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

TELL_SECONDS = 0.5
"""How often a long cell says how far it is."""


class MessageHandler(logging.Handler):
    """Hands what is logged to the other end."""

    def __init__(self, out: IO[str]) -> None:
        super().__init__(logging.WARNING)
        self.out = out

    def emit(self, record: logging.LogRecord) -> None:
        say(self.out, said=record.getMessage())


def say(out: IO[str], **message: Any) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


def throttled(tell: Callable[[float], None], seconds: float) -> Callable[[float], None]:
    """Return a function that passes its value on, but not again before some seconds are over."""
    last = time.monotonic()

    def told(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            tell(share)

    return told


def listen(jobs: queue.Queue[dict[str, Any]]) -> None:
    """Take in jobs until the other end has gone."""
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)


def main() -> None:
    """Work on what is asked for, one cell after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who gives the jobs
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not come between the answers
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=listen, args=(jobs,), daemon=True).start()
    logging.getLogger("faircascade").addHandler(MessageHandler(out))

    from faircascade.component_files import load_references
    from faircascade.experiment.cell import Cell
    from faircascade.experiment.running.run_cell import CellStatus, run_cell
    from faircascade.experiment.store.environments import EnvironmentStore, Sources
    from faircascade.experiment.store.results import Results

    load_references(json.loads(sys.argv[2]))
    say(out, ready=True)
    results = Results(Path(sys.argv[1]))
    environments = EnvironmentStore(results.environments, Sources())
    while True:
        job = jobs.get()
        try:
            cell = Cell.of(job["cell"])
        except ValueError as error:  # its part is registered in what a script alone runs
            reason = f"worker processes do not know it: {error}"
            say(out, status=CellStatus.IMPOSSIBLE, reason=reason)
            continue
        tell = throttled(lambda share: say(out, share=share), TELL_SECONDS)
        try:
            ending = run_cell(cell, results, environments, threads=job["threads"], progress=tell)
        except OSError as error:
            say(out, trouble=str(error) or type(error).__name__)
        else:
            say(out, status=ending.status, reason=ending.reason)


if __name__ == "__main__":
    main()
