"""One measurement: a policy in an environment, timed after kernels and optimal slates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from faircascade.cores import cores
from faircascade.engine import Result, simulate
from faircascade.engine.job import Progress
from faircascade.environment import Environment
from faircascade.policies import EALinUCB, LinTS, LinUCB, Policy

SEED = 1


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was measured of one case and policy."""

    case: str
    policy: str
    engine: str
    users: int
    items: int
    dim: int
    k: int
    rounds: int
    threads: int
    recommendations: int
    seconds: float
    cores_used: float
    """Cores that it had on average: fewer than threads if other work was going on."""
    peak_memory: int | None = None
    """Largest resident memory in bytes, of a run in a process of its own."""
    time_against_paper: float | None = None
    """Time of a recommendation against that of the case `paper`."""

    @property
    def per_second(self) -> float:
        """Recommendations a second, all threads together."""
        return self.recommendations / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "recommendations_per_second": self.per_second}


class Timing(NamedTuple):
    """What a clock and a look at the memory tell of one run."""

    recommendations: int
    seconds: float
    cores_used: float
    peak_memory: int | None = None


class Task(Protocol):
    """Something to measure."""

    @property
    def case(self) -> str: ...

    @property
    def label(self) -> str: ...

    def prepare(self) -> None: ...

    def measure(self, progress: Progress | None = None) -> Measurement: ...


@dataclass(frozen=True, kw_only=True)
class TimedRun:
    """A simulation to be timed."""

    case: str
    environment: Callable[[], Environment]
    """Builds the environment when its turn comes."""
    policy: Policy
    rounds: int
    engine: str = "cpu"
    lazy: bool = True
    precision: str = "float64"
    threads: int | None = None

    @property
    def label(self) -> str:
        return self.policy.label

    @property
    def way(self) -> str:
        """The engine in words."""
        if self.engine == "loop":
            return self.engine
        words = [self.engine, "lazy" if self.lazy else "full"]
        return ", ".join([*words, *([self.precision] if self.engine == "gpu" else [])])

    def prepare(self) -> None:
        """Build the environment, which takes time that is not the policy's."""
        self.environment()

    def measure(self, progress: Progress | None = None) -> Measurement:
        """Simulate in this process; Ctrl-C leaves no measurement."""
        env = self.environment()
        return self.measured(env, self.time(env, progress))

    def time(self, env: Environment, progress: Progress | None) -> Timing:
        env.optimum(1)  # known before the clock starts
        if self.engine in ("cpu", "gpu"):  # compiles or loads the kernel
            self._simulate(env, 1, None)
        begin = time.process_time()
        result = self._simulate(env, self.rounds, progress)
        if result.interrupted:
            raise KeyboardInterrupt
        used = (time.process_time() - begin) / result.seconds
        return Timing(result.recommendations, result.seconds, used)

    def _simulate(self, env: Environment, rounds: int, progress: Progress | None) -> Result:
        return simulate(
            env,
            self.policy,
            rounds=rounds,
            seed=SEED,
            engine=self.engine,
            lazy=self.lazy,
            precision=self.precision,
            threads=self.threads,
            progress=progress,
        )

    def measured(self, env: Environment, timing: Timing) -> Measurement:
        return Measurement(
            case=self.case,
            policy=self.label,
            engine=self.way,
            users=len(env.users),
            items=len(env.items),
            dim=env.items.dim,
            k=env.k,
            rounds=self.rounds,
            threads=self.threads or cores(),
            **timing._asdict(),
        )


def warm_up() -> None:
    """Compile or load the kernels with a tiny run of each policy."""
    rng = np.random.default_rng(0)
    env = Environment.from_arrays(rng.normal(size=(40, 4)), rng.normal(size=(8, 4)), k=3)
    for policy in (LinUCB(), EALinUCB(), LinTS()):
        for lazy in (True, False):
            simulate(env, policy, rounds=3, engine="cpu", lazy=lazy, threads=1)
