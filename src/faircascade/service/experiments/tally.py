"""What the events of a service say of its experiments, arm by arm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from faircascade.service.experiments.counts import ArmCounts
from faircascade.service.experiments.sequential import BLOCKS
from faircascade.service.exposure.counts import Counts, EventBatch
from faircascade.service.stores.base import Event, Slots

MOST_ITEMS = 10_000
"""Catalogues up to which it is measured how equally arms share exposure."""
MOST_TALLIES = 32
"""Experiments that are kept counted; those go first that were not counted for longest."""
MOST_USERS = 100_000
"""Users of an arm that are told apart; of more, every second one is, every fourth, and so on."""
SHOWN, SHADOW = "shown", "shadow"
"""Arms of a policy in the shadow: the slates that were shown in its place, and its own."""


@dataclass(kw_only=True, eq=False)
class UserSample:
    """Users that were seen, by hashes of 32 bits: all of them, or a share."""

    hashes: set[int] = field(default_factory=set)
    halvings: int = 0
    """How often the share was halved."""

    def add(self, user: int) -> None:
        """See a user."""
        if user % (1 << self.halvings) == 0:
            self.hashes.add(user)
        while len(self.hashes) > MOST_USERS:
            self.halvings += 1
            self.hashes = {one for one in self.hashes if one % (1 << self.halvings) == 0}

    @property
    def count(self) -> int:
        """About how many there are; exactly, up to `MOST_USERS`."""
        return len(self.hashes) << self.halvings

    def copy(self) -> UserSample:
        """Return an independent copy."""
        return UserSample(hashes=set(self.hashes), halvings=self.halvings)


@dataclass(kw_only=True, eq=False)
class ArmTally:
    """What was counted of an arm, by block of users."""

    blocks: dict[int, Counts] = field(default_factory=lambda: defaultdict(Counts))
    users: UserSample = field(default_factory=UserSample)
    common: int = 0
    """Items that slates of the shadow have in common with those that were shown."""

    def copy(self) -> ArmTally:
        """Return an independent copy."""
        blocks = {block: counts.copy() for block, counts in self.blocks.items()}
        return ArmTally(
            blocks=defaultdict(Counts, blocks), users=self.users.copy(), common=self.common
        )

    def counts(self, slots: Slots) -> ArmCounts:
        """Return the counts over a catalogue."""
        there = slots if len(slots) <= MOST_ITEMS else slots[:0]
        found = ArmCounts.empty(len(there))
        for block, counts in self.blocks.items():
            found.slates[block] = counts.slates
            found.answers[block] = counts.answers
            found.clicks[block] = counts.clicks
            found.appearances[block], found.units[block], _ = counts.of(there)
        return replace(found, users=self.users.count, sampled=len(self.users.hashes))


Arms = dict[str, ArmTally]


@dataclass(kw_only=True, eq=False)
class Tallies:
    """Arms by experiment: `name/period`, or `shadow/name/version`."""

    arms: dict[str, Arms] = field(default_factory=dict)
    """Last counted last."""

    def count(self, events: Sequence[Event], now: float) -> None:
        """Count the events that say to which arm they belong."""
        groups: dict[tuple[str, str, int], list[Event]] = defaultdict(list)
        for event in events:
            if not event.note:
                continue
            if (experiment := event.note.get("experiment")) is not None:
                key, arm, block = experiment["in"], experiment["arm"], experiment["block"]
                groups[key, arm, block % BLOCKS].append(event)
                if not event.answered:
                    self._arm(key, arm).users.add(experiment["user"])
            if not event.answered:
                self._count_shadows(event, groups)
        for (key, arm, block), some in groups.items():
            self._arm(key, arm).blocks[block].add(EventBatch.of(some, now))

    def _count_shadows(self, event: Event, groups: dict[tuple[str, str, int], list[Event]]) -> None:
        for key, shadow in event.note.get("shadows", {}).items():
            block, slots = shadow["block"] % BLOCKS, np.array(shadow["slots"], dtype=np.int32)
            groups[key, SHOWN, block].append(event)
            groups[key, SHADOW, block].append(replace(event, slots=slots))
            self._arm(key, SHADOW).common += len(np.intersect1d(slots, event.slots))

    def _arm(self, key: str, arm: str) -> ArmTally:
        self.arms[key] = self.arms.pop(key, {})  # now the newest
        if len(self.arms) > MOST_TALLIES:
            del self.arms[next(iter(self.arms))]
        return self.arms[key].setdefault(arm, ArmTally())

    def counts(self, key: str, arms: Iterable[str], slots: Slots) -> dict[str, ArmCounts]:
        """Return the counts of the arms of an experiment over a catalogue."""
        found: Mapping[str, ArmTally] = self.arms.get(key, {})
        return {arm: found.get(arm, ArmTally()).counts(slots) for arm in arms}

    def copy(self) -> Tallies:
        """Return an independent copy."""
        return Tallies(
            arms={
                key: {arm: tally.copy() for arm, tally in arms.items()}
                for key, arms in self.arms.items()
            }
        )
