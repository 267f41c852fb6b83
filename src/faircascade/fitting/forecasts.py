"""What items should be to users, by what these did before."""

from __future__ import annotations

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.fitting.likelihood import predict
from faircascade.fitting.preferences import Preferences, kernels
from faircascade.fitting.user_sums import UserSlates
from faircascade.types import Floats

LEAST = 1e-6
"""Attraction that is expected at least."""


class Forecasts:
    """Expected attraction at each position, before what was done there is known.

    Slates come in the order of the log, once: of every user it learns from position to position.
    Only such a forecast is as right for items that stand high as for those that stand low. A policy
    puts items high because they were clicked; what it decides by is what the forecast knows, too.
    """

    def __init__(self, preferences: Preferences, click_model: ClickModel) -> None:
        n = len(preferences.means)
        self.preferences, self.click_model = preferences, click_model
        self._means = np.tile(preferences.common, (n, 1))
        self._doubts = np.tile(preferences.spread, (n, 1, 1))

    def of(self, slates: UserSlates) -> Floats:
        """Return the expected attraction of items, (n, K), and learn of their users."""
        items = np.where(slates.present, slates.items, -1)
        expected = np.full(items.shape, LEAST)
        looks = examination(slates, self.preferences, self.click_model)
        kernels().predict_clicks(
            slates.users, items, slates.clicks, looks, self.preferences.features, self._means,
            self._doubts, expected,
        )  # fmt: skip
        return np.asarray(np.maximum(expected, LEAST))


def examination(slates: UserSlates, preferences: Preferences, model: ClickModel) -> Floats:
    """Return how likely users looked at each position, given the clicks above, (n, K)."""
    known = preferences.attraction(slates.users, slates.items)
    attraction = np.where(slates.present, known, 0.0)
    return predict(model, attraction, slates.items, slates.clicks).examined
