"""simulate(): one policy, one world, many rounds."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import cast

import numpy as np

from faircascade.engine import loop
from faircascade.engine.job import Job, Progress
from faircascade.engine.result import Result
from faircascade.environment import Environment
from faircascade.policies import Policy
from faircascade.types import whole

ENGINES = ("auto", "loop")


def simulate(
    env: Environment,
    policy: Policy,
    *,
    rounds: int,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
    checkpoints: Sequence[int] | int = 50,
    activity: float = 1.0,
    realised: bool = False,
    trace: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Serve every user of `env` once a round and let `policy` learn from their clicks.

    Args:
        env: The users, the items and how users click.
        policy: A recipe such as `EALinUCB(weight="log")`, or any `Policy`.
        rounds: How often every user is served.
        seed: Fixes all draws; two policies with one seed meet the same users.
        engine: "loop" (NumPy) or "auto" (the fastest that can run the policy).
        threads: How many threads to use; default: the cores of this process.
        checkpoints: Rounds at which the metrics are taken, or how many of them.
        activity: Probability that a user comes in a round.
        realised: Also count the regret of the drawn clicks.
        trace: Write who saw what to this Parquet file.
        progress: Called with the share of the work done.

    Ctrl-C ends the run after the next round that all users finish, with `interrupted` set.
    """
    if not isinstance(env, Environment):
        raise TypeError(f"env must be an Environment, got {env!r}")
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a policy such as LinUCB(), got {policy!r}")
    rounds, seed = whole(rounds, "rounds"), whole(seed, "seed")
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if not 0 < activity <= 1:
        raise ValueError(f"activity must be in (0, 1], got {activity}")
    if trace is not None and Path(trace).is_dir():
        raise ValueError(f"trace must name a file, got the folder {str(trace)!r}")
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    job = Job(
        env=env,
        policy=policy,
        checkpoints=_checkpoints(checkpoints, rounds),
        seed=seed,
        threads=threads or cores(),
        activity=activity,
        realised=realised,
        trace=None if trace is None else Path(trace),
        progress=progress,
    )
    begin = time.perf_counter()
    outcome = loop.run(job)
    return Result(
        env=env,
        policy=policy,
        tally=outcome.tally,
        state=outcome.state,
        seed=seed,
        engine="loop",
        engine_reason="asked for" if engine == "loop" else "the only engine there is",
        seconds=time.perf_counter() - begin,
        interrupted=outcome.interrupted,
        realised=realised,
    )


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _checkpoints(wanted: Sequence[int] | int, rounds: int) -> tuple[int, ...]:
    """Return the rounds at which to look: half evenly, half denser towards the start."""
    if isinstance(wanted, Integral):
        count = int(wanted)
        if count < 1:
            raise ValueError(f"checkpoints must be at least 1, got {count}")
        half = (count + 1) // 2
        even = np.linspace(rounds / half, rounds, half)
        early = np.geomspace(1, rounds, count - half + 1)[: count - half]
        rounded = np.rint(np.concatenate([even, early]))
        return tuple(int(t) for t in np.unique(np.clip(rounded, 1, rounds)))
    given = tuple(whole(t, "checkpoints") for t in cast(Sequence[int], wanted))
    if not given or given[0] < 1 or given[-1] != rounds or list(given) != sorted(set(given)):
        raise ValueError(
            f"checkpoints must rise from at least 1 to the last round, {rounds}, got {list(given)}"
        )
    return given
