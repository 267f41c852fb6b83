"""Table 1 of Kveton et al. (2015), Cascading Bandits: regret after 100,000 slates, by setting.

K of L items attract with probability p = 0.2, the others with p - Delta. The table gives the mean
of 20 runs and its standard error. A run here is a user of their own, whose items start unseen; in
the paper each item is observed once before the first slate, and regret is that of the drawn clicks,
which has the same mean and a larger spread. Check the published numbers in the paper before you
cite them from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from faircascade.engine.job import Progress
from faircascade.environment import Environment
from faircascade.paper import finished_runs
from faircascade.policies import CascadeKLUCB, CascadeUCB1, Policy

NAME = "kveton2015"
ROUNDS = 100_000
RUNS = 20
ATTRACTION = 0.2
"""Of the best K items."""
NEAR = 3.0
"""Standard errors of the difference within which two numbers are taken as the same."""


@dataclass(frozen=True)
class Setting:
    """A row of the table: regret and its standard error as published."""

    items: int
    k: int
    gap: float
    ucb1: tuple[float, float]
    kl_ucb: tuple[float, float]

    def environment(self) -> Environment:
        """Return the environment of one run."""
        attraction = np.full(self.items, ATTRACTION - self.gap)
        attraction[: self.k] = ATTRACTION
        return Environment.from_attraction(attraction[None], k=self.k)


SETTINGS = (
    Setting(16, 2, 0.15, (1290.1, 11.3), (357.9, 5.5)),
    Setting(16, 4, 0.15, (986.8, 10.8), (275.1, 5.8)),
    Setting(16, 8, 0.15, (574.8, 7.9), (149.1, 3.2)),
    Setting(32, 2, 0.15, (2695.9, 19.8), (761.2, 10.4)),
    Setting(32, 4, 0.15, (2256.8, 12.8), (633.2, 7.0)),
    Setting(32, 8, 0.15, (1581.0, 20.3), (435.4, 5.7)),
    Setting(16, 2, 0.075, (2077.0, 32.9), (766.0, 18.0)),
    Setting(16, 4, 0.075, (1520.4, 23.4), (538.5, 12.5)),
    Setting(16, 8, 0.075, (725.4, 12.0), (321.0, 16.3)),
)


@dataclass(frozen=True)
class Run(finished_runs.FinishedRun):
    """One seed of a policy in a setting."""

    policy: str
    items: int
    k: int
    gap: float
    seed: int
    rounds: int
    regret: float

    @property
    def key(self) -> tuple[str, int, int, float, int, int]:
        return self.policy, self.items, self.k, self.gap, self.seed, self.rounds


@dataclass(frozen=True)
class Reproduced:
    """One cell of the table, ours next to the published one."""

    setting: Setting
    policy: str
    mean: float
    error: float
    """Standard error of the mean."""
    published: tuple[float, float] | None
    """None if the run is shorter than the published one."""

    @property
    def distance(self) -> float | None:
        """How many standard errors of the difference the two are apart."""
        if self.published is None:
            return None
        mean, error = self.published
        return abs(self.mean - mean) / float(np.hypot(error, self.error))

    @property
    def near(self) -> bool | None:
        """Whether the two are taken as the same."""
        return None if self.distance is None else self.distance <= NEAR

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain data."""
        return {**asdict(self), "distance": self.distance, "near": self.near}


def reproduce(
    folder: str | Path,
    *,
    rounds: int = ROUNDS,
    runs: int = RUNS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Reproduced]:
    """Run every setting with both policies, `runs` times each with seeds 1, 2, ...

    Runs are kept in a table in the folder as they finish, and are not repeated.
    """
    finished_runs.check_size(rounds, runs)
    cells = list(_cells())
    wanted = {
        (policy.label, setting.items, setting.k, setting.gap, seed, rounds): partial(
            _run, setting, policy, seed, rounds
        )
        for setting, policy, _ in cells
        for seed in range(1, runs + 1)
    }
    found = finished_runs.complete(folder, Run, wanted, threads=threads, progress=progress)
    regrets = np.array([run.regret for run in found]).reshape(len(cells), runs)
    return [
        Reproduced(
            setting=setting,
            policy=policy.label,
            mean=float(of.mean()),
            error=float(of.std(ddof=1) / np.sqrt(runs)),
            published=published if rounds == ROUNDS else None,
        )
        for (setting, policy, published), of in zip(cells, regrets, strict=True)
    ]


def _cells() -> Iterator[tuple[Setting, Policy, tuple[float, float]]]:
    for setting in SETTINGS:
        yield setting, CascadeUCB1(), setting.ucb1
        yield setting, CascadeKLUCB(), setting.kl_ucb


def _run(setting: Setting, policy: Policy, seed: int, rounds: int, stop: Event) -> Run:
    env = setting.environment()
    result = finished_runs.simulate_alone(env, policy, rounds=rounds, seed=seed, stop=stop)
    return Run(
        policy=policy.label,
        items=setting.items,
        k=setting.k,
        gap=setting.gap,
        seed=seed,
        rounds=rounds,
        regret=result.regret,
    )
