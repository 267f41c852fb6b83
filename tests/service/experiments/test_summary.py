"""What an experiment says at a look, in numbers and in words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from faircascade.errors import ParameterError
from faircascade.service.experiments.counts import ArmCounts
from faircascade.service.experiments.sequential import ConfidenceSequence, Estimate
from faircascade.service.experiments.summary import MEASURES, Monitor
from faircascade.service.experiments.verdict import Wording, verdict

ITEMS = 12
CLICKS = Wording(more="more clicks", less="fewer clicks")


def arm(seed: int, rate: float, *, users: int = 400, visits: int = 20, even: float = 1.0):
    """Return the counts of users with a taste each, who are shown popular items more often."""
    rng = np.random.default_rng(seed)
    counts = ArmCounts.empty(ITEMS)
    counts.users = users
    blocks = np.repeat(rng.integers(128, size=users), visits)
    popularity = 1.0 / np.arange(1, ITEMS + 1) ** even
    keys = rng.exponential(size=(len(blocks), ITEMS)) / popularity
    counts.add_slates(blocks, keys.argsort(axis=1)[:, :3])
    tastes = rng.beta(20 * rate, 20 - 20 * rate, users)
    clicked = rng.random(len(blocks)) < np.repeat(tastes, visits)
    counts.add_answers(blocks[1:], clicked[1:].astype(np.int64))
    return counts


def monitor(**shares: float) -> Monitor:
    return Monitor(shares=shares or {"control": 0.5, "fairer": 0.5}, control="control")


def compared(**arms) -> dict:
    return monitor().look(arms)["comparisons"]["fairer"]


def difference(value: float, error: float, blocks: int = 200) -> Estimate:
    pseudo = np.resize([1.0, -1.0], blocks) * error * np.sqrt(blocks - 1)
    return Estimate.of_pseudo(value, pseudo)


def told(value: float, error: float, **more):
    found = difference(value, error)
    sequence = ConfidenceSequence().look(found)
    settings = {"control": 0.3, "relevant": 0.03, "slates": 10_000, "wording": CLICKS} | more
    return verdict(found, sequence, settings.pop("control"), **settings)


def test_an_arm_is_summed_up() -> None:
    counts = arm(0, 0.3)
    said = monitor().look({"control": counts, "fairer": arm(1, 0.3)})["arms"]["control"]
    assert said["users"] == 400
    assert said["slates"] == 8_000
    assert said["answered_share"] == 7_999 / 8_000
    rate = said["clicks_per_slate"]
    assert rate["value"] == counts.clicks.sum() / 8_000
    assert rate["low"] < rate["value"] < rate["high"]
    assert 0 < said["equality_p"]["low"] < said["equality_p"]["high"] < 1


def graded(seed: int, worth: float, *, users: int = 400, visits: int = 5) -> ArmCounts:
    """Return the counts of users who click alike, for whom clicks are worth more or less."""
    rng = np.random.default_rng(seed)
    counts = ArmCounts.empty(0)
    counts.users = users
    blocks = np.repeat(rng.integers(128, size=users), visits)
    counts.add_slates(blocks, np.zeros((len(blocks), 0), dtype=np.int64))
    clicks = (rng.random(len(blocks)) < 0.5).astype(np.int64)
    tastes = np.repeat(rng.beta(8 * worth, 8 - 8 * worth, users), visits)
    counts.add_answers(blocks, clicks, clicks * rng.beta(2 * tastes + 0.1, 2.1 - 2 * tastes))
    return counts


def test_more_reward_for_as_many_clicks_is_seen() -> None:
    said = compared(control=graded(0, 0.3), fairer=graded(1, 0.6))
    assert said["reward_per_slate"]["answer"] == "more"
    assert said["reward_per_slate"]["text"].startswith("more reward: +")
    assert said["clicks_per_slate"]["answer"] in ("same", "open")


def test_a_click_is_worth_one_unless_rewards_are_graded() -> None:
    said = monitor().look({"control": arm(0, 0.3), "fairer": arm(1, 0.4)})
    for one in said["arms"].values():
        assert one["reward_per_slate"] == pytest.approx(one["clicks_per_slate"])
    of = said["comparisons"]["fairer"]
    assert of["reward_per_slate"]["low"] == pytest.approx(of["clicks_per_slate"]["low"])


def test_intervals_of_rewards_hold_at_all_looks_together() -> None:
    """Rewards in [0, 1] of 150 pairs of equal arms, each watched five times. At a level of 95%,
    more than 15 alarms come once in 200 runs; each arm's own value is in its intervals as often."""
    alarms = 0
    for seed in range(150):
        watch, false = monitor(), False
        arms = {name: ArmCounts.empty(0) for name in ("control", "fairer")}
        for look in range(5):
            for n, name in enumerate(arms):
                more = graded(10 * seed + 2 * look + n + 1_000 * n, 0.5, users=150, visits=2)
                for sums in ("slates", "answers", "clicks", "rewards"):
                    getattr(arms[name], sums)[:] += getattr(more, sums)
            found = watch.look(arms)["comparisons"]["fairer"]["reward_per_slate"]
            false |= found["answer"] in ("more", "less")
        alarms += false
    assert alarms <= 15


def test_more_clicks_and_fewer_clicks_are_called_so() -> None:
    up = compared(control=arm(0, 0.3), fairer=arm(1, 0.4))["clicks_per_slate"]
    down = compared(control=arm(0, 0.4), fairer=arm(1, 0.3))["clicks_per_slate"]
    assert (up["answer"], down["answer"]) == ("more", "less")
    assert up["text"].startswith("more clicks: +")
    assert down["text"].startswith("fewer clicks: -")
    assert up["low_percent"] == pytest.approx(100 * up["low"] / 0.3, rel=0.05)


def test_more_equal_exposure_is_called_so() -> None:
    said = compared(control=arm(0, 0.3, even=1.5), fairer=arm(1, 0.3, even=0.5))
    assert said["equality_b"]["answer"] == "more"
    assert said["equality_p"]["text"].startswith("shares exposure more equally: +")


def test_equal_arms_keep_running_with_a_bound_and_an_outlook() -> None:
    said = compared(control=arm(0, 0.3), fairer=arm(1, 0.3))["clicks_per_slate"]
    assert said["answer"] == "open"
    assert said["slates_left"] > 0
    assert "so far; keep running: about" in said["text"]


def test_texts_by_hand() -> None:
    """The first interval reaches 2.83 errors (Student's t, 199 degrees)."""
    assert told(0.03, 0.005).text == "more clicks: +10% (+5.3% to +15%)"
    assert told(-0.03, 0.005).text == "fewer clicks: -10% (-15% to -5.3%)"
    assert told(0.0, 0.003).text == "no difference larger than 2.8% so far"
    assert told(0.0, 0.003).answer == "same"
    assert told(0.0, 0.01).text.startswith("no difference larger than 9.4% so far; keep running")


def test_the_outlook_is_what_it_takes_if_the_difference_stays() -> None:
    said = told(0.006, 0.01)  # 2% of 0.3: settled as soon as half the width is 0.006
    found = difference(0.006, 0.01)
    sequence = ConfidenceSequence().look(found)
    grown = 1 + said.slates_left / 10_000
    assert sequence.half_width(found, grown) == pytest.approx(0.006, rel=0.03)


def test_nothing_is_told_without_users_or_clicks() -> None:
    empty = ArmCounts.empty(ITEMS)
    said = monitor().look({"control": empty, "fairer": ArmCounts.empty(ITEMS)})
    assert said["arms"]["control"]["answered_share"] is None
    for measure in MEASURES:
        one = said["comparisons"]["fairer"][measure]
        assert one["text"] == "keep running: too few users to tell anything yet"
    json.dumps(said, allow_nan=False)
    unclicked = told(0.01, 0.02, control=0.0)
    assert unclicked.text == "keep running: the control has none to compare with"


def test_unequal_users_are_noticed() -> None:
    arms = {"control": arm(0, 0.3, users=800), "fairer": arm(1, 0.3, users=400)}
    check = monitor().look(arms)["sample_ratio"]
    assert check["mismatch"]
    assert check["text"].startswith("users are not divided as planned")


def test_several_treatments_share_the_level() -> None:
    arms = {name: arm(seed, 0.3) for seed, name in enumerate(("control", "fairer", "bolder"))}
    two = Monitor(shares=dict.fromkeys(("control", "fairer"), 0.3), control="control")
    three = Monitor(shares=dict.fromkeys(arms, 0.3), control="control")
    alone = two.look({name: arms[name] for name in two.shares})["comparisons"]["fairer"]
    among = three.look(arms)["comparisons"]["fairer"]
    assert among["clicks_per_slate"]["high"] > alone["clicks_per_slate"]["high"]


def test_a_look_is_plain_data_and_a_monitor_survives_a_restart() -> None:
    first, second = arm(0, 0.3), arm(1, 0.32)
    here = monitor()
    json.dumps(here.look({"control": first, "fairer": second}), allow_nan=False)
    there = Monitor.from_json(json.loads(json.dumps(here.to_json())))
    later = {"control": arm(0, 0.3, users=4_000), "fairer": arm(1, 0.32, users=4_000)}
    assert there == here
    assert there.look(later) == here.look(later)
    fresh = monitor().look(later)["comparisons"]["fairer"]["clicks_per_slate"]
    assert here.look(later)["comparisons"]["fairer"]["clicks_per_slate"]["high"] > fresh["high"]


def test_nothing_is_told_before_the_first_look() -> None:
    waiting = Monitor(shares={"control": 0.5, "fairer": 0.5}, control="control", first_look=20_000)
    early = waiting.look({"control": arm(0, 0.3), "fairer": arm(1, 0.4)})
    assert early["comparisons"]["fairer"]["clicks_per_slate"]["answer"] == "open"
    assert early["arms"]["fairer"]["clicks_per_slate"]["low"] is None
    assert waiting.origins == {}
    enough = {"control": arm(0, 0.3, users=600), "fairer": arm(1, 0.4, users=600)}
    said = waiting.look(enough)["comparisons"]["fairer"]["clicks_per_slate"]
    assert said["answer"] == "more"


def test_swapped_arms_have_mirrored_differences() -> None:
    a, b = arm(0, 0.3), arm(1, 0.4)
    one = compared(control=a, fairer=b)["clicks_per_slate"]
    other = compared(control=b, fairer=a)["clicks_per_slate"]
    assert (one["low"], one["high"]) == pytest.approx((-other["high"], -other["low"]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Monitor(shares={"a": 1.0}, control="a"), "arms must be at least two"),
        (lambda: Monitor(shares={"a": 0.5, "b": 0.5}, control="c"), "control must be one of a, b"),
        (
            lambda: Monitor(shares={"a": 0.5, "b": 0.5}, control="a", level=95),
            "level must be between 0 and 1, got 95",
        ),
        (
            lambda: Monitor(shares={"a": 0.5, "b": 0.5}, control="a", relevant=3),
            "relevant must be between 0 and 1, got 3",
        ),
        (
            lambda: Monitor(shares={"a": 0.5, "b": 0.5}, control="a", first_look=-1),
            "first_look must be >= 0 slates, got -1",
        ),
        (lambda: monitor().look({}), "counts must be of control, fairer"),
        (lambda: Monitor.from_json({"version": 3}), "version of the monitor must be 1, got 3"),
        (lambda: Monitor.from_json({"version": 1, "origins": {}}), "must be as to_json gives it"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_rule(make, message) -> None:
    with pytest.raises(ParameterError, match=message):
        make()
