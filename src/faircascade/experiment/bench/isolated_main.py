"""The measuring process: reads the task from stdin, writes progress and result to stdout."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from faircascade.environment import Environment
from faircascade.experiment.bench.measurement import TimedRun, warm_up
from faircascade.experiment.machine import peak_memory
from faircascade.registry import from_spec


def tell(**found: Any) -> None:
    print(json.dumps(found), flush=True)


def measure(wanted: dict[str, Any]) -> dict[str, Any]:
    env = Environment.load(wanted["environment"])
    run = TimedRun(
        case="",
        environment=lambda: env,
        policy=from_spec("policy", wanted["policy"]),
        rounds=wanted["rounds"],
        engine=wanted["engine"],
        lazy=wanted["lazy"],
        precision=wanted["precision"],
        threads=wanted["threads"],
    )
    if run.engine == "cpu":
        warm_up()
    timing = run.time(env, lambda share: tell(share=share))
    return timing._replace(peak_memory=peak_memory())._asdict()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and ends this process
    try:
        tell(**measure(json.load(sys.stdin)))
    except (ValueError, ArithmeticError, OSError, MemoryError) as error:
        tell(error=f"{type(error).__name__}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
