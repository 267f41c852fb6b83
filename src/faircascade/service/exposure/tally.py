"""What the events of a service say of its experiments, arm by arm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from faircascade.service.experiments.counts import REWARD_UNIT, ArmCounts
from faircascade.service.experiments.sequential import BLOCKS
from faircascade.service.exposure.counts import Counts, EventBatch
from faircascade.service.stores.base import ANSWER, Event, Slots

MOST_ITEMS = 10_000
"""Catalogues up to which it is measured how equally arms share exposure."""
MOST_SLOTS = 20_000
"""Items of these first numbers are counted by block, so that large catalogues take no memory."""
MOST_TALLIES = 8
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

    def sampled(self, halvings: int) -> int:
        """Return how many were seen of a share that was halved at least as often."""
        return sum(one % (1 << halvings) == 0 for one in self.hashes)

    def copy(self) -> UserSample:
        """Return an independent copy."""
        return UserSample(hashes=set(self.hashes), halvings=self.halvings)


@dataclass(kw_only=True, eq=False)
class ArmTally:
    """What was counted of an arm, by block of users."""

    blocks: dict[int, Counts] = field(default_factory=lambda: defaultdict(Counts))
    users: UserSample = field(default_factory=UserSample)
    rewards: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Reward of answers by block, in units of `REWARD_UNIT`."""
    common: int = 0
    """Items that slates of the shadow have in common with those that were shown."""
    items: int = 0
    """Items of slates of the shadow."""

    def copy(self) -> ArmTally:
        """Return an independent copy."""
        blocks = {block: counts.copy() for block, counts in self.blocks.items()}
        return ArmTally(
            blocks=defaultdict(Counts, blocks),
            users=self.users.copy(),
            rewards=defaultdict(int, self.rewards),
            common=self.common,
            items=self.items,
        )

    def counts(self, slots: Slots, halvings: int) -> ArmCounts:
        """Return the counts over a catalogue; the users of all arms are sampled alike."""
        small = len(slots) <= MOST_ITEMS and slots.max(initial=0) < MOST_SLOTS
        there = slots if small else slots[:0]
        found = ArmCounts.empty(len(there))
        for block, counts in self.blocks.items():
            found.slates[block] = counts.slates
            found.answers[block] = counts.answers
            found.clicks[block] = counts.clicks
            found.rewards[block] = self.rewards.get(block, 0)
            found.appearances[block], found.units[block], _ = counts.of(there)
        return replace(found, users=self.users.count, sampled=self.users.sampled(halvings))


def _reward(event: Event) -> int:
    """Return the reward of an answer in units; one for a click, unless rewards are graded."""
    reward: float = event.note.get(ANSWER, {}).get("reward", len(event.slots))
    return round(reward / REWARD_UNIT)


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
            tally = self._arm(key, arm)
            tally.blocks[block].add(EventBatch.of(some, now).of_slots(MOST_SLOTS))
            tally.rewards[block] += sum(_reward(event) for event in some if event.answered)

    def _count_shadows(self, event: Event, groups: dict[tuple[str, str, int], list[Event]]) -> None:
        for key, shadow in event.note.get("shadows", {}).items():
            block, slots = shadow["block"] % BLOCKS, np.array(shadow["slots"], dtype=np.int32)
            groups[key, SHOWN, block].append(event)
            groups[key, SHADOW, block].append(replace(event, slots=slots))
            arm = self._arm(key, SHADOW)
            arm.common += len(np.intersect1d(slots, event.slots))
            arm.items += len(slots)

    def _arm(self, key: str, arm: str) -> ArmTally:
        self.arms[key] = self.arms.pop(key, {})  # now the newest
        if len(self.arms) > MOST_TALLIES:
            del self.arms[next(iter(self.arms))]
        return self.arms[key].setdefault(arm, ArmTally())

    def counts(self, key: str, arms: Iterable[str], slots: Slots) -> dict[str, ArmCounts]:
        """Return the counts of the arms of an experiment over a catalogue."""
        known: Mapping[str, ArmTally] = self.arms.get(key, {})
        found = {arm: known.get(arm, ArmTally()) for arm in arms}
        halvings = max((tally.users.halvings for tally in found.values()), default=0)
        return {arm: tally.counts(slots, halvings) for arm, tally in found.items()}

    def common(self, key: str) -> float | None:
        """Return what share of the items that a shadow would have shown was shown."""
        tally = self.arms.get(key, {}).get(SHADOW, ArmTally())
        return tally.common / tally.items if tally.items else None

    def copy(self, keys: Container[str] | None = None) -> Tallies:
        """Return an independent copy, of all experiments or of some."""
        return Tallies(
            arms={
                key: {arm: tally.copy() for arm, tally in arms.items()}
                for key, arms in self.arms.items()
                if keys is None or key in keys
            }
        )
