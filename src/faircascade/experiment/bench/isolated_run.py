"""A measurement in its own process, so that its peak memory can be measured."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from faircascade.engine.job import Progress
from faircascade.experiment.bench.measurement import Measurement, TimedRun, Timing
from faircascade.registry import to_spec

_CHILD = "faircascade.experiment.bench.isolated_main"


@dataclass(frozen=True, kw_only=True)
class IsolatedRun(TimedRun):
    """A simulation to be timed, and its memory measured, in a fresh process."""

    def measure(self, progress: Progress | None = None) -> Measurement:
        env = self.environment()
        with TemporaryDirectory(prefix="faircascade-bench-") as folder:
            path = Path(folder) / "environment.npz"
            env.save(path)
            wanted = {
                "environment": str(path),
                "policy": to_spec(self.policy),
                "rounds": self.rounds,
                "engine": self.engine,
                "lazy": self.lazy,
                "precision": self.precision,
                "threads": self.threads,
            }
            return self.measured(env, _ask_child(wanted, progress))


def _ask_child(wanted: dict[str, Any], progress: Progress | None) -> Timing:
    """Run the child; it answers in lines of JSON, shares of the work and then the result."""
    found: dict[str, Any] = {}
    with subprocess.Popen(
        [sys.executable, "-m", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(wanted))
            child.stdin.close()
            for line in child.stdout:
                found = json.loads(line)
                if progress is not None and "share" in found:
                    progress(found["share"])
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0 or "seconds" not in found:
        why = f"it ended with code {child.returncode}, perhaps for lack of memory"
        raise ChildProcessError(f"a measurement apart failed: {found.get('error', why)}")
    return Timing(**found)
