"""A policy online, without a simulator: recommend, show, learn from what came back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from faircascade import storage
from faircascade.policies import Policy
from faircascade.registry import from_spec, to_spec
from faircascade.types import Feedback, Floats, Ids, Ints, Items, Pool, Slate, Users

VERSION = 1


class Ranker:
    """Ranks items for users and learns from their clicks, one call at a time.

    Every user has a model of their own; unknown users start cold. Recommending and learning are
    independent: feedback may come late, in any order, or never. Not safe for several threads.

    >>> import numpy as np
    >>> from faircascade.policies import EALinUCB
    >>> ranker = Ranker(EALinUCB(weight="log"), items=np.eye(4), item_ids=["a", "b", "c", "d"])
    >>> slate = ranker.recommend("user-7", k=2)
    >>> ranker.update(slate, clicked=2)
    >>> ranker.recommend("user-7", k=2).items[0] == slate.items[1]
    True
    """

    def __init__(
        self,
        policy: Policy,
        *,
        items: Floats | Items,
        item_ids: Sequence[Any] | Ids | None = None,
        seed: int = 0,
    ) -> None:
        """Rank `items`, a catalogue or feature rows (m, d), with a policy."""
        if not isinstance(items, Items):
            items = Items.of(items, ids=item_ids)
        elif item_ids is not None:
            raise ValueError("item_ids must be left out when items is a catalogue with ids")
        self.policy = policy
        self.seed = seed
        self._policy = policy.compose()
        self._states: dict[str, Any] = {}
        self._slates: dict[str, int] = {}  # slates each user has had
        self._open: dict[str, set[int]] = {}  # rounds that wait for feedback, by user
        self._set_items(items)

    @classmethod
    def from_state(
        cls, policy: Policy, state: Any, *, items: Items, rounds: int = 0, seed: int = 0
    ) -> Ranker:
        """Go online with what a simulation learned.

        `Ranker.from_state(result.policy, result.state, items=result.env.items)`
        """
        ranker = cls(policy, items=items, seed=seed)
        users = state if isinstance(state, Users) else state.users
        for row, user in enumerate(users.ids.astype(str).tolist()):
            ranker._states[user] = ranker._policy.take(state, slice(row, row + 1))
            ranker._slates[user] = rounds
        return ranker

    @property
    def items(self) -> Items:
        """The catalogue as it is now."""
        return self._items

    @property
    def users(self) -> tuple[str, ...]:
        """Users who have had a slate or a model."""
        return tuple(self._slates)

    def recommend(
        self,
        user: object,
        k: int = 10,
        *,
        candidates: Iterable[object] | None = None,
        exclude: Iterable[object] = (),
    ) -> Slate:
        """Return a ranked slate of k items, fewer if there are not as many to choose from.

        `candidates` limits the choice to some items; ids in `exclude` are left out (unknown ones
        are ignored there: an item may have been removed meanwhile).
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        name = str(user)
        pool = self._pool(candidates, exclude)
        round = self._slates.get(name, 0) + 1
        state = self._state(name)
        every = slice(None)
        lists = self._policy.recommend(
            state, every, pool, min(k, len(pool)), round=round, seed=self.seed
        )
        self._states[name] = state
        self._slates[name] = round
        self._open.setdefault(name, set()).add(round)
        rows = lists.items[0]
        return Slate(
            slate_id=f"{name}/{round}",
            user=name,
            items=tuple(self._items.ids[rows].tolist()),
            scores=tuple(lists.scores[0].tolist()),
            features=self._items.features[rows].copy(),
            round=round,
        )

    def update(self, slate: Slate, clicked: int | None = None, *, shown: int | None = None) -> None:
        """Learn what the user did: the 1-based position of the click, or None for no click.

        `shown` says how many positions the user saw from the top, if not all. The same slate
        twice is an error that changes nothing.
        """
        size = len(slate)
        if clicked is not None and not 1 <= clicked <= size:
            raise ValueError(f"clicked must be a position from 1 to {size} or None, got {clicked}")
        if shown is not None and not 1 <= shown <= size:
            raise ValueError(f"shown must be between 1 and {size}, got {shown}")
        if clicked is not None and shown is not None and clicked > shown:
            raise ValueError(f"clicked must be among the {shown} positions shown, got {clicked}")
        self._expect(slate)
        feedback = Feedback(
            features=slate.features[None],
            clicked=np.array([clicked or 0]),
            examined=np.array([clicked or shown or size]),
        )
        self._policy.update(self._states[slate.user], slice(None), feedback)
        self._open[slate.user].discard(slate.round)

    def add_items(
        self,
        features: Floats,
        item_ids: Sequence[Any],
        *,
        merit: Floats | None = None,
        groups: dict[str, Sequence[str]] | None = None,
    ) -> None:
        """Add items; ids that are there already are replaced. Groups not given are "unknown"."""
        new = Items.of(features, ids=[str(i) for i in item_ids], merit=merit)
        if new.dim != self._items.dim:
            raise ValueError(f"features must have {self._items.dim} columns, got {new.dim}")
        for column in groups or {}:
            if column not in self._items.groups:
                raise ValueError(
                    f"groups must be among {', '.join(self._items.groups) or '(none)'}, "
                    f"got {column!r}"
                )
        old = self._items
        stay = np.flatnonzero(~np.isin(old.ids, new.ids))
        labels = {c: (groups or {}).get(c, ["unknown"] * len(new)) for c in old.groups}
        self._set_items(
            Items.of(
                np.concatenate([old.features[stay], new.features]),
                ids=np.concatenate([old.ids[stay], new.ids]),
                eligible=np.concatenate([old.eligible[stay], new.eligible]),
                merit=np.concatenate([old.merit[stay], new.merit]),
                popularity=np.concatenate([old.popularity[stay], new.popularity]),
                groups={c: np.concatenate([old.groups[c][stay], labels[c]]) for c in old.groups},
            )
        )

    def remove_items(self, item_ids: Iterable[object]) -> None:
        """Remove items; feedback on slates that show them can still be learned."""
        gone = self._rows(item_ids, "item_ids")
        stay = np.setdiff1d(np.arange(len(self._items)), gone)
        if len(stay) == 0:
            raise ValueError("item_ids must leave at least one item in the catalogue")
        self._set_items(self._items.keep(stay))

    def save(self, path: str | Path) -> None:
        """Write the policy, the catalogue and everything learned to one .npz file."""
        names = list(self._states)
        states = [self._states[name] for name in names]
        learned = self._policy.arrays(self._policy.join(states)) if states else {}
        storage.save_arrays(
            path,
            kind="ranker",
            version=VERSION,
            meta={
                "policy": to_spec(self.policy),
                "seed": self.seed,
                "users": names,
                "slates": [self._slates[name] for name in names],
                "open": [sorted(self._open.get(name, ())) for name in names],
            },
            arrays=self._items.arrays() | {f"state/{name}": a for name, a in learned.items()},
        )

    @classmethod
    def load(cls, path: str | Path) -> Ranker:
        """Read a ranker that `save` wrote; slates issued before can be answered after."""
        meta, arrays = storage.load_arrays(path, kind="ranker", version=VERSION)
        policy = from_spec("policy", meta["policy"])
        ranker = cls(policy, items=Items.restore(arrays), seed=meta["seed"])
        learned = {
            name.removeprefix("state/"): array
            for name, array in arrays.items()
            if name.startswith("state/")
        }
        names = meta["users"]
        if names:
            state = ranker._policy.restore(Users(ids=np.array(names)), learned)
            for row, name in enumerate(names):
                ranker._states[name] = ranker._policy.take(state, slice(row, row + 1))
                ranker._slates[name] = meta["slates"][row]
                ranker._open[name] = set(meta["open"][row])
        return ranker

    def _set_items(self, items: Items) -> None:
        self._items = replace(items, ids=items.ids.astype(str))
        self._row = {name: row for row, name in enumerate(self._items.ids.tolist())}

    def _state(self, name: str) -> Any:
        known = self._states.get(name)
        if known is not None:
            return known
        return self._policy.start(Users(ids=np.array([name])), self._items.dim)

    def _rows(self, item_ids: Iterable[object], what: str) -> Ints:
        names = [str(i) for i in item_ids]
        for name in names:
            if name not in self._row:
                raise ValueError(f"{what} must be items of the catalogue, got {name!r}")
        return np.array([self._row[name] for name in names], dtype=np.int64)

    def _pool(self, candidates: Iterable[object] | None, exclude: Iterable[object]) -> Pool:
        left_out = {self._row[name] for name in map(str, exclude) if name in self._row}
        if candidates is None and not left_out:
            pool = self._items.pool
        else:
            rows = self._items.pool.rows
            if candidates is not None:
                rows = np.intersect1d(rows, self._rows(candidates, "candidates"))
            pool = self._items.among(np.setdiff1d(rows, np.array(sorted(left_out), dtype=np.int64)))
        if len(pool) == 0:
            raise ValueError("no item is left to recommend after candidates and exclude")
        return pool

    def _expect(self, slate: Slate) -> None:
        """Refuse a slate that was answered before or never issued."""
        if slate.round > self._slates.get(slate.user, 0):
            raise ValueError(f"slate {slate.slate_id!r} was not issued by this ranker")
        if slate.round not in self._open.get(slate.user, ()):
            raise ValueError(f"slate {slate.slate_id!r} was already learned")
