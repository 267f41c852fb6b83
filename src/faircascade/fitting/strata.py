"""Positions by how attractive they were expected to be, for click models of users who differ.

A click model that knows one attraction of an item for everybody takes taste for behaviour: a user
who clicked once is likely to click again, which looks as if clicks made users look further. Here an
entry is not an item but a stratum of what an item should have been to its user.
"""

from __future__ import annotations

import numpy as np

from faircascade.data.log import Impressions
from faircascade.data.log.impressions import NOTHING
from faircascade.fitting.forecasts import LEAST, Forecasts
from faircascade.fitting.user_sums import UserSlates
from faircascade.types import Ints

STRATA = 144
"""Each reaches from an attraction to one that is a tenth more."""


class Strata:
    """Codes of strata. Blocks come in the order of the log, once."""

    of_items = False

    def __init__(self, forecasts: Forecasts, k: int, has_users: bool) -> None:
        self._forecasts, self._k, self._has_users = forecasts, k, has_users

    def __len__(self) -> int:
        return STRATA

    def entries_of(self, block: Impressions) -> Ints:
        """Return strata, and learn of the users of the block."""
        slates = UserSlates.of(block, self._k, self._has_users)
        share = np.log(self._forecasts.of(slates) / LEAST) / np.log(1.0 / LEAST)
        codes = np.minimum((share * STRATA).astype(np.int64), STRATA - 1)
        return np.where(slates.present, codes, NOTHING)[:, : block.k]
