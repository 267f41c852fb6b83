"""What is counted when a log is read for the first time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.data.base import Progress
from faircascade.data.log import Log
from faircascade.evaluation.click_rates import ClickCounts, ClickRates, PositionModel, folds_of
from faircascade.evaluation.user_blocks import UserBlocks
from faircascade.types import Floats, Ids


@dataclass(frozen=True, kw_only=True, eq=False)
class LogTotals:
    """What was counted when a log was read for the first time."""

    impressions: int
    users: Ids
    items: Ids
    k: int
    counts: ClickCounts
    rates: tuple[ClickRates, ...]

    @classmethod
    def of(
        cls, log: Log, blocks: UserBlocks, model: PositionModel | None, progress: Progress | None
    ) -> LogTotals:
        """Read a log to its end."""
        counts = ClickCounts()
        for block in log.blocks(progress):
            counts.add(block, folds_of(blocks.of(block.users)))
        assert log.summary is not None
        users = log.user_ids if log.has_users else np.arange(log.summary.impressions)
        rates = counts.rates()
        if model is not None:
            rates = tuple(model.rates(log.item_ids, log.summary.k) for _ in rates)
        return cls(
            impressions=log.summary.impressions,
            users=users,
            items=log.item_ids,
            k=log.summary.k,
            counts=counts,
            rates=rates,
        )

    @property
    def shown(self) -> Floats:
        """Impressions of items at positions, (m, K)."""
        return np.asarray(self.counts.shown.sum(axis=0))

    @property
    def clicks(self) -> Floats:
        """Clicks on items, (m,)."""
        return np.asarray(self.counts.clicked.sum(axis=(0, 2)))
