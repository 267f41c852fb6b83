"""Numbers of slates that processes share."""

from __future__ import annotations

import asyncio
import mmap

import pytest

from faircascade.service.stores import round_numbers
from faircascade.service.stores.base import StoreDown
from faircascade.service.stores.round_numbers import TABLE_SIZE, SharedRounds


class HeldFor:
    """A lock that another process has, for so many times that it is tried."""

    def __init__(self, tries: float) -> None:
        self.tries = tries

    def take(self) -> bool:
        self.tries -= 1
        return self.tries < 0

    def give_back(self) -> None:
        pass


def test_a_process_that_was_stopped_with_the_numbers_holds_up_nobody_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(round_numbers, "PATIENCE", 0.01)
    rounds = SharedRounds(mmap.mmap(-1, TABLE_SIZE), HeldFor(float("inf")))
    with pytest.raises(StoreDown, match="holds the numbers of slates"):
        asyncio.run(rounds.allot(["ann"], [0]))


def test_a_lock_that_is_held_for_a_moment_is_waited_for() -> None:
    rounds = SharedRounds(mmap.mmap(-1, TABLE_SIZE), HeldFor(3))
    assert asyncio.run(rounds.allot(["ann", "bob", "ann"], [4, 0, 0])) == [5, 1, 6]
