"""Observations: what is taken as seen, for every slate of clicks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from faircascade.errors import ParameterError
from faircascade.observations import AllPositions, Examination, FirstClick, LastClick, Observation
from faircascade.policies import Bandit, EALinUCB
from faircascade.testing import small_environment

KAPPA = (0.9, 0.0, 0.4, 0.2)


def expected(observation: Observation, clicks: tuple[bool, ...], shown: int) -> list[float]:
    at = [place for place, clicked in enumerate(clicks) if clicked]
    k = len(clicks)
    last = {FirstClick: min(at, default=k), LastClick: max(at, default=k)}.get(type(observation), k)
    weight = KAPPA if isinstance(observation, Examination) else (1.0,) * k
    return [weight[place] if place <= last and place < shown else 0.0 for place in range(k)]


@pytest.mark.parametrize(
    "observation", [FirstClick(), LastClick(), AllPositions(), Examination(kappa=KAPPA)], ids=repr
)
def test_what_is_seen_of_every_slate(observation: Observation) -> None:
    for k, shown in product(range(1, 5), range(1, 5)):
        every = list(product((False, True), repeat=k))
        seen = observation.seen(np.array(every), np.full(len(every), min(k, shown)))
        assert seen.tolist() == [expected(observation, one, min(k, shown)) for one in every]


def test_positions_are_examined_less_the_lower_they_are_unless_told_otherwise() -> None:
    seen = Examination().seen(np.zeros((1, 4), dtype=bool), np.array([3]))
    assert seen.tolist() == [[1.0, 1 / 2, 1 / 3, 0.0]]


@pytest.mark.parametrize(
    ("kappa", "message"), [(1.5, r"in \[0, 1\]"), ((0.5, 2.0), "at place 2"), ((), "a number or")]
)
def test_kappa_out_of_range_is_refused(kappa: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Examination(kappa=kappa)


def test_kappa_that_is_too_short_is_refused_before_anything_is_shown() -> None:
    env = small_environment(k=3)
    policy = EALinUCB(observation=Examination(kappa=(1.0, 0.5)))
    with pytest.raises(ParameterError, match=r"observation\.kappa must be .* 3 positions"):
        policy.recommend(
            policy.start(env.users, env.items.dim), slice(None), env.items.pool, 3, round=1, seed=1
        )


def test_a_click_that_is_not_seen_is_not_learned_from() -> None:
    from tests.evidence import feedback_on

    env = small_environment(users=2, items=8, k=3)
    policy = Bandit(observation=Examination(kappa=(1.0, 0.0, 0.5)))
    states = [policy.start(env.users, env.items.dim) for _ in range(2)]
    slates = np.array([[0, 1, 2], [3, 4, 5]])
    for state, second in zip(states, (True, False), strict=True):
        clicks = np.array([[False, second, True]] * 2)
        policy.update(state, slice(None), feedback_on(env, slates, clicks))
    assert np.array_equal(states[0].learned.B, states[1].learned.B)
    assert np.array_equal(states[0].learned.M, states[1].learned.M)
    assert states[0].learned.B.any()
