"""What a regression learns from a slate, by position and by how far users saw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faircascade.types import Bools, Floats


class RegressionTable(NamedTuple):
    """The factor and the target of a feature row. All are (K, K), rows and columns as in
    `RewardTable`."""

    clicked_factors: Floats
    """What the feature row of a clicked position is multiplied by."""
    ignored_factors: Floats
    """What that of a position is multiplied by that was seen and not clicked."""
    clicked: Floats
    """Target of a clicked position."""
    ignored: Floats
    """Target of a position that was seen and not clicked."""

    def of(self, clicks: Bools, seen: Floats) -> tuple[Floats, Floats]:
        """Return the factors and targets of every position, 0 where nothing was seen, (n, K)."""
        noticed = seen > 0
        last = clicks.shape[1] - noticed[:, ::-1].argmax(axis=1)  # any, where nothing was seen
        factors = np.where(clicks, self.clicked_factors[last - 1], self.ignored_factors[last - 1])
        targets = np.where(clicks, self.clicked[last - 1], self.ignored[last - 1])
        return np.where(noticed, factors, 0.0), np.where(noticed, targets, 0.0)
