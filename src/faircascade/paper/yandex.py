"""Which click bandit survives which users: the click models fitted to 60 queries of Yandex.

Every bandit meets every click model, the one that it assumes and the five others, on each query of
a file of fitted models (`load_instances`). A seed is one run on each query; numbers are means over
the queries. Policies for position-based users are given the examination probabilities that were
fitted to the query at hand, whatever its users do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

import numpy as np

from faircascade.clicks import PBM
from faircascade.data.base import DataError
from faircascade.engine.job import Progress
from faircascade.environment import Environment
from faircascade.environment.instances import load_instances
from faircascade.metrics.tally import UNIT
from faircascade.observations import Examination
from faircascade.paper import finished_runs
from faircascade.policies import (
    DCMKLUCB,
    PBMTS,
    PBMUCB,
    CascadeKLUCB,
    CascadeTS,
    CascadeUCB1,
    MostPopular,
    Policy,
    Random,
    TopRank,
    TSCascade,
)

NAME = "yandex"
K = 5
ROUNDS = 100_000
RUNS = 20
LATE = 0.1
"""The share of the rounds, the last ones, in which a bandit should have learned."""
STUCK = 0.01
"""Share of the best value that a bandit which is stuck still loses in the last rounds."""
KNOWN = "attraction known"
"""The policy that has nothing to learn: slates by true attraction."""

POLICIES: Mapping[str, Callable[[int, Examination], Policy]] = {
    "CascadeUCB1": lambda rounds, seen: CascadeUCB1(),
    "CascadeKLUCB": lambda rounds, seen: CascadeKLUCB(),
    "DCMKLUCB": lambda rounds, seen: DCMKLUCB(),
    "TSCascade": lambda rounds, seen: TSCascade(),
    "CascadeTS": lambda rounds, seen: CascadeTS(),
    "PBMUCB": lambda rounds, seen: PBMUCB(observation=seen),
    "PBMTS": lambda rounds, seen: PBMTS(observation=seen),
    "TopRank": lambda rounds, seen: TopRank(delta=1.0 / rounds),
    KNOWN: lambda rounds, seen: MostPopular(),  # one query: what attracts most
    "Random": lambda rounds, seen: Random(),
}
"""By label, from the number of rounds and the examination fitted to a query. The one that knows
attraction shows what ranking by it loses where that is not optimal."""


@dataclass(frozen=True)
class Run(finished_runs.FinishedRun):
    """One seed of a policy under a click model: means over the queries."""

    click_model: str
    policy: str
    seed: int
    rounds: int
    instances: str
    """Hash of the file of fitted models."""
    regret: float
    """After all rounds."""
    late_loss: float
    """Share of the best value that was lost in the last tenth of the rounds."""
    stuck: float
    """Share of the queries on which that was 1% or more."""

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        return self.click_model, self.policy, self.seed, self.rounds, self.instances


@dataclass(frozen=True)
class Survival:
    """A policy under a click model: means over the seeds."""

    click_model: str
    policy: str
    seeds: int
    regret: float
    error: float
    """Standard error of the regret."""
    of_random: float
    """Regret as a share of that of random slates."""
    learning: float
    """The same without what slates by true attraction lose."""
    late_loss: float
    stuck: float


def reproduce(
    path: str | Path,
    folder: str | Path,
    *,
    rounds: int = ROUNDS,
    runs: int = RUNS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Run every policy under every click model with seeds 1, 2, ...

    Runs are kept in a table in the folder as they finish, and are not repeated.
    """
    finished_runs.check_size(rounds, runs)
    environments = load_instances(path, k=K)
    models = list(dict.fromkeys(model for model, _ in environments))
    if PBM.name not in models:
        raise DataError(f"{path}: must have the model PBM, whose examination policies are given")
    instances = hashlib.sha256(Path(path).expanduser().read_bytes()).hexdigest()[:16]
    wanted = {
        key: partial(_run, environments, *key)
        for model in models
        for policy in POLICIES
        for seed in range(1, runs + 1)
        for key in [(model, policy, seed, rounds, instances)]
    }
    return finished_runs.complete(folder, Run, wanted, threads=threads, progress=progress)


def _run(
    environments: Mapping[tuple[str, str], Environment],
    model: str,
    policy: str,
    seed: int,
    rounds: int,
    instances: str,
    stop: Event,
) -> Run:
    """Run a policy on each query under a click model."""
    losses = []
    for (of, query), env in environments.items():
        if of == model:
            fitted = environments[PBM.name, query].click_model
            assert isinstance(fitted, PBM)
            chosen = POLICIES[policy](rounds, Examination(kappa=fitted.kappa))
            losses.append(_losses(env, chosen, rounds, seed, stop))
    regret, late = np.array(losses).T  # (queries,) each
    return Run(
        click_model=model,
        policy=policy,
        seed=seed,
        rounds=rounds,
        instances=instances,
        regret=float(regret.mean()),
        late_loss=float(late.mean()),
        stuck=float((late >= STUCK).mean()),
    )


def _losses(
    env: Environment, policy: Policy, rounds: int, seed: int, stop: Event
) -> tuple[float, float]:
    """Return the regret of a run, and the share of the best value lost in its last rounds."""
    result = finished_runs.simulate_alone(env, policy, rounds=rounds, seed=seed, stop=stop)
    late = max(1, round(LATE * rounds))
    lost = float(result.tally.regret[-late:].sum()) * UNIT / late
    return result.regret, lost / result.optimal_value


def summarise(runs: Sequence[Run]) -> list[Survival]:
    """Return means over the seeds, click model by click model."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.click_model, run.policy), []).append(run)
    found = []
    for (model, policy), of in groups.items():
        regret = np.array([run.regret for run in of])
        random = np.mean([run.regret for run in groups[model, "Random"]])
        known = np.mean([run.regret for run in groups.get((model, KNOWN), [])] or [0.0])
        found.append(
            Survival(
                click_model=model,
                policy=policy,
                seeds=len(of),
                regret=float(regret.mean()),
                error=float(regret.std(ddof=1) / np.sqrt(len(of))),
                of_random=float(regret.mean() / random),
                learning=float((regret.mean() - known) / random),
                late_loss=float(np.mean([run.late_loss for run in of])),
                stuck=float(np.mean([run.stuck for run in of])),
            )
        )
    return found


def read_runs(file: Path) -> list[Run]:
    """Read runs from the table of a study."""
    return finished_runs.read_runs(file, Run)
