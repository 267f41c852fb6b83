"""Clicks and what follows them are worth parts of 1, in a service as in a `Ranker`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faircascade.policies import (
    Bandit,
    CascadeHybrid,
    CascadeKLUCB,
    CascadeLSB,
    EALinUCB,
    LinUCB,
    LogisticUCB,
    Policy,
)
from faircascade.ranker import Ranker
from faircascade.service.graded_rewards import GradedRewards
from faircascade.service.messages import FeedbackRequest, Reason, Refused
from faircascade.service.settings import ServiceSettings
from faircascade.types import Feedback, Items, Users
from tests.service.in_process import (
    Clock,
    features_of,
    learn,
    recommend,
    serving,
    topics_for,
    topics_of,
)

MAPPING = {
    "click": 0.3,
    "values": {"purchase": 1, "watch_seconds": {"linear_to": 120, "reward": 0.8}},
}
REWARDS = GradedRewards.model_validate(MAPPING)
GRADED = ServiceSettings(rewards=REWARDS)
POLICIES: dict[str, Policy] = {
    "ridge": LinUCB(),
    "all observed": Bandit(observation="all"),
    "exposure-aware": EALinUCB(weight="log", gamma=0.01),
    "on topics": CascadeLSB(observation="last-click"),
    "on both": CascadeHybrid(observation="last-click"),
    "last click": Bandit(reward="exposure-aware", observation="last-click"),
}


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


# what is worth what


@pytest.mark.parametrize(
    ("clicked", "values", "largest", "summed"),
    [
        (False, {}, 0.0, 0.0),
        (True, {}, 0.3, 0.3),
        (True, {"watch_seconds": 60}, 0.4, 0.7),
        (True, {"watch_seconds": 15}, 0.3, 0.4),
        (False, {"watch_seconds": 60}, 0.4, 0.4),
        (False, {"watch_seconds": 1e9}, 0.8, 0.8),
        (True, {"watch_seconds": 1e9}, 0.8, 1.0),
        (True, {"purchase": 3, "watch_seconds": 60}, 1.0, 1.0),
        (True, {"purchase": 0}, 0.3, 0.3),
    ],
)
def test_rewards_by_hand(
    clicked: bool, values: dict[str, float], largest: float, summed: float
) -> None:
    added = GradedRewards.model_validate({**MAPPING, "combine": "sum"})
    assert REWARDS.reward(clicked, values) == pytest.approx(largest)
    assert added.reward(clicked, values) == pytest.approx(summed)


amounts = st.floats(0, 1e9)


@given(st.booleans(), amounts, amounts, st.sampled_from(["max", "sum"]))
def test_a_reward_is_never_below_0_or_above_1(
    clicked: bool, seconds: float, bought: float, combine: str
) -> None:
    rewards = GradedRewards.model_validate({**MAPPING, "combine": combine})
    assert 0 <= rewards.reward(clicked, {"watch_seconds": seconds, "purchase": bought}) <= 1


def test_a_file_says_what_is_worth_what(tmp_path: Path) -> None:
    file = tmp_path / "rewards.toml"
    text = "click = 0.3\n[values]\npurchase = 1\nwatch_seconds = {linear_to = 120, reward = 0.8}\n"
    file.write_text(text)
    assert GradedRewards.read(file) == REWARDS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("click = 2\n[values]\nx = 1", "rewards.toml: click must be at most 1, got 2"),
        ("click = 1", "rewards.toml: values is missing"),
        ("[values]\nx = -1", "rewards.toml: values.x.reward must be at least 0, got -1"),
        ("clik = 1", "rewards.toml: clik is not a field; there are: click, combine, values"),
        ("[values]\nx = {linear = 3}", "rewards.toml: values.x.linear is not a field"),
        ("[values", "rewards.toml: is not TOML: "),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_names_it(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "rewards.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"^[^\n]*$") as error:
        GradedRewards.read(file)
    assert said in str(error.value)
    with pytest.raises(ValueError, match=r"cannot be read"):
        GradedRewards.read(tmp_path / "none.toml")


# learning


def feedback(values: np.ndarray | None, *, shown: int = 3) -> Feedback:
    return Feedback(
        items=np.array([["a", "b", "c"]]),
        features=features_of(3)[None],
        clicks=np.array([[False, True, False]]),
        shown=np.array([shown]),
        topics=np.zeros((1, 3, 0)),
        values=None if values is None else values[None],
    )


def test_a_value_takes_the_place_of_1_in_the_target_of_a_click() -> None:
    policy, (_, x, _) = LinUCB(), features_of(3)
    plain = policy.increments(feedback(None))[0]
    graded = policy.increments(feedback(np.array([0.0, 0.25, 0.0])))[0]
    np.testing.assert_array_equal(plain[1:5], x)
    np.testing.assert_array_equal(graded[1:5], 0.25 * x)
    np.testing.assert_array_equal(graded[5:], plain[5:])  # M as for a click


def test_what_is_worth_something_counts_as_clicked_and_only_where_it_was_seen() -> None:
    policy = Bandit(observation="all", reward="exposure-aware")
    valued = policy.increments(feedback(np.array([0.5, 1.0, 0.0])))
    clicked = feedback(None)
    clicked.clicks[0, 0] = True
    both = policy.increments(clicked)
    np.testing.assert_array_equal(valued[:, 5:], both[:, 5:])
    below = LinUCB().increments(feedback(np.array([0.0, 1.0, 1.0])))  # the first click is above
    np.testing.assert_array_equal(below, LinUCB().increments(feedback(None)))


@pytest.mark.parametrize("policy", [LinUCB(), Bandit(reward="exposure-aware", observation="all")])
def test_clicks_that_are_worth_1_change_no_bit(policy: Policy) -> None:
    ones = policy.increments(feedback(np.array([0.0, 1.0, 0.0])))
    np.testing.assert_array_equal(ones, policy.increments(feedback(None)))


def test_updates_and_increments_learn_the_same() -> None:
    policy, given = LinUCB(), feedback(np.array([0.0, 0.7, 0.2]))
    state = policy.start(Users(ids=np.array(["ann"])), 4)
    policy.update(state, slice(None), given)
    np.testing.assert_allclose(policy.sums(state), policy.increments(given), atol=1e-12)


def test_tables_keep_the_mean_of_values() -> None:
    items = Items.of(features_of(3), ids=list("abc"))
    ranker = Ranker(CascadeKLUCB(), items=items)
    slate = ranker.recommend("ann", k=3)
    ranker.update(slate, clicked=2, values={2: 0.25})
    state, _, _ = ranker.learned()
    means = ranker.policy.describe(state, 0)["means"]
    assert means == {slate.items[0]: 0.0, slate.items[1]: 0.25}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_ranker_and_a_service_learn_the_same_stream_alike(tmp_path: Path, policy: Policy) -> None:
    topics = topics_of(12, topics_for(policy))
    merit = np.array([1.0 + n % 3 for n in range(12)])
    items = Items.of(features_of(12), ids=list("abcdefghijkl"), merit=merit, topics=topics)
    ranker, rng = Ranker(policy, items=items, seed=3), np.random.default_rng(5)

    async def work() -> None:
        async with serving(tmp_path, policy, seed=3, settings=GRADED) as service:
            for _ in range(25):
                slate, shown = ranker.recommend("ann", k=5), await recommend(service, k=5)
                assert tuple(shown.items) == slate.items
                clicked = [p for p in range(1, 6) if rng.random() < 0.3]
                named = {p: {"watch_seconds": rng.uniform(0, 200)} for p in clicked[::2]}
                if rng.random() < 0.2:
                    named.setdefault(4, {})["purchase"] = 1.0
                worth = {
                    p: REWARDS.reward(p in clicked, named.get(p, {})) for p in {*clicked, *named}
                }
                ranker.update(slate, clicked, values=worth)
                values = [{"position": p, **some} for p, some in named.items()]
                await learn(service, shown, clicked_positions=clicked, values=values)
            theirs = (await service.user("ann")).sums
            np.testing.assert_allclose(theirs, ranker.sums()[0][0], atol=1e-12)

    run(work())


def test_without_values_a_service_whose_clicks_are_worth_1_learns_the_same_bits(
    tmp_path: Path,
) -> None:
    plain = GradedRewards.model_validate({"values": {"purchase": 1}})

    async def work() -> None:
        sums = []
        for rewards in (None, plain):
            settings = ServiceSettings(rewards=rewards)
            async with serving(tmp_path / str(rewards is None), settings=settings) as service:
                for turn in range(10):
                    shown = await recommend(service, k=4)
                    await learn(service, shown, clicked_position=turn % 4 + 1 if turn % 3 else None)
                sums.append((await service.user("ann")).sums)
        np.testing.assert_array_equal(*sums)

    run(work())


# answers


def test_receipts_and_stored_answers_keep_values_and_other_values_are_a_conflict(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with serving(tmp_path, settings=GRADED) as service:
            shown = await recommend(service, k=4)
            given = [{"position": 4, "purchase": 1}, {"position": 2, "watch_seconds": 60}]
            receipt = await learn(service, shown, clicked_position=2, values=given)
            assert receipt.document()["values"] == [
                {"position": 2, "watch_seconds": 60.0},
                {"position": 4, "purchase": 1.0},
            ]
            again = await learn(service, shown, clicked_position=2, values=given[::-1])
            assert again.repeated
            for other in ([], given[:1], [{"position": 4, "purchase": 2}, given[1]]):
                with pytest.raises(Refused, match="answered differently before"):
                    await learn(service, shown, clicked_position=2, values=other)
            (kept,) = (await service.user("ann")).impressions
            assert kept.details == {"values": [[2, {"watch_seconds": 60.0}], [4, {"purchase": 1}]]}
            assert service.activity.counts["reward"] == pytest.approx(1.4)
            assert service.activity.counts["clicks"] == 1
            events = [event for _, event in await service.store.events("", 9)]
            assert events[-1].note["answer"]["reward"] == pytest.approx(1.4)

    run(work())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([{"position": 2, "likes": 1}], "must be among purchase, watch_seconds, got 'likes'"),
        ([{"position": 1, "purchase": 1}] * 2, "must name each position once, got 1 twice"),
        ([{"position": 4, "purchase": 1}], "must be of positions from 1 to 3, which were shown"),
    ],
)
def test_values_that_cannot_be_rewarded_are_refused(tmp_path: Path, values: Any, said: str) -> None:
    async def work() -> None:
        async with serving(tmp_path, settings=GRADED) as service:
            shown = await recommend(service, k=5)
            with pytest.raises(Refused, match=said) as error:
                await learn(service, shown, shown=3, values=values)
            assert error.value.reason is Reason.INVALID

    run(work())


def test_a_service_that_rewards_clicks_alone_refuses_values(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            shown = await recommend(service)
            with pytest.raises(Refused, match="this service rewards clicks alone"):
                await learn(service, shown, values=[{"position": 1, "purchase": 1}])

    run(work())


@pytest.mark.parametrize(
    "values",
    [
        [{"position": 1}],
        [{"position": 0, "purchase": 1}],
        [{"position": 1, "purchase": -1}],
        [{"position": 1, "purchase": float("inf")}],
        [{"position": 1, "purchase": float("nan")}],
        [{"position": 1, "purchase": "1"}],
        [{"position": 1, "purchase": True}],
        {"position": 1, "purchase": 1},
    ],
)
def test_values_that_are_none_break_the_schema(values: Any) -> None:
    with pytest.raises(ValidationError):
        FeedbackRequest(impression_id="x", values=values)


# who can learn from them


class ClicksAlone(LinUCB):
    """Reads clicks and nothing else."""

    @property
    def refuses_values(self) -> str:
        return "it reads clicks alone"


def test_a_policy_that_cannot_learn_from_values_is_refused_at_the_start(tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(ValueError, match="cannot be used with rewards: it reads clicks alone"):
            async with serving(tmp_path, ClicksAlone(), settings=GRADED):
                pass

    run(work())


def test_a_ranker_refuses_values_that_its_policy_cannot_learn_from() -> None:
    ranker = Ranker(LogisticUCB(), items=Items.of(features_of(5), ids=list("abcde")))
    slate = ranker.recommend("ann", k=3)
    with pytest.raises(ValueError, match="cannot learn from values: it learns whether positions"):
        ranker.update(slate, clicked=1, values={1: 0.5})
    ranker.update(slate, clicked=1)


@pytest.mark.parametrize("values", [{4: 0.5}, {0: 0.5}, {1: 1.5}, {1: -0.1}, {1: float("nan")}])
def test_a_ranker_refuses_values_that_make_no_sense(values: dict[int, float]) -> None:
    ranker = Ranker(LinUCB(), items=Items.of(features_of(5), ids=list("abcde")))
    with pytest.raises(ValueError, match="values must be"):
        ranker.update(ranker.recommend("ann", k=3), values=values)


def test_a_ranker_remembers_values_over_a_restart(tmp_path: Path) -> None:
    ranker = Ranker(LinUCB(), items=Items.of(features_of(5), ids=list("abcde")))
    slate = ranker.recommend("ann", k=3)
    ranker.update(slate, clicked=1, values={1: 0.5})
    ranker.save(tmp_path / "ranker.npz")
    again = Ranker.load(tmp_path / "ranker.npz")
    again.update(slate, clicked=1, values={1: 0.5})
    with pytest.raises(ValueError, match="answered differently before"):
        again.update(slate, clicked=1, values={1: 0.6})


def test_no_feedback_in_time_is_worth_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        settings = ServiceSettings(rewards=REWARDS, no_click_after=60.0)
        async with serving(tmp_path, clock=clock, settings=settings) as service:
            await recommend(service)
            clock.now += 61
            assert await service.learn_no_clicks() == 1
            (kept,) = (await service.user("ann")).impressions
            assert kept.clicked == ()

    run(work())
