"""Commands in a process of their own, as a user runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def interrupted(command: str, *, when: str, folder: Path) -> tuple[int, str, str]:
    """Run a command and press Ctrl-C at the first line on stderr that has `when` in it."""
    with subprocess.Popen(
        [sys.executable, "-m", "faircascade", *command.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:  # the first progress report says that it is under way
            if when in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err
