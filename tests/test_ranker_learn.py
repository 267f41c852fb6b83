"""A ranker that learns from a log knows what it would know had it been fed slate by slate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircascade as fc
from faircascade.data.base import DataError
from faircascade.errors import ParameterError
from faircascade.history import LogReader, has_sums
from faircascade.policies import Policy
from faircascade.registry import components, declared
from faircascade.types import Feedback, Items, Slate

M, D, T = 8, 3, 2
Row = tuple[str, list[str], list[int], int]
"""User, items, clicked positions from 1 on, positions shown."""


def catalogue(whole: bool = False) -> Items:
    rng = np.random.default_rng(5)
    features = rng.integers(-1, 2, (M, D)).astype(float) if whole else rng.normal(size=(M, D)) / 2
    topics = rng.integers(0, 2, (M, T)).astype(float) if whole else rng.random((M, T))
    return Items.of(features, ids=[f"i{n}" for n in range(M)], topics=topics)


def rankable() -> list[Any]:
    """Every policy of the registry that a ranker takes and that can learn from slates of others."""
    policies: list[Policy] = [cls() for cls in components("policy").values()]
    policies += [fc.FRMLinUCB(variant="exposure-charge"), fc.FRMLinUCB(variant="reorder")]
    policies += [fc.LinUCB(observation=name) for name in ("all", "last-click")]
    policies += [fc.EALinUCB(gamma=0.3, weighs="observations", sigma=0.7, ridge=2.0)]
    return [
        pytest.param(policy, id=policy.label)
        for policy in policies
        if not (policy.shares or declared(policy, "omniscient") or policy.needs_every_item)
    ]


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Odd logs: short slates, cut ones, several clicks, unknown items, users who come back."""
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        names = [f"i{n}" for n in range(M)] + ["gone"]
        items = draw(st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True))
        shown = draw(st.integers(1, len(items)))
        clicked = sorted(draw(st.sets(st.integers(1, shown))))
        rows.append((draw(st.sampled_from("uvw")), items, clicked, shown))
    return rows


def log_of(rows: list[Row]) -> fc.Log:
    users, items, clicked, shown = zip(*rows, strict=True)
    return fc.Log(
        pa.table(
            {
                "user": users,
                "items": pa.array(items, pa.list_(pa.string())),
                "clicked_positions": pa.array(clicked, pa.list_(pa.int64())),
                "shown": shown,
            }
        )
    )


def known(rows: list[Row]) -> list[Row]:
    return [row for row in rows if "gone" not in row[1]]


NOTHING_TO_LEARN = "ignore:.* taught nothing"


def feed(ranker: fc.Ranker, rows: list[Row]) -> None:
    """Show these very slates, and answer them one by one."""
    for number, (user, items, clicked, shown) in enumerate(rows):
        places = np.array([ranker._catalogue.rows[item] for item in items])
        state = ranker._states[user]
        if getattr(state, "ledger", None) is not None:
            state.ledger.enter(slice(None), places[None], ranker.items)
        ranker._states[user] = state
        ranker._slates[user] = ranker._slates.get(user, 0) + 1
        slate = Slate(
            slate_id=f"{number}",
            user=user,
            items=tuple(items),
            scores=(0.0,) * len(items),
            features=ranker.items.features[places],
            topics=ranker.items.topics[places],
            round=ranker._slates[user],
        )
        ranker._answers.expect(user, slate.slate_id)
        ranker.update(slate, clicked, shown=shown)


def feedback(items: Items, row: Row) -> Feedback:
    _, names, clicked, shown = row
    places = np.array([int(name[1:]) for name in names])
    return Feedback(
        items=items.ids[places][None],
        features=items.features[places][None],
        clicks=np.isin(np.arange(1, len(names) + 1), clicked)[None],
        shown=np.array([shown]),
        topics=items.topics[places][None],
    )


def assert_same(found: fc.Ranker, expected: fc.Ranker) -> None:
    assert set(found.users) == set(expected.users)
    for user in expected.users:
        assert found._slates[user] == expected._slates[user]
        one, other = (r.policy.arrays(r._states[user]) for r in (found, expected))
        for name, array in other.items():
            if has_sums(found.policy, found.items) and name != "interval":
                np.testing.assert_allclose(one[name], array, rtol=1e-9, atol=1e-10, err_msg=name)
            elif name != "interval":
                assert np.array_equal(one[name], array), name


@pytest.mark.filterwarnings(NOTHING_TO_LEARN)
@pytest.mark.parametrize("policy", rankable())
@settings(max_examples=15, deadline=None)
@given(rows=histories())
def test_a_log_teaches_what_its_slates_teach_one_by_one(policy: Policy, rows: list[Row]) -> None:
    learned, fed = (fc.Ranker(policy, items=catalogue()) for _ in range(2))
    report = learned.learn(log_of(rows), threads=2)
    feed(fed, known(rows))
    assert report.impressions == len(known(rows))
    assert sum(report.left_out.values()) == len(rows) - len(known(rows))
    assert report.users == len({row[0] for row in known(rows)})
    assert_same(learned, fed)


@pytest.mark.parametrize("policy", rankable())
def test_a_log_is_added_to_what_was_learned_before(policy: Policy) -> None:
    rows: list[Row] = [("u", ["i1", "i2"], [2], 2), ("v", ["i3"], [], 1), ("u", ["i2"], [1], 1)]
    learned, fed = (fc.Ranker(policy, items=catalogue()) for _ in range(2))
    feed(learned, rows)
    feed(fed, rows)
    more: list[Row] = [("w", ["i5", "i2", "i7"], [1, 3], 3), ("u", ["i1", "i4"], [1], 2)]
    for _ in range(2):
        learned.learn(log_of(more))
        feed(fed, more)
        assert_same(learned, fed)


@pytest.mark.filterwarnings(NOTHING_TO_LEARN)
@settings(max_examples=50, deadline=None)
@given(rows=histories())
def test_sums_have_the_bits_of_additions_in_the_order_of_the_log(rows: list[Row]) -> None:
    policy, items = fc.EALinUCB(weight="log", gamma=0.1), catalogue()
    ranker = fc.Ranker(policy, items=items)
    ranker.learn(log_of(rows), threads=2)
    sums, rounds = ranker.sums()
    for place, user in enumerate(ranker.users):
        mine = [row for row in known(rows) if row[0] == user]
        total = np.zeros(sums.shape[1])
        for row in mine:
            total += policy.increments(feedback(items, row))[0]
        assert np.array_equal(sums[place], total)
        assert rounds[place] == len(mine)


@pytest.mark.filterwarnings(NOTHING_TO_LEARN)
@settings(max_examples=50, deadline=None)
@given(rows=histories())
def test_sums_of_whole_numbers_are_exact(rows: list[Row]) -> None:
    learned, fed = (fc.Ranker(fc.LinUCB(), items=catalogue(whole=True)) for _ in range(2))
    learned.learn(log_of(rows))
    feed(fed, known(rows))
    order = [learned.users.index(user) for user in fed.users]
    assert np.array_equal(learned.sums()[0][order], fed.sums()[0])


@pytest.mark.parametrize("users", [1, 7, 3000])
def test_many_impressions_have_the_same_sums_with_any_number_of_threads(users: int) -> None:
    rng = np.random.default_rng(users)
    n, items = 9000, catalogue()
    rows: list[Row] = [
        (str(user), [f"i{i}" for i in rng.permutation(M)[:size]], [], int(size))
        for user, size in zip(rng.integers(0, users, n), rng.integers(1, 4, n), strict=True)
    ]
    log = log_of(rows)
    found = []
    for threads in (1, 3):
        ranker = fc.Ranker(fc.LinUCB(), items=items)
        ranker.learn(log, threads=threads)
        found.append(ranker.sums()[0])
    assert np.array_equal(*found)
    each = fc.LinUCB().increments
    total = np.zeros(found[0].shape[1])
    for row in rows:
        if row[0] == ranker.users[0]:
            total += each(feedback(items, row))[0]
    assert np.array_equal(found[0][0], total)


def test_users_of_a_log_can_be_saved_and_served_like_others(tmp_path: Path) -> None:
    rows: list[Row] = [("u", ["i1", "i2"], [2], 2), ("v", ["i3"], [], 1), ("u", ["i2"], [1], 1)]
    ranker = fc.Ranker(fc.LinUCB(), items=catalogue())
    ranker.update(ranker.recommend("x", k=2), 1)
    ranker.learn(log_of(rows))
    ranker.save(tmp_path / "r.npz")
    again = fc.Ranker.load(tmp_path / "r.npz")
    assert again.users == ranker.users == ("x", "u", "v")
    np.testing.assert_allclose(again.sums()[0], ranker.sums()[0], atol=1e-12)
    for user in ranker.users:
        one, other = ranker.recommend(user, k=4), again.recommend(user, k=4)
        assert (one.items, one.round) == (other.items, other.round)
    slate = ranker.recommend("u", k=3)
    ranker.learn(log_of(rows))  # an open slate can still be answered
    ranker.update(slate, 1)
    assert ranker.sums()[1].tolist() == [2, 6, 3]


def test_a_ranker_of_simulated_users_learns_its_own_trace(tmp_path: Path) -> None:
    data = fc.load_dataset("synthetic", users=30, items=40)
    env = fc.Environment.from_ratings(data, dim=4, k=5)
    result = fc.simulate(env, fc.LinUCB(), rounds=20, seed=1, trace=tmp_path / "t.parquet")
    ranker = fc.Ranker(fc.LinUCB(), items=env.items, seed=1)
    report = ranker.learn(tmp_path / "t.parquet")
    assert report.impressions == 600
    expected = fc.Ranker.from_result(result)
    order = [ranker.users.index(user) for user in expected.users]
    np.testing.assert_allclose(ranker.sums()[0][order], expected.sums()[0], atol=1e-9)
    assert [ranker.recommend(u, k=5).items for u in expected.users] == [
        expected.recommend(u, k=5).items for u in expected.users
    ]


def test_a_log_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = '{"user": "u", "items": ["i1"], "clicked_positions": [1]}\n'
    bad = '{"user": "u", "items": ["i1", "i1"], "clicked_positions": [1]}\n'
    path.write_text(good * 3 + bad)
    for policy in (fc.LinUCB(), fc.LogisticUCB()):
        ranker = fc.Ranker(policy, items=catalogue())
        with pytest.raises(DataError, match="in a slate once"):
            ranker.learn(path)
        assert ranker.users == ()


def test_what_cannot_be_learned_is_refused_in_a_line() -> None:
    ranker = fc.Ranker(fc.LinUCB(), items=catalogue())
    with pytest.raises(DataError, match="no column of users"):
        ranker.learn(pa.table({"items": [["i1"]], "clicked_positions": [[1]]}))
    with pytest.raises(ParameterError, match="threads must be at least 1"):
        ranker.learn(log_of([("u", ["i1"], [], 1)]), threads=0)
    with pytest.raises(ParameterError, match="it compares items that it shuffled itself"):
        fc.Ranker(fc.TopRank(), items=catalogue()).learn(log_of([("u", ["i1"], [], 1)]))
    huge = Items.of(np.full((M, D), 1e200), ids=catalogue().ids)
    with pytest.raises(FloatingPointError, match="check the scale"):
        fc.Ranker(fc.LinUCB(), items=huge).learn(log_of([("u", ["i1"], [], 1)]))


def test_a_slate_with_a_gap_is_left_out() -> None:
    rows = {"impression": [1, 1, 2], "user": ["u"] * 3, "item": ["i1", "i2", "i1"]}
    ranker = fc.Ranker(fc.LinUCB(), items=catalogue())
    report = ranker.learn(pa.table(rows | {"position": [1, 3, 1], "click": [0, 1, 0]}))
    assert report.left_out == {"a position has no item": 1}
    assert report.impressions == 1


@pytest.mark.parametrize("policy", [fc.LinUCB(), fc.DiscountLinUCB()])
def test_a_log_that_teaches_nothing_is_a_warning(policy: Policy) -> None:
    ranker = fc.Ranker(policy, items=catalogue())
    rows: list[Row] = [("u", ["x"], [], 1), ("u", ["i1"], [], 0), ("v", ["y"], [1], 1)]
    with pytest.warns(UserWarning, match="taught nothing; 2 left out: an item is not in the cata"):
        report = ranker.learn(log_of(rows))
    assert report.impressions == 0
    assert ranker.users == ()


def test_slates_of_which_nothing_was_shown_are_left_out() -> None:
    ranker = fc.Ranker(fc.LinUCB(), items=catalogue())
    report = ranker.learn(log_of([("u", ["i1"], [], 0), ("u", ["i2"], [1], 1)]))
    assert report.left_out == {"no position was shown": 1}
    assert ranker.sums()[1].tolist() == [1]
    assert str(report) == "1 impressions of 1 users; 1 left out: no position was shown"


@pytest.mark.parametrize("policy", [fc.LinUCB(), fc.DiscountLinUCB()])
def test_an_interrupted_log_changes_nothing_and_can_be_learned_after_all(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Row] = [("u", ["i1", "i2"], [2], 2), ("v", ["i3"], [], 1), ("u", ["i2"], [1], 1)]
    log = log_of(rows)
    interrupted, other = (fc.Ranker(policy, items=catalogue()) for _ in range(2))
    for ranker in (interrupted, other):
        ranker.learn(log_of(rows[:1]))
    for place in ("_meet", "report"):
        with monkeypatch.context() as patch:
            patch.setattr(LogReader, place, _interrupt)
            with pytest.raises(KeyboardInterrupt):
                interrupted.learn(log)
        assert_same(interrupted, other)
    interrupted.learn(log)
    other.learn(log_of(rows))
    assert_same(interrupted, other)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
