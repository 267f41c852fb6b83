"""Bandits on topics in the cpu engine: the slates, clicks and models of `loop`, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade.engine import loop
from faircascade.engine.cpu import memory
from faircascade.engine.cpu import run as cpu
from faircascade.engine.job import Job
from faircascade.environment import Environment
from faircascade.estimators import Topical
from faircascade.exploration import UCB, Epsilon, Thompson
from faircascade.policies import Bandit
from faircascade.rewards import ExposureAware, Standard
from tests.engine.same import bits
from tests.engine.test_cpu import click_models, observations


def random_topics(kind: str, items: int, rng: np.random.Generator) -> np.ndarray:
    """Topics as people have them: flags, shares of what is liked, any numbers, or next to none."""
    count = int(rng.integers(1, 9))
    topics = rng.uniform(size=(items, count))
    if kind == "flags":
        return np.round(topics)
    if kind == "shares":
        liked = rng.integers(1, 60, size=(items, 1)) / 100.0
        return liked * (topics < 0.3)
    return topics * 1e-3 if kind == "faint" else topics


@st.composite
def environments(draw: st.DrawFn) -> Environment:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    items, dim = draw(st.sampled_from([1, 5, 40, 300])), draw(st.integers(1, 5))
    X = rng.normal(size=(items, dim)) * rng.exponential(size=(items, 1))
    if draw(st.booleans()):
        X = np.round(X)  # many items alike
    topics = random_topics(draw(st.sampled_from(["flags", "shares", "any", "faint"])), items, rng)
    topics[rng.random(items) < draw(st.sampled_from([0.0, 0.3]))] = 0.0
    users = draw(st.sampled_from([1, 3, 9]))
    env = Environment.from_arrays(
        X,
        rng.normal(size=(users, dim)) * 0.4,
        k=min(items, draw(st.sampled_from([1, 4, 17]))),
        click_model=draw(click_models),
        activity=draw(st.sampled_from([None, rng.uniform(0.01, 1.0, users)])),
    )
    return replace(env, items=replace(env.items, topics=topics))


bandits = st.builds(
    Bandit,
    estimator=st.builds(
        Topical,
        features=st.booleans(),
        ridge=st.sampled_from([1.0, 0.1]),
        weighs=st.sampled_from(["targets", "observations"]),
    ),
    exploration=st.one_of(
        st.builds(UCB, alpha=st.sampled_from([0.0, 1e-9, 0.25, 5.0])),
        st.builds(Thompson, scale=st.sampled_from([0.0, 0.25])),
        st.builds(Epsilon, epsilon=st.sampled_from([0.3, 1.0])),
    ),
    reward=st.sampled_from([Standard(), ExposureAware(weight="log", gamma=0.1)]),
    observation=observations,
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(env=environments(), policy=bandits, data=st.data())
def test_slates_clicks_and_models_are_those_of_loop(env: Environment, policy, data) -> None:
    job: dict[str, Any] = {
        "env": env,
        "policy": policy,
        "checkpoints": data.draw(st.sampled_from([(1,), (2, 9), (40,)])),
        "seed": data.draw(st.integers(0, 9)),
        "threads": 1,
        "activity": data.draw(st.sampled_from([1.0, 0.4])),
    }
    expected = loop.run(Job(**job))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "LARGEST_SET", data.draw(st.sampled_from([6, 24, 2048])))
        found = cpu.run(Job(**job, lazy=data.draw(st.booleans())))
    assert bits(vars(expected.tally)) == bits(vars(found.tally))
    assert bits(vars(expected.state.learned)) == bits(vars(found.state.learned))


@pytest.mark.parametrize("held", [150, 2048])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("kind", ["any", "shares"])
@pytest.mark.parametrize("features", [False, True])
def test_items_that_are_left_out_could_not_have_been_in_the_slate(
    features: bool, kind: str, alpha: float, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 6)) * rng.exponential(0.4, size=(400, 1))
    env = Environment.from_arrays(X, rng.normal(size=(16, 6)), k=8)
    topics = random_topics(kind, 400, rng)
    env = replace(env, items=replace(env.items, topics=topics))
    policy = Bandit(estimator=Topical(features=features), exploration=UCB(alpha=alpha))
    job: dict[str, Any] = {"env": env, "policy": policy, "checkpoints": (300,), "seed": 1}
    monkeypatch.setattr(memory, "LARGEST_SET", held)
    lazy, whole = (cpu.run(Job(**job, threads=1, lazy=lazy)) for lazy in (True, False))
    assert bits(vars(lazy.tally)) == bits(vars(whole.tally))
    assert bits(vars(lazy.state.learned)) == bits(vars(whole.state.learned))
