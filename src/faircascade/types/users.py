"""The users that something is known of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faircascade.errors import ParameterError
from faircascade.random import Words, keys_of
from faircascade.types.arrays import Floats, Ids, Rows, check_finite


@dataclass(frozen=True, kw_only=True, eq=False)
class Users:
    """The users that a state has rows for."""

    ids: Ids
    """Distinct ids, (n,)."""
    preferences: Floats | None = None
    """True preferences theta*, (n, d), where a simulator knows them."""
    activity: Floats | None = None
    """How likely each comes in a round, in (0, 1], (n,); None if all come in every round."""

    def __post_init__(self) -> None:
        if self.activity is None:
            return
        likely = np.ascontiguousarray(check_finite(self.activity, "activity"))
        if likely.shape != (len(self.ids),) or not ((likely > 0.0) & (likely <= 1.0)).all():
            rule = f"must be {len(self.ids)} numbers in (0, 1], one for each user"
            raise ParameterError("activity", rule, self.activity)
        object.__setattr__(self, "activity", likely)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: Rows) -> Users:
        known = None if self.preferences is None else self.preferences[rows]
        likely = None if self.activity is None else self.activity[rows]
        return Users(ids=self.ids[rows], preferences=known, activity=likely)

    @classmethod
    def join(cls, parts: Sequence[Users]) -> Users:
        """Return the users of several parts, in their order."""
        known = [part.preferences for part in parts if part.preferences is not None]
        even = all(part.activity is None for part in parts)
        return cls(
            ids=np.concatenate([part.ids for part in parts]),
            preferences=np.concatenate(known) if len(known) == len(parts) else None,
            activity=None if even else np.concatenate([part.chances() for part in parts]),
        )

    def chances(self) -> Floats:
        """Return how likely each comes in a round, (n,)."""
        return np.ones(len(self)) if self.activity is None else self.activity

    @cached_property
    def keys(self) -> Words:
        """Stable key of each user for random draws, (n,)."""
        return keys_of(self.ids)
