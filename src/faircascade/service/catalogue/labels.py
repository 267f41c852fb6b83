"""Labels of items as numbers: a label is kept once, however many items have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
"""Numbers of labels; -1 stands for none."""


class Labels:
    """Every label that was met, each with a number that stays."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str | None, int] = {None: -1}

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
