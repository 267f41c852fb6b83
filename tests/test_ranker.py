"""Online use: feedback late, twice, never or in part; items that come and go; save and load."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.policies import (
    CascadeHybrid,
    CascadeLSB,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    MostPopular,
    Optimal,
    Random,
)
from faircascade.ranker import Ranker
from faircascade.rerankers import (
    EARS,
    PMMF,
    ExposureCharge,
    FairCo,
    FrankWolfe,
    MeritDraws,
    MinShare,
    Reorder,
)
from faircascade.rerankers.ledger import exposure_units
from faircascade.types import Feedback, Items, Slate
from tests.environments import small_environment

IDS = [f"i{n}" for n in range(12)]
X = np.random.default_rng(0).normal(size=(12, 3)) / 2
RERANKED = [
    EARSLinUCB(tolerance=1.0),
    FRMLinUCB(variant="merit-draws", sharpness=5.0),
    FRMLinUCB(variant="exposure-charge", eta=0.1),
    FRMLinUCB(variant="reorder"),
]


def ranker(policy=None, **options) -> Ranker:
    return Ranker(
        policy or EALinUCB(weight="log", gamma=0.1, reading="paper"),
        items=X,
        item_ids=IDS,
        **options,
    )


def model(r: Ranker, user: str):
    sums = r._states[user].learned
    return np.concatenate([sums.M.ravel(), sums.M_inv.ravel(), sums.B.ravel(), sums.theta.ravel()])


def test_a_slate_holds_distinct_items_with_falling_scores() -> None:
    slate = ranker().recommend("u", k=5)
    assert len(slate) == len(set(slate.items)) == 5
    assert set(slate.items) <= set(IDS)
    assert list(slate.scores) == sorted(slate.scores, reverse=True)
    assert slate.round == 1
    assert slate.slate_id.startswith("u/1/")


def test_candidates_and_exclusions_are_kept() -> None:
    r = ranker()
    assert set(r.recommend("u", 3, candidates=["i1", "i2", "i3"]).items) == {"i1", "i2", "i3"}
    slate = r.recommend("u", 5, candidates=["i1", "i2", "i3"], exclude=["i2", "gone"])
    assert set(slate.items) == {"i1", "i3"}
    assert "i0" not in r.recommend("u", 11, exclude=["i0"]).items
    assert r.recommend("u", 3, candidates=["i1", "nope"]).items == ("i1",)
    with pytest.raises(ValueError, match="leave no item to recommend"):
        r.recommend("u", candidates=["nope"])
    with pytest.raises(ValueError, match="leave no item to recommend"):
        r.recommend("u", exclude=IDS)


def test_feedback_learns_what_algorithm_one_says() -> None:
    # clicked at 2 of 3, weight ln(1 + k), gamma 0.1: B = -0.1 ln 2 x1 + ln 3 x2; x3 is unseen
    r = ranker()
    slate = r.recommend("u", k=3)
    r.update(slate, clicked=2)
    x1, x2, _ = slate.features
    sums = r._states["u"].learned
    assert np.allclose(sums.B[:, 0], -0.1 * np.log(2) * x1 + np.log(3) * x2)
    assert np.allclose(sums.M[:, :, 0], np.eye(3) + np.outer(x1, x1) + np.outer(x2, x2))


def test_only_the_positions_shown_are_learned() -> None:
    r = ranker()
    slate = r.recommend("u", k=4)
    r.update(slate, shown=2)
    x1, x2 = slate.features[:2]
    sums = r._states["u"].learned
    assert np.allclose(sums.M[:, :, 0], np.eye(3) + np.outer(x1, x1) + np.outer(x2, x2))
    assert np.allclose(sums.B[:, 0], -0.1 * (np.log(2) * x1 + np.log(3) * x2))


def test_late_feedback_in_any_order_gives_the_same_model() -> None:
    models = []
    for order in itertools.permutations(range(4)):
        r = ranker()
        slates = [r.recommend("u", k=4) for _ in range(4)]
        for i in order:
            r.update(slates[i], clicked=(None, 1, 4, 2)[i])
        models.append(model(r, "u"))
    for other in models[1:]:
        assert np.allclose(models[0], other, atol=1e-9, rtol=0)


def test_the_same_answer_again_and_another_one_change_nothing() -> None:
    r = ranker()
    slate = r.recommend("u")
    r.update(slate, clicked=2)
    before = model(r, "u").copy()
    r.update(slate, clicked=2)
    r.update(slate, clicked_item=slate.items[1])
    for other in ({"clicked": 1}, {"clicked": 2, "shown": 5}):
        with pytest.raises(ValueError, match=r"slate 'u/1/.*' was answered differently before"):
            r.update(slate, **other)
    assert np.array_equal(model(r, "u"), before)


def test_clicks_are_given_by_position_or_by_item() -> None:
    models = []
    for answer in (
        {"clicked": [2, 4]},
        {"clicked_item": lambda slate: [slate.items[3], slate.items[1]]},
        {"clicked": np.array([4, 2])},
        {"clicked_item": lambda slate: {slate.items[1], slate.items[3]}},
    ):
        r = ranker()
        slate = r.recommend("u")
        r.update(slate, **{n: v(slate) if callable(v) else v for n, v in answer.items()})
        models.append(model(r, "u"))
    assert all(np.array_equal(models[0], other) for other in models)


def test_feedback_may_never_come() -> None:
    r = ranker()
    for _ in range(3):
        r.recommend("u")
    last = r.recommend("u")
    r.update(last, clicked=3)
    assert r._states["u"].learned.updates.tolist() == [1]


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        ({"clicked": 0}, "clicked must be a position from 1 to 10, several, or None, got 0"),
        ({"clicked": 11}, "clicked must be a position from 1 to 10, several, or None, got 11"),
        ({"shown": 0}, "shown must be between 1 and 10, got 0"),
        ({"clicked": 3, "shown": 2}, "shown must be at least 3, a clicked position, got 2"),
        ({"clicked": [1, 3], "shown": 2}, "shown must be at least 3, a clicked position, got 2"),
        ({"clicked": [1, 11]}, "clicked must be a position from 1 to 10, several, or None, got 11"),
        ({"clicked": [2, 2]}, r"clicked must name each position once, got \[2, 2\]"),
        ({"clicked": 1, "clicked_item": "i1"}, "clicked_item must be left out where clicked is"),
        ({"clicked": [], "clicked_item": "i1"}, "clicked_item must be left out where clicked is"),
        ({"clicked_item": "nope"}, "clicked_item must be an item of the slate, got 'nope'"),
    ],
)
def test_wrong_feedback_is_named_and_the_slate_stays_open(feedback: dict, message: str) -> None:
    r = ranker()
    slate = r.recommend("u")
    with pytest.raises(ValueError, match=message):
        r.update(slate, **feedback)
    r.update(slate, clicked=1)


def test_a_slate_of_another_ranker_is_refused() -> None:
    mine, other = ranker(), ranker()
    mine.recommend("u")
    with pytest.raises(ValueError, match="or comes from another ranker"):
        mine.update(other.recommend("u"), clicked=1)


def test_users_are_independent_and_start_cold() -> None:
    r, alone = ranker(), ranker()
    for t in range(5):
        r.update(r.recommend("a"), clicked=1 + t)
        r.update(r.recommend("b"), clicked=None)
        alone.update(alone.recommend("b"), clicked=None)
    assert np.array_equal(model(r, "b"), model(alone, "b"))
    assert r.users == ("a", "b")


def test_items_can_be_added_changed_and_removed_while_running() -> None:
    r = ranker()
    early = r.recommend("u", k=12)
    r.add_items(np.full((1, 3), 2.0), ["new"])
    assert "new" in r.recommend("u", k=13).items
    r.remove_items(["i0", "i1"])
    assert not {"i0", "i1"} & set(r.recommend("u", k=13).items)
    r.add_items(np.zeros((1, 3)), ["i2"])
    assert len(r.items) == 11
    shown = early.features[early.items.index("i2")]
    r.update(early, clicked=early.items.index("i2") + 1)  # learns the row as it was shown
    assert np.abs(shown).sum() > 0
    x = early.features[: early.items.index("i2") + 1]
    assert np.allclose(r._states["u"].learned.M[:, :, 0], np.eye(3) + x.T @ x)


def test_wrong_items_are_named() -> None:
    r = ranker()
    with pytest.raises(ValueError, match=r"features must have 3 columns, got shape \(1, 2\)"):
        r.add_items(np.ones((1, 2)), ["x"])
    with pytest.raises(ValueError, match="item_ids must be items of the catalogue, got 'x'"):
        r.remove_items(["x"])
    with pytest.raises(ValueError, match="must leave at least one item"):
        r.remove_items(IDS)
    with pytest.raises(ValueError, match="groups must be among"):
        r.add_items(np.ones((1, 3)), ["x"], groups={"genre": ["a"]})
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        r.recommend("u", k=0)
    with pytest.raises(ValueError, match="item_ids must be left out"):
        Ranker(LinUCB(), items=Items.of(X), item_ids=IDS)


@pytest.mark.parametrize(
    "policy",
    [
        EALinUCB(weight=(1, 2, 3, 4)),
        LinTS(),
        EpsilonGreedy(),
        Random(),
        MostPopular(),
        *RERANKED,
        EALinUCB(reranker=ExposureCharge(eta=0.2)),
        LinTS(reranker=EARS(tolerance=0.5)),
        EpsilonGreedy(reranker=Reorder()),
    ],
    ids=lambda policy: policy.label,
)
def test_a_saved_ranker_goes_on_as_if_nothing_had_happened(policy, tmp_path) -> None:
    r = ranker(policy, seed=3)
    waiting = r.recommend("u", k=4)
    for t in range(6):
        r.update(r.recommend(f"user-{t % 2}", k=4), clicked=t % 4 + 1)
    r.save(tmp_path / "ranker.npz")
    back = Ranker.load(tmp_path / "ranker.npz")
    assert back.policy == policy
    for r_ in (r, back):
        r_.update(waiting, clicked=2)
        r_.update(waiting, clicked=2)
        with pytest.raises(ValueError, match="answered differently before"):
            r_.update(waiting, clicked=3)
    for user in ("u", "user-0", "user-1", "stranger"):
        for _ in range(3):
            a, b = r.recommend(user, k=4), back.recommend(user, k=4)
            assert a.items == b.items
            assert a.scores == b.scores


def test_a_function_as_weight_cannot_be_saved_and_says_so(tmp_path) -> None:
    r = ranker(EALinUCB(weight=lambda position, k: position))
    with pytest.raises(TypeError, match=r"holds a function .* give its values instead"):
        r.save(tmp_path / "r.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_ranker_fed_the_clicks_of_a_simulation_learns_the_same_model() -> None:
    env = small_environment(users=3, items=20, k=4)
    result = simulate(env, LinUCB(), rounds=25, seed=5)
    online = Ranker(LinUCB(), items=env.items, seed=5)
    for t in range(1, 26):
        for row, user in enumerate(env.users.ids):
            slate = online.recommend(user, k=4)
            slates = np.array([[env.items.ids.tolist().index(i) for i in slate.items]])
            clicks = env.respond(slates, slice(row, row + 1), round=t, seed=5).clicks[0]
            online.update(slate, clicked=np.flatnonzero(clicks) + 1)
    joined = np.column_stack([online._states[u].learned.theta[:, 0] for u in env.users.ids])
    assert np.array_equal(joined, result.state.learned.theta)


def test_the_model_of_a_simulation_can_go_online() -> None:
    env = small_environment(users=3, items=20, k=4)
    result = simulate(env, LinUCB(), rounds=25, seed=5)
    online = Ranker.from_result(result)
    longer = simulate(env, LinUCB(), rounds=26, seed=5)
    for row, user in enumerate(env.users.ids):
        slate = online.recommend(user, k=4)
        assert slate.round == 26
        slates = np.array([[env.items.ids.tolist().index(i) for i in slate.items]])
        clicks = env.respond(slates, slice(row, row + 1), round=26, seed=5).clicks[0]
        online.update(slate, clicked=np.flatnonzero(clicks) + 1)
        assert np.array_equal(
            online._states[user].learned.theta[:, 0], longer.state.learned.theta[:, row]
        )


def test_a_slate_survives_as_plain_data_until_its_feedback_comes() -> None:
    r = ranker()
    slate = r.recommend("u", k=4)
    back = Slate.from_dict(json.loads(json.dumps(slate.to_dict())))
    r.update(back, clicked=2)
    with pytest.raises(ValueError, match="answered differently before"):
        r.update(slate, clicked=3)


def test_a_slate_lost_in_a_crash_is_not_taken_for_the_one_that_followed(tmp_path) -> None:
    r = ranker()
    r.recommend("u")
    r.save(tmp_path / "r.npz")
    lost = r.recommend("u")
    back = Ranker.load(tmp_path / "r.npz")
    followed = back.recommend("u")
    assert followed.round == lost.round
    with pytest.raises(ValueError, match="is not known"):
        back.update(lost, clicked=1)
    back.update(followed, clicked=1)


def test_only_so_many_unanswered_slates_are_remembered() -> None:
    r = ranker(max_open=2)
    slates = [r.recommend("u") for _ in range(3)]
    with pytest.raises(ValueError, match="is too old"):
        r.update(slates[0], clicked=1)
    r.update(slates[1], clicked=1)
    r.update(slates[2], clicked=1)


@pytest.mark.parametrize("clicked", [True, np.True_, 2.0, "2"])
def test_a_click_is_a_position_and_nothing_else(clicked) -> None:
    r = ranker()
    with pytest.raises(ValueError, match="clicked must be a whole number"):
        r.update(r.recommend("u"), clicked=clicked)


@pytest.mark.parametrize("wrong", [None, b"x", ("a", 1), 1.5, True, np.float64(2)])
def test_ids_are_text_or_whole_numbers(wrong) -> None:
    for call in (
        lambda r: r.recommend(wrong),
        lambda r: r.recommend("u", exclude=[wrong]),
        lambda r: r.recommend("u", candidates=["i1", wrong]),
        lambda r: r.remove_items([wrong]),
        lambda r: r.add_items(np.zeros((1, 3)), [wrong]),
        lambda r: r.update(r.recommend("u"), clicked_item=[wrong]),
    ):
        r = ranker()
        with pytest.raises(ValueError, match="must be text or a whole number, got "):
            call(r)
        assert set(r.users) <= {"u"}


@pytest.mark.parametrize("wrong", [[None, "b"], [b"a", b"b"], [0.5, 1.5], [True, False]])
def test_the_ids_of_a_catalogue_are_text_or_whole_numbers(wrong) -> None:
    with pytest.raises(ValueError, match="item id must be text or a whole number, got "):
        Ranker(LinUCB(), items=np.eye(2), item_ids=wrong)
    with pytest.raises(ValueError, match="user id must be text or a whole number, got "):
        Environment.from_arrays(np.eye(2), np.eye(2), k=1, user_ids=wrong)


def test_numbers_and_their_text_are_the_same_ids() -> None:
    r = Ranker(LinUCB(), items=np.eye(3), item_ids=np.array([1, "b", np.int64(3)], dtype=object))
    for user in (7, np.int64(7), np.uint8(7), "7", np.str_("7")):
        assert r.recommend(user, k=3, exclude=[3]).user == "7"
    assert r.users == ("7",)
    assert r.items.ids.tolist() == ["1", "b", "3"]


def test_one_id_is_not_a_list_of_ids() -> None:
    for call in (
        lambda r: r.recommend("u", exclude="i3"),
        lambda r: r.recommend("u", candidates="i3"),
        lambda r: r.remove_items("i3"),
        lambda r: r.add_items(np.zeros((2, 3)), "i3"),
    ):
        with pytest.raises(TypeError, match="must be a list of ids, got 'i3'"):
            call(ranker())


def test_feedback_that_overflows_is_refused_and_changes_nothing() -> None:
    r = Ranker(LinUCB(), items=X * 1e170, item_ids=IDS)
    with np.errstate(all="ignore"):
        slate = r.recommend("u", k=3)
    with pytest.raises(FloatingPointError, match="cannot be learned: overflow"):
        r.update(slate, clicked=1)
    assert r._states["u"].learned.updates.tolist() == [0]


def test_a_changed_item_keeps_what_was_not_given_anew() -> None:
    items = Items.of(X, ids=IDS, merit=np.arange(1.0, 13), groups={"genre": ["a"] * 12})
    r = Ranker(LinUCB(), items=items)
    r.add_items(np.zeros((2, 3)), ["i4", "new"])
    row, new = (r.items.ids.tolist().index(name) for name in ("i4", "new"))
    assert (r.items.merit[row], r.items.groups["genre"][row]) == (5.0, "a")
    assert (r.items.merit[new], r.items.groups["genre"][new]) == (1.0, "unknown")


def test_an_item_that_is_known_keeps_its_topics() -> None:
    topics = np.linspace(0.0, 1.0, 24).reshape(12, 2)
    for policy in (CascadeLSB(), CascadeHybrid(), LinUCB()):
        r = Ranker(policy, items=Items.of(X, ids=IDS, topics=topics))
        r.add_items(np.zeros((1, 3)), ["i4"])
        assert r.items.topics[r.items.ids.tolist().index("i4")].tolist() == topics[4].tolist()
        r.add_items(np.zeros((1, 3)), ["new"], topics=[[0.5, 0.0]])
    r.add_items(np.zeros((1, 3)), ["other"])  # LinUCB does not look at topics
    assert r.items.topics[-1].tolist() == [0.0, 0.0]


def test_optimal_has_no_place_online() -> None:
    with pytest.raises(ValueError, match="must not need a simulator"):
        ranker(Optimal())


@pytest.mark.parametrize("policy", RERANKED, ids=lambda policy: policy.label)
def test_a_ranker_that_reranks_learns_from_what_was_shown(policy) -> None:
    r = ranker(policy)
    for t in range(20):
        slate = r.recommend("u", k=4)
        assert len(set(slate.items)) == 4
        before = r._states["u"].learned.B[:, 0].copy()
        r.update(slate, clicked=t % 4 + 1)
        assert np.allclose(r._states["u"].learned.B[:, 0] - before, slate.features[t % 4])


def exposure(r: Ranker, user: str) -> dict[str, int]:
    """The user's account, by item."""
    ledger = r._states[user].ledger
    return dict(zip(ledger.ids.tolist(), ledger.units[0].tolist(), strict=True))


def test_a_slate_counts_as_exposure_whether_or_not_feedback_comes() -> None:
    r = ranker(FRMLinUCB(variant="reorder"))
    slates = [r.recommend("u", k=3) for _ in range(4)]
    r.update(slates[2], clicked=1)
    expected = dict.fromkeys(IDS, 0)
    for slate in slates:
        for item, units in zip(slate.items, exposure_units(3).tolist(), strict=True):
            expected[item] += units
    assert exposure(r, "u") == expected


def test_what_was_not_shown_is_taken_from_the_account_again() -> None:
    r = ranker(FRMLinUCB(variant="reorder"))
    first, other = (r.recommend("u", k=3) for _ in range(2))
    r.update(first, shown=1)
    r.update(other, clicked=2, shown=2)
    expected = dict.fromkeys(IDS, 0)
    for slate, shown in ((first, 1), (other, 2)):
        for item, units in zip(slate.items[:shown], exposure_units(3).tolist(), strict=False):
            expected[item] += units
    assert exposure(r, "u") == expected


@pytest.mark.parametrize("policy", RERANKED[2:], ids=lambda policy: policy.label)
def test_accounts_follow_items_that_come_and_go(policy) -> None:
    r = ranker(policy)
    for _ in range(6):
        r.recommend("u", k=12)
    before = exposure(r, "u")
    r.remove_items(["i0", "i1"])
    r.add_items(np.zeros((2, 3)), ["new", "i2"])  # i2 changes, and keeps what it had
    first = r.recommend("u", k=11)
    assert set(first.items) == {*IDS[2:], "new"}
    units = dict(zip(first.items, exposure_units(11).tolist(), strict=True))
    assert exposure(r, "u") == {i: before.get(i, 0) + units[i] for i in r.items.ids.tolist()}


def test_an_item_that_had_no_exposure_comes_first() -> None:
    r = ranker(FRMLinUCB(variant="reorder"))
    for _ in range(3):
        r.recommend("u", k=12)
    r.add_items(np.ones((1, 3)), ["new"])
    assert r.recommend("u", k=13).items[0] == "new"


@pytest.mark.parametrize("policy", RERANKED[2:], ids=lambda policy: policy.label)
def test_accounts_are_saved_with_items_that_came_and_went(policy, tmp_path) -> None:
    r = ranker(policy)
    r.recommend("early", k=4)  # knows nothing of what happens to the catalogue
    r.remove_items(["i0"])
    r.add_items(np.ones((1, 3)), ["new"])
    for user in ("late", "late", "both"):
        r.update(r.recommend(user, k=4), clicked=1)
    r.save(tmp_path / "r.npz")
    back = Ranker.load(tmp_path / "r.npz")
    for user in ("early", "late", "both", "stranger"):
        for clicked in (2, None, 1):
            a, b = r.recommend(user, k=5), back.recommend(user, k=5)
            assert (a.items, a.scores) == (b.items, b.scores)
            r.update(a, clicked=clicked)
            back.update(b, clicked=clicked)
        assert exposure(r, user) == exposure(back, user)


SHARED = [
    FRMLinUCB(variant="exposure-charge", ledger="global", eta=0.1),
    FRMLinUCB(variant="reorder", ledger="global"),
    EALinUCB(reranker=FairCo(half_life=3.0)),
    LinUCB(reranker=PMMF(step=0.1)),
    LinUCB(reranker=FrankWolfe(welfare="gini")),
    LinUCB(reranker=MinShare()),
]


@pytest.mark.parametrize("policy", SHARED, ids=lambda policy: policy.label)
def test_an_account_of_all_users_is_that_of_one_slate_after_the_other(policy, tmp_path) -> None:
    env = small_environment(users=3)
    online = Ranker(policy, items=env.items, seed=4)
    states = policy.start(env.users, env.items.dim)
    for turn, row in enumerate([0, 1, 0, 2, 2, 1, 0, 1]):
        if turn == 4:
            online.save(tmp_path / "r.npz")
            online = Ranker.load(tmp_path / "r.npz")
        user, t = str(env.users.ids[row]), online._slates.get(str(env.users.ids[row]), 0) + 1
        slate = online.recommend(user, k=3)
        expected = policy.recommend(states, np.array([row]), env.items.pool, 3, round=t, seed=4)
        policy.settle([states])
        assert slate.items == tuple(env.items.ids[expected.items[0]].tolist())
        online.update(slate, clicked=2)
        clicks = np.array([[False, True, False]])
        policy.update(states, np.array([row]), Feedback.of(env.items, expected.items, clicks))
    state, _, _ = online.learned()
    for name, array in policy.account(states).arrays().items():
        assert np.array_equal(policy.account(state).arrays()[name], array)


def test_an_account_of_all_users_takes_back_what_was_not_on_the_screen(tmp_path) -> None:
    online = Ranker(LinUCB(reranker=FairCo()), items=small_environment().items)
    slate = online.recommend("ann", k=3)
    online.recommend("bob", k=3)
    online.update(slate, shown=1)
    online.save(tmp_path / "r.npz")
    state, _, _ = Ranker.load(tmp_path / "r.npz").learned()
    one, two, three = exposure_units(3).tolist()
    assert state.ledger.units.sum() == 2 * one + two + three


def test_an_account_of_all_users_goes_on_where_a_simulation_ended_and_learns_no_logs() -> None:
    policy = LinUCB(reranker=FairCo())
    result = simulate(small_environment(users=3), policy, rounds=2)
    before = result.state.ledger.units.sum()
    online = Ranker.from_result(result)
    online.recommend("somebody", k=3)
    state, _, _ = online.learned()
    assert state.ledger.units.sum() == before * 7 / 6  # a seventh slate
    with pytest.raises(ValueError, match="must keep an account for each user"):
        online.learn("log.csv")


@pytest.mark.parametrize(
    "policy",
    [*RERANKED, EpsilonGreedy(reranker=Reorder(), epsilon=0.3), LinTS(reranker=MeritDraws())],
    ids=lambda policy: policy.label,
)
@pytest.mark.parametrize("numbered", [False, True], ids=["text", "numbers"])
def test_slates_online_are_those_of_a_simulation(policy, numbered: bool, tmp_path) -> None:
    # a ranker from the start, and one that takes over after ten rounds
    ids = {"item_ids": np.arange(20), "user_ids": np.arange(3)} if numbered else {}
    env = small_environment(users=3, items=20, k=4, **ids)
    simulate(env, policy, rounds=20, seed=5, trace=tmp_path / "trace.parquet")
    expected: dict = {}
    for row in pq.read_table(tmp_path / "trace.parquet").to_pylist():
        expected.setdefault((row["user_id"], row["round"]), []).append(row["item_id"])
    for first, online in (
        (1, Ranker(policy, items=env.items, seed=5)),
        (11, Ranker.from_result(simulate(env, policy, rounds=10, seed=5))),
    ):
        names = online.items.ids.tolist()
        for row, user in enumerate(env.users.ids.tolist()):
            for t in range(first, 21):
                slate = online.recommend(user, k=4)
                assert slate.round == t
                assert list(slate.items) == [str(item) for item in expected[user, t]]
                slates = np.array([[names.index(i) for i in slate.items]])
                clicks = env.respond(slates, slice(row, row + 1), round=t, seed=5).clicks[0]
                online.update(slate, clicked=np.flatnonzero(clicks) + 1)
