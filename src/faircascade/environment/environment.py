"""Users to serve: a catalogue, true preferences, and how users click and change."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from faircascade import storage
from faircascade.clicks import Cascade, ClickDraws, ClickModel
from faircascade.data.base import DataError, Ratings
from faircascade.data.factors import (
    Align,
    Preferences,
    item_features,
    truncated_svd,
    user_preferences,
)
from faircascade.data.load import load_dataset
from faircascade.data.prepare import (
    Sampling,
    Threshold,
    binarise,
    resolve_threshold,
    sample_users,
    split_positives,
)
from faircascade.environment.delays import Delay, NoDelay
from faircascade.environment.dynamics import Dynamics, Still
from faircascade.environment.facts import EnvironmentFacts, cautions, facts_of
from faircascade.environment.merit import Merit, merit_name, merit_of, with_merit
from faircascade.environment.worlds import calibrate, find_world
from faircascade.errors import ParameterError
from faircascade.numerics import one_blas_thread, ordered_sum
from faircascade.parameters import checked_arguments
from faircascade.ranking import Scores, attraction_of
from faircascade.registry import Component, as_component, declared, from_spec, identity, to_spec
from faircascade.source_code import own_sources
from faircascade.types import (
    Bools,
    Floats,
    Ids,
    Ints,
    Items,
    Pool,
    Rows,
    Users,
    as_ids,
    check_finite,
    whole,
)

log = logging.getLogger("faircascade")

VERSION = 2
USERS = 1000
"""Users to sample, unless a number is given."""
_USERS_AT_ONCE = 256

PARTS = ("click_model", "dynamics", "delay")
"""The components of an environment, by their kinds."""

ZeroRows = Literal["exclude", "keep"]


class Response(NamedTuple):
    """What users did with their slates, and what these were worth."""

    clicks: Bools  # (n, K)
    value: Floats  # (n,), in the click model's terms


class Optimum(NamedTuple):
    """The best that could be shown in a round."""

    slates: Ints  # catalogue rows, (n, K)
    values: Floats  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class Environment:
    """Simulated users: who they are, what attracts them, and how they click and change."""

    engines: ClassVar[frozenset[str]] = frozenset({"cpu", "gpu"})
    """Compiled engines that know this class. It is not inherited, see `registry.engines_of`."""

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
        _check_length(self.k, self.items.eligible)
        if len(self.users) == 0:
            raise DataError("an environment needs at least one user")

    @classmethod
    @checked_arguments
    def from_ratings(
        cls,
        ratings: Any,
        *,
        dim: int = 10,
        k: int = 10,
        seed: int = 0,
        users: int | None = None,
        sampling: Sampling = "active",
        threshold: Threshold = None,
        train_share: float = 0.5,
        world: str = "popular",
        popularity_power: float | None = None,
        click_rate: float | None = None,
        preferences: Preferences | None = None,
        align: Align = "sign",
        zero_rows: ZeroRows = "exclude",
        merit: Merit | None = None,
        merit_floor: float = 1e-3,
        click_model: ClickModel | None = None,
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
    ) -> Environment:
        """Sample users, binarise, split in half, take features from one half, users from the other.

        Args:
            ratings: Who rated what, such as `load_dataset("ml-1m")`, or what `load_dataset` takes:
                a data set's name, a file or a DataFrame.
            dim: Number of features, d.
            k: Length of a slate, K.
            seed: Of the sample and the split.
            users: How many users to sample, 1,000 unless given; all, if there are fewer.
            sampling: "active" takes those with the most ratings, "random" any.
            threshold: The rating from which on an item counts as liked, or a quantile of all
                ratings ("q0.7"). By default every interaction of implicit feedback and counts,
                and three quarters up the scale of ratings: 4 on 1 to 5, 8 on 1 to 10.
            train_share: Share of each user's liked items in the train half, in (0, 1).
            world: How ratings become attraction. In "popular" the items that many like attract
                more, as they do in ratings that were held out; in "paper" they do not. It decides
                what the next three are, unless they are given.
            popularity_power: From 0 (feature rows are equally long) to 1 (those of popular items
                are longer, as the factorisation makes them).
            click_rate: How often the optimal slates are clicked, in (0, 1), under the cascade;
                preferences are scaled to it.
            preferences: From the test half by "lstsq" on the features, or by "svd".
            align: How the factors of "svd" are matched with those of the train half: by "sign", by
                "procrustes", or not at all ("none", which depends on the machine's LAPACK).
            zero_rows: Items without features are never recommended ("exclude"), or may be ("keep").
            merit: "svd" (mean rank-`dim` relevance), "popularity" (share of users who like the
                item), "column" (given with the data; the default where there is one), an array
                with one value for each of `ratings.item_ids`, or a function of the `Split`.
            merit_floor: The least merit of an item, > 0.
            click_model: How users click, a component or its name; `cascade` unless given.
            dynamics: How users and items change by round, likewise; `still` unless given.
            delay: When feedback reaches the policy, likewise; `none` unless given.
        """
        chosen = find_world(
            world,
            popularity_power=popularity_power,
            click_rate=click_rate,
            preferences=preferences,
        )
        if not isinstance(ratings, Ratings):
            ratings = load_dataset(ratings)
        if merit_floor <= 0:
            raise ParameterError("merit_floor", "must be positive", merit_floor)
        dim, k, seed = whole(dim, "dim"), whole(k, "k"), whole(seed, "seed")
        wanted = USERS if users is None else whole(users, "users")
        liked_from, decided = resolve_threshold(ratings, threshold)
        train_share = float(train_share)
        if merit is not None and not isinstance(merit, str) and not callable(merit):
            ratings, merit = with_merit(ratings, merit), "column"
        sample = sample_users(ratings, wanted, sampling, seed)
        positives = binarise(sample, liked_from)
        if positives.n_items < k:
            rule = f"must be at most {positives.n_items} (the items with a positive)"
            raise ParameterError("k", rule, k)
        split = split_positives(positives, train_share, seed)
        with one_blas_thread():
            svd = truncated_svd(split.train, dim, raw_signs=align == "none")
            X = item_features(split.train, svd, popularity_power=chosen.popularity_power)
            theta = user_preferences(split.test, svd, X, method=chosen.preferences, align=align)
            worth = merit_of(split, merit, dim)
            zero = np.asarray(~X.any(axis=1))
            _check_length(k, ~zero)
            if chosen.click_rate is not None:
                theta = calibrate(theta, X[~zero], k, chosen.click_rate)
        items = Items.of(
            X,
            ids=positives.item_ids,
            eligible=~zero if zero_rows == "exclude" else None,
            merit=np.maximum(worth, merit_floor),
            popularity=np.asarray(split.train.sum(axis=0), dtype=np.float64).ravel(),
            groups=dict(positives.item_groups),
        )
        info: dict[str, Any] = {
            "data": ratings.name,
            "seed": seed,
            "sampling": sampling,
            "feedback": ratings.feedback,
            "threshold": liked_from,
            "train_share": train_share,
            "world": world,
            "popularity_power": chosen.popularity_power,
            "click_rate": chosen.click_rate,
            "preferences": chosen.preferences,
            "align": align,
            "zero_rows": zero_rows,
            "merit": merit_name(split, merit),
            "merit_floor": float(merit_floor),
            "items_with_zero_row": int(zero.sum()),
            "items_with_floored_merit": int((worth < merit_floor).sum()),
            "positives": len(positives),
            "users_without_positives": sample.n_users - positives.n_users,
            "notes": [*ratings.notes, *decided],
        }
        env = cls(
            items=items,
            users=Users(ids=positives.user_ids, preferences=theta),
            k=k,
            info=info,
            **_given(click_model=click_model, dynamics=dynamics, delay=delay),
        )
        found = list(cautions(env, ratings, sample, chosen=users is not None))
        info["cautions"] = found
        for caution in found:
            _warn_once(caution)
        return env

    @classmethod
    @checked_arguments
    def from_arrays(
        cls,
        features: Floats,
        preferences: Floats,
        *,
        k: int = 10,
        merit: Floats | None = None,
        popularity: Floats | None = None,
        item_ids: Sequence[Any] | Ids | None = None,
        user_ids: Sequence[Any] | Ids | None = None,
        groups: dict[str, Any] | None = None,
        click_model: ClickModel | None = None,
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
        name: str = "arrays",
    ) -> Environment:
        """Build an environment from feature rows (m, d) and true preferences (n, d)."""
        items = Items.of(features, ids=item_ids, merit=merit, popularity=popularity, groups=groups)
        theta = check_finite(preferences, "preferences")
        if theta.ndim != 2 or theta.shape[1] != items.dim:
            rule = f"must be users x {items.dim} (the features)"
            raise ParameterError("preferences", rule, theta.shape)
        users = Users(ids=as_ids(user_ids, len(theta), "user"), preferences=theta)
        return cls(
            items=items,
            users=users,
            k=k,
            info={"data": name},
            **_given(click_model=click_model, dynamics=dynamics, delay=delay),
        )

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
        users = Users(ids=self.users.ids[rows], preferences=known)
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
            users=Users(ids=arrays["user_ids"], preferences=arrays["preferences"]),
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
        rules: dict[str, Any] = {"k": self.k}
        rules |= {kind: identity(part) for kind, part in self.parts.items()}
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
        return self.items.arrays() | known


@cache
def _warn_once(caution: str) -> None:
    """Say it once, however many environments are like that."""
    log.warning("%s.", caution)


def _check_length(k: int, eligible: Bools) -> None:
    """Refuse slates that are longer than what they can be made of."""
    most = int(eligible.sum())
    if not 1 <= k <= most:
        rule = f"must be between 1 and {most} (the items that can be recommended)"
        raise ParameterError("k", rule, k)


def _given(**parts: Component | None) -> dict[str, Any]:
    """Return the parts that were given; others are the environment's defaults."""
    return {name: part for name, part in parts.items() if part is not None}
