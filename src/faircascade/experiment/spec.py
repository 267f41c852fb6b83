"""Spec files: what to run, in TOML.

    name = "alphas"
    title = "How much to explore"

    [data]
    name = "synthetic"

    [environment]             # options of Environment.from_ratings
    dim = 10
    k.grid = [5, 10]          # one world for each

    [run]
    rounds = 1000
    seeds = 5                 # how many, or which; rounds = 0 simulates nothing

    [every_policy]            # given to each policy that has such a parameter
    reading = "reference"

    [[policies]]              # the first is the baseline
    name = "linucb"
    alpha.grid = [0.25, 1]    # one policy for each

`parameter.grid = [...]` runs every value; several grids run every combination.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from faircascade.engine.simulation import look_at
from faircascade.experiment.cell import CHOICES, ENVIRONMENT_DEFAULTS, ENVIRONMENT_OPTIONS, Cell
from faircascade.experiment.comparison import distinct_labels, seeds_of
from faircascade.policies import Bandit, Policy
from faircascade.policies.bandit import table_of
from faircascade.registry import check_type, from_spec, lookup, parameters_of, suggest
from faircascade.types import whole

_TOP = ("name", "title", "about", "show", "data", "environment", "run", "every_policy", "policies")
_RUN = ("rounds", "seeds", "checkpoints")
_GRID = "grid"


class SpecError(ValueError):
    """A spec file that cannot be run, with the place of the mistake."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One experiment: every policy in every world with every seed."""

    name: str
    title: str = ""
    about: str = ""
    """What it is for, in a sentence or two."""
    show: tuple[str, ...] = ("table",)
    """Tables and figures of the report, by name, in their order."""
    data: Mapping[str, Any]
    environment: Mapping[str, Any]
    rounds: int
    seeds: tuple[int, ...]
    checkpoints: int = 40
    every_policy: Mapping[str, Any]
    policies: tuple[Mapping[str, Any], ...]
    """As written, grids included. `rounds` limits a policy to fewer rounds than the others."""
    where: str = "spec"
    """The file, for messages."""

    @classmethod
    def load(cls, path: str | Path) -> Spec:
        """Read a file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise SpecError(f"{path}: not a text in UTF-8") from None
        return cls.parse(text, where=str(path))

    @classmethod
    def parse(cls, text: str, *, where: str = "spec") -> Spec:
        """Read the text of a file, and check it as far as that goes without running it."""
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"{where}: not TOML: {error}") from None
        try:
            return cls.of(given, where=where)
        except SpecError:
            raise
        except (ValueError, TypeError) as error:
            raise SpecError(f"{where}: {error}") from None

    @classmethod
    def of(cls, given: Mapping[str, Any], *, where: str = "spec") -> Spec:
        """Build a spec from plain data."""
        _known(given, _TOP, "the spec")
        run = _table(given.get("run", {}), "[run]")
        _known(run, _RUN, "[run]")
        if run.get("rounds") == 0:
            given = {"data": {"name": "none"}, **given}
        for needed, part in (
            ("name", given),
            ("data", given),
            ("policies", given),
            ("rounds", run),
        ):
            if needed not in part:
                raise ValueError(f"the spec must say its {needed}")
        spec = cls(
            name=str(given["name"]),
            title=str(given.get("title", given["name"])),
            about=" ".join(str(given.get("about", "")).split()),
            show=_list(given.get("show", ["table"]), "show"),
            data=_table(given["data"], "[data]"),
            environment=_table(given.get("environment", {}), "[environment]"),
            rounds=whole(run["rounds"], "rounds"),
            seeds=seeds_of(run.get("seeds", 1)),
            checkpoints=whole(run.get("checkpoints", 40), "checkpoints"),
            every_policy=_table(given.get("every_policy", {}), "[every_policy]"),
            policies=tuple(
                _table(line, "each of [[policies]]")
                for line in _list(given["policies"], "policies")
            ),
            where=where,
        )
        spec.check()
        return spec

    def check(self) -> None:
        """Refuse what cannot be run."""
        if "name" not in self.data:
            raise ValueError("[data] must say its name")
        if self.rounds < 0:
            raise ValueError(f"rounds must be at least 0, got {self.rounds}")
        _known(self.environment, tuple(ENVIRONMENT_OPTIONS), "[environment]")
        worlds = self.worlds()
        for world in worlds:
            for name, value in world.items():
                check_option(name, value)
        if any(world in worlds[:place] for place, world in enumerate(worlds)):
            raise ValueError("[environment] must not have the same world twice")
        if not self.policies:
            raise ValueError("[[policies]] must name at least one policy")
        lines = self.lines()
        had = {p.name for _, policy, _ in lines for p in parameters_of(type(policy))}
        _known(self.every_policy, sorted(had), "a policy of [every_policy]")
        for world in worlds:
            for _, policy, _ in lines:
                check_lists(policy, int(world.get("k", ENVIRONMENT_DEFAULTS["k"])))

    def changed(
        self,
        *,
        data: Mapping[str, Any] | None = None,
        rounds: int | None = None,
        seeds: int | Sequence[int] | None = None,
        environment: Mapping[str, Any] | None = None,
        every_policy: Mapping[str, Any] | None = None,
    ) -> Spec:
        """Return the spec with some values replaced."""
        changed = replace(
            self,
            data=self.data if data is None else dict(data),
            rounds=self.rounds if rounds is None else whole(rounds, "rounds"),
            seeds=self.seeds if seeds is None else seeds_of(seeds),
            environment={**self.environment, **(environment or {})},
            every_policy={**self.every_policy, **(every_policy or {})},
        )
        changed.check()
        return changed

    def worlds(self) -> list[dict[str, Any]]:
        """Return the options of every world."""
        return list(_expand(self.environment))

    def lines(self) -> list[tuple[str, Policy, int]]:
        """Return label, policy and rounds of every policy; labels are distinct."""
        found: list[tuple[Policy, int]] = []
        for written in self.policies:
            if "name" not in written:
                raise ValueError("each of [[policies]] must say its name")
            rounds = min(self.rounds, whole(written.get("rounds", self.rounds), "rounds"))
            if rounds < min(self.rounds, 1):
                raise ValueError(f"rounds of a policy must be at least 1, got {rounds}")
            known = {p.name for p in parameters_of(lookup("policy", str(written["name"])))}
            shared = {n: v for n, v in self.every_policy.items() if n in known}
            own = {n: v for n, v in written.items() if n != "rounds"}
            for parameters in _expand({**shared, **own}):
                found.append((from_spec("policy", parameters), rounds))
        labels = distinct_labels([policy for policy, _ in found])
        return [(label, *line) for label, line in zip(labels, found, strict=True)]

    def cells(self, fingerprint: str) -> list[Cell]:
        """Return what is to be run on data with a fingerprint: world by world, seed by seed."""
        if self.rounds == 0:
            return []
        lines = self.lines()
        marks = {rounds for _, _, rounds in lines}
        return [
            Cell(
                data={**self.data, "fingerprint": fingerprint},
                environment=world,
                policy=policy,
                label=label,
                seed=seed,
                rounds=rounds,
                checkpoints=self._checkpoints(rounds, marks),
            )
            for world in self.worlds()
            for seed in self.seeds
            for label, policy, rounds in lines
        ]

    def _checkpoints(self, rounds: int, marks: set[int]) -> tuple[int, ...]:
        """Return where to look: a shorter run where the others do, and all where it ends."""
        spread = {*look_at(self.checkpoints, self.rounds), *marks}
        return tuple(sorted(checkpoint for checkpoint in spread if checkpoint <= rounds))


def _expand(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the grids among some options."""
    choices = []
    for name, value in options.items():
        is_grid = isinstance(value, Mapping) and _GRID in value
        if is_grid and set(value) != {_GRID}:
            raise ValueError(f"{name} must be a grid or a table, got both in {dict(value)}")
        choices.append(_list(value[_GRID], f"{name}.grid") if is_grid else (value,))
        if not choices[-1]:
            raise ValueError(f"{name}.grid must have at least one value")
    for chosen in product(*choices):
        yield dict(zip(options, chosen, strict=True))


def check_option(name: str, value: Any) -> None:
    """Refuse a value that an option of the environment cannot have."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    check_type(name, ENVIRONMENT_OPTIONS[name], value)
    choices = CHOICES.get(name)
    if choices and isinstance(value, str) and value not in choices:
        known = ", ".join(choices)
        raise ValueError(f"{name} must be one of {known}{suggest(value, choices)}, got {value!r}")


def check_lists(policy: Policy, k: int) -> None:
    """Refuse a policy that cannot learn from lists of length k."""
    composed = policy.compose()
    if isinstance(composed, Bandit):
        table_of(composed.reward, k)


def _list(value: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{what} must be a list, got {value!r}")
    return tuple(value)


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be a table, got {value!r}")
    return dict(value)


def _known(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise ValueError(
                f"{what} has no {name!r}{suggest(name, known)} (it has: {', '.join(known)})"
            )
