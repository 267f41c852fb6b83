"""Click bandits of the literature: their regret is the published one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.paper.kveton2015 import SETTINGS, Setting, reproduce
from faircascade.policies import (
    PBMTS,
    PBMUCB,
    CascadeKLUCB,
    CascadeTS,
    CascadeUCB1,
    Policy,
    Random,
    TopRank,
    TSCascade,
)

CHECKED = [
    (CascadeUCB1(), 2, 1286, 10),
    (CascadeUCB1(), 4, 987, 11),
    (CascadeUCB1(), 8, 547, 7),
    (CascadeKLUCB(), 2, 354, 9),
    (CascadeKLUCB(), 4, 274, 11),
    (CascadeKLUCB(), 8, 148, 5),
]
"""Regret after 100,000 slates of K of 16 items, p = 0.2 and 0.05: an independent simulation."""
KNOWN = {("CascadeUCB1", 16, 8, 0.15), ("CascadeKLUCB", 16, 8, 0.075)}
"""Cells of the published table that are further away: see docs/explanation/click-bandits.md."""


def setting(k: int) -> Setting:
    return next(s for s in SETTINGS if (s.items, s.k, s.gap) == (16, k, 0.15))


@pytest.mark.parametrize(("policy", "k", "mean", "error"), CHECKED)
def test_regret_is_that_of_an_independent_simulation(policy, k, mean, error) -> None:
    env = setting(k).environment()
    runs = [simulate(env, policy, rounds=100_000, seed=s, engine="cpu").regret for s in range(4)]
    both = np.hypot(error, np.std(runs, ddof=1) / 2)
    assert abs(np.mean(runs) - mean) < 4 * max(both, 1.5 * error)


@pytest.mark.slow
def test_regret_is_near_the_published_table_but_for_the_known_cells(tmp_path: Path) -> None:
    far = {
        (cell.policy, cell.setting.items, cell.setting.k, cell.setting.gap)
        for cell in reproduce(tmp_path)
        if not cell.near
    }
    assert far == KNOWN


def test_pbm_ucb_without_positions_is_cascade_ucb1_with_a_third_of_its_logarithm() -> None:
    env = setting(4).environment()
    cascade, same, narrower = (
        simulate(env, policy, rounds=2000, seed=1).regret
        for policy in (
            CascadeUCB1(),
            PBMUCB(observation="first-click", eps=2.0),
            PBMUCB(observation="first-click"),
        )
    )
    assert same == cascade
    assert narrower != cascade


LEARNERS: list[Policy] = [CascadeUCB1(), CascadeKLUCB(), CascadeTS(), TSCascade()]


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda p: p.name)
def test_every_one_learns_what_attracts(policy: Policy) -> None:
    env = setting(4).environment()
    learned, lucky = (
        simulate(env, p, rounds=5000, engine="cpu").regret for p in (policy, Random())
    )
    assert learned < 0.5 * lucky


@pytest.mark.parametrize("policy", [PBMUCB(), PBMTS()], ids=lambda p: p.name)
def test_position_based_ones_learn_where_users_look_by_position(policy: Policy) -> None:
    attraction = setting(4).environment().preferences
    env = Environment.from_arrays(np.eye(16), attraction, k=4, click_model="pbm")
    run = {"rounds": 20_000, "engine": "cpu"}
    learned, lucky = (simulate(env, p, **run).regret for p in (policy, Random()))
    assert learned < 0.5 * lucky


def test_toprank_learns_where_items_differ_much() -> None:
    env = Setting(6, 2, 0.2, (0, 0), (0, 0)).environment()
    learned, lucky = (simulate(env, p, rounds=2000).regret for p in (TopRank(), Random()))
    assert learned < 0.7 * lucky


def test_without_weights_pbm_ucb_takes_none() -> None:
    with pytest.raises(ValueError, match="reward"):
        PBMUCB(reward="exposure-aware")  # type: ignore[call-arg]
