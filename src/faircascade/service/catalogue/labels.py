"""Labels of items as numbers: a label is kept once, however many items have it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Bools

Codes = NDArray[np.int32]
"""Numbers of labels; -1 stands for none."""
SEPARATOR = "|"
"""Stands between the groups of a label: "a|b" is a member of both."""


class Labels:
    """Every label that was met, each with a number that stays."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str | None, int] = {None: -1}
        self._members: list[tuple[str, ...]] = []
        self._having: dict[str, list[int]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.texts)

    def codes(self, labels: Sequence[str | None]) -> Codes:
        """Return the numbers of labels, new ones for those not met yet."""
        for label in set(labels):
            if label not in self._codes:
                assert label is not None
                self.texts.append(label)
                self._codes[label] = len(self.texts) - 1
        return np.fromiter(map(self._codes.__getitem__, labels), np.int32, count=len(labels))

    def text(self, code: int) -> str | None:
        """Return a label by its number."""
        return None if code < 0 else self.texts[code]

    def code(self, label: str) -> int:
        """Return the number of a label, -1 if it was never met."""
        return self._codes.get(label, -1)

    def members(self, code: int) -> tuple[str, ...]:
        """Return the groups of a label, each once; none for no label."""
        if code < 0:
            return ()
        self._take_apart()
        return self._members[code]

    def having(self, group: str) -> list[int]:
        """Return the numbers of the labels that are members of a group."""
        self._take_apart()
        return self._having.get(group, [])

    def lookup(self, codes: Sequence[int]) -> Bools:
        """Return which labels are among some, by number; the last entry, of none, is False."""
        table = np.zeros(len(self.texts) + 1, dtype=bool)
        table[list(codes)] = True
        return table

    def _take_apart(self) -> None:
        """Learn what the labels consist of that were met since the last time."""
        if len(self._members) == len(self.texts):
            return
        with self._lock:  # one thread may add labels while others ask
            for code in range(len(self._members), len(self.texts)):
                parts = tuple(dict.fromkeys(filter(None, self.texts[code].split(SEPARATOR))))
                for part in parts:
                    self._having.setdefault(part, []).append(code)
                self._members.append(parts)
