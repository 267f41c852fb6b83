"""The [tune] table of a spec: what to search, for what, on which seeds.

    [tune]
    policy = "ealinucb"           # of [[policies]]: its name, or its number from 0
    maximize = "equality_p"       # or minimize = "regret"
    subject_to = "clicks >= -3%"  # against the baseline, or absolute; may be a list
    trials = 30
    seeds = [101, 102, 103]       # how many, or which; none of those of [run]
    rounds = 2000                 # if fewer than [run] has
    sampler_seed = 0

    [tune.search]
    alpha = {low = 0.05, high = 1.0}
    gamma = {low = 1e-4, high = 0.1, log = true}
    weight = {choices = ["log", "rbp", "linear"]}
    beta = {low = 0.1, high = 0.9, step = 0.1}

The other parameters of the policy stay as written. A number that does not go with the names that
were chosen (log has no beta) is left out of the trial.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faircascade.errors import ParameterError, suggest
from faircascade.experiment.cell import Cell
from faircascade.experiment.comparison_inputs import seeds_of
from faircascade.experiment.spec import Spec
from faircascade.experiment.spec.errors import Place, PlacedError, at
from faircascade.experiment.spec.grids import GRID, expand
from faircascade.experiment.spec.schema import TuneTable
from faircascade.experiment.tuning.bounds import Bound
from faircascade.experiment.tuning.candidates import Candidates, policy_of
from faircascade.experiment.tuning.strength import find_strength
from faircascade.metrics import higher_is_better
from faircascade.policies import Policy
from faircascade.registry import lookup, parameters_of
from faircascade.strengths import StrengthRange

ALL = "all"
"""In place of the name of a policy: each that can be tuned."""
SEARCH = "search"
"""The key of a policy that has parameters of its own to search."""
WITHIN = "fairest_within"
"""The key of [tune] that says which share of the clicks fairness may cost."""
FAIREST = "equality_b"
"""What "the fairest" means unless `maximize` says otherwise."""
FAR = 1_000_000
"""Seeds of a search come after this, so that more seeds for the comparison do not run into them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """A search for the parameters of one policy."""

    spec: Spec
    candidates: Candidates
    metric: str
    maximize: bool
    bounds: tuple[Bound, ...]
    trials: int
    seeds: tuple[int, ...]
    rounds: int
    sampler_seed: int
    strength: StrengthRange | None = None
    """What is searched, if that is the strength of a fair policy and no table of parameters."""

    @classmethod
    def of(cls, spec: Spec, *, trials: int | None = None) -> Search:
        """Read and check the [tune] table of a spec; `trials` replaces what it says."""
        if trials is not None and trials < 1:
            raise ParameterError("trials", "must be at least 1", trials)
        try:
            if spec.rounds == 0:
                raise PlacedError("rounds must be at least 1 to tune anything", ("run", "rounds"))
            _check_one_environment(spec)
            with at("tune"):
                number = _which(spec)
            return cls._at(spec, number, trials)
        except PlacedError as error:
            raise spec.error(str(error), *error.place) from None

    @classmethod
    def each(cls, spec: Spec, *, trials: int | None = None) -> dict[int, Search]:
        """Return a search for each policy that has a strength or a table `search` of its own.

        They are named by their numbers in the spec, whose policies have no grids.
        """
        asked = spec.tune.get("policy", ALL)
        if asked != ALL:
            raise spec.error(f"policy must be {ALL!r} here, got {asked!r}", "tune", "policy")
        try:
            _check_one_environment(spec)
            baseline = baseline_of(spec)[0]
            labels = [label for label, _, _ in spec.lines()]
            return {
                number: cls._at(spec, number, trials)
                for number in range(len(spec.policies))
                if labels[number] != baseline and _is_searched(spec, number)
            }
        except PlacedError as error:
            raise spec.error(str(error), *error.place) from None

    @classmethod
    def _at(cls, spec: Spec, number: int, trials: int | None) -> Search:
        """Return the search for one of the policies."""
        written = _written(spec, number)
        with at("tune"):
            return cls._of(spec, written, trials)

    @classmethod
    def _of(cls, spec: Spec, written: dict[str, Any], trials: int | None) -> Search:
        tune = TuneTable.model_validate(spec.tune)
        own = written.pop(SEARCH, None)
        metric, maximize = _objective(spec.tune)
        with at("subject_to"):
            bounds = (*_bounds(tune.subject_to), *_within(spec.tune))
        with at("seeds"):
            seeds = _seeds(tune.seeds, spec.seeds)
        with at("rounds"):
            most = min(written.get("rounds", spec.rounds), baseline_of(spec)[2])
            rounds = _rounds(tune.rounds, most)
        searched, strength = tune.search if own is None else own, None
        with at("search"):
            if not searched:
                searched, strength = _strength(written, bounds)
            candidates = Candidates.of(written, searched, spec.environments()[0])
        return cls(
            spec=spec,
            candidates=candidates,
            metric=metric,
            maximize=maximize,
            bounds=bounds,
            trials=tune.trials if trials is None else trials,
            seeds=seeds,
            rounds=rounds,
            sampler_seed=tune.sampler_seed,
            strength=strength,
        )

    @property
    def metrics(self) -> tuple[str, ...]:
        """What the search looks at: what is searched for, then what is bounded."""
        return tuple(dict.fromkeys([self.metric, *(bound.metric for bound in self.bounds)]))

    def cells(self, entry: Mapping[str, Any], fingerprint: str) -> list[Cell]:
        """Return the cells of a policy on the seeds of the search, one for each."""
        tune = TuneTable.model_validate(self.spec.tune)
        known = {p.name for p in parameters_of(lookup("policy", str(entry["name"])))}
        entry = {**entry, **{n: v for n, v in tune.every_policy.items() if n in known}}
        spec = only(self.spec, [entry]).changed(environment=tune.environment)
        return replace(spec, seeds=self.seeds, rounds=self.rounds).cells(fingerprint)


def baseline_of(spec: Spec) -> tuple[str, Policy, int]:
    """Return label, policy and rounds of what a spec measures changes against."""
    lines = spec.lines()
    return next((line for line in lines if line[0] == spec.baseline), lines[0])


def only(spec: Spec, entries: Sequence[Mapping[str, Any]]) -> Spec:
    """Return a spec with other policies, fully specified; the first is the baseline."""
    return replace(spec, policies=tuple(entries), every_policy={}, baseline=None, tune={})


def _check_one_environment(spec: Spec) -> None:
    for part in ("data", "environment"):
        written = getattr(spec, part)
        if len(list(expand(written))) > 1:
            place = (part, *_grid(written))
            raise PlacedError(
                "a search uses one environment, and this grid makes several: give one value "
                f"(--set {'.'.join(map(str, place))}=...)",
                place,
            )


def _which(spec: Spec) -> int:
    """Return the number of the policy that is tuned."""
    if not spec.tune:
        raise ValueError("the spec must have the table [tune]")
    if "policy" not in spec.tune:
        raise ValueError("[tune] must have the key 'policy'")
    given = spec.tune["policy"]
    names = [str(entry["name"]) for entry in spec.policies]
    found = [number for number, name in enumerate(names) if given == name]
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(names):
        found = [given]
    with at("policy"):
        if len(found) > 1:
            numbers = " or ".join(map(str, found))
            raise ValueError(
                f"policy {given!r} appears several times; give its number instead: {numbers}"
            )
        if not found:
            close = suggest(str(given), names)
            rule = f"must be one of {', '.join(names)}{close}, or its number from 0"
            raise ParameterError("policy", rule, given)
    return found[0]


def _written(spec: Spec, number: int) -> dict[str, Any]:
    """Return a policy with all that the spec says of it, which must have no grid."""
    own = spec.policies[number]
    known = {p.name for p in parameters_of(lookup("policy", str(own["name"])))}
    shared = {n: v for n, v in spec.every_policy.items() if n in known and n not in own}
    parts: tuple[tuple[Place, Mapping[str, Any]], ...] = (
        (("every_policy",), shared),
        (("policies", number), own),
    )
    entry: dict[str, Any] = {}
    for place, part in parts:
        values = list(expand(part))
        if len(values) > 1:
            raise PlacedError(
                "the policy that is tuned must have one value here, not a grid: what is to be "
                "searched goes into [tune.search]",
                (*place, *_grid(part)),
            )
        entry |= values[0]
    return entry


def _grid(written: Mapping[str, Any]) -> Place:
    """Return the place of the first grid of several values in a table."""
    for name, value in written.items():
        if isinstance(value, Mapping) and len(list(expand(value))) > 1:
            return (name,) if GRID in value else (name, *_grid(value))
    return ()


def _is_searched(spec: Spec, number: int) -> bool:
    """Say whether there is something to search in a policy of a spec, where all are tuned."""
    written = _written(spec, number)
    return SEARCH in written or find_strength(policy_of(written)) is not None


def _strength(
    written: Mapping[str, Any], bounds: Sequence[Bound]
) -> tuple[dict[str, Any], StrengthRange]:
    """Return the table to search where none is given, and the strength of the policy."""
    policy = policy_of(written)
    found = find_strength(policy)
    if found is None or not bounds:
        missing = (
            "a bound" if found is not None else f"one for {policy.name}, which has no strength"
        )
        raise ValueError(
            "[tune.search] must name at least one parameter; only the strength of a fair policy "
            f"can be searched without it, and that needs {missing}"
        )
    name, strength = found
    table: dict[str, Any] = {}
    *path, last = name.split(".")
    inner = table
    for step in path:
        inner = inner.setdefault(step, {})
    inner[last] = strength.span
    return table, strength


def _within(tune: Mapping[str, Any]) -> tuple[Bound, ...]:
    """Return the bound of "the fairest within 2%": on clicks."""
    if WITHIN not in tune:
        return ()
    with at(WITHIN):
        return (Bound.of(f"clicks >= -{share_of(tune[WITHIN]):g}%"),)


def share_of(written: Any) -> float:
    """Return a share of the clicks in percent.

    >>> share_of("2%"), share_of(" 0.5 %")
    (2.0, 0.5)
    """
    found = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", written) if isinstance(written, str) else None
    )
    if found is None or not 0 < float(found[1]) < 100:
        rule = 'must be a share of the clicks between 0% and 100%, like "2%"'
        raise ParameterError(WITHIN, rule, written)
    return float(found[1])


def _objective(tune: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the metric that is searched for, and whether it is to be large."""
    if WITHIN in tune and "minimize" not in tune:
        tune = {"maximize": FAIREST, **tune}
    given = [name for name in ("maximize", "minimize") if name in tune]
    if len(given) != 1:
        which = "both" if given else "neither"
        raise ValueError(f"[tune] must have either 'maximize' or 'minimize', got {which}")
    name = given[0]
    with at(name):
        metric = lookup("metric", str(tune[name])).name
        if higher_is_better(metric) != (name == "maximize"):
            other = "minimize" if name == "maximize" else "maximize"
            raise ValueError(f"{name} would make {metric} worse; use {other}")
    return metric, name == "maximize"


def _bounds(written: str | list[str]) -> tuple[Bound, ...]:
    if isinstance(written, str):
        return (Bound.of(written),)
    found = []
    for number, one in enumerate(written):
        with at(number):
            found.append(Bound.of(one))
    return tuple(found)


def _seeds(given: int | list[int], final: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds of a search, none of which is among those of the final comparison."""
    if isinstance(given, int):
        return tuple(max(FAR, *final) + seed for seed in seeds_of(given))
    seeds = seeds_of(given)
    both = [seed for seed in seeds if seed in final]
    if both:
        rule = (
            "must not be among those of [run]: a policy must not be judged on what it was tuned on"
        )
        raise ParameterError("seeds", rule, both)
    return seeds


def _rounds(given: int | None, most: int) -> int:
    """Return how long trials are: no longer than the policy and its baseline are compared for."""
    rounds = most if given is None else given
    if rounds > most:
        raise ParameterError("rounds", f"must be at most {most}, as in [run]", rounds)
    return rounds
