"""What travels between the rooms: items, users, slates and feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import ParameterError
from faircascade.random import Words, keys_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Ids = NDArray[Any]
Rows = slice | Ints
"""Which users of a state: a slice or an array of row numbers."""

_GROUP = "group/"


def as_ids(values: Sequence[Any] | Ids | None, n: int, what: str) -> Ids:
    """Return `values` as an array of n distinct ids; None numbers them from 0."""
    ids = np.arange(n) if values is None else np.asarray(values)
    if ids.ndim != 1 or len(ids) != n:
        raise ValueError(f"{what} ids must be one for each of the {n} rows, got shape {ids.shape}")
    if ids.dtype.kind not in "Uiu":
        ids = np.array([id_text(i, f"{what} id") for i in ids.tolist()], dtype=str)
    values_, counts = np.unique(ids, return_counts=True)
    if len(values_) < n:
        twice = values_[counts > 1][0].item()
        raise ValueError(f"{what} ids must be distinct, got {twice!r} twice")
    return ids


def whole(value: Any, name: str) -> int:
    """Return an integer of any kind as an int; refuse everything else, True and False too."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return index(value)
    except TypeError:
        raise ParameterError(name, "must be a whole number", value) from None


def id_text(given: object, name: str) -> str:
    """Return the id of a user or an item, text or a whole number, as text."""
    try:
        return str(given if isinstance(given, str) else whole(given, name))
    except ParameterError:
        raise ParameterError(name, "must be text or a whole number", given) from None


def check_finite(array: Floats, what: str) -> Floats:
    """Return a copy of the array as contiguous float64, or say where it is not finite."""
    try:
        if array is None or np.iscomplexobj(array):  # NumPy would make numbers of them
            raise TypeError
        array = np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):  # texts, rows of several lengths, something else altogether
        raise ParameterError(what, "must be an array of numbers", array) from None
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ParameterError(what, f"must be finite at index {where}", array[where])
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Items:
    """The catalogue: one row per item."""

    ids: Ids
    """Distinct ids, (m,)."""
    features: Floats
    """Feature rows x_i, (m, d)."""
    eligible: Bools
    """False for items that are counted in the metrics and never recommended, (m,)."""
    merit: Floats
    """Positive merit of each item, (m,)."""
    popularity: Floats
    """How often each item was liked in the training data, (m,)."""
    topics: Floats
    """How far each item covers each topic, in [0, 1], (m, t); t is 0 where there are none."""
    groups: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    """Columns such as genre or supplier, (m,); several memberships are joined by `|`."""

    @classmethod
    def of(
        cls,
        features: Floats,
        *,
        ids: Sequence[Any] | Ids | None = None,
        eligible: Bools | None = None,
        merit: Floats | None = None,
        popularity: Floats | None = None,
        groups: dict[str, Any] | None = None,
        topics: Floats | None = None,
    ) -> Items:
        """Check and complete what is given: merit defaults to 1, popularity to 0."""
        features = check_finite(features, "features")
        if features.ndim != 2 or 0 in features.shape:
            raise ParameterError("features", "must be items x dimensions", features.shape)
        m = len(features)
        merit = check_finite(np.ones(m) if merit is None else merit, "merit")
        popularity = check_finite(np.zeros(m) if popularity is None else popularity, "popularity")
        eligible = np.ones(m, dtype=bool) if eligible is None else np.asarray(eligible, dtype=bool)
        columns = {name: np.asarray(column).astype(str) for name, column in (groups or {}).items()}
        lengths = {"merit": merit, "popularity": popularity, "eligible": eligible, **columns}
        for name, column in lengths.items():
            if column.shape != (m,):
                raise ValueError(
                    f"{name} must have one value for each of the {m} items, "
                    f"got shape {column.shape}"
                )
        if (merit <= 0).any():
            raise ParameterError("merit", "must be positive", merit.min())
        topics = check_finite(np.zeros((m, 0)) if topics is None else topics, "topics")
        if topics.ndim != 2 or len(topics) != m:
            raise ParameterError("topics", f"must be {m} items x topics", topics.shape)
        wrong = topics[(topics < 0) | (topics > 1)]
        if wrong.size:
            raise ParameterError("topics", "must be between 0 and 1", wrong[0])
        return cls(
            ids=as_ids(ids, m, "item"),
            features=features,
            eligible=eligible,
            merit=merit,
            popularity=popularity,
            groups=columns,
            topics=topics,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        """Number of features, d."""
        return int(self.features.shape[1])

    @cached_property
    def keys(self) -> Words:
        """Stable key of each item for random draws, (m,)."""
        return keys_of(self.ids)

    @cached_property
    def by_feature(self) -> Floats:
        """The features, one row per feature, (d, m)."""
        return np.ascontiguousarray(self.features.T)

    @cached_property
    def with_topics(self) -> Items:
        """The same items with topics as further features, (m, d + t)."""
        return replace(self, features=np.hstack([self.features, self.topics]))

    @cached_property
    def with_intercept(self) -> Items:
        """The same items with a last feature that is always 1, (m, d + 1)."""
        return replace(self, features=np.hstack([self.features, np.ones((len(self), 1))]))

    @cached_property
    def by_topic(self) -> Items:
        """The same items with topics as their only features, (m, t)."""
        return replace(self, features=self.topics)

    @cached_property
    def pool(self) -> Pool:
        """The items that can be recommended."""
        return self.among(np.flatnonzero(self.eligible))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the catalogue as arrays, to be stored."""
        return {
            "item_ids": self.ids,
            "features": self.features,
            "eligible": self.eligible,
            "merit": self.merit,
            "popularity": self.popularity,
            **{_GROUP + name: column for name, column in self.groups.items()},
            **({"topics": self.topics} if self.topics.size else {}),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> Items:
        """Return the catalogue that `arrays` described."""
        return cls.of(
            arrays["features"],
            ids=arrays["item_ids"],
            eligible=arrays["eligible"],
            merit=arrays["merit"],
            popularity=arrays["popularity"],
            groups={n.removeprefix(_GROUP): a for n, a in arrays.items() if n.startswith(_GROUP)},
            topics=arrays.get("topics"),
        )

    def keep(self, rows: Ints) -> Items:
        """Return a catalogue of some of the items."""
        return Items(
            ids=self.ids[rows],
            features=self.features[rows],
            eligible=self.eligible[rows],
            merit=self.merit[rows],
            popularity=self.popularity[rows],
            groups={name: column[rows] for name, column in self.groups.items()},
            topics=self.topics[rows],
        )

    @classmethod
    def join(cls, parts: Sequence[Items]) -> Items:
        """Return one catalogue of several with the same columns."""
        columns = [part.arrays() for part in parts]
        return cls.restore(
            {name: np.concatenate([c[name] for c in columns]) for name in columns[0]}
        )

    def among(self, rows: Ints) -> Pool:
        """Return a pool of some items by row."""
        return Pool(items=self, rows=rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """Items that a slate may be drawn from, laid out for scoring: one row per feature."""

    items: Items
    rows: Ints
    """Their rows in the catalogue, (p,)."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def by_feature(self) -> Floats:
        """Their features, (d, p)."""
        return np.ascontiguousarray(self.items.by_feature[:, self.rows])

    @cached_property
    def keys(self) -> Words:
        """Their keys, (p,)."""
        return self.items.keys[self.rows]

    @cached_property
    def pairs(self) -> Floats:
        """Products x_a x_b with a <= b, (d (d + 1) / 2, p): x^T A x of all items as one product."""
        a, b = np.triu_indices(len(self.by_feature))
        return self.by_feature[a] * self.by_feature[b]

    @cached_property
    def norms(self) -> Floats:
        """Norms of the feature rows, rounded up, (p,)."""
        largest = np.abs(self.by_feature).max() or 1.0  # so that no square overflows
        scaled = self.by_feature / largest
        return np.asarray(np.sqrt((scaled * scaled).sum(axis=0)) * (largest * (1.0 + 2.0**-40)))

    @property
    def radius(self) -> float:
        """The largest norm."""
        return float(self.norms.max())

    @cached_property
    def with_topics(self) -> Pool:
        """The same items with topics as further features."""
        return self.items.with_topics.among(self.rows)

    @cached_property
    def with_intercept(self) -> Pool:
        """The same items with a last feature that is always 1."""
        return self.items.with_intercept.among(self.rows)

    @cached_property
    def by_topic(self) -> Pool:
        """The same items with topics as their only features."""
        return self.items.by_topic.among(self.rows)

    @cached_property
    def by_key(self) -> Ints:
        """Catalogue rows in the order of their keys, which no relabelling changes, (p,)."""
        return self.rows[np.argsort(self.keys)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Users:
    """The users that a state has rows for."""

    ids: Ids
    """Distinct ids, (n,)."""
    preferences: Floats | None = None
    """True preferences theta*, (n, d), where a simulator knows them."""

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: Rows) -> Users:
        known = None if self.preferences is None else self.preferences[rows]
        return Users(ids=self.ids[rows], preferences=known)

    @classmethod
    def join(cls, parts: Sequence[Users]) -> Users:
        """Return the users of several parts, in their order."""
        known = [part.preferences for part in parts if part.preferences is not None]
        return cls(
            ids=np.concatenate([part.ids for part in parts]),
            preferences=np.concatenate(known) if len(known) == len(parts) else None,
        )

    @cached_property
    def keys(self) -> Words:
        """Stable key of each user for random draws, (n,)."""
        return keys_of(self.ids)


@dataclass(frozen=True, kw_only=True, eq=False)
class Slates:
    """Slates for several users, best item first."""

    items: Ints
    """Item rows, (n, K)."""
    scores: Floats
    """Their scores, (n, K)."""
    explored: Bools | None = None
    """Whether logged randomisation drew a position of each, (n,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Feedback:
    """What users did with the slates they were shown."""

    items: Ids
    """Ids of the items, best first, (n, K). Rows would not outlive a change of the catalogue."""
    features: Floats
    """Their feature rows as they were shown, (n, K, d)."""
    clicks: Bools
    """Which positions were clicked, (n, K)."""
    shown: Ints
    """How many positions were on the screen, counted from the top, (n,)."""
    topics: Floats
    """How far they cover each topic, (n, K, t)."""

    @classmethod
    def of(cls, items: Items, slates: Ints, clicks: Bools) -> Feedback:
        """Return feedback on slates of catalogue rows (n, K), all of which were on the screen."""
        n, k = slates.shape
        return cls(
            items=items.ids[slates],
            features=items.features[slates],
            clicks=clicks,
            shown=np.full(n, k),
            topics=items.topics[slates],
        )

    def __len__(self) -> int:
        return len(self.shown)

    def __getitem__(self, rows: Rows) -> Feedback:
        return Feedback(
            items=self.items[rows],
            features=self.features[rows],
            clicks=self.clicks[rows],
            shown=self.shown[rows],
            topics=self.topics[rows],
        )


def clicks_at(positions: Ints, k: int) -> Bools:
    """Return single clicks at 1-based positions (n,), 0 for none, as clicks of slates, (n, k)."""
    return np.asarray(np.arange(1, k + 1) == positions[:, None])


@dataclass(frozen=True, kw_only=True)
class SlatePropensities:
    """How likely a slate was when it was chosen."""

    slate: float
    """As a whole."""
    cascade: tuple[float, ...]
    """Its items down to each position, in this order, (K,)."""
    item_position: tuple[float, ...] | None = None
    """Each item at its position, whatever stands elsewhere, (K,); None if that is not known."""

    @classmethod
    def of(
        cls, slate: float, cascade: Sequence[float], item_position: Sequence[float] | None
    ) -> SlatePropensities:
        """Return propensities from lists of any kind."""
        single = None if item_position is None else tuple(item_position)
        return cls(slate=slate, cascade=tuple(cascade), item_position=single)


@dataclass(frozen=True, kw_only=True, eq=False)
class Slate:
    """One slate shown to one user online, with the features that it showed."""

    slate_id: str
    user: str
    items: tuple[str, ...]
    """Item ids, best first."""
    scores: tuple[float, ...]
    features: Floats
    """Feature rows as shown, (K, d)."""
    topics: Floats
    """How far they cover each topic, as shown, (K, t)."""
    round: int
    """How many slates this user has had, this one included."""
    propensities: SlatePropensities | None = None
    """How likely it was; None if nothing was drawn, or that is not known exactly."""
    explored: bool = False
    """Whether logged randomisation drew a position of it."""

    def __len__(self) -> int:
        return len(self.items)

    def to_dict(self) -> dict[str, Any]:
        """Return the slate as plain data, to be kept until its feedback comes."""
        arrays = {name: getattr(self, name).tolist() for name in ("features", "topics")}
        return {**asdict(self), **arrays}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Slate:
        """Return the slate that `to_dict` described."""
        try:
            tuples = {name: tuple(plain[name]) for name in ("items", "scores")}
            arrays = {n: np.array(plain[n], dtype=np.float64) for n in ("features", "topics")}
            known = plain.get("propensities")
            if known is not None:
                known = SlatePropensities.of(**known)
            return cls(**{**plain, **tuples, **arrays, "propensities": known})
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ParameterError("slate", "must be what Slate.to_dict returned", plain) from None

    def __repr__(self) -> str:
        return f"Slate({self.slate_id!r}, user={self.user!r}, items={list(self.items)})"
