"""What items should be to users, by what these did before."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.clicks import PBM
from faircascade.fitting.forecasts import Forecasts
from faircascade.fitting.preferences import Preferences
from faircascade.fitting.user_sums import UserSlates

USERS, ITEMS, DIM, K, ROUNDS = 150, 25, 6, 5, 60
KAPPA = 1 / np.arange(1, K + 1) ** 0.7


@pytest.mark.parametrize("seed", [3, 4])
def test_forecasts_are_right_on_average_if_the_population_is_known(seed) -> None:
    """Random slates show many items that users do not like. Whoever knows from what population
    users are foresees as many clicks as there are, from the first round to the last: the sums of
    each fifth are known to about 3%. Means over what was believed before a click, in place of what
    is believed after it, foresee a sixth too many, and ever more of them."""
    luck = np.random.default_rng(seed)
    features = luck.normal(size=(ITEMS, DIM)) / np.sqrt(DIM) / 2
    common, spread = 0.4 * luck.choice([-1, 1], DIM), 0.33**2 * np.eye(DIM)
    tastes = common + 0.33 * luck.normal(size=(USERS, DIM))
    attraction = np.clip(tastes @ features.T, 0, 1)
    users = np.tile(np.arange(USERS), ROUNDS)
    slates = luck.random((len(users), ITEMS)).argsort(axis=1)[:, :K]
    true = attraction[users[:, None], slates]
    clicks = luck.random(true.shape) < true * KAPPA
    known = Preferences(
        features=features,
        means=np.tile(common, (USERS, 1)),
        doubts=np.tile(spread, (USERS, 1, 1)),
        common=common,
        spread=spread,
        impressions=np.zeros(USERS, dtype=np.int64),
        clicks=np.zeros(ITEMS),
        looks=np.ones(ITEMS),
        softness=0.1 * clicks.sum() / KAPPA.sum() / len(users),
        steps=1,
        converged=True,
    )
    block = UserSlates(users.astype(np.int32), slates, clicks, np.ones_like(clicks))
    found = Forecasts(known, PBM(kappa=tuple(KAPPA.tolist()))).of(block)
    for part in np.array_split(np.arange(len(users)), 5):
        ratio = (found[part] * KAPPA).sum() / (true[part] * KAPPA).sum()
        assert ratio == pytest.approx(1.0, abs=0.08)
