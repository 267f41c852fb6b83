"""The oracle: what a store has to keep, in plain dictionaries and lists."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faircascade.service.stores.base import (
    LABELS,
    Impression,
    ItemPatch,
    ModelUpdate,
    UpdateOutcome,
)
from faircascade.testing.stores import SHAPE
from faircascade.types import Floats


@dataclass
class User:
    """What is known of a user."""

    sums: Floats = field(default_factory=lambda: np.zeros(SHAPE.sums))
    rounds: int = 0
    """The last round of a slate that was recorded."""
    account: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    shown: list[str] = field(default_factory=list)
    """Impressions, oldest first."""


@dataclass
class Item:
    """What is known of an item, and when it changed last."""

    slot: int
    features: Floats
    merit: float = 1.0
    popularity: float = 0.0
    groups: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    removed: bool = False
    change: int = 0


class Model:
    """Everything that a store acknowledged."""

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        self.begun: dict[str, int] = defaultdict(int)
        """Slates that were numbered but not recorded (yet): a store may skip their numbers."""
        self.cohorts: dict[str, tuple[int, Floats]] = defaultdict(lambda: (0, np.zeros(SHAPE.sums)))
        """Slates that taught them, and their sums."""
        self.impressions: dict[str, Impression] = {}
        self.answers: dict[str, tuple[Any, ...]] = {}
        self.items: dict[str, Item] = {}
        self.changes = 0
        self.events: list[tuple[float, list[int], int | None]] = []
        self.meta: dict[str, Any] = {}

    def sums(self, user: str) -> Floats:
        return self.users[user].sums if user in self.users else np.zeros(SHAPE.sums)

    def rounds(self, user: str) -> int:
        return self.users[user].rounds if user in self.users else 0

    def account(self, user: str) -> dict[int, int]:
        return dict(self.users[user].account) if user in self.users else {}

    def record(self, name: str, impression: Impression, units: list[int]) -> None:
        user = self.users.setdefault(impression.user, User())
        skipped = impression.round - user.rounds - 1
        self.begun[impression.user] -= 1 + skipped
        user.rounds = max(user.rounds, impression.round)
        user.shown.append(name)
        slots = impression.slots.tolist()
        for slot, gained in zip(slots, units, strict=False):
            user.account[slot] += gained
        self.impressions[name] = impression
        self.events.append((impression.time, slots, False))

    def learn(self, update: ModelUpdate) -> UpdateOutcome:
        name, answer = update.impression.id, (update.clicked, update.examined, update.details)
        if name not in self.impressions:
            return UpdateOutcome.UNKNOWN
        if name in self.answers:
            return (
                UpdateOutcome.REPEATED if self.answers[name] == answer else UpdateOutcome.CONFLICT
            )
        self.answers[name] = answer
        shown = self.impressions[name]
        user = self.users[shown.user]
        user.sums = user.sums + update.increments
        for cohort in shown.note.get(LABELS, ()):
            slates, sums = self.cohorts[cohort]
            self.cohorts[cohort] = slates + 1, sums + update.increments
        for slot, units in update.refunds.items():
            user.account[slot] -= units
        clicked = [shown.slots.tolist()[position - 1] for position in update.clicked]
        self.events.append((update.time, clicked, True))
        return UpdateOutcome.LEARNED

    def unanswered(self, before: float) -> set[str]:
        found = (n for n, shown in self.impressions.items() if shown.time < before)
        return {name for name in found if name not in self.answers}

    def erase(self, name: str) -> bool:
        user = self.users.pop(name, None)
        if user is None:
            return False
        self.begun.pop(name, None)
        for impression in user.shown:
            del self.impressions[impression]
            self.answers.pop(impression, None)
        return True

    def put_user(self, name: str, sums: Floats, rounds: int) -> None:
        self.users.setdefault(name, User(sums=sums, rounds=rounds))

    def put_item(self, patch: ItemPatch) -> None:
        item = self.items.get(patch.id)
        if item is None or item.removed:
            slot = len(self.items) if item is None else item.slot
            item = self.items[patch.id] = Item(slot, patch.features)
        item.features = patch.features
        if patch.merit is not None:
            item.merit = patch.merit
        if patch.popularity is not None:
            item.popularity = patch.popularity
        labels = {**item.groups, **patch.groups}
        item.groups = {column: label for column, label in labels.items() if label != ""}
        attributes = {**item.attributes, **patch.attributes}
        item.attributes = {name: value for name, value in attributes.items() if value is not None}
        self._change(item)

    def remove_items(self, names: list[str]) -> bool:
        left = {name for name, item in self.items.items() if not item.removed}
        going = left & set(names)
        if going and going == left:
            return False
        for name in going:
            self.items[name].removed = True
            self._change(self.items[name])
        return True

    def _change(self, item: Item) -> None:
        self.changes += 1
        item.change = self.changes

    def expire(self, before: float) -> int:
        old = {name for name, shown in self.impressions.items() if shown.time < before}
        for name in old:
            del self.impressions[name]
            self.answers.pop(name, None)
        for user in self.users.values():
            user.shown = [name for name in user.shown if name not in old]
        return len(old)
