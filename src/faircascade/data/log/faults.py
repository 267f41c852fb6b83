"""What is wrong with rows of a log: refused at once, or left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, NoReturn

import numpy as np

from faircascade.data.base import DataError
from faircascade.errors import shown
from faircascade.types import Bools

Invalid = Literal["refuse", "drop"]


class Faults:
    """Rows that break a rule."""

    def __init__(self, invalid: Invalid, where: Callable[[int], str]) -> None:
        self.invalid = invalid
        self.dropped: Counter[str] = Counter()
        """Impressions that were left out, by the rule that they break first."""
        self._where = where
        self._rules: list[tuple[str, Bools]] = []
        self._first_row = 0

    def begin(self, first_row: int) -> None:
        """Turn to a block of rows."""
        self._first_row = first_row
        self._rules = []

    def check(self, wrong: Bools, rule: str, got: Callable[[int], Any] | None = None) -> None:
        """Refuse the first row of a block that is wrong, or remember them all."""
        if not wrong.any():
            return
        if self.invalid == "refuse":
            self.refuse(wrong, rule, got, "leave out such impressions with invalid='drop'")
        self._rules.append((rule, wrong))

    def refuse(
        self, wrong: Bools, rule: str, got: Callable[[int], Any] | None, advice: str
    ) -> NoReturn:
        """Refuse the first row that is wrong, whether such rows are to be left out or not."""
        row = int(np.argmax(wrong))
        value = "" if got is None else f", got {shown(got(row))}"
        raise DataError(f"{self._where(self._first_row + row)}: {rule}{value}; {advice}")

    def impressions(self, which: Any, n: int) -> Bools:
        """Return the impressions with a bad row, (n,), and count them; rows belong to `which`."""
        bad = np.zeros(n, dtype=bool)
        for rule, wrong in self._rules:
            here = np.zeros(n, dtype=bool)
            here[which[wrong]] = True
            here &= ~bad
            if here.any():
                self.dropped[rule] += int(here.sum())
            bad |= here
        return bad
