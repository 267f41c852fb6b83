"""The users that something is known of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faircascade.random import Words, keys_of
from faircascade.types.arrays import Floats, Ids, Rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Users:
    """The users that a state has rows for."""

    ids: Ids
    """Distinct ids, (n,)."""
    preferences: Floats | None = None
    """True preferences theta*, (n, d), where a simulator knows them."""

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: Rows) -> Users:
        known = None if self.preferences is None else self.preferences[rows]
        return Users(ids=self.ids[rows], preferences=known)

    @classmethod
    def join(cls, parts: Sequence[Users]) -> Users:
        """Return the users of several parts, in their order."""
        known = [part.preferences for part in parts if part.preferences is not None]
        return cls(
            ids=np.concatenate([part.ids for part in parts]),
            preferences=np.concatenate(known) if len(known) == len(parts) else None,
        )

    @cached_property
    def keys(self) -> Words:
        """Stable key of each user for random draws, (n,)."""
        return keys_of(self.ids)
