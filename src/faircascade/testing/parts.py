"""Checks of the parts of an environment, of observations and of reward models."""

from __future__ import annotations

import dataclasses
from itertools import permutations, product

import numpy as np

from faircascade.clicks import ClickDraws, ClickModel
from faircascade.environment import Delay, Dynamics
from faircascade.errors import ParameterError
from faircascade.observations import Observation
from faircascade.random import keys_of
from faircascade.ranking import Scores
from faircascade.registry import Component, from_spec, parameters_of, to_spec
from faircascade.rewards import RewardModel
from faircascade.testing.environments import small_environment
from faircascade.testing.requirement import require, require_same
from faircascade.types import Floats, Ints

SLATES = 20_000
"""Slates that averages are taken over."""


def check_component(part: Component) -> None:
    """Check what all registered parts promise: documented, frozen, and the same from its spec."""
    cls = type(part)
    require(dataclasses.is_dataclass(cls), f"{cls.__name__} must be a dataclass")
    require(cls.__dataclass_params__.frozen, f"{cls.__name__} must be frozen")  # type: ignore[attr-defined]
    require(cls.kind, f"{cls.__name__} must derive from the base class of its kind")
    require("name" in vars(cls), f"{cls.__name__} must be registered: @register('its-name')")
    doc = cls.__doc__ or ""
    require(doc and not doc.startswith(f"{cls.__name__}("), f"{cls.__name__} needs a docstring")
    spec = to_spec(part)
    names = {"name", *(parameter.name for parameter in parameters_of(cls))}
    require(set(spec) == names, f"the spec of {cls.__name__} must name {names}, got {set(spec)}")
    require(from_spec(cls.kind, spec) == part, f"{cls.__name__} must be equal after its spec")
    require(hash(from_spec(cls.kind, spec)) == hash(part), f"{cls.__name__} must hash by value")


def check_click_model(model: ClickModel) -> None:
    """Check that clicks follow attraction, and that slates are worth what their clicks are."""
    check_component(model)
    rng = np.random.default_rng(0)
    attraction, slates = rng.uniform(size=(40, 4)), _slates(40, 4)
    clicks = model.click(attraction, slates, _draws(40, 4))
    require(clicks.shape == attraction.shape, f"clicks must be (n, K), got {clicks.shape}")
    require(clicks.dtype == bool, f"clicks must be True or False, got {clicks.dtype}")
    require_same(model.click(attraction, slates, _draws(40, 4)), clicks, "the same draws, twice")
    for few in (slice(10, 11), slice(15, 30)):
        alone = model.click(attraction[few], slates[few], _draws(40, 4, few))
        require_same(alone, clicks[few], "users on their own")
    for what, draws in (("round", _draws(40, 4, round=2)), ("seed", _draws(40, 4, seed=2))):
        same = np.array_equal(model.click(attraction, slates, draws), clicks)
        require(not same, f"another {what} must bring other clicks")
    nothing = np.zeros((40, 4))
    unclicked = not model.click(nothing, slates, _draws(40, 4)).any()
    require(unclicked, "items that attract nobody must not be clicked")
    require((model.value(nothing, slates) == 0).all(), "slates that attract nobody are worth 0")
    for most in (0.3, 1.0):
        _check_value(model, rng.uniform(0, most, size=4))
    _check_best(model)


def _check_value(model: ClickModel, attraction: Floats) -> None:
    """Compare the value of a slate with the mean number of clicks over many."""
    k = len(attraction)
    alike, slates = np.tile(attraction, (SLATES, 1)), _slates(SLATES, k)
    value = model.value(alike, slates)
    require(value.shape == (SLATES,), f"values must be (n,), got {value.shape}")
    if model.value_is_clicks:
        clicks = model.click(alike, slates, _draws(SLATES, k)).sum(axis=1)
        error = max(float(clicks.std()), 1e-9) / SLATES**0.5
        off = abs(float(clicks.mean()) - float(value[0]))
        require(
            off <= 5 * error,
            f"value must be the expected number of clicks, got {off / error:.1f} errors off; "
            "set value_is_clicks = False if it is something else",
        )


def _check_best(model: ClickModel) -> None:
    """Compare the best slates with all there are."""
    env = small_environment(users=8, items=12, k=3)
    pool = env.items.among(np.array([1, 4, 6, 9, 11]))
    attraction = np.random.default_rng(1).uniform(0.01, 0.99, size=(8, 5))
    best = model.best(Scores.final(attraction), 3, pool)
    require(best.shape == (8, 3), f"best slates must be (n, k), got {best.shape}")
    require(np.isin(best, pool.rows).all(), "best slates must be catalogue rows of the pool")
    require(all(len(set(row)) == 3 for row in best.tolist()), "a slate shows an item once")
    if model.best_is_optimal:
        columns = np.searchsorted(pool.rows, best)
        found = model.value(np.take_along_axis(attraction, columns, axis=1), best)
        every = [
            model.value(attraction[:, slate], np.tile(pool.rows[slate], (8, 1)))
            for slate in map(list, permutations(range(5), 3))
        ]
        require((found >= np.max(every, axis=0) - 1e-12).all(), "`best` must be the best there is")


def _slates(n: int, k: int) -> Ints:
    return np.tile(np.arange(k), (n, 1))


def _draws(
    n: int, k: int, rows: slice = slice(None), *, round: int = 1, seed: int = 1
) -> ClickDraws:
    items = keys_of(np.arange(k))[_slates(n, k)]
    users = keys_of(np.arange(n))
    return ClickDraws(seed=seed, round=round, users=users[rows], items=items[rows])


def check_observation(observation: Observation) -> None:
    """Check that what was not shown was not seen, for all clicks on slates of up to four."""
    check_component(observation)
    for k in range(1, 5):
        every = [
            (clicks, shown)
            for clicks in product([False, True], repeat=k)
            for shown in range(1, k + 1)
            if not any(clicks[shown:])
        ]
        clicks, shown = (np.array(part) for part in zip(*every, strict=True))
        before = clicks.copy()
        seen = observation.seen(clicks, shown)
        require_same(clicks, before, "clicks that are only looked at")
        require(seen.shape == clicks.shape, f"seen must be (n, K), got {seen.shape}")
        require(((seen >= 0) & (seen <= 1)).all(), "seen must be between 0 and 1")
        hidden = np.arange(k) >= shown[:, None]
        require(not seen[hidden].any(), "a position that was not shown was not seen")
        require_same(observation.seen(clicks[:1], shown[:1]), seen[:1], "a user alone")


def check_dynamics(dynamics: Dynamics) -> None:
    """Check that changes depend on the round and the user alone."""
    check_component(dynamics)
    env = small_environment()
    users, items = env.users, env.items
    given = env.preferences.copy()
    asked = {round: dynamics.preferences(users, round).copy() for round in (1, 2, 50, 1000)}
    for round in reversed(asked):  # in another order than before
        preferences = dynamics.preferences(users, round)
        require_same(preferences, asked[round], "the same round, asked for in another order")
        require_same(env.preferences, given, "preferences that are only looked at")
        require(
            preferences.shape == env.preferences.shape,
            f"preferences must be {env.preferences.shape}",
        )
        require(np.isfinite(preferences).all(), "preferences must be finite")
        require_same(dynamics.preferences(users[2:4], round), preferences[2:4], "users apart")
        present = dynamics.present(items, round)
        if present is not None:
            require_same(dynamics.present(items, round), present, "the same round, twice")
            require(present.shape == (len(items),), f"present must be (m,), got {present.shape}")
            require(present.dtype == bool, f"present must be True or False, got {present.dtype}")
        if not dynamics.changes:
            require_same(preferences, env.preferences, "dynamics that change nothing")
            require(present is None or present.all(), "dynamics that change nothing keep all items")


def check_delay(delay: Delay) -> None:
    """Check that delays are whole numbers that depend on the user, the round and the seed."""
    check_component(delay)
    users = keys_of(np.arange(20))
    for round in (1, 7, 100):
        waits = delay.rounds(users, round, 1)
        require(waits.shape == (20,), f"rounds must be (n,), got {waits.shape}")
        require(waits.dtype.kind == "i", f"rounds must be whole numbers, got {waits.dtype}")
        require((waits >= 0).all(), f"rounds must be at least 0, got {waits.min()}")
        require_same(delay.rounds(users, round, 1), waits, "the same round, twice")
        require_same(delay.rounds(users[3:9], round, 1), waits[3:9], "users apart")


def check_reward_model(reward: RewardModel) -> None:
    """Check that the table is finite, and says nothing of positions below the last one seen."""
    check_component(reward)
    lengths = []
    for k in range(1, 21):
        try:
            table = reward.table(k)
        except ParameterError as error:
            if error.name in ("rewards", "penalties", "gamma", "clicked", "ignored"):
                raise
            continue  # weights for slates of some lengths
        lengths.append(k)
        for name, part in (("clicked", table.clicked), ("ignored", table.ignored)):
            require(part.shape == (k, k), f"{name} must be (K, K), got {part.shape}")
            require(np.isfinite(part).all(), f"{name} must be finite")
        require(not np.triu(table.ignored, 1).any(), "what was not seen must not be penalised")
    require(lengths, "a reward model must have a table for slates of some length up to 20")
