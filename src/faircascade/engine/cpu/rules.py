"""What a policy does, as the numbers that kernels run it by."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine.cpu.click_numbers import CASCADE, click_numbers
from faircascade.engine.cpu.records import Rules
from faircascade.engine.job import Job
from faircascade.estimators.logistic import weights_and_clicks
from faircascade.observations.base import FIRST_CLICK, LAST_CLICK
from faircascade.rerankers.ears import set_shares, stops
from faircascade.rerankers.ledger import exposure_units
from faircascade.rewards import RegressionTable
from faircascade.weighing import Weighs

DEFAULTS: dict[str, Any] = {
    "alpha": 0.0,
    "noise": 0.0,
    "epsilon": 0.0,
    "gain": 1.0,
    "scale": 1.0,
    "first_theta": 0.0,
    "refine_every": 1,
    "tolerance": 0.0,
    "patience": 1.0,
    "drawn_by_merit": False,
    "sharpness": 0.0,
    "eta": 0.0,
    "discount": 0.0,
    "reorders": False,
    "accounts": False,
    "shifts": False,
    "by_score": False,
    "until": FIRST_CLICK,
    "logistic": False,
    "weighs": "targets",
}
"""Defaults of the rules that parts give in `kernel`, for policies without such a part."""


def pack_rules(job: Job) -> Rules:
    policy, k = job.policy, job.env.k
    given = DEFAULTS | {"noticed": np.ones(k)}
    for part in policy.components:
        given.update(part.kernel())
        given.update(part.kernel_for(k))
    table = policy.regression_table(k) or RegressionTable(*np.ones((4, k, k)))
    weighs = given.pop("weighs")
    for name in ("shared", "index", "strength"):  # of scores that no kernel computes
        given.pop(name, None)
    if given["logistic"]:
        table = _logistic_table(job, table, weighs)
    given |= {name: np.array(values, order="C") for name, values in table._asdict().items()}
    model = click_numbers(job.env).model
    in_full = bool((table.clicked_factors == 1.0).all() and (table.ignored_factors == 1.0).all())
    return Rules(
        k=k,
        plain=model == CASCADE
        and given["until"] in (FIRST_CLICK, LAST_CLICK)  # there is one click at most
        and in_full
        and not given["logistic"]
        and not policy.conditional,
        stops=stops(k, given.pop("patience")),
        shares=set_shares(k) if given["tolerance"] > 0.0 else np.zeros((0, 0)),
        gained=exposure_units(k),
        realised=bool(job.realised),
        lazy=bool(job.lazy and policy.learns and not policy.needs_all_scores),
        traced=job.trace is not None,
        **given,
    )


def _logistic_table(job: Job, table: RegressionTable, weighs: Weighs) -> RegressionTable:
    """Return how much positions count, and as how much of a click, in place of a regression's."""
    rewards = job.policy.reward_table(job.env.k)
    assert rewards is not None
    click = np.ones_like(table.clicked, dtype=bool)
    sides = [
        weights_and_clicks(weighs, factors, targets, clicked, rewards.largest)
        for factors, targets, clicked in (
            (table.clicked_factors, table.clicked, click),
            (table.ignored_factors, table.ignored, ~click),
        )
    ]
    return RegressionTable(sides[0][0], sides[1][0], sides[0][1], sides[1][1])
