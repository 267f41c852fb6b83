"""Propensities: every slate of a tiny catalogue is enumerated, and drawn many times."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import factorial, perm
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade import registry
from faircascade.clicks import CCM, PBM, UBM, Cascade
from faircascade.clicks.base import ClickModel
from faircascade.engine import simulate
from faircascade.exploration.epsilon import place_chances
from faircascade.policies import (
    PBMTS,
    Bandit,
    CascadeTS,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    LogisticTS,
    LogisticUCB,
    MostPopular,
    Optimal,
    Policy,
    Random,
    TopRank,
    TSCascade,
)
from faircascade.propensities import Propensities
from faircascade.rerankers import EARS, ExposureCharge, LoggedRandomisation, MeritDraws, Reorder
from faircascade.rerankers.merit_draws import choices
from tests.environments import small_environment

MANY = 20_000
USER = 4  # one of several, who has clicked

KNOWN = [
    EpsilonGreedy(epsilon=0.3),
    EpsilonGreedy(epsilon=1.0),
    EpsilonGreedy(epsilon=0.4, reranker=ExposureCharge(eta=0.5)),
    EpsilonGreedy(epsilon=0.4, reranker=ExposureCharge(eta=0.5, ledger="global")),
    EARSLinUCB(tolerance=0.05),
    EARSLinUCB(tolerance=0.3),
    EARSLinUCB(tolerance=1.0),
    FRMLinUCB(variant="merit-draws", sharpness=0.0),
    FRMLinUCB(variant="merit-draws", sharpness=5.0),
    FRMLinUCB(variant="merit-draws", sharpness=400.0),
    LinUCB(reranker=LoggedRandomisation(share=0.3, shortlist=4)),
    LinUCB(reranker=LoggedRandomisation(share=0.5)),
    EALinUCB(reranker=LoggedRandomisation(share=0.6, shortlist=1)),
    EpsilonGreedy(epsilon=0.0, reranker=LoggedRandomisation(share=0.4)),
    Random(),
    TopRank(delta=0.99),
]
UNKNOWN = [
    LinUCB(),
    LinTS(),
    LinTS(scale=0.0),
    EpsilonGreedy(epsilon=0.0),
    EARSLinUCB(tolerance=0.0),
    LinUCB(reranker=LoggedRandomisation(share=0.0)),
    FRMLinUCB(variant="exposure-charge"),
    FRMLinUCB(variant="reorder"),
    EpsilonGreedy(reranker=EARS()),
    EpsilonGreedy(reranker=MeritDraws()),
    EpsilonGreedy(reranker=Reorder()),
    LinTS(reranker=MeritDraws()),
    LinTS(reranker=EARS()),
    LinTS(reranker=ExposureCharge()),
    LogisticUCB(),
    LogisticTS(),
    CascadeTS(),
    TSCascade(),
    PBMTS(),
    TopRank(reranker=EARS()),
    MostPopular(),
    Optimal(),
]


class Asked:
    """A user who has learned something, and who is asked about many slates at once."""

    def __init__(self, policy: Policy, *, items: int = 5, k: int = 3) -> None:
        self.policy = policy
        env = small_environment(users=8, items=items, k=k)
        self.k, self.pool = k, env.items.pool
        self.state = simulate(env, policy, rounds=9, seed=1, engine="loop").state

    def propensities(self, slates: np.ndarray) -> Propensities | None:
        same_user = np.full(len(slates), USER)
        return self.policy.propensities(self.state, same_user, self.pool, slates, round=10, seed=1)

    def drawn(self, times: int) -> np.ndarray:
        """Slates of the user in as many rounds, if nothing is learned in between."""
        state = self.policy.take(self.state, np.array([USER]))
        state = self.policy.take(state, np.zeros(times, dtype=np.int64))
        rounds = np.arange(10, 10 + times)
        return self.policy.recommend(
            state, slice(None), self.pool, self.k, round=rounds, seed=1
        ).items


def every_slate(asked: Asked) -> np.ndarray:
    return np.array(list(permutations(asked.pool.rows.tolist(), asked.k)))


@pytest.mark.parametrize("policy", KNOWN, ids=repr)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_propensities_of_all_lists_add_up(policy: Policy, k: int) -> None:
    asked = Asked(policy, k=k)
    slates = every_slate(asked)
    found = asked.propensities(slates)
    assert found is not None
    assert found.cascade.shape == slates.shape
    assert ((found.cascade >= 0) & (found.cascade <= 1)).all()
    assert found.whole.sum() == pytest.approx(1)
    for position in range(k):
        start = slates[:, : position + 1]
        same_start = (start[:, None] == start[None]).all(axis=2)
        assert np.allclose(found.cascade[:, position], same_start @ found.whole)
        if found.item_position is not None:
            same_item = slates[:, None, position] == slates[None, :, position]
            assert np.allclose(found.item_position[:, position], same_item @ found.whole)


@pytest.mark.parametrize("policy", KNOWN, ids=repr)
def test_lists_come_as_often_as_their_propensities_say(policy: Policy) -> None:
    asked = Asked(policy)
    slates = every_slate(asked)
    expected = asked.propensities(slates).whole
    drawn = asked.drawn(MANY)
    counts = (drawn[:, None, :] == slates[None]).all(axis=2).sum(axis=0)
    assert counts.sum() == MANY
    assert not counts[expected == 0].any()
    error = np.sqrt(MANY * expected * (1 - expected))
    assert (np.abs(counts - MANY * expected) <= 5 * error + 1).all()


@pytest.mark.parametrize("policy", UNKNOWN, ids=repr)
def test_propensities_are_unknown_where_nothing_or_too_much_is_drawn(policy: Policy) -> None:
    asked = Asked(policy)
    assert asked.propensities(every_slate(asked)) is None


@pytest.mark.parametrize("policy", [*KNOWN, *UNKNOWN], ids=repr)
def test_a_policy_says_whether_its_lists_are_random(policy: Policy) -> None:
    differ = (np.ptp(Asked(policy).drawn(2000), axis=0) > 0).any()
    if policy.is_random:
        assert differ or policy == FRMLinUCB(
            variant="merit-draws", sharpness=400.0
        )  # very unlikely
    else:
        assert not differ


@pytest.mark.parametrize("model", [Cascade(), CCM(), UBM(), PBM()], ids=lambda model: model.name)
def test_items_at_positions_are_enough_to_weight_by_under_pbm_alone(model: ClickModel) -> None:
    """Those down to a position are under every model: what users click there needs no others."""
    asked = Asked(EpsilonGreedy(epsilon=0.4))
    slates, k, items = every_slate(asked), asked.k, len(asked.pool)
    found = asked.propensities(slates)
    attraction = np.linspace(0.2, 0.9, items)[slates]
    worth = [model.value(attraction[:, :end], slates[:, :end]) for end in range(1, k + 1)]
    clicks = np.diff(worth, axis=0, prepend=0.0).T  # expected at each position, (n, K)
    expected = clicks.sum(axis=1).mean()  # of random slates

    def estimate(random: np.ndarray, logged: np.ndarray) -> float:
        return found.whole @ (clicks * random / logged).sum(axis=1)

    cascade = np.array([1 / perm(items, end) for end in range(1, k + 1)])
    assert estimate(cascade, found.cascade) == pytest.approx(expected)
    biased = estimate(np.full(k, 1 / items), found.item_position) != pytest.approx(expected)
    assert biased == (model.name != "pbm")


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "traces.md"


@pytest.mark.parametrize("name", sorted({*registry.components("policy")} - {"bandit"}))
def test_the_document_says_which_probabilities_of_a_policy_are_known(name: str) -> None:
    text = PAGE.read_text("utf-8").partition("## Which probabilities are known")[2]
    (row,) = (line for line in text.splitlines() if line[0:1] == "|" and f"`{name}`" in line)
    *_, whole, single, _ = (cell.strip() for cell in row.split("|"))
    env = small_environment(users=2, items=9, k=3)
    env = replace(env, items=replace(env.items, topics=np.full((9, 2), 0.5)))
    policy = registry.build("policy", name)
    state = policy.start(env.users, policy.dim_of(env.items))
    slates = np.array([[1, 2, 3], [4, 5, 6]])
    found = policy.propensities(state, slice(None), env.items.pool, slates, round=1, seed=0)
    assert (whole == "exact") == (found is not None)
    assert (single == "exact") == (found is not None and found.item_position is not None)
    assert ("nothing is drawn" in row) == (not policy.is_random)


def test_epsilon_greedy_by_hand() -> None:
    # 4 items, K = 2, epsilon = 0.4. The slate (second best, best): 0.1 for a random pick among 4,
    # then 0.4/3 + 0.6 as the best is left. The best comes second: it was passed over first (3/4 of
    # 0.4), and is then chosen with 0.4/3 + 0.6.
    asked = Asked(EpsilonGreedy(epsilon=0.4), items=4, k=2)
    greedy = EpsilonGreedy(epsilon=0.0)
    best = greedy.recommend(asked.state, np.array([USER]), asked.pool, 2, round=10, seed=1).items
    found = asked.propensities(best[:, ::-1])
    assert found.cascade[0].tolist() == pytest.approx([0.1, 0.1 * (0.4 / 3 + 0.6)])
    assert found.item_position[0, 1] == pytest.approx(0.3 * (0.4 / 3 + 0.6))


@given(
    epsilon=st.floats(0.001, 1.0),
    pool=st.integers(1, 40),
    k=st.integers(1, 12),
)
def test_places_of_epsilon_greedy_are_one_item_a_position(epsilon, pool, k) -> None:
    k = min(k, pool)
    table = place_chances(epsilon, k, pool)
    assert ((table >= 0) & (table <= 1)).all()
    total = table[:k].sum(axis=0) + (pool - k) * table[k]
    assert np.allclose(total, 1.0)
    assert (table[:k].sum(axis=1) <= 1 + 1e-12).all()  # an item stands at one place at most


def test_a_shuffled_prefix_by_hand() -> None:
    # everything is shuffled: 1/3!, and at each position 1/3
    asked = Asked(EARSLinUCB(tolerance=1.0))
    shown = asked.drawn(1)
    found = asked.propensities(shown)
    assert found.cascade[0].tolist() == pytest.approx([1 / 3, 1 / 6, 1 / 6])
    assert found.item_position[0].tolist() == pytest.approx([1 / 3] * 3)


def test_what_stands_behind_the_shuffled_prefix_is_certain() -> None:
    # of the slates that users saw, some were shuffled in part: 1/L, 1/L (L - 1), ..., 1/L!, 1/L!
    env = small_environment(users=40, items=30, k=6, seed=2)
    policy = EARSLinUCB(tolerance=0.01)
    state = simulate(env, policy, rounds=30, seed=1, engine="loop").state
    where = (state, slice(None), env.items.pool)
    slates = policy.recommend(*where, 6, round=31, seed=1).items
    found = policy.propensities(*where, slates, round=31, seed=1)
    lengths = (found.item_position < 1).sum(axis=1)
    assert len(set(lengths.tolist())) > 2
    for length, cascade, place in zip(lengths, found.cascade, found.item_position, strict=True):
        prefix = [factorial(max(length, 1) - j) / factorial(length) for j in range(1, length + 1)]
        assert cascade.tolist() == pytest.approx(prefix + [1 / factorial(length)] * (6 - length))
        assert place[:length].tolist() == pytest.approx([1 / max(length, 1)] * length)
        assert (place[length:] == 1).all()


def test_random_lists_are_all_alike() -> None:
    asked = Asked(Random(), items=7)
    found = asked.propensities(asked.drawn(50))
    assert np.allclose(found.whole, 1 / perm(7, 3))
    assert np.allclose(found.item_position, 1 / 7)


def test_choices_by_plackett_and_luce_survive_any_spread_of_scores() -> None:
    # after the first item, which takes all but e^-5000, the others share what is left
    logits = np.array([[5000.0, 0.0, 0.0, -4000.0]])
    found = choices(logits, np.array([[0, 2, 3]]))
    assert found.tolist() == [[1.0, 0.5, 0.0]]
    assert choices(logits, np.array([[0, 2, 1, 3]])).tolist() == [[1.0, 0.5, 1.0, 1.0]]
    assert choices(logits, np.array([[3, 0, 1, 2]]))[0, 1:].tolist() == [1.0, 0.5, 1.0]


def test_asking_changes_nothing() -> None:
    for policy in KNOWN:
        asked = Asked(policy)
        arrays = {name: a.copy() for name, a in policy.arrays(asked.state).items()}
        asked.propensities(every_slate(asked))
        for name, array in policy.arrays(asked.state).items():
            assert np.array_equal(array, arrays[name])


def test_items_that_cannot_be_recommended_do_not_count() -> None:
    env = small_environment(users=2, items=9, k=2)
    for policy in (
        Random(),
        EpsilonGreedy(epsilon=1.0),
        Bandit(reranker=MeritDraws(sharpness=0.0)),
    ):
        state = policy.start(env.users, env.items.dim)
        slates = np.array([[1, 5], [5, 7]])
        pool = env.items.among(np.array([1, 5, 7]))
        found = policy.propensities(state, slice(None), pool, slates, round=1, seed=0)
        assert np.allclose(found.cascade, [[1 / 3, 1 / 6]] * 2)
