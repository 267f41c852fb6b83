"""Checks of policies and of the parts of a bandit."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.estimators import Estimator, Ridge
from faircascade.exploration import UCB, Exploration, SlateRequest
from faircascade.policies import Bandit, BanditState, Policy
from faircascade.ranking import Scores
from faircascade.registry import build, components
from faircascade.rerankers import Reranker
from faircascade.testing.environments import small_environment
from faircascade.testing.parts import check_component
from faircascade.testing.requirement import require, require_same
from faircascade.types import Feedback, Floats, Ints, Users

EVERY = slice(None)


def check_policy(policy: Policy) -> None:
    """Check that a policy serves, learns, can be stored, and keeps its users apart or says so."""
    check_component(policy)
    require(policy.label, "a policy needs a label")
    env = small_environment(users=4, items=15, k=3)
    result = simulate(env, policy, rounds=8, seed=1)
    require(result.recommendations == 32, "every user must be served in every round")
    _check_storage(policy, env, result.state)
    _check_independence(policy)
    _check_propensities(policy)
    try:
        policy.sums(policy.start(env.users, policy.dim_of(env.items)))
    except TypeError:
        return  # it keeps no sums, and the service refuses it
    _check_sums(policy, env)


def _check_storage(policy: Policy, env: Environment, state: Any) -> None:
    """Compare the slates of a state with those of its copy, its parts, and what was stored."""
    stored = {name: array.copy() for name, array in policy.arrays(state).items()}
    back = policy.restore(Users(ids=env.users.ids, preferences=env.preferences), stored)
    states = [state, back]
    if not policy.indivisible:
        states.append(policy.join([policy.take(back, slice(0, 1)), policy.take(back, slice(1, 4))]))
    for t in range(9, 12):
        first, *others = (_slates(policy, s, env, t) for s in states)
        require(first.shape == (4, 3), f"slates must be (n, k), got {first.shape}")
        for other in others:
            require_same(other, first, "slates after storing")
        for s in states:
            policy.settle([s])


def _slates(policy: Policy, state: Any, env: Environment, t: int) -> Ints:
    return policy.recommend(state, EVERY, env.items.pool, env.k, round=t, seed=1).items


def _check_independence(policy: Policy) -> None:
    """Compare users served together with users served apart, and in another order."""
    env = small_environment()
    run: dict[str, Any] = {"rounds": 15, "seed": 3}
    whole = simulate(env, policy, **run).tally
    first, second = (
        simulate(env.take(rows), policy, **run).tally for rows in (slice(0, 2), slice(2, 6))
    )
    if not policy.shares:
        merged = first.merge(second)
        require_same(merged.appearances, whole.appearances, "users served apart (shares is False)")
    shuffled = simulate(env.take(np.array([4, 2, 0, 5, 1, 3])), policy, **run).tally
    require_same(shuffled.appearances, whole.appearances, "users in another order")


def _check_sums(policy: Policy, env: Environment) -> None:
    """Compare a state with one made of sums that somebody else kept."""
    state = policy.start(env.users, policy.dim_of(env.items))
    sums = policy.sums(state)
    require((sums == 0).all(), "sums must start at 0")
    for t in range(1, 9):
        slates = _slates(policy, state, env, t)
        clicks = env.respond(slates, round=t, seed=1).clicks
        feedback = Feedback.of(env.items, slates, clicks)
        sums = sums + policy.increments(feedback)
        policy.update(state, EVERY, feedback)
        np.testing.assert_allclose(policy.sums(state), sums, rtol=1e-9, atol=1e-12)
    ledger = getattr(state, "ledger", None)
    again = policy.from_sums(env.users, sums, policy.dim_of(env.items), ledger=ledger)
    kept, back = policy.arrays(state), policy.arrays(again)
    require(kept.keys() == back.keys(), "a state from sums must have the same arrays")
    for name, array in kept.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(back[name], array, rtol=1e-9, atol=1e-12)
        else:
            require_same(back[name], array, name)


def _check_propensities(policy: Policy) -> None:
    """Add up the propensities of all slates of two out of five."""
    env = small_environment(users=3, items=5, k=2)
    states = (
        (policy.start(env.users, policy.dim_of(env.items)), 1),
        (simulate(env, policy, rounds=12, seed=1).state, 13),
    )
    slates = np.array(list(permutations(range(5), 2)))
    one = np.zeros(len(slates), dtype=np.int64)  # the same user for all of them
    found = [
        policy.propensities(state, one, env.items.pool, slates, round=t, seed=1)
        for state, t in states
    ]
    require((found[0] is None) == (found[1] is None), "propensities are always known or never")
    require(policy.is_random or found[0] is None, "what is not random has no propensities")
    for propensities in found:
        if propensities is None:
            continue
        first, whole = propensities.cascade.T
        require(np.isclose(whole.sum(), 1), f"propensities must add up to 1, got {whole.sum()}")
        expected = [whole[slates[:, 0] == item].sum() for item in slates[:, 0]]
        require(np.allclose(first, expected), "the first position adds up over the others")
        if propensities.item_position is not None:
            for position, each in enumerate(propensities.item_position.T):
                listed = slates[:, position]
                expected = [whole[listed == item].sum() for item in listed]
                require(np.allclose(each, expected), f"position {position + 1} must add up")


def check_estimator(estimator: Estimator) -> None:
    """Check what an estimator learns and believes, within a bandit that can use it."""
    check_component(estimator)
    policy = Bandit(estimator=estimator, exploration=exploration_for(estimator))
    check_policy(policy)
    env = small_environment(users=5, items=24, k=4)
    state = simulate(env, policy, rounds=12, seed=1).state.learned
    pool = env.items.among(np.arange(1, 24, 2))
    beliefs = estimator.beliefs(state, EVERY, pool)
    for name in ("mean", "width"):
        if name in estimator.offers:
            check_scores(getattr(beliefs, name)(), 5, len(pool))
    if "sample" in estimator.offers:
        drawn = [
            estimator.beliefs(state, EVERY, pool).sample(
                0.5, seed=seed, users=env.users.keys, round=13
            )
            for seed in (1, 1, 2)
        ]
        check_scores(drawn[0], 5, len(pool))
        require_same(drawn[1].rough, drawn[0].rough, "the same draw, twice")
        require(not np.array_equal(drawn[2].rough, drawn[0].rough), "another seed, another draw")
    for name in ("counts", "positions", "order"):
        if name in estimator.offers:
            shape = getattr(beliefs, name)().shape
            require(shape == (5, len(pool)), f"{name} must be (n, p), got {shape}")
    if "time" in estimator.offers:
        require((beliefs.time() == 13).all(), "the time must be 1 + slates learned")
    _check_rows(estimator, env)


def exploration_for(estimator: Estimator) -> Exploration:
    """Return an exploration that asks for nothing that an estimator does not offer."""
    for name in sorted(components("exploration"), key=lambda name: name != UCB.name):
        exploration: Exploration = build("exploration", name)
        if exploration.asks <= estimator.offers:
            return exploration
    raise AssertionError(f"estimator must offer what some exploration asks: {estimator.offers}")


def estimator_for(exploration: Exploration) -> Estimator:
    """Return an estimator that offers what an exploration asks for, ridge if it does."""
    for name in sorted(components("estimator"), key=lambda name: name != Ridge.name):
        estimator: Estimator = build("estimator", name)
        if exploration.asks <= estimator.offers:
            return estimator
    raise AssertionError(f"exploration must ask what some estimator offers: {exploration.asks}")


def _check_rows(estimator: Estimator, env: Environment) -> None:
    """Let some users learn, and compare the others with what they were."""
    if estimator.shares:
        return
    policy = Bandit(estimator=estimator, exploration=exploration_for(estimator))
    state = policy.start(env.users, policy.dim_of(env.items))
    slates = np.tile(np.arange(env.k), (2, 1))
    feedback = Feedback.of(env.items, slates, np.eye(2, env.k, dtype=bool))
    policy.update(state, np.array([3, 1]), feedback)
    fresh = policy.start(env.users, policy.dim_of(env.items))
    apart = np.array([0, 2, 4])
    found, before = (_scores(policy, s, env)[apart] for s in (state, fresh))
    require_same(found, before, "users without feedback, who must not learn from it")
    arrays = [policy.arrays(policy.take(s, np.array([1, 3]))) for s in (state, fresh)]
    same = all(np.array_equal(array, arrays[1][name]) for name, array in arrays[0].items())
    require(not same, "users must learn from their feedback")


def _scores(policy: Bandit, state: BanditState, env: Environment) -> Floats:
    request = SlateRequest(
        beliefs=policy.estimator.beliefs(state.learned, EVERY, env.items.pool),
        rows=EVERY,
        users=env.users.keys,
        pool=env.items.pool,
        k=env.k,
        round=2,
        seed=1,
    )
    return policy.exploration.scores(request).all()


def check_scores(scores: Scores, n: int, items: int) -> None:
    """Check that rough scores are as close to the exact ones as they say."""
    require(scores.rough.shape == (n, items), f"scores must be (n, p), got {scores.rough.shape}")
    rows, columns = (part.ravel() for part in np.indices(scores.rough.shape))
    off = np.abs(scores.rough - scores.exact(rows, columns).reshape(scores.rough.shape))
    require((off <= scores.error[:, None]).all(), "rough scores are further off than `error` says")


def check_exploration(exploration: Exploration, estimator: Estimator | None = None) -> None:
    """Check an exploration with an estimator that offers what it asks for, ridge if it does."""
    check_component(exploration)
    policy = Bandit(exploration=exploration, estimator=estimator or estimator_for(exploration))
    check_policy(policy)
    request, _ = _request(policy, 5)
    scores = exploration.scores(request)
    check_scores(scores, 5, len(request.pool))
    _check_slates(exploration.slates(request, scores).items, request)


def check_reranker(reranker: Reranker) -> None:
    """Check that a re-ranker shows what was chosen by its scores, and leaves accounts alone."""
    check_component(reranker)
    check_policy(Bandit(reranker=reranker))
    for k in (1, 5, 12):
        request, state = _request(Bandit(reranker=reranker), k)
        before = {} if state.ledger is None else state.ledger.arrays()
        before = {name: array.copy() for name, array in before.items()}
        shown = []
        for _ in range(2):
            scores = reranker.adjust(request, UCB().scores(request), state.ledger)
            longer = replace(request, k=reranker.considers(k, len(request.pool)))
            chosen = UCB().slates(longer, scores)
            shown.append(reranker.arrange(request, chosen, state.ledger))
        check_scores(scores, 5, len(request.pool))
        _check_slates(shown[0].items, request)
        require_same(shown[0].items, shown[1].items, "the same request, twice")
        among = (shown[0].items[:, :, None] == chosen.items[:, None, :]).any(axis=2)
        require(bool(among.all()), "a re-ranker must show items that were chosen")
        require_same(shown[0].scores, scores.of(shown[0].items, request.pool), "their scores")
        for name, array in before.items():
            assert state.ledger is not None
            require_same(state.ledger.arrays()[name], array, "an account that is only looked at")


def _request(policy: Bandit, k: int) -> tuple[SlateRequest, BanditState]:
    """Return a request for half of the items by users who have learned and seen something."""
    env = small_environment(users=5, items=24, k=4)
    state = simulate(env, policy, rounds=12, seed=1).state
    pool = env.items.among(np.arange(1, 24, 2))
    return SlateRequest(
        beliefs=policy.estimator.beliefs(state.learned, EVERY, pool),
        rows=EVERY,
        users=env.users.keys,
        pool=pool,
        k=k,
        round=13,
        seed=1,
    ), state


def _check_slates(slates: Ints, request: SlateRequest) -> None:
    require(slates.shape == (5, request.k), f"slates must be (n, k), got {slates.shape}")
    require(set(slates.ravel().tolist()) <= set(request.pool.rows.tolist()), "items of the pool")
    once = all(len(set(row)) == request.k for row in slates.tolist())
    require(once, "a slate must show an item once")
