"""Users in blocks: what an interval leaves out one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from faircascade.data.log import Log
from faircascade.types import Ints

Codes = NDArray[np.int32]


class UserBlocks:
    """The block of every user, by a hash of the id: the same whatever the order of the log."""

    def __init__(self, log: Log, blocks: int) -> None:
        self._log, self._blocks = log, blocks
        self._of_user = np.zeros(0, dtype=np.int64)

    def of(self, users: Codes) -> Ints:
        """Return the block of each user, (n,); users are codes of the log."""
        if not self._log.has_users:  # every impression is one of its own
            return block_of(users.tolist(), self._blocks)
        known = len(self._of_user)
        if users.max(initial=-1) >= known:
            new = block_of(self._log.user_ids_from(known), self._blocks)
            self._of_user = np.concatenate([self._of_user, new])
        return self._of_user[users]


def block_of(ids: Iterable[object], blocks: int) -> Ints:
    """Return the block of each id, (n,); 7 and "7" are one id."""
    return np.array([crc32(str(each).encode()) % blocks for each in ids], dtype=np.int64)
