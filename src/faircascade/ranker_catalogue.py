"""The items of a ranker, by their ids as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.errors import ParameterError
from faircascade.policies import Policy
from faircascade.ranker_feedback import names_of
from faircascade.types import Floats, Items, Pool, as_ids, check_finite


@dataclass(frozen=True, eq=False)
class RankerCatalogue:
    """Items that a policy can learn from; changes give another catalogue."""

    policy: Policy
    items: Items

    @classmethod
    def of(cls, policy: Policy, items: Items) -> RankerCatalogue:
        """Return a catalogue, unless the policy cannot learn from the items."""
        policy.dim_of(items)
        return cls(policy, replace(items, ids=items.ids.astype(str)))

    @cached_property
    def rows(self) -> dict[str, int]:
        """The rows of the items by their ids."""
        return {name: row for row, name in enumerate(self.items.ids.tolist())}

    def with_items(
        self,
        features: Floats,
        item_ids: Sequence[Any],
        *,
        merit: Floats | None,
        groups: dict[str, Sequence[str]] | None,
        topics: Floats | None,
    ) -> RankerCatalogue:
        """Return a catalogue with further items, or others in place of those with the same ids."""
        features = check_finite(features, "features")
        if features.ndim != 2 or features.shape[1] != self.items.dim:
            raise ValueError(
                f"features must have {self.items.dim} columns, got shape {features.shape}"
            )
        ids = as_ids(names_of(item_ids, "item_ids"), len(features), "item")
        for column in groups or {}:
            if column not in self.items.groups:
                raise ValueError(
                    f"groups must be among {', '.join(self.items.groups) or '(none)'}, "
                    f"got {column!r}"
                )
        old = self.items
        before = np.array([self.rows.get(name, -1) for name in ids.tolist()])
        known = before >= 0

        def column_of(values: Any, stored: Any, blank: Any) -> Any:
            if values is not None:
                return np.asarray(values)
            return np.where(known, stored[before], blank)

        if topics is None:
            if not known.all():
                self.policy.dim_of(Items.of(features))  # refused by a policy on topics
            topics = np.where(known[:, None], old.topics[before], 0.0)
        elif np.shape(topics)[1:] != old.topics.shape[1:]:
            rule = f"must have {old.topics.shape[1]} columns"
            raise ParameterError("topics", rule, np.shape(topics))
        new = Items.of(
            features,
            ids=ids,
            topics=topics,
            merit=column_of(merit, old.merit, 1.0),
            popularity=column_of(None, old.popularity, 0.0),
            groups={
                c: column_of((groups or {}).get(c), old.groups[c], "unknown") for c in old.groups
            },
        )
        stay = np.setdiff1d(np.arange(len(old)), before[known])
        return RankerCatalogue.of(self.policy, Items.join([old.keep(stay), new]))

    def without(self, item_ids: Iterable[object]) -> RankerCatalogue:
        """Return a catalogue without some items."""
        self._refuse_fewer_items("remove_items")
        names = names_of(item_ids, "item_ids")
        for name in names:
            if name not in self.rows:
                raise ParameterError("item_ids", "must be items of the catalogue", name)
        stay = np.setdiff1d(np.arange(len(self.items)), [self.rows[name] for name in names])
        if len(stay) == 0:
            raise ParameterError("item_ids", "must leave at least one item", item_ids)
        return RankerCatalogue.of(self.policy, self.items.keep(stay))

    def pool(self, candidates: Iterable[object] | None, exclude: Iterable[object]) -> Pool:
        """Return the items to choose from: `candidates`, or all of them, but for those excluded."""
        left_out = {self.rows[name] for name in names_of(exclude, "exclude") if name in self.rows}
        if candidates is not None or left_out:
            self._refuse_fewer_items("candidates and exclude")
        if candidates is None and not left_out:
            pool = self.items.pool
        else:
            rows = self.items.pool.rows
            if candidates is not None:
                known = [self.rows.get(name, -1) for name in names_of(candidates, "candidates")]
                rows = np.intersect1d(rows, np.array(known, dtype=np.int64))
            pool = self.items.among(np.setdiff1d(rows, np.array(sorted(left_out), dtype=np.int64)))
        if len(pool) == 0:
            raise ValueError("candidates and exclude leave no item to recommend")
        return pool

    def _refuse_fewer_items(self, by: str) -> None:
        if self.policy.needs_every_item:
            raise ValueError(
                f"policy {self.policy.name!r} compares all items of the catalogue, so items "
                f"cannot be left out by {by}"
            )
