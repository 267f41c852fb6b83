"""Names of items by slot, and slots by name: some 30 bytes for each, not a Python text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from faircascade.random import Words
from faircascade.service.stores.base import Slots
from faircascade.types import Ints

PAGE = 16_384
"""Slots whose names stand together."""
RECENT = 4_096
"""Names that are looked up in a dictionary before they are sorted in with the others."""
READ = 16_384
"""Names that are kept as texts once they were asked for: most requests are for the same few."""


def keys_of_names(names: Sequence[str]) -> Words:
    """Return what `random.keys_of` does, faster for many."""
    packed = b"".join([blake2b(name.encode(), digest_size=8).digest() for name in names])
    return np.frombuffer(packed, dtype="<u8").astype(np.uint64, copy=False)


@dataclass(frozen=True, eq=False)
class _Page:
    """Names of neighbouring slots. Never changed."""

    text: bytes
    """All of them in UTF-8, one after the other."""
    ends: NDArray[np.uint32]
    """Where each begins, and where the last one ends, (n + 1,); an empty one is not known."""

    def name(self, place: int) -> str:
        """Return a name; nothing where none is known."""
        if place + 1 >= len(self.ends):
            return ""
        return self.text[self.ends[place] : self.ends[place + 1]].decode()

    def with_names(self, names: dict[int, bytes]) -> _Page:
        """Return a page with more names, by place."""
        known = len(self.ends) - 1
        first, last = min(names), max(names)
        if first < known:  # rare: stores hand out slots in order
            ends = self.ends.tolist()
            old = {n: self.text[ends[n] : ends[n + 1]] for n in range(known)}
            return _EMPTY.with_names({**{n: t for n, t in old.items() if t}, **names})
        added = [names.get(place, b"") for place in range(known, last + 1)]
        lengths = np.fromiter(map(len, added), dtype=np.uint32, count=len(added))
        ends_of_added = self.ends[-1] + np.cumsum(lengths, dtype=np.uint32)
        return _Page(self.text + b"".join(added), np.concatenate([self.ends, ends_of_added]))

    def beginning_with(self, prefix: bytes) -> Ints:
        """Return the places of names that begin so, ascending."""
        starts = self.ends[:-1].astype(np.int64)
        places = np.flatnonzero(np.diff(self.ends.astype(np.int64)) >= max(1, len(prefix)))
        text = np.frombuffer(self.text, dtype=np.uint8)
        for at, byte in enumerate(prefix):
            places = places[text[starts[places] + at] == byte]
        return places


_EMPTY = _Page(b"", np.zeros(1, dtype=np.uint32))


class ItemNames:
    """Every name that an item ever had; a slot keeps its name for ever, so this only grows.

    One thread may add while others read: what they get is complete, as it was or as it will be.
    """

    def __init__(self) -> None:
        self._pages: list[_Page] = []
        self._sorted: tuple[Words, Slots] = np.empty(0, np.uint64), np.empty(0, np.int32)
        self._unsorted: list[tuple[Words, Slots]] = []
        self._recent: dict[int, tuple[int, ...]] = {}
        self._read: dict[int, str] = {}
        self._last = -1
        self._lock = Lock()

    def __contains__(self, slot: int) -> bool:
        return bool(self.name(slot))

    def name(self, slot: int) -> str:
        """Return the name of a slot; nothing if it has none."""
        if (known := self._read.get(slot)) is not None:
            return known
        page, place = divmod(slot, PAGE)
        name = self._pages[page].name(place) if 0 <= page < len(self._pages) else ""
        if name:  # it will never change
            if len(self._read) >= READ:
                self._read = {}
            self._read[slot] = name
        return name

    def names(self, slots: Sequence[int]) -> list[str]:
        """Return the names of some slots."""
        return [self.name(slot) for slot in slots]

    def beginning_with(self, prefix: str) -> Ints:
        """Return the slots whose names begin so, ascending."""
        wanted = prefix.encode()
        found = [
            page.beginning_with(wanted) + number * PAGE for number, page in enumerate(self._pages)
        ]
        return np.concatenate([np.empty(0, np.int64), *found])

    def add(self, slots: Slots, names: Sequence[str], keys: Words) -> None:
        """Learn names and their keys; those that are known stay as they are."""
        with self._lock:
            new = [
                row
                for row, slot in enumerate(slots.tolist())
                if slot > self._last or slot not in self
            ]
            self._last = max(self._last, int(slots.max(initial=-1)))
            by_page: dict[int, dict[int, bytes]] = {}
            for row in new:
                page, place = divmod(int(slots[row]), PAGE)
                by_page.setdefault(page, {})[place] = names[row].encode()
            while by_page and len(self._pages) <= max(by_page):
                self._pages.append(_EMPTY)
            for page, added in by_page.items():
                self._pages[page] = self._pages[page].with_names(added)
            if len(new) > RECENT // 4:
                self._unsorted.append((keys[new], slots[new]))
                return
            for key, slot in zip(keys[new].tolist(), slots[new].tolist(), strict=True):
                self._recent[key] = (*self._recent.get(key, ()), slot)

    def settle(self) -> None:
        """Sort in what was added, if it is much: finding names is fast then."""
        with self._lock:
            if not self._unsorted and len(self._recent) <= RECENT:
                return
            recent = [(key, slot) for key, slots in self._recent.items() for slot in slots]
            parts = [
                *self._unsorted,
                (
                    np.array([key for key, _ in recent], dtype=np.uint64),
                    np.array([slot for _, slot in recent], dtype=np.int32),
                ),
            ]
            keys = np.concatenate([part[0] for part in parts])
            slots = np.concatenate([part[1] for part in parts])
            order = np.argsort(keys, kind="stable")
            keys, slots = keys[order], slots[order]
            old_keys, old_slots = self._sorted
            if len(old_keys):
                places = np.searchsorted(old_keys, keys)
                keys, slots = np.insert(old_keys, places, keys), np.insert(old_slots, places, slots)
            self._sorted = keys, slots  # first, so that whoever reads meanwhile finds all names
            self._unsorted, self._recent = [], {}

    def find(self, names: Sequence[str]) -> Ints:
        """Return the slots of names, -1 for those that no item ever had."""
        if self._unsorted:
            self.settle()
        recent, (keys, slots) = self._recent, self._sorted
        wanted = keys_of_names(names)
        places = np.searchsorted(keys, wanted).tolist()
        found = np.full(len(names), -1, dtype=np.int64)
        for row, (name, key, place) in enumerate(zip(names, wanted.tolist(), places, strict=True)):
            likely = list(recent.get(key, ()))
            while place < len(keys) and keys[place] == key:  # two names may have one key
                likely.append(int(slots[place]))
                place += 1
            found[row] = next((slot for slot in likely if self.name(slot) == name), -1)
        return found
