"""What is counted of an arm: whole numbers by block of users, which add up in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.rerankers.ledger import UNIT, exposure_units
from faircascade.service.experiments.hashing import bucket_of
from faircascade.service.experiments.sequential import BLOCKS
from faircascade.types import Floats, Ints

REWARD_UNIT = 1e-6
"""Rewards are counted in whole multiples of it, so that they add up in any order."""


def block_of(user: str, salt: str) -> int:
    """Return the block of a user, which is independent of the arm.

    >>> block_of("user-7", "homepage")
    13
    """
    return bucket_of(user, salt, "block", BLOCKS)


@dataclass(kw_only=True, eq=False)
class ArmCounts:
    """Counts of one arm since its shares were last changed."""

    users: int = 0
    """Users with a slate."""
    sampled: int | None = None
    """Of these, those of a random sample that are told apart; all of them if it is None."""
    slates: Ints
    """Slates handed out, by block, (B,)."""
    answers: Ints
    """Slates with feedback, (B,)."""
    clicks: Ints
    """Clicks, (B,)."""
    rewards: Ints
    """What the answers are worth, in units of `REWARD_UNIT`, (B,): at most 1 a position."""
    appearances: Ints
    """How often items were shown, (B, m)."""
    units: Ints
    """The same weighed by position, in units of `UNIT`, (B, m)."""

    @classmethod
    def empty(cls, items: int, blocks: int = BLOCKS) -> ArmCounts:
        """Return the counts of an arm that nobody has seen, over a catalogue of `items`."""
        slates, answers, clicks, rewards = np.zeros((4, blocks), dtype=np.int64)
        shown, units = (np.zeros((blocks, items), dtype=np.int64) for _ in range(2))
        return cls(
            slates=slates,
            answers=answers,
            clicks=clicks,
            rewards=rewards,
            appearances=shown,
            units=units,
        )

    def add_slates(self, blocks: Ints, items: Ints) -> None:
        """Count slates of item rows (n, K), -1 for none, shown to users of blocks (n,)."""
        there = items >= 0
        np.add.at(self.slates, blocks, 1)
        cells = np.broadcast_to(blocks[:, None], items.shape)[there], items[there]
        worth = np.broadcast_to(exposure_units(items.shape[1]), items.shape)[there]
        np.add.at(self.appearances, cells, 1)
        np.add.at(self.units, cells, worth)

    def add_answers(self, blocks: Ints, clicks: Ints, rewards: Floats | None = None) -> None:
        """Count answers with so many clicks, (n,), of users of blocks (n,). They are worth as much,
        unless told otherwise."""
        np.add.at(self.answers, blocks, 1)
        np.add.at(self.clicks, blocks, clicks)
        worth = np.asarray(clicks if rewards is None else rewards)
        np.add.at(self.rewards, blocks, np.rint(worth / REWARD_UNIT).astype(np.int64))

    @property
    def worth(self) -> Floats:
        """Reward of answers, (B,)."""
        return np.asarray(self.rewards * REWARD_UNIT, dtype=np.float64)

    @property
    def weighed(self) -> Floats:
        """Exposure weighed by position, (B, m)."""
        return np.asarray(self.units * UNIT)
