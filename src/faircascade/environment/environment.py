"""Users to serve: a catalogue, true preferences, and how users click and change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from faircascade import storage
from faircascade.clicks import Cascade, ClickDraws, ClickModel
from faircascade.data.base import DataError
from faircascade.environment.construction import check_length
from faircascade.environment.delays import Delay, NoDelay
from faircascade.environment.dynamics import Dynamics, Still
from faircascade.environment.facts import EnvironmentFacts, facts_of
from faircascade.environment.from_arrays import FromArrays
from faircascade.environment.from_ratings import FromRatings
from faircascade.errors import parameters_of_part
from faircascade.numerics import ordered_sum
from faircascade.ranking import Scores, attraction_of
from faircascade.registry import Component, as_component, declared, from_spec, to_spec
from faircascade.registry.specs import identity
from faircascade.source_code import own_sources
from faircascade.types import Bools, Floats, Ints, Items, Pool, Rows, Users, whole

VERSION = 2
_USERS_AT_ONCE = 256

PARTS: dict[str, type[Component]] = {"click_model": Cascade, "dynamics": Still, "delay": NoDelay}
"""The components of an environment by their kinds, each with what it usually is."""


class Response(NamedTuple):
    """What users did with their slates, and what these were worth."""

    clicks: Bools  # (n, K)
    value: Floats  # (n,), in the click model's terms


class Optimum(NamedTuple):
    """The best that could be shown in a round."""

    slates: Ints  # catalogue rows, (n, K)
    values: Floats  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class Environment(FromRatings, FromArrays):
    """Simulated users: who they are, what attracts them, and how they click and change."""

    engines: ClassVar[frozenset[str]] = frozenset({"cpu", "gpu"})
    """Compiled engines that know this class. It is not inherited, see `engines_of`."""

    items: Items
    users: Users
    k: int
    """Length of a slate, K."""
    click_model: ClickModel = field(default_factory=Cascade)
    """What users click in a slate; a name will do."""
    dynamics: Dynamics = field(default_factory=Still)
    """How users and items change by round; a name will do."""
    delay: Delay = field(default_factory=NoDelay)
    """When feedback reaches the policy; a name will do."""
    info: dict[str, Any] = field(default_factory=dict)
    """How it was made: the data, the options, what was floored or left out."""

    def __post_init__(self) -> None:
        for part in PARTS:
            object.__setattr__(self, part, as_component(part, getattr(self, part)))
        object.__setattr__(self, "k", whole(self.k, "k"))
        check_length(self.k, self.items.eligible)
        if len(self.users) == 0:
            raise DataError("an environment needs at least one user")
        with parameters_of_part("click_model"):
            self.click_model.check(self.k, len(self.items))

    def __repr__(self) -> str:
        return (
            f"Environment({self.info.get('data', '?')!r}: {len(self.users):,} users, "
            f"{len(self.items):,} items, d={self.items.dim}, k={self.k})"
        )

    @property
    def preferences(self) -> Floats:
        """True preferences theta*, (n, d)."""
        if self.users.preferences is None:
            raise ValueError("an environment needs users with known preferences")
        return self.users.preferences

    def take(self, rows: Rows) -> Self:
        """Return the same environment with some of its users, each at most once."""
        if not isinstance(rows, slice) and len(np.unique(rows)) < len(rows):
            raise ValueError("rows must name each user at most once")
        for name, value in self._own_fields().items():
            if np.shape(value)[:1] == (len(self.users),):
                raise TypeError(
                    f"{type(self).__name__} must have a method `take` of its own, which also takes "
                    f"the rows of {name!r}, one for each user"
                )
        return replace(self, users=self.users[rows])

    @property
    def parts(self) -> dict[str, Component]:
        """Click model, dynamics and delay, by their kinds."""
        return {part: getattr(self, part) for part in PARTS}

    @property
    def part_specs(self) -> dict[str, dict[str, Any]]:
        """The same as plain data."""
        return {kind: identity(part) for kind, part in self.parts.items()}

    @property
    def stands_still(self) -> bool:
        """True if every round is like the first: nothing that could change is anybody's own."""
        return type(self) is Environment and self._dynamics_stand_still

    @property
    def _dynamics_stand_still(self) -> bool:
        return declared(self.dynamics, "changes") is False

    def preferences_at(self, round: int, rows: Rows = slice(None)) -> Floats:
        """Return the preferences of some users in a round, (n, d)."""
        if self._dynamics_stand_still:
            return self.preferences[rows]
        known = self.preferences[rows].view()
        known.flags.writeable = False
        users = replace(self.users[rows], preferences=known)
        found = self.dynamics.preferences(users, round)
        if found.shape != known.shape or not np.isfinite(found).all():
            raise ValueError(
                f"dynamics {self.dynamics.name!r} must return finite preferences of shape "
                f"{known.shape}, got shape {found.shape} in round {round}"
            )
        return found

    def pool_at(self, round: int) -> Pool:
        """Return the items that can be recommended in a round."""
        if self._dynamics_stand_still:
            return self.items.pool
        present = self.dynamics.present(self.items, round)
        if present is None:
            return self.items.pool
        if present.shape != (len(self.items),) or present.dtype != bool:
            raise ValueError(
                f"dynamics {self.dynamics.name!r} must say of each of the {len(self.items)} items "
                f"whether it is present, got {present.dtype} of shape {present.shape}"
            )
        rows = np.flatnonzero(self.items.eligible & present)
        if len(rows) < self.k:
            raise ValueError(
                f"dynamics {self.dynamics.name!r} must leave at least k = {self.k} items to "
                f"recommend, got {len(rows)} in round {round}"
            )
        return self.items.among(rows)

    def attraction(self, slates: Ints, rows: Rows = slice(None), *, round: int = 1) -> Floats:
        """Return w of the listed items (n, K) for the users in `rows`, (n, K)."""
        shown = self.items.by_feature[:, slates]  # (d, n, K)
        theta = self.preferences_at(round, rows).T[:, :, None]  # (d, n, 1)
        return np.asarray(np.clip(ordered_sum(shown * theta), 0.0, 1.0))

    def respond(self, slates: Ints, rows: Rows = slice(None), *, round: int, seed: int) -> Response:
        """Let users react to their slates (n, K); draws belong to user, round, item or position."""
        attraction = self.attraction(slates, rows, round=round)
        draws = ClickDraws(
            seed=seed,
            round=round,
            users=self.users.keys[rows],
            items=self.items.keys[slates],
        )
        return Response(
            self.click_model.click(attraction, slates, draws),
            self.click_model.value(attraction, slates),
        )

    def optimum(self, round: int) -> Optimum:
        """Return the best slates of all users in a round, and what they are worth."""
        return self._first_optimum if self.stands_still else self._optimum(round)

    @cached_property
    def _first_optimum(self) -> Optimum:
        return self._optimum(1)

    def _optimum(self, round: int) -> Optimum:
        pool = self.pool_at(round)
        parts = [
            np.arange(start, min(start + _USERS_AT_ONCE, len(self.users)))
            for start in range(0, len(self.users), _USERS_AT_ONCE)
        ]
        slates = np.concatenate(
            [
                self.click_model.best(self.attraction_over(pool, rows, round=round), self.k, pool)
                for rows in parts
            ]
        )
        attraction = self.attraction(slates, round=round)
        return Optimum(slates, self.click_model.value(attraction, slates))

    def attraction_over(self, pool: Pool, rows: Ints, *, round: int = 1) -> Scores:
        """Return the attraction of every item of a pool for some users."""
        if type(self).attraction is Environment.attraction:
            return attraction_of(self.preferences_at(round, rows), pool)
        every = np.tile(pool.rows, (len(rows), 1))
        return Scores.final(self.attraction(every, rows, round=round))

    @cached_property
    def facts(self) -> EnvironmentFacts:
        """What popularity has to do with attraction here, and what slates are worth."""
        return facts_of(self)

    def save(self, path: str | Path) -> None:
        """Write the prepared environment to one .npz file."""
        if type(self) is not Environment:
            raise TypeError(f"only an Environment can be saved, got a {type(self).__name__}")
        storage.save_arrays(
            path,
            kind="environment",
            version=VERSION,
            meta={
                "k": self.k,
                **{kind: to_spec(part) for kind, part in self.parts.items()},
                "info": self.info,
                "fingerprint": self.fingerprint,
            },
            arrays=self._arrays(),
        )

    @classmethod
    def load(cls, path: str | Path) -> Environment:
        """Read an environment that `save` wrote."""
        meta, arrays = storage.load_arrays(path, kind="environment", version=VERSION)
        env = cls(
            items=Items.restore(arrays),
            users=Users(
                ids=arrays["user_ids"],
                preferences=arrays["preferences"],
                activity=arrays.get("activity"),
            ),
            k=meta["k"],
            info=meta["info"],
            **{part: from_spec(part, meta[part]) for part in PARTS},
        )
        if env.fingerprint != meta["fingerprint"]:
            raise ValueError(f"{path}: contents do not match their fingerprint")
        return env

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the contents: equal environments have equal fingerprints."""
        rules: dict[str, Any] = {"k": self.k, **self.part_specs}
        arrays = self._arrays()
        if type(self) is not Environment:
            rules["class"] = f"{type(self).__module__}.{type(self).__qualname__}"
            rules["source"] = own_sources(type(self))
            for name, value in self._own_fields().items():
                if isinstance(value, np.ndarray):
                    arrays[f"own.{name}"] = value
                else:
                    rules[f"own.{name}"] = repr(value)
        return storage.fingerprint(arrays, rules)

    def _own_fields(self) -> dict[str, Any]:
        """Return what a subclass has beside the fields of an environment."""
        ours = {f.name for f in fields(Environment)}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ours}

    def _arrays(self) -> dict[str, Any]:
        known = {"user_ids": self.users.ids, "preferences": self.preferences}
        if self.users.activity is not None:
            known["activity"] = self.users.activity
        return self.items.arrays() | known


def unusual_parts(specs: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the parts that are not the usual ones, by kind, out of `part_specs`.

    >>> unusual_parts({"click_model": {"name": "dcm", "stop": 0.5}, "delay": {"name": "none"}})
    {'click_model': 'dcm'}
    """
    known = {kind: specs[kind] for kind in PARTS if kind in specs}
    names = {kind: spec.get("name") or spec["class"] for kind, spec in known.items()}
    return {kind: name for kind, name in names.items() if name != PARTS[kind].name}


def part_words(specs: Mapping[str, Any]) -> str:
    """Name them in words, behind a comma; nothing if all are the usual ones.

    >>> part_words({"click_model": {"name": "dcm", "stop": 0.5}})
    ', click model dcm'
    """
    found = unusual_parts(specs).items()
    return "".join(f", {kind.replace('_', ' ')} {name}" for kind, name in found)
