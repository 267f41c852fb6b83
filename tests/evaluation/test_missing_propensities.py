"""Logs that have propensities for some impressions, or whose propensities are wrong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import faircascade as fc
from faircascade.evaluation import evaluate as evaluation
from tests.evaluation.logs import table_log

ITEMS = 5


def random_log(n: int = 1200, known: np.ndarray | None = None, rates=(0.5, 0.2)) -> pa.Table:
    """Two random items of five for each of 300 users; chances are null where they are not known."""
    rng = np.random.default_rng(4)
    slates = np.array([rng.permutation(ITEMS)[:2] for _ in range(n)])
    clicks = rng.random((n, 2)) < np.asarray(rates)
    chances = np.tile([1 / 5, 1 / 20], (n, 1))
    made = table_log(slates, clicks, np.arange(n) % 300, pscore_cascade=chances)
    if known is None:
        return made
    column = pa.array(chances.ravel(), mask=~np.repeat(known, 2))
    return made.set_column(made.column_names.index("pscore_cascade"), "pscore_cascade", column)


@pytest.mark.parametrize("chunk", [100, 8192])
def test_impressions_without_propensities_in_front_hide_none_that_have_them(
    monkeypatch, chunk: int
) -> None:
    """However the log is cut into parts: the first 300 impressions have none."""
    monkeypatch.setattr(evaluation, "CHUNK", chunk)
    policy = fc.evaluate(random_log(known=np.arange(1200) >= 300), "random").policies[0]
    assert policy.main == "snrips"
    assert policy["rips"].impressions == policy["ips"].impressions == 900


def test_short_slates_do_not_stand_for_all_of_them() -> None:
    """With chances of whole slates alone: one item, never clicked, or two, always clicked."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(800):
        size = 1 + number % 2
        chance = 1 / 5 if size == 1 else 1 / 20
        for position, item in enumerate(rng.permutation(ITEMS)[:size], start=1):
            rows.append((number, number % 200, position, int(item), size - 1, chance))
    names = ("slate_id", "user_id", "position", "item_id", "click", "pscore")
    made = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    found = fc.evaluate(made, "random")
    policy = found.policies[0]
    assert policy.main == "snips"
    assert policy["snips"].value == pytest.approx(found.clicks)
    assert policy["snrips"].why_not == "the log has no probabilities of items down to a position"
    assert policy["sniips"].why_not == "the log has no probabilities of items at their positions"


def test_a_policy_is_compared_with_the_log_on_the_same_impressions() -> None:
    """The logging policy itself differs by nothing, though only users who click less have
    propensities."""
    known = np.arange(1200) % 300 < 150
    rates = np.where(known[:, None], [0.3, 0.1], [0.9, 0.8])
    found = fc.evaluate(random_log(known=known, rates=rates), "random")
    policy = found.policies[0]
    main = policy[policy.main]
    assert main.difference == pytest.approx(0.0, abs=1e-9)
    assert main.logged == pytest.approx(main.value)
    assert found.clicks > 2 * main.logged
    assert "better" not in policy.verdict.words
    assert f"the log has {main.logged:.4g} clicks per slate on the others" in policy.notes[0]


def test_an_interval_needs_users_with_propensities() -> None:
    """Five users have them, many times each, of 300."""
    known = np.arange(6000) % 300 < 5
    policy = fc.evaluate(random_log(6000, known), "random", estimators=["snrips"]).policies[0]
    assert np.isnan(policy["snrips"].low)
    assert policy.verdict.answer == "not enough"


def test_chances_of_each_item_given_those_above_are_refused() -> None:
    rows = random_log()
    place = rows.column_names.index("pscore_cascade")
    wrong = rows.set_column(place, "pscore_cascade", pa.array(np.tile([0.2, 0.25], 1200)))
    message = "'pscore_cascade' must not grow down a slate.* got 0.2 and then 0.25 in impression 1;"
    with pytest.raises(ValueError, match=message):
        fc.evaluate(wrong, "random")
    given = fc.Probabilities(cascade=np.tile([0.2, 0.25], (1200, 1)))
    with pytest.raises(ValueError, match="cascade must not grow down a slate"):
        fc.evaluate(rows, given)


def test_weights_that_no_right_probabilities_can_have_are_no_evidence() -> None:
    """Your policy's probabilities are twice as large as they can be."""
    given = fc.Probabilities(cascade=np.tile([2 / 5, 2 / 20], (1200, 1)))
    verdict = fc.evaluate(random_log(), given).policies[0].verdict
    assert verdict.answer == "cannot"
    assert "the mean weight is 200% [200%, 200%]" in verdict.words


def test_a_log_without_propensities_is_not_called_deterministic() -> None:
    given = fc.Probabilities(cascade=np.tile([1 / 5, 1 / 20], (1200, 1)))
    verdict = fc.evaluate(random_log().drop_columns("pscore_cascade"), given).policies[0].verdict
    assert verdict.words.startswith("This log cannot answer: it has no propensities")


def test_a_model_alone_is_not_blamed_on_the_log() -> None:
    policy = fc.evaluate(random_log(), "random", estimators=["dm", "snrips"]).policies[0]
    assert policy.verdict.answer == "cannot"
    assert policy.verdict.words.startswith("This log cannot answer with DM alone")


@pytest.mark.parametrize(
    ("given", "message"),
    [({"policies": {}}, "policies must be at least one"), ({"estimators": []}, "at least one")],
)
def test_nothing_to_evaluate_is_refused(given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fc.evaluate(random_log(), **{"policies": "random", **given})


def test_columns_of_a_policy_are_of_the_impressions_that_stay() -> None:
    """One impression is left out of the log for its own propensity, but not for the policy's."""
    rows = random_log()
    chances = rows["pscore_cascade"].to_numpy().copy()
    made = rows.append_column("ours", pa.array(chances))
    chances[6] = 0.0
    place = made.column_names.index("pscore_cascade")
    made = made.set_column(place, "pscore_cascade", pa.array(chances))
    log = fc.Log(made, invalid="drop")
    with pytest.raises(ValueError, match="must be corrected or removed first"):
        fc.evaluate(log, fc.Probabilities(cascade="ours"))
    assert fc.evaluate(log, "random").notes == (
        "1 impression was left out: column 'pscore_cascade' must be above 0 and at most 1",
    )


def test_a_log_without_clicks_is_told_before_how_many_impressions_are_missing() -> None:
    made = random_log(100, rates=(0.0, 0.0))
    verdict = fc.evaluate(made, "random").policies[0].verdict
    assert verdict.words == "Not enough: nothing in the log was clicked."


def test_a_position_without_weight_is_named_as_the_reason() -> None:
    """No slate was logged whose second item the policy would have shown there."""
    given = fc.Probabilities(cascade=np.tile([1 / 5, 0.0], (1200, 1)))
    policy = fc.evaluate(random_log(), given).policies[0]
    assert policy["snrips"].why_not.startswith("at a position, the policy would have shown nothing")
