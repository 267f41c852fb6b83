"""The items that there are, and those that a slate may be drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import ParameterError
from faircascade.random import Words, keys_of
from faircascade.types.arrays import Bools, Floats, Ids, Ints, Singles, as_ids, check_finite

_GROUP = "group/"


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
        """The items that can be recommended.

        It holds a twin of these items with the same arrays: of two that hold each other, neither
        goes before the next full garbage collection.
        """
        _ = self.keys, self.by_feature  # not once for each of the two
        return copy(self).among(np.flatnonzero(self.eligible))

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
    single: bool = False
    """True if first scores may be made in single precision: slates depend on exact ones alone."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def by_feature(self) -> Floats:
        """Their features, (d, p)."""
        return np.ascontiguousarray(self.items.by_feature[:, self.rows])

    @cached_property
    def single_by_feature(self) -> Singles:
        """Their features in single precision, (d, p)."""
        return self.by_feature.astype(np.float32)

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
        return _norms(self.by_feature)

    @cached_property
    def radius(self) -> float:
        """The largest norm."""
        return float(_norms(self.by_feature).max())

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


def _norms(by_feature: Floats) -> Floats:
    """Return norms of columns (d, p), rounded up, (p,)."""
    largest = np.abs(by_feature).max() or 1.0  # so that no square overflows
    scaled = by_feature / largest
    return np.asarray(np.sqrt((scaled * scaled).sum(axis=0)) * (largest * (1.0 + 2.0**-40)))
