"""Evaluating policies from a log, from end to end."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest

import faircascade as fc
from faircascade.data.log import Log
from faircascade.evaluation.equality import noisy_evenness
from faircascade.metrics.exposure import evenness
from tests.evaluation.logs import environment, table_log, trace

ENV = environment()


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return trace(tmp_path_factory.mktemp("log"), ENV)


def test_estimates_with_the_right_assumption_agree_with_the_truth(log) -> None:
    """Random slates under a cascade, within four standard errors."""
    found = fc.evaluate(log, "random")["Random"]
    truth = fc.simulate(ENV, fc.Random(), rounds=400, seed=5).clicks
    for name in ("ips", "rips", "snrips", "cascade-dr"):
        assert abs(found[name].value - truth) < 4 * found[name].error
    assert found.equality[0].value == 1.0


def test_a_ranker_its_file_and_its_simulation_are_evaluated_alike(log, tmp_path) -> None:
    result = fc.simulate(ENV, fc.EALinUCB(), rounds=30, seed=2)
    ranker = fc.Ranker.from_result(result)
    ranker.save(tmp_path / "ranker.npz")
    found = fc.evaluate(log, {"a": result, "b": ranker, "c": str(tmp_path / "ranker.npz")})
    values = [[one.value for one in policy.estimates] for policy in found.policies]
    assert np.allclose(values[0], values[1], equal_nan=True)
    assert values[1] == pytest.approx(values[2], nan_ok=True)


def test_given_probabilities_of_the_logging_policy_give_back_its_clicks(log) -> None:
    columns = fc.Probabilities(cascade="pscore_cascade", item_position="pscore_item_position")
    found = fc.evaluate(log, columns)
    policy = found["your policy"]
    for name in ("ips", "rips", "iips", "snrips"):
        assert policy[name].value == pytest.approx(found.clicks)
    assert policy["dm"].why_not
    assert policy.equality[0].difference == pytest.approx(0.0, abs=1e-9)


def test_a_log_without_randomness_cannot_answer(tmp_path) -> None:
    path = trace(tmp_path, ENV, fc.LinUCB(), rounds=10)
    policy = fc.evaluate(path, "random")["Random"]
    assert policy.verdict.answer == "cannot"
    assert policy.main == "click-model"
    assert policy["rips"].why_not.startswith("the log has no probabilities")


def test_a_deterministic_log_with_propensities_of_one_cannot_answer() -> None:
    slates = np.tile([[0, 1]], (60, 1))
    made = table_log(slates, np.zeros((60, 2)), np.arange(60), pscore_cascade=np.ones((60, 2)))
    made = made.append_column("extra", made["click"])
    verdict = fc.evaluate(made, "random").policies[0].verdict
    assert verdict.answer != "enough"


def test_single_positions_with_item_propensities_allow_iips_alone() -> None:
    rng = np.random.default_rng(0)
    import pyarrow as pa

    n = 400
    made = pa.table(
        {
            "item_id": rng.integers(5, size=n),
            "position": rng.integers(1, 4, size=n),
            "click": rng.integers(2, size=n),
            "propensity_score": np.full(n, 0.2),
        }
    )
    policy = fc.evaluate(made, "random").policies[0]
    assert policy.main == "sniips"
    assert policy["iips"].value == pytest.approx(np.mean(made["click"].to_numpy()))


@pytest.mark.parametrize("replay", ["log", "matches"])
def test_replay_evaluates_all_impressions(log, replay) -> None:
    found = fc.evaluate(log, "cascade-ucb1", replay=replay)
    assert found.impressions == 40 * 30
    json.dumps(found.to_dict(), allow_nan=False)
    assert "learns" in found.policies[0].how


def test_policies_that_learn_stop_after_the_first_part(log) -> None:
    found = fc.evaluate(log, fc.LinUCB(), items=ENV.items, warm_up=0.25)
    assert found.impressions == 900
    assert "first 300 impressions" in found.policies[0].how
    assert str(found).startswith("trace.parquet: 900 impressions")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policies": "linucb"}, "items must be given for policy 'LinUCB'"),
        ({"policies": "optimal"}, "policy must not need a simulator"),
        ({"policies": []}, "policies must be at least one"),
        ({"policies": 7}, "policies must be a policy, its name"),
        ({"policies": "random", "estimators": ["rip"]}, "did you mean 'rips'"),
        ({"policies": "random", "warm_up": 1.0}, "warm_up must be above 0 and below 1"),
        ({"policies": "random", "behaviour": "lazy"}, "behaviour must be one of"),
        ({"policies": fc.Probabilities(slate=np.ones(3))}, "slate must have the shape"),
    ],
)
def test_a_mistake_is_one_line(log, given, message) -> None:
    with pytest.raises(ValueError, match=message):
        fc.evaluate(log, **given)


def test_equal_exposures_are_found_equal_and_noise_is_not_inequality() -> None:
    rng = np.random.default_rng(1)
    exposures = rng.multinomial(50, np.full(40, 1 / 40), size=100).astype(float)
    low, high = noisy_evenness(exposures).interval(0.95)
    assert low <= 1.0 <= high
    assert evenness(exposures.sum(axis=0)) < 0.97  # the plug-in
    assert noisy_evenness(np.ones((20, 5))).value == 1.0


def test_spread_out_exposures_have_less_bias_than_the_plug_in() -> None:
    rng = np.random.default_rng(2)
    share = np.exp(-np.linspace(0, 4, 100))
    share /= share.sum()
    truth = evenness(share)
    runs = [rng.multinomial(20, share, size=100).astype(float) for _ in range(20)]
    ours = np.mean([noisy_evenness(run).value for run in runs])
    plain = np.mean([evenness(run.sum(axis=0)) for run in runs])
    assert abs(ours - truth) < 0.3 * abs(plain - truth)
    assert not math.isnan(ours)


def test_the_page_has_the_verdict_first_and_all_files(log, tmp_path) -> None:
    found = fc.evaluate(log, ["random", "cascade-ucb1"])
    page = fc.write_evaluation(found, tmp_path)
    html = page.read_text(encoding="utf-8")
    assert html.index("Verdict</h2>") < html.index("Clicks</h2>") < html.index("Overlap</h2>")
    for policy in found.policies:
        assert f"{policy.label}: importance weights" in html
    assert {"evaluation.md", "estimates.csv", "figures"} <= {p.name for p in tmp_path.iterdir()}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_in_which_users_appear_changes_nothing(log, seed) -> None:
    """Estimates, intervals and exposure of the same impressions, users in any order."""
    table = pq.read_table(log)
    users = table["user_id"].to_numpy()
    rank = np.random.default_rng(seed).permutation(users.max() + 1)
    shuffled = table.take(np.argsort(rank[users], kind="stable"))
    learned = fc.simulate(ENV, fc.EALinUCB(), rounds=20, seed=2)
    policies = {"random": "random", "learned": learned}
    before, after = (fc.evaluate(each, policies) for each in (table, shuffled))
    for policy in before.policies:
        for one in policy.estimates:
            other = after[policy.label][one.name]
            assert (other.value, other.low, other.high) == pytest.approx(
                (one.value, one.low, one.high), nan_ok=True
            )
        for one, other in zip(policy.equality, after[policy.label].equality, strict=True):
            assert (other.low, other.high) == pytest.approx((one.low, one.high))
        assert after[policy.label].verdict == policy.verdict


def test_behaviour_can_be_said_by_user_and_by_impression(log) -> None:
    """AIPS is then the estimator of each behaviour, on its impressions."""
    n = 40 * 30
    plain = fc.evaluate(log, "random")["Random"]
    for kind, name in (("standard", "ips"), ("cascade", "rips"), ("independent", "iips")):
        found = fc.evaluate(log, "random", behaviour=[kind] * n)["Random"]
        assert found["aips"].value == pytest.approx(plain[name].value)
    users = Log(log).read().users
    even = ["cascade" if user % 2 else "independent" for user in users]
    by_impression = fc.evaluate(log, "random", behaviour=even)["Random"]["aips"]
    ids = dict(zip(pq.read_table(log)["user_id"].to_pylist(), np.repeat(even, 2), strict=True))
    by_user = fc.evaluate(log, "random", behaviour=ids)["Random"]["aips"]
    assert by_impression == by_user
    assert by_user.value != pytest.approx(plain["rips"].value)
    with pytest.raises(ValueError, match="a value for each of the 1,200 impressions"):
        fc.evaluate(log, "random", behaviour=["cascade"])


def test_a_log_without_clicks_says_so() -> None:
    slates = np.array([[user % 5, (user + 1) % 5] for user in range(300)])
    chances = np.tile([1 / 5, 1 / 20], (300, 1))
    made = table_log(slates, np.zeros((300, 2)), np.arange(300), pscore_cascade=chances)
    verdict = fc.evaluate(made, "random").policies[0].verdict
    assert verdict.words == "Not enough: nothing in the log was clicked."


def test_an_estimated_behaviour_takes_normalised_weights(log) -> None:
    found = fc.evaluate(log, "random")["Random"]
    assert "estimated as" in found["aips"].assumes
    assert found["aips"].value in [found[name].value for name in ("snips", "snrips", "sniips")]


def test_intervals_of_equality_cover_with_few_users() -> None:
    """Ranks by half of 25 users vary more than the ranks of the plug-in."""
    rng = np.random.default_rng(3)
    share = np.exp(-np.linspace(0, 4, 60))
    share /= share.sum()
    truth, runs = evenness(share), 400
    ends = [
        noisy_evenness(rng.multinomial(20, share, size=25).astype(float)).interval(0.95)
        for _ in range(runs)
    ]
    covered = np.mean([low <= truth <= high for low, high in ends])
    assert covered > 0.95 - 2 * math.sqrt(0.95 * 0.05 / runs)


def test_a_click_model_that_was_fitted_is_taken_as_it_is(log, tmp_path) -> None:
    fitted = fc.fit_click_model(log, "pbm")
    fitted.save(tmp_path / "pbm.json")
    one, other = (
        fc.evaluate(log, "random", click_model=given)["Random"]["click-model"].value
        for given in (fitted, tmp_path / "pbm.json")
    )
    assert one == other != fc.evaluate(log, "random")["Random"]["click-model"].value
    for wrong in (fc.fit_click_model(log, "cascade"), 7):
        with pytest.raises(ValueError, match="click_model must be"):
            fc.evaluate(log, "random", click_model=wrong)


def test_behaviour_is_said_of_users_of_the_log(log) -> None:
    with pytest.raises(ValueError, match="behaviour must be of users of the log, got 'nobody'"):
        fc.evaluate(log, "random", behaviour={"nobody": "cascade"})
