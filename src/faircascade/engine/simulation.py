"""simulate(): one policy, one environment, many rounds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import NamedTuple

import numpy as np

from faircascade.cores import cores
from faircascade.engine import loop
from faircascade.engine.gpu.device import NoGPU
from faircascade.engine.initial_state import Learned, initial_state
from faircascade.engine.job import Job, Outcome, Progress
from faircascade.engine.result import Result
from faircascade.engine.snapshot import check as check_snapshot
from faircascade.environment import Environment
from faircascade.environment.worlds import is_world
from faircascade.errors import EngineError, ParameterError, check_choice
from faircascade.parameters import checked_arguments
from faircascade.policies import Policy
from faircascade.registry import as_component, declared
from faircascade.types import whole

ENGINES = ("auto", "gpu", "cpu", "loop")
PRECISIONS = ("float64", "float32")
SHORT = 20_000_000
"""Work up to which `auto` does not load the cpu engine: `loop` needs a second or two for it."""
LONG = 50_000_000_000
"""Work from which on `auto` looks for a GPU: the cpu engine needs ten seconds or so for it."""
USERS_A_CORE = 10
"""Users for each core from which on it does: a GPU serves many at once, one of them slowly."""
FASTEST = "the fastest that can run it"

log = logging.getLogger("faircascade")


@checked_arguments
def simulate(
    env: Environment,
    policy: Policy | Learned | str,
    *,
    rounds: int,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
    checkpoints: Sequence[int] | int = 50,
    activity: float = 1.0,
    realised: bool = False,
    trace: str | Path | None = None,
    propensities: bool = True,
    propensity_draws: int = 0,
    snapshot: str | Path | None = None,
    keep_snapshot: bool = False,
    lazy: bool = True,
    precision: str = "float64",
    progress: Progress | None = None,
) -> Result:
    """Serve the users of `env` once per round and let `policy` learn from their clicks.

    Args:
        env: The users, the items and how users click.
        policy: A recipe such as `EALinUCB(weight="log")`, any `Policy`, or the name of one, with
            parameters if need be: "linucb", "ealinucb(weight=rbp)". A `Ranker` begins with what it
            has learned; the run does not change it.
        rounds: How often users are served who come in every round.
        seed: Fixes all draws; two policies with one seed meet the same users.
        engine: "gpu" (CUDA), "cpu" (compiled), "loop" (NumPy) or "auto" (the fastest available
            that supports the policy); slates and clicks are the same, bit for bit.
        threads: How many threads to use; default: the cores of this process.
        checkpoints: Rounds at which the metrics are taken, or how many of them.
        activity: Probability that a user comes in a round; where users of `env` have one of their
            own, a factor of it.
        realised: Also count the regret of the drawn clicks.
        trace: Write who saw what, and how likely that was, to this Parquet file.
        propensities: Write propensities to the trace if the policy knows them; only the loop engine
            computes them.
        propensity_draws: Estimate unknown propensities of items at positions by drawing each slate
            this many more times.
        snapshot: Save the run to this file while it is under way, and continue from it if it
            exists; the file is removed when the run is complete.
        keep_snapshot: Keep the file of a long run when it is complete, until the result is safe
            elsewhere.
        lazy: Let a compiled engine leave out scores that cannot matter; False scores every item
            in every round, for the same result.
        precision: "float64", or "float32" for what the policy computes on a GPU: faster, and other
            slates where scores are close.
        progress: Called with the share of the work done.

    Ctrl-C ends the run with the rounds that all users finished, and `interrupted` set. With a
    `snapshot`, the same call later continues from there, to the same result.
    """
    start = initial_state(policy, env) if isinstance(policy, Learned) else None
    policy = policy.policy if isinstance(policy, Learned) else policy
    policy, rounds, seed = _checked(env, policy, rounds, seed)
    check_engine(engine, precision)
    if not 0 < activity <= 1:
        raise ParameterError("activity", "must be in (0, 1]", activity)
    if trace is not None and Path(trace).is_dir():
        raise ParameterError("trace", "must name a file, not a folder", str(trace))
    propensity_draws = whole(propensity_draws, "propensity_draws")
    if propensity_draws < 0:
        raise ParameterError("propensity_draws", "must be at least 0", propensity_draws)
    if propensity_draws and (trace is None or not propensities):
        rule = "must be 0 without a trace with propensities"
        raise ParameterError("propensity_draws", rule, propensity_draws)
    model = env.click_model
    if realised and not model.value_is_clicks:
        rule = f"must be false with click model {model.name!r}, whose value is not clicks"
        raise ParameterError("realised", rule, realised)
    if threads is not None and threads < 1:
        raise ParameterError("threads", "must be at least 1", threads)
    if progress is not None and not callable(progress):
        raise ParameterError("progress", "must be a function of the share done", progress)
    job = Job(
        env=env,
        policy=policy,
        start=start,
        checkpoints=look_at(checkpoints, rounds),
        seed=seed,
        threads=threads or cores(),
        activity=activity,
        realised=realised,
        trace=None if trace is None else Path(trace),
        propensities=propensities,
        propensity_draws=propensity_draws,
        snapshot=None if snapshot is None else Path(snapshot),
        keep_snapshot=keep_snapshot,
        lazy=lazy,
        precision=precision,
        progress=progress,
    )
    check_snapshot(job)
    warn(job)
    run, name, reason = _choose(engine, job)
    begin = time.perf_counter()
    trouble = ""
    try:
        outcome = run(job)
    except NoGPU as error:  # found now that it was to be used: its memory is used up, say
        if engine != "auto":
            raise
        trouble = str(error)
    if trouble:  # and what the error held on the device is gone
        run, name, reason = _on_processor(engine, job)
        reason = f"{reason} now: {trouble}"
        outcome = run(job)
    seconds = time.perf_counter() - begin - outcome.compiling
    return _result(job, outcome, name, reason, seconds)


class Wanted(NamedTuple):
    """One of several runs that share a GPU."""

    env: Environment
    policy: Policy
    seed: int = 0


def simulate_together(
    wanted: Sequence[Wanted],
    *,
    rounds: int,
    checkpoints: Sequence[int] | int = 50,
    precision: str = "float64",
    progress: Progress | None = None,
) -> list[Result]:
    """Run several policies, seeds and environments side by side on a GPU.

    A single run with few users would leave the GPU idle. The environments must have the same K and
    number of features. Results are those of `simulate` for each; `seconds` is divided by users.
    """
    from faircascade.engine.gpu import run as gpu

    if not wanted:
        return []
    check_choice("precision", precision, PRECISIONS)
    jobs = []
    for env, policy, given in wanted:
        policy, rounds, seed = _checked(env, policy, rounds, given)
        at = look_at(checkpoints, rounds)
        jobs.append(
            Job(env=env, policy=policy, checkpoints=at, seed=seed, threads=1, precision=precision)
        )
    if progress is not None:
        jobs[0] = replace(jobs[0], progress=progress)
    for job in jobs:
        warn(job)
        lacking = gpu.lacks(job)
        if lacking:
            raise EngineError("gpu", lacking, instead=["auto"])
    begin = time.perf_counter()
    outcomes = gpu.run_together(jobs)
    seconds = time.perf_counter() - begin
    reason = f"{len(jobs)} together: {gpu.the_gpu().name}, {precision}"
    users = sum(len(job.env.users) for job in jobs)
    return [
        _result(job, outcome, "gpu", reason, seconds * len(job.env.users) / users)
        for job, outcome in zip(jobs, outcomes, strict=True)
    ]


def _result(job: Job, outcome: Outcome, name: str, reason: str, seconds: float) -> Result:
    return Result(
        env=job.env,
        policy=job.policy,
        tally=outcome.tally,
        state=outcome.state,
        seed=job.seed,
        engine=name,
        engine_reason=reason,
        seconds=outcome.earlier + seconds,
        interrupted=outcome.interrupted,
        realised=job.realised,
        activity=job.activity,
        precision=job.precision,
    )


def _checked(
    env: Environment, policy: Policy | str, rounds: int, seed: int
) -> tuple[Policy, int, int]:
    """Return the policy, and rounds and seed as whole numbers; refuse what cannot be run."""
    if not isinstance(env, Environment):
        rule = "must be an Environment, as Environment.from_ratings(data) makes one"
        raise ParameterError("env", rule, env)
    chosen: Policy = as_component("policy", policy)
    rounds, seed = whole(rounds, "rounds"), whole(seed, "seed")
    if rounds < 1:
        raise ParameterError("rounds", "must be at least 1", rounds)
    if chosen.needs_every_item and (env.dynamics.changes_items or env.delay.waits):
        raise ValueError(
            f"policy {chosen.name!r} compares all items slate by slate, so it cannot have items "
            f"that come and go or delayed feedback; here dynamics are {env.dynamics.name!r} and "
            f"delay is {env.delay.name!r}"
        )
    return chosen, rounds, seed


def warn(job: Job) -> None:
    """Say before a run what its reader must know: harm, bad scales, inexact optimal slates."""
    harmful, model = job.policy.harmful_in, job.env.click_model
    if harmful and declared(model, "studied") and is_world(harmful, job.env.info):
        _warn_once(
            f"{job.policy.label} is known to make exposure less equal than LinUCB does where "
            f"world = {harmful!r}; see docs/explanation/worlds.md."
        )
    rows = job.rounds * float(job.chances.max()) * job.env.k
    warning = job.policy.scale_warning(job.env.items.pool.radius, rows)
    if warning:
        log.warning("%s: %s.", job.policy.label, warning)
    if not model.best_is_optimal:
        _warn_once(
            f"Click model {model.name!r} does not know the best slates: regret is against good "
            "ones, and can be negative."
        )


@cache
def _warn_once(message: str) -> None:
    """Say it in the first of many runs."""
    log.warning("%s", message)


def check_engine(engine: str, precision: str = "float64") -> None:
    """Refuse an engine that does not exist, is not available, or lacks the precision."""
    check_choice("engine", engine, ENGINES)
    check_choice("precision", precision, PRECISIONS)
    if precision != "float64" and engine != "gpu":
        raise ParameterError("precision", "must be float64 unless engine is 'gpu'", precision)
    if engine == "gpu":
        from faircascade.engine.gpu import run as gpu

        gpu.the_gpu()


def _choose(engine: str, job: Job) -> tuple[Callable[[Job], Outcome], str, str]:
    """Return the engine to use, its name, and why it is used."""
    work = len(job.env.users) * job.rounds * (1000 + len(job.env.items))
    if engine == "gpu":
        from faircascade.engine.gpu import run as gpu

        lacking = gpu.lacks(job) or gpu.the_gpu().lacks(gpu.shape_of([job]))
        if lacking:
            raise EngineError("gpu", lacking, instead=["auto"])
        return gpu.run, "gpu", f"asked for: {gpu.the_gpu().name}, {job.precision}"
    if engine == "auto" and work <= SHORT:
        return loop.run, "loop", "a short run"
    if engine == "auto" and work >= LONG and len(job.env.users) >= USERS_A_CORE * job.threads:
        from faircascade.engine.gpu import run as gpu

        if not gpu.lacks(job) and gpu.is_present():
            device = gpu.the_gpu()
            if not device.lacks(gpu.shape_of([job])):
                return gpu.run, "gpu", f"{FASTEST}: {device.name}"
    return _on_processor(engine, job)


def _on_processor(engine: str, job: Job) -> tuple[Callable[[Job], Outcome], str, str]:
    """Return the engine to use without a GPU, its name, and why it is used."""
    if engine == "loop":
        return loop.run, "loop", "asked for"
    from faircascade.engine.cpu import run as cpu  # loads Numba

    lacking = cpu.lacks(job)
    if not lacking:
        return cpu.run, "cpu", "asked for" if engine == "cpu" else FASTEST
    if engine == "cpu":
        raise EngineError("cpu", lacking, instead=["loop", "auto"])
    return loop.run, "loop", f"cpu does not support {lacking}"


def look_at(wanted: Sequence[int] | int, rounds: int) -> tuple[int, ...]:
    """Return the rounds at which to look; a number of them is spread, denser towards the start."""
    if isinstance(wanted, Integral):
        count = int(wanted)
        if count < 1:
            raise ParameterError("checkpoints", "must be at least 1", count)
        half = (count + 1) // 2
        even = np.linspace(rounds / half, rounds, half)
        early = np.geomspace(1, rounds, count - half + 1)[: count - half]
        rounded = np.rint(np.concatenate([even, early]))
        return tuple(int(t) for t in np.unique(np.clip(rounded, 1, rounds)))
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise ParameterError("checkpoints", "must be a whole number or a list of rounds", wanted)
    given = tuple(whole(t, "checkpoints") for t in wanted)
    if not given or given[0] < 1 or given[-1] != rounds or list(given) != sorted(set(given)):
        rule = f"must rise from at least 1 to the last round, {rounds}"
        raise ParameterError("checkpoints", rule, list(given))
    return given
