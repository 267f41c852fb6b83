"""Logged randomisation: its propensities are exact, and it costs no more clicks than it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import faircascade as fc
from faircascade.clicks import PBM, Cascade
from faircascade.clicks.base import ClickModel
from faircascade.errors import ParameterError
from faircascade.policies import Policy
from faircascade.rerankers import LoggedRandomisation
from faircascade.types import Slate
from tests.environments import small_environment

MANY = 40_000


def rated(policy: Policy, *, items: int, k: int) -> tuple[np.ndarray, np.ndarray, fc.Environment]:
    """Return all slates of a tiny catalogue for a user who clicked, and their probabilities."""
    env = small_environment(users=8, items=items, k=k)
    state = fc.simulate(env, policy, rounds=9, seed=1).state
    slates = np.array(list(permutations(env.items.pool.rows.tolist(), k)))
    same = np.full(len(slates), 4)
    found = policy.propensities(state, same, env.items.pool, slates, round=10, seed=1)
    assert found is not None
    return slates, found.whole, env


@pytest.mark.parametrize(("share", "shortlist"), [(0.01, 4), (0.2, 5), (0.9, 1)])
def test_a_share_of_the_slates_is_touched_and_the_others_are_what_they_were(
    share: float, shortlist: int
) -> None:
    policy = fc.LinUCB(reranker=LoggedRandomisation(share=share, shortlist=shortlist))
    slates, chances, env = rated(policy, items=6, k=3)
    state = fc.simulate(env, policy, rounds=9, seed=1).state
    usual = fc.LinUCB().recommend(state, np.array([4]), env.items.pool, 3, round=10, seed=1)
    same = (slates == usual.items).all(axis=1)
    assert chances[same].sum() >= 1 - share - 1e-12
    listed = fc.LinUCB().recommend(
        state, np.array([4]), env.items.pool, max(shortlist, 3), round=10, seed=1
    )
    assert not chances[~np.isin(slates, listed.items).all(axis=1)].any()


def test_slates_come_as_often_as_their_propensities_say() -> None:
    policy = fc.LinUCB(reranker=LoggedRandomisation(share=0.6, shortlist=4))
    slates, chances, env = rated(policy, items=6, k=3)
    state = fc.simulate(env, policy, rounds=9, seed=1).state
    many = policy.take(policy.take(state, np.array([4])), np.zeros(MANY, dtype=np.int64))
    rounds = np.arange(10, 10 + MANY)
    drawn = policy.recommend(many, slice(None), env.items.pool, 3, round=rounds, seed=2)
    key, keys = (np.array([36, 6, 1]) @ some.T for some in (drawn.items, slates))
    counts = (key[:, None] == keys[None]).sum(axis=0)
    possible = chances > 0
    assert counts.sum() == counts[possible].sum() == MANY
    assert chisquare(counts[possible], MANY * chances[possible]).pvalue > 1e-3
    assert drawn.explored is not None
    error = np.sqrt(0.6 * 0.4 / MANY)
    assert abs(drawn.explored.mean() - 0.6) < 4 * error


@pytest.mark.parametrize("model", [Cascade(), PBM()], ids=lambda model: model.name)
@given(
    attraction=st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5),
    share=st.floats(0.001, 0.99),
)
def test_no_more_clicks_are_lost_than_it_says(
    model: ClickModel, attraction: list[float], share: float
) -> None:
    """Whatever users like: the share of all clicks; with PBM and a right order, 1/K of that."""
    k, size, part = 3, 5, LoggedRandomisation(share=share, shortlist=5)
    slates = np.array(list(permutations(range(size), k)))
    rate, ranks = part.rate(k), np.arange(size)
    chances = np.ones(len(slates))
    for row, slate in enumerate(slates):
        for place in range(k):
            left = [rank for rank in ranks if rank not in slate[:place]]
            chances[row] *= rate / len(left) + (1 - rate) * (slate[place] == left[0])
    assert chances.sum() == pytest.approx(1)

    def values(liked: np.ndarray) -> np.ndarray:
        return model.value(liked[slates], slates)

    anyhow = values(np.array(attraction))
    assert chances @ anyhow >= (1 - share) * anyhow[0] - 1e-12
    if model.name == "pbm":
        ordered = values(np.sort(attraction)[::-1])
        assert chances @ ordered >= (1 - rate) * ordered[0] - 1e-12


def test_a_run_loses_no_more_clicks_than_the_share() -> None:
    env = small_environment(users=200, items=60, k=5)
    plain, logged = (
        fc.simulate(env, fc.LinUCB(reranker=reranker), rounds=60, seed=1)
        for reranker in ("identity", LoggedRandomisation(share=0.2))
    )
    error = np.sqrt(2 * 0.25 / (200 * 60))  # of the difference of two means of 0 and 1
    assert logged.clicks >= 0.8 * plain.clicks - 4 * error


def test_a_trace_has_all_three_propensities_and_reads_back(tmp_path: Path) -> None:
    env = small_environment(users=20, items=30, k=4)
    policy = fc.EALinUCB(reranker=LoggedRandomisation(share=0.3, shortlist=8))
    for engine in ("loop", "auto"):
        path = tmp_path / f"{engine}.parquet"
        result = fc.simulate(env, policy, rounds=15, seed=1, engine=engine, trace=path)
        assert result.engine == "loop"
        found = fc.Log(path).read()
        assert len(found) == 300
        assert found.slate is not None
        assert found.cascade is not None
        assert found.item_position is not None
        for chances in (found.slate, found.cascade, found.item_position):
            assert ((chances > 0) & (chances <= 1)).all()
        assert np.array_equal(found.slate, found.cascade[:, -1])
        assert (np.diff(found.cascade, axis=1) <= 0).all()
        assert (found.item_position >= found.slate[:, None] - 1e-15).all()
        usual = (found.slate >= 0.7).mean()
        assert usual >= 0.7 - 4 * np.sqrt(0.21 / 300)


def test_compiled_engines_refuse_it_in_a_line() -> None:
    env = small_environment(users=5, items=20, k=3)
    with pytest.raises(ValueError, match="does not support re-ranker 'logged-randomisation'"):
        fc.simulate(env, fc.LinUCB(reranker="logged-randomisation"), rounds=5, engine="cpu")


def test_slates_of_a_ranker_carry_their_propensities() -> None:
    policy = fc.LinUCB(reranker=LoggedRandomisation(share=0.5, shortlist=4))
    ranker = fc.Ranker(policy, items=np.random.default_rng(0).normal(size=(6, 3)), seed=4)
    explored = 0
    for clicked in (None, 1, 2) * 20:
        slate = ranker.recommend("u", k=3)
        known = slate.propensities
        assert known is not None
        assert known.item_position is not None
        assert known.slate == known.cascade[-1] > 0
        assert len(known.cascade) == len(known.item_position) == 3
        assert known.slate >= 0.5 or slate.explored
        again = Slate.from_dict(json.loads(json.dumps(slate.to_dict())))
        assert (again.propensities, again.explored) == (known, slate.explored)
        explored += slate.explored
        ranker.update(again, clicked)
    assert 10 < explored < 50
    slate = fc.Ranker(fc.LinUCB(), items=np.eye(4)).recommend("u", k=2)
    assert (slate.propensities, slate.explored) == (None, False)
    old = {n: v for n, v in slate.to_dict().items() if n not in ("propensities", "explored")}
    assert Slate.from_dict(old).propensities is None


def test_slates_of_a_ranker_are_those_of_the_policy_with_an_account() -> None:
    """Propensities are of the state from before, although recommending changes an account."""
    policy = fc.EpsilonGreedy(epsilon=0.5, reranker="exposure-charge")
    ranker = fc.Ranker(policy, items=np.random.default_rng(0).normal(size=(6, 3)))
    for _ in range(30):
        known = ranker.recommend("u", k=3).propensities
        assert known is not None
        assert known.slate > 0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"share": 1.0}, "share must be at least 0 and below 1, got 1.0"),
        ({"share": -0.1}, "share must be at least 0"),
        ({"shortlist": 0}, "shortlist must be at least 1, got 0"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        LoggedRandomisation(**parameters)  # type: ignore[arg-type]


def test_an_exploration_that_draws_is_refused() -> None:
    for policy in (fc.LinTS, fc.EpsilonGreedy, fc.CascadeTS):
        with pytest.raises(ValueError, match="leaves nothing to chance, and"):
            policy(reranker="logged-randomisation")


K, L = 3, 6
SLATES = np.array(list(permutations(range(L), K)))
EXAMINED, LIKED = 1 / np.log2(np.arange(2, K + 2)), np.linspace(0.4, 0.05, L)


def uniform_slates(share: float) -> np.ndarray:
    """Whole slates at random: what logged randomisation is compared with, (slates,)."""
    chances = np.full(len(SLATES), share / len(SLATES))
    chances[0] += 1 - share
    return chances


def random_positions(share: float) -> np.ndarray:
    rate = LoggedRandomisation(share=share).rate(K)
    chances = np.ones(len(SLATES))
    for row, slate in enumerate(SLATES.tolist()):
        for place in range(K):
            best = min(set(range(L)) - set(slate[:place]))
            chances[row] *= rate / (L - place) + (1 - rate) * (slate[place] == best)
    return chances


def at_the_same_cost(family: Callable[[float], np.ndarray], loss: float) -> np.ndarray:
    """Return the chances of slates for which so large a share of the clicks is lost under PBM."""
    values = (EXAMINED * LIKED[SLATES]).sum(axis=1)
    low, high = 0.0, 0.999
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if family(middle) @ values > (1 - loss) * values[0] else (low, middle)
        )
    return family(low)


def variances(chances: np.ndarray, target: list[int]) -> tuple[float, float, float]:
    """Of estimates by slates, prefixes and items at positions, one impression each, under PBM."""
    same = np.array(target) == SLATES  # (slates, K)
    kinds = (
        np.broadcast_to(same.all(axis=1)[:, None], same.shape),
        np.logical_and.accumulate(same, axis=1),
        same,
    )
    clicks = EXAMINED * LIKED[SLATES]  # (slates, K)
    found = []
    for matches in kinds:
        weights = matches / (chances @ matches)  # (slates, K)
        mean = (weights * clicks).sum(axis=1)
        spread = (weights**2 * clicks * (1 - clicks)).sum(axis=1)
        found.append(float(chances @ (mean**2 + spread) - (chances @ mean) ** 2))
    return found[0], found[1], found[2]


@pytest.mark.parametrize("target", [[0, 5, 1], [1, 0, 2], [0, 1, 5]], ids=["in", "swap", "last"])
def test_random_positions_tell_more_for_the_same_lost_clicks_than_random_slates(
    target: list[int],
) -> None:
    ours, theirs = (
        variances(at_the_same_cost(family, 0.002), target)
        for family in (random_positions, uniform_slates)
    )
    by_slate, by_prefix, by_item = (other / our for our, other in zip(ours, theirs, strict=True))
    assert by_slate > 10
    assert by_prefix > 3
    assert by_item > 1
