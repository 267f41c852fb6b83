"""What a policy makes of logged slates: against listing all slates."""

from __future__ import annotations

import numpy as np
import pytest

import faircascade as fc
from faircascade.data.log import Log
from faircascade.evaluation.catalogue import Catalogue
from faircascade.evaluation.click_rates import ClickRates
from faircascade.evaluation.frozen import FrozenPolicy, FrozenRun
from faircascade.evaluation.learning import LearningPolicy, ReplayRun, occurrences
from faircascade.evaluation.policy_chances import PolicyQuery
from faircascade.evaluation.policy_views import NextItemValues
from tests.evaluation.logs import environment, every_slate, table_log

ENV = environment(users=3, items=5, k=2)
SLATES = every_slate(ENV.items, 2)
RNG = np.random.default_rng(0)
RATES = ClickRates(
    table=RNG.random((6, 2)), examination=np.array([1.0, 0.5]), attraction=RNG.random(6)
)


def frozen_view(policy, asked: int = 5, draws: int | None = None):
    """What a policy that has learned makes of every slate, for one user."""
    result = fc.simulate(ENV, policy, rounds=15, seed=2)
    frozen = FrozenPolicy.of(result)
    assert frozen is not None
    log = Log(table_log(SLATES, np.zeros(SLATES.shape), np.ones(len(SLATES), dtype=int)))
    block = log.read()
    catalogue = Catalogue.of(ENV.items, log.item_ids)
    codes = np.argsort(log.item_ids)
    rates = ClickRates(
        table=RATES.table[np.append(log.item_ids, 5)],
        examination=RATES.examination,
        attraction=RATES.attraction[np.append(log.item_ids, 5)],
    )
    state, rounds = frozen.for_users(log.user_ids)
    query = PolicyQuery(policy=policy, items=ENV.items, k=2, seed=result.seed)
    values = NextItemValues.of((rates, rates), np.ones((5, 2)), asked)
    run = FrozenRun(
        query, catalogue, state, rounds, label="", how="", rates=(rates, rates),
        values=values, blocks=np.zeros(1, dtype=np.int64), draws=draws,
    )  # fmt: skip
    assert len(codes) == 5
    return run, run.view(block, np.zeros(len(SLATES), dtype=np.int64)), values, block


@pytest.mark.parametrize(
    "policy", [fc.EpsilonGreedy(epsilon=0.4), fc.Random(), fc.FRMLinUCB(), fc.LinUCB()]
)
def test_chances_of_all_slates_add_up_to_one(policy) -> None:
    _, view, _, _ = frozen_view(policy)
    assert view.chances.slate.sum() == pytest.approx(1.0)
    for position in range(2):
        if view.chances.item_position is None:
            continue
        alone = view.chances.item_position[:, position]
        first = [alone[SLATES[:, position] == item][0] for item in range(5)]
        assert sum(first) == pytest.approx(1.0)


@pytest.mark.parametrize("policy", [fc.EpsilonGreedy(epsilon=0.4), fc.Random(), fc.LinUCB()])
@pytest.mark.parametrize("asked", [0, 2, 5])
def test_next_values_are_the_expectation_over_all_next_items(policy, asked: int) -> None:
    _, view, values, block = frozen_view(policy, asked)
    whole = view.chances.slate
    q = values.tables[0]
    codes = block.items
    first = sum(whole[r] * q[codes[r, 0], 0] for r in range(len(SLATES)))
    assert np.allclose(view.next_values[:, 0], first)
    for row, slate in enumerate(SLATES):
        same = SLATES[:, 0] == slate[0]
        second = sum(whole[r] * q[codes[r, 1], 1] for r in np.flatnonzero(same))
        assert view.next_values[row, 1] == pytest.approx(second)


def test_exposure_of_a_random_policy_is_exact() -> None:
    run, view, _, _ = frozen_view(fc.EpsilonGreedy(epsilon=0.4))
    sums = run.exposure()
    expected = np.zeros(5)
    for slate, chance in zip(SLATES, view.chances.slate, strict=True):
        expected[slate] += chance * len(SLATES)
    assert np.allclose(sums.appearances[0], expected)


def test_draws_of_a_policy_that_knows_no_chances_estimate_them() -> None:
    """Thompson sampling: the share of own slates that agree."""
    run, view, _, _ = frozen_view(fc.LinTS(), draws=400)
    assert view.chances.slate.sum() == pytest.approx(1.0)
    exact = np.array([(run.own[:, 0] == slate).all(axis=1).mean() for slate in SLATES])
    assert np.allclose(view.chances.slate, exact)


def test_items_that_the_policy_does_not_have_get_no_chance() -> None:
    slates = np.array([[0, 99], [99, 1]])
    log = Log(table_log(slates, np.zeros((2, 2)), [0, 0]))
    block = log.read()
    catalogue = Catalogue.of(ENV.items, log.item_ids)
    query = PolicyQuery(policy=fc.Random(), items=ENV.items, k=2, seed=0)
    state, rounds = FrozenPolicy(policy=fc.Random(), items=ENV.items).for_users(log.user_ids)
    shown = np.ones((len(log.item_ids), 2))
    table = np.zeros((len(log.item_ids) + 1, 2))
    rates = ClickRates(table=table, examination=np.ones(2), attraction=table[:, 0])
    run = FrozenRun(
        query, catalogue, state, rounds, label="", how="", rates=(rates, rates),
        values=NextItemValues.of((rates, rates), shown, 3), blocks=np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    chances = run.view(block, np.zeros(2, dtype=np.int64)).chances
    assert np.allclose(chances.cascade, [[1 / 5, 0.0], [0.0, 0.0]])
    assert np.allclose(chances.item_position, [[1 / 5, 0.0], [0.0, 1 / 5]])
    assert catalogue.not_of_policy == 1


def test_replay_meets_what_came_before_and_nothing_else() -> None:
    """Chances of the third impression are those of a policy that has learned two."""
    policy = fc.EpsilonGreedy(epsilon=0.4)
    slates = np.array([[0, 1], [2, 3], [0, 1], [4, 0]])
    clicks = np.array([[1, 0], [0, 1], [1, 0], [0, 0]])
    log = Log(table_log(slates, clicks, [7, 7, 7, 8]))
    block = log.read()
    catalogue = Catalogue.of(ENV.items, log.item_ids)
    query = PolicyQuery(policy=policy, items=ENV.items, k=2, seed=0)
    table = np.zeros((len(log.item_ids) + 1, 2))
    rates = ClickRates(table=table, examination=np.ones(2), attraction=table[:, 0])
    learner = LearningPolicy(query, catalogue, log.user_ids)
    run = ReplayRun(learner, label="", rates=(rates, rates), values=None)
    found = run.view(block, np.zeros(4, dtype=np.int64)).chances.cascade
    other = LearningPolicy(query, catalogue, log.user_ids)
    other.learn(block.take(slice(0, 2)))
    zero = np.zeros(1, dtype=np.int64)
    exact = query.exact(other.state, slates[2:3], zero, zero + 3)
    assert np.allclose(found[2], exact.cascade[0])
    cold = LearningPolicy(query, catalogue, log.user_ids)
    exact = query.exact(cold.state, slates[3:], zero + 1, zero + 1)
    assert np.allclose(found[3], exact.cascade[0])


def test_replay_on_matches_learns_from_the_positions_that_agree() -> None:
    """A policy whose slates never agree with the log learns nothing."""
    policy = fc.CascadeUCB1()
    items = ENV.items
    query = PolicyQuery(policy=policy, items=items, k=2, seed=0)
    cold = LearningPolicy(query, Catalogue.of(items, items.ids), np.array([0]))
    own = query.own(cold.state, np.array([0]), np.array([1]), 1)[0, 0]
    others = [item for item in range(5) if item not in own][:2]
    for slate, slates_learned in ((others, 0), (own.tolist(), 1), ([own[0], others[0]], 1)):
        log = Log(table_log([slate], [[0, 0]], [0]))
        block = log.read()
        learner = LearningPolicy(query, Catalogue.of(items, log.item_ids), log.user_ids)
        run = ReplayRun(learner, label="", rates=(RATES, RATES), values=None, learns_from="matches")
        run.view(block, np.zeros(1, dtype=np.int64))
        assert learner.state.learned.slates.tolist() == [slates_learned]


def test_occurrences_have_every_user_once_and_in_order() -> None:
    users = [3, 1, 3, 3, 2, 1]
    block = Log(table_log(np.tile([[0, 1]], (6, 1)), np.zeros((6, 2)), users)).read()
    found = [rows.tolist() for rows in occurrences(block)]
    assert [sorted(rows) for rows in found] == [[0, 1, 4], [2, 5], [3]]


def test_a_policy_needs_as_many_items_as_slates_are_long() -> None:
    with pytest.raises(ValueError, match="must be at least 6 that can be shown"):
        PolicyQuery(policy=fc.Random(), items=ENV.items, k=6, seed=0)
