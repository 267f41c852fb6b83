"""What the clicks of an impression are said to depend on, for AIPS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.data.log import Impressions
from faircascade.errors import ParameterError, check_choice
from faircascade.evaluation.estimators import KINDS
from faircascade.evaluation.sums import BEHAVIOURS
from faircascade.types import Ids, Ints

ESTIMATED = "estimated"


@dataclass(frozen=True, eq=False)
class Behaviour:
    """The place in `KINDS` of what clicks depend on."""

    codes: Ints
    """By user code, or by impression."""
    by_impression: bool = False

    @classmethod
    def said(cls, given: Any, users: Ids, impressions: int) -> Behaviour | None:
        """Return what was said of all users, of some by id, or of each impression.

        None if it is to be estimated.
        """
        if isinstance(given, str):
            return None if given == ESTIMATED else cls(_codes([given] * len(users)))
        if isinstance(given, Mapping):
            known = {str(user): value for user, value in given.items()}
            strange = known.keys() - set(map(str, users.tolist()))
            if strange:
                raise ParameterError("behaviour", "must be of users of the log", min(strange))
            return cls(_codes(known.get(str(user), "standard") for user in users.tolist()))
        values = np.asarray(given)
        if values.shape != (impressions,):
            rule = f"must have a value for each of the {impressions:,} impressions of the log"
            raise ParameterError("behaviour", rule, values.shape)
        return cls(_codes(values.tolist()), by_impression=True)

    def of(self, part: Impressions) -> Ints:
        """Return that of impressions, (n,)."""
        rows = slice(part.first, part.first + len(part)) if self.by_impression else part.users
        return np.asarray(self.codes[rows])


def _codes(said: Iterable[Any]) -> Ints:
    every = list(said)
    for value in set(every):
        check_choice("behaviour", value, BEHAVIOURS)
    return np.array([KINDS.index(BEHAVIOURS[one]) for one in every], dtype=np.int64)
