"""Theorem 1: hand arithmetic, how its terms move, and which configurations meet its conditions."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.clicks import Cascade, ClickModel
from faircascade.environment import Dynamics
from faircascade.errors import ParameterError
from faircascade.exploration import UCB
from faircascade.observations import Observation
from faircascade.rewards import RewardModel, RewardTable
from faircascade.theory import alpha_min, bound, check, gamma_max, informative_from
from tests.environments import small_environment

sizes = st.integers(1, 200)
horizons = st.integers(1, 10**9)
sigmas = st.floats(0.05, 20.0)
norms = st.floats(0.0, 1.0)


def verdicts(checked) -> dict[str, bool]:
    return {condition.name: condition.met for condition in checked.conditions}


def reasons(checked) -> dict[str, str]:
    return {condition.name: condition.reason for condition in checked.conditions}


def test_alpha_min_is_hand_arithmetic() -> None:
    """d = K = n = 1: sqrt(ln 2 + 0) + 1. With n = e^2 - 1 rounds of a curve: sqrt(2 + 2 ln n)."""
    assert alpha_min(1, 1, 1) == pytest.approx(math.sqrt(math.log(2)) + 1)
    n = math.e**2 - 1
    curve = alpha_min(1, 1, np.array([n]), theta_norm=0.0)
    assert curve.tolist() == pytest.approx([math.sqrt(2 + 2 * math.log(n))])


def test_sigma_divides_alpha_min_and_the_rounds_by_its_square() -> None:
    """d = 2, K = 3, n = 6, sigma = 3: nK / (d sigma^2) = 1, so sqrt(2 ln 2 + 2 ln 6) / 3."""
    expected = math.sqrt(2 * math.log(2) + 2 * math.log(6)) / 3 + 0.5
    assert alpha_min(2, 3, 6, sigma=3.0, theta_norm=0.5) == pytest.approx(expected)


def test_the_bound_is_hand_arithmetic() -> None:
    """d = K = n = sigma = 1: both logarithms are ln 2, so 2 alpha + 1."""
    assert bound(1, 1, 1, alpha=3.0) == pytest.approx(7.0)
    assert bound(2, 2, 1, alpha=3.0) == pytest.approx(12 * math.sqrt(2) + 1)
    assert bound(7, 4, 1000, alpha=0.0) == 1.0


def test_numbers_of_the_documentation() -> None:
    assert alpha_min(10, 10, 50_000) == pytest.approx(12.3946, abs=5e-5)
    assert bound(10, 10, 50_000, alpha=0.25) == pytest.approx(13_970, abs=0.5)
    checked = check(fc.EALinUCB(weight="log", reading="paper"), dim=10, k=10, rounds=50_000)
    assert checked.bound_at_alpha_min == pytest.approx(692_542, abs=0.5)
    assert checked.informative_from_at_alpha_min == 22_758_545
    assert checked.informative_from == 2_875
    assert checked.gamma_max == pytest.approx(1 / math.log(11) - 1)


def test_gamma_max_is_hand_arithmetic() -> None:
    assert gamma_max([0.25, 0.5]) == 1.0
    assert gamma_max([1.0]) == 0.0
    assert gamma_max([0.5, 2.0]) == -0.5
    assert gamma_max([0.5, 0.8], penalties=[2.0, 0.1]) == 0.25


@given(st.lists(st.floats(0.01, 5.0), min_size=1, max_size=12), st.floats(0.0, 50.0))
def test_gamma_fits_exactly_up_to_gamma_max(F: list[float], gamma: float) -> None:
    largest = gamma_max(F)
    assume(abs(gamma - largest) > 1e-6)
    assert (max(F) * (1 + gamma) <= 1) == (gamma <= largest)
    checked = check(fc.EALinUCB(weight=F, gamma=gamma, reading="paper"), dim=3, k=len(F), rounds=10)
    assert checked.gamma_max == pytest.approx(largest)
    assert verdicts(checked)["gamma"] == (gamma <= largest)


@given(sizes, sizes, horizons, sigmas, norms)
def test_alpha_min_grows_with_everything_but_sigma(d, k, n, sigma, norm) -> None:
    value = alpha_min(d, k, n, sigma=sigma, theta_norm=norm)
    slack = value * (1 + 1e-12)
    assert alpha_min(d + 1, k, n, sigma=sigma, theta_norm=norm) * (1 + 1e-12) >= value
    assert alpha_min(d, k + 1, n, sigma=sigma, theta_norm=norm) * (1 + 1e-12) >= value
    assert alpha_min(d, k, n + 1, sigma=sigma, theta_norm=norm) * (1 + 1e-12) >= value
    assert alpha_min(d, k, n, sigma=sigma * 1.1, theta_norm=norm) <= slack
    assert alpha_min(d, k, n, sigma=sigma, theta_norm=0.0) == pytest.approx(value - norm)


@given(sizes, sizes, horizons, sigmas, st.floats(0.01, 100.0))
def test_the_bound_grows_with_rounds_slates_features_and_alpha(d, k, n, sigma, alpha) -> None:
    value = bound(d, k, n, alpha=alpha, sigma=sigma)
    assert value >= 1
    assert bound(d, k, 2 * n, alpha=alpha, sigma=sigma) > value
    assert bound(d, k + 1, n, alpha=alpha, sigma=sigma) > value
    assert bound(d + 1, k, n, alpha=alpha, sigma=sigma) * (1 + 1e-12) >= value
    assert bound(d, k, n, alpha=2 * alpha, sigma=sigma) - 1 == pytest.approx(2 * (value - 1))


@given(sizes, sizes, st.lists(horizons, min_size=1, max_size=5), sigmas)
def test_a_curve_has_the_numbers_of_its_rounds(d, k, rounds, sigma) -> None:
    curve = np.array(rounds)
    alphas = alpha_min(d, k, curve, sigma=sigma)
    bounds = bound(d, k, curve, alpha=alphas, sigma=sigma)
    for n, alpha, value in zip(rounds, alphas, bounds, strict=True):
        assert alpha_min(d, k, n, sigma=sigma) == pytest.approx(alpha)
        assert bound(d, k, n, alpha=float(alpha), sigma=sigma) == pytest.approx(value)


@given(sizes, sizes, sigmas, st.one_of(st.none(), st.floats(0.0, 100.0)))
def test_the_bound_says_something_from_that_round_on(d, k, sigma, alpha) -> None:
    start = informative_from(d, k, alpha=alpha, sigma=sigma)
    assume(start is not None)

    def value(n: int) -> float:
        width = alpha_min(d, k, n, sigma=sigma) if alpha is None else alpha
        return bound(d, k, n, alpha=width, sigma=sigma)

    assert value(start - 1) >= start - 1
    for n in (start, start + 1, 2 * start, 1000 * start):
        assert value(n) < n


def test_a_bound_that_rises_above_n_again_is_followed_to_the_end() -> None:
    """With a large sigma alpha_min starts near 0, so the bound is below n at first."""
    sizes = {"sigma": 5.0, "theta_norm": 0.0}
    assert bound(10, 1, 3, alpha=alpha_min(10, 1, 3, **sizes), sigma=5.0) < 3
    assert bound(10, 1, 100, alpha=alpha_min(10, 1, 100, **sizes), sigma=5.0) > 100
    assert informative_from(10, 1, **sizes) > 100


def test_out_of_reach_is_none() -> None:
    assert informative_from(10, 10, alpha=1e9) is None


def test_linucb_meets_the_condition_on_gamma_with_none_to_spare() -> None:
    checked = check(fc.LinUCB(alpha=20.0), dim=10, k=10, rounds=50_000)
    assert (checked.gamma, checked.gamma_max) == (0.0, 0.0)
    assert checked.met
    assert not checked.weighed
    assert checked.vacuous
    assert "says nothing yet" in checked.verdict


def test_log_fails_at_position_two_without_any_penalty() -> None:
    checked = check(fc.EALinUCB(weight="log", reading="paper"), dim=10, k=10, rounds=50_000)
    assert reasons(checked)["gamma"] == "reward + gamma penalty is 1.099 at position 2"
    assert reasons(checked)["alpha"] == "alpha is 0.25, alpha_min 12.39"
    assert not checked.met
    assert "(see alpha, gamma)" in checked.verdict


def test_log_in_the_packages_base_fails_at_the_last_position() -> None:
    checked = check(fc.EALinUCB(weight="log", reading="reference"), dim=10, k=10, rounds=100)
    assert reasons(checked)["gamma"] == "reward + gamma penalty is 1.041 at position 10"


@pytest.mark.parametrize(
    ("weight", "reading", "by_k"),
    [
        ("log", "paper", [-0.442, -0.583, -0.672]),
        ("log", "reference", [-0.126, -0.043, -0.017]),
        ("rbp", "paper", [0.0, 0.0, 0.0]),
        ("rbp", "intended", [0.0, 0.0, 0.0]),
        ("rbp", "reference", [0.0, 0.0, 0.0]),
        ("linear", "paper", [3.0, 1.0, 0.0]),
        ("linear", "intended", [3.8, 1.9, 0.0]),
        ("linear", "reference", [3.8, 1.9, 0.0]),
    ],
)
def test_gamma_max_of_the_papers_weights(weight, reading, by_k) -> None:
    policy = fc.EALinUCB(weight=weight, reading=reading)
    found = [check(policy, dim=10, k=k, rounds=100).gamma_max for k in (5, 10, 20)]
    assert found == pytest.approx(by_k, abs=5e-4)


@pytest.mark.parametrize("reading", ["paper", "intended", "reference"])
@pytest.mark.parametrize("k", [1, 5, 10, 20])
def test_gamma_max_itself_fits_and_a_little_more_does_not(reading, k) -> None:
    def fits(gamma: float) -> bool:
        policy = fc.EALinUCB(weight="linear", reading=reading, gamma=gamma)
        return verdicts(check(policy, dim=5, k=k, rounds=100))["gamma"]

    largest = check(fc.EALinUCB(weight="linear", reading=reading), dim=5, k=k, rounds=1).gamma_max
    assert fits(largest)
    assert not fits(largest + 1e-3)


def test_any_reward_model_is_judged_by_its_table() -> None:
    @dataclass(frozen=True)
    class Harsh(RewardModel):
        def table(self, k: int) -> RewardTable:
            return RewardTable.of(k, rewards=0.5, penalties=np.arange(1, k + 1) / 4, gamma=1.0)

    checked = check(fc.Bandit(reward=Harsh()), dim=2, k=3, rounds=10)
    assert reasons(checked)["gamma"] == "reward + gamma penalty is 1.25 at position 3"
    assert checked.weighed


def test_alpha_min_itself_is_enough() -> None:
    needed = alpha_min(4, 3, 1000, sigma=2.0, theta_norm=0.7)
    for alpha, met in ((needed, True), (needed * 0.999, False)):
        policy = fc.LinUCB(alpha=alpha, sigma=2.0)
        checked = check(policy, dim=4, k=3, rounds=1000, theta_norm=0.7)
        assert checked.met == met
        assert checked.alpha_min == needed


def test_a_short_cut_by_a_small_alpha_is_still_vacuous() -> None:
    checked = check(fc.LinUCB(alpha=0.25), dim=10, k=10, rounds=50_000)
    assert checked.bound < checked.rounds < checked.bound_at_alpha_min
    assert checked.vacuous


def test_a_bound_below_n_limits_regret_and_only_without_weights_for_sure() -> None:
    plain = check(fc.LinUCB(alpha=8.0), dim=1, k=1, rounds=1_000_000)
    assert (plain.met, plain.vacuous) == (True, False)
    assert plain.verdict == "All conditions are met: regret is at most 71,433."
    weighed = check(fc.EALinUCB(weight="linear", alpha=8.0), dim=1, k=1, rounds=1_000_000)
    assert (weighed.met, weighed.vacuous) == (True, False)
    assert "counterexamples" in weighed.verdict


def test_the_estimator_must_be_the_proofs() -> None:
    size = {"dim": 2, "k": 2, "rounds": 10}
    assert reasons(check(fc.LinUCB(ridge=2.0), **size))["estimator"] == "ridge is 2"
    other = fc.LinUCB(reading="reference", sigma=2.0)
    assert "at sigma = 2" in reasons(check(other, **size))["estimator"]
    assert verdicts(check(fc.LinUCB(reading="reference"), **size))["estimator"]
    assert verdicts(check(fc.LinUCB(sigma=2.0), **size))["estimator"]


def test_an_environment_gives_sizes_norms_and_attraction() -> None:
    X = np.array([[3.0, 0.0], [0.0, 0.5]])
    theta = np.array([[0.2, 0.1], [-1.2, 1.6]])
    env = fc.Environment.from_arrays(X, theta, k=2)
    checked = check(fc.LinUCB(), env, rounds=10)
    assert (checked.dim, checked.k, checked.theta_norm) == (2, 2, pytest.approx(2.0))
    assert reasons(checked)["preferences"] == "the largest is 2"
    assert reasons(checked)["features"] == "the largest is 3"
    assert reasons(checked)["attraction"] == "25.00% of the pairs are outside and clipped"


def test_an_environment_within_the_limits_meets_them_all() -> None:
    env = fc.Environment.from_arrays(np.eye(3), np.full((4, 3), 1 / math.sqrt(3)), k=2)
    checked = check(fc.LinUCB(alpha=100.0), env, rounds=10)
    assert checked.met
    assert checked.theta_norm == pytest.approx(1.0)
    assert len(checked.conditions) == 6


def test_items_that_are_never_recommended_do_not_count() -> None:
    env = small_environment(users=3, items=8, dim=2, k=2)
    big = env.items.features.copy()
    big[0] *= 50
    eligible = np.arange(8) > 0
    items = type(env.items).of(big, eligible=eligible)
    environment = fc.Environment(items=items, users=env.users, k=2)
    assert verdicts(check(fc.LinUCB(), environment, rounds=10))["features"]


def test_all_conditions_met_and_yet_regret_above_the_bound() -> None:
    """One feature, K = 1, F = 0.05 and gamma = 19 = gamma_max: theta turns negative for good."""
    env = fc.Environment.from_arrays(np.array([[1.0], [0.01]]), np.array([[0.7]]), k=1)
    alpha = alpha_min(1, 1, 5000, theta_norm=0.7)
    policy = fc.EALinUCB(weight="linear", gamma=19.0, alpha=alpha)
    checked = check(policy, env, rounds=5000)
    assert checked.met
    assert not checked.vacuous
    result = fc.simulate(env, policy, rounds=5000, seed=1, engine="loop", checkpoints=[5000])
    assert result.regret > checked.bound


def test_everything_is_plain_data() -> None:
    checked = check(fc.EALinUCB(weight="rbp"), small_environment(), rounds=100)
    plain = json.loads(json.dumps(checked.to_dict(), allow_nan=False))
    assert plain["met"] is False
    assert plain["conditions"][0]["name"] == "alpha"
    assert plain["verdict"] == checked.verdict


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alpha_min(0, 1, 1), "dim must be at least 1, got 0"),
        (lambda: bound(1, 0, 1, alpha=1.0), "k must be at least 1, got 0"),
        (lambda: alpha_min(1, 1, 0), "rounds must be at least 1, got 0"),
        (lambda: bound(1, 1, np.array([5, -2]), alpha=1.0), "rounds must be at least 1, got -2"),
        (lambda: alpha_min(1, 1, 1, sigma=0.0), "sigma must be positive, .*, got 0.0"),
        (lambda: alpha_min(1, 1, 1, sigma=math.nan), "sigma must be positive, .*, got nan"),
        (lambda: alpha_min(1, 1, 1, theta_norm=-1.0), "theta_norm must be >= 0, got -1.0"),
        (lambda: bound(1, 1, 1, alpha=-1.0), "alpha must be >= 0, got -1"),
        (lambda: bound(1, 1, 1, alpha=math.inf), "alpha must be finite"),
        (lambda: gamma_max([]), "rewards must be one for each position"),
        (lambda: gamma_max([1.0, 0.0]), "rewards must be positive at position 2"),
        (lambda: gamma_max([1.0], penalties=[1.0, 2.0]), "one for each of the 1 rewards, got 2"),
        (lambda: check(fc.LinTS(), dim=1, k=1, rounds=1), "policy must explore by UCB"),
        (lambda: check(fc.Random(), dim=1, k=1, rounds=1), "policy must explore by UCB"),
        (lambda: check(fc.EARSLinUCB(), dim=1, k=1, rounds=1), "policy must not re-rank"),
        (lambda: check(fc.LinUCB(), k=1, rounds=1), "dim and k must be given"),
        (
            lambda: check(fc.LinUCB(), small_environment(), k=2, rounds=1),
            "k must be left out .*, got 2",
        ),
        (lambda: check(fc.LinUCB(), dim=1, k=1, rounds=0), "rounds must be at least 1, got 0"),
    ],
)
def test_a_wrong_value_is_named_with_its_rule(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_number_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dim must be a whole number, got 2\.5"):
        alpha_min(2.5, 1, 1)
    with pytest.raises(ValueError, match="rounds must be a whole number"):
        check(fc.LinUCB(), dim=1, k=1, rounds=1.5)


def test_other_click_models_are_refused() -> None:
    class Other(Cascade):
        pass

    class Different(ClickModel):
        def click(self, attraction, slates, draws):
            return attraction > 0.5

        def value(self, attraction, slates):
            return attraction.sum(axis=1)

    for model in (Other(), Different()):  # a subclass may do anything
        with pytest.raises(ParameterError) as refused:
            check(fc.LinUCB(), small_environment(click_model=model), rounds=1)
        assert refused.value.name == "click_model"


@dataclass(frozen=True, kw_only=True)
class Greedy(UCB):
    """A subclass that does something else."""


@dataclass(frozen=True, kw_only=True)
class Everything(Observation):
    """Takes all as seen."""

    def seen(self, clicks, shown):
        return np.ones(clicks.shape)


@dataclass(frozen=True, kw_only=True)
class Flipping(Dynamics):
    """Turns preferences round."""

    def preferences(self, users, round):
        return users.preferences * (-1) ** round


def test_what_the_theorem_is_not_about_is_refused() -> None:
    for policy in (fc.Bandit(exploration=Greedy()), fc.Bandit(observation=Everything())):
        with pytest.raises(ParameterError) as refused:
            check(policy, dim=2, k=2, rounds=1)
        assert refused.value.name == "policy"
    with pytest.raises(ParameterError) as refused:
        check(fc.LinUCB(), small_environment(dynamics=Flipping()), rounds=1)
    assert refused.value.name == "env"


def test_the_module_is_public_and_imported_on_first_use() -> None:
    code = (
        "import sys, faircascade as fc; assert 'numpy' not in sys.modules; "
        "assert 'theory' in dir(fc); assert fc.theory.bound(1, 1, 1, alpha=3.0) > 6"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
