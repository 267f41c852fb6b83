"""Whether a policy meets what Theorem 1 and its proof ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from faircascade.clicks import Cascade
from faircascade.environment import Environment, NoDelay
from faircascade.errors import ParameterError
from faircascade.estimators import Ridge
from faircascade.exploration import UCB
from faircascade.observations import FirstClick
from faircascade.policies import ComposedPolicy
from faircascade.policies.base import Policy
from faircascade.rerankers import Identity
from faircascade.rewards import ExposureAware, RewardModel
from faircascade.theory.formulas import alpha_min, bound, gamma_max, informative_from
from faircascade.types import Floats, whole

_ROUNDING = 1e-9
"""How far rounding may carry a value past a limit that it meets."""
_USERS_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that the theorem or its proof asks for."""

    name: str
    rule: str
    met: bool
    reason: str = ""
    """Why it is not met, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What Theorem 1 asks of one configuration, and what it says about it."""

    dim: int
    k: int
    rounds: int
    sigma: float
    alpha: float
    gamma: float
    theta_norm: float
    """|theta*|, the largest of all users."""
    weighed: bool
    """Whether feedback is weighed; if not, the theorem is that of the plain cascading bandit."""
    alpha_min: float
    gamma_max: float
    bound: float
    """Eq. (13) with the configuration's alpha; no bound where that is below alpha_min."""
    bound_at_alpha_min: float
    """Eq. (13) with alpha = alpha_min, the least that the theorem can promise."""
    informative_from: int | None
    """Round from which on `bound` would stay below n; None if that is out of reach."""
    informative_from_at_alpha_min: int | None
    """The same for `bound_at_alpha_min`, whose alpha grows with n."""
    conditions: tuple[Condition, ...]

    @property
    def met(self) -> bool:
        """Whether all conditions hold."""
        return all(condition.met for condition in self.conditions)

    @property
    def vacuous(self) -> bool:
        """Whether the theorem promises no less than n, the most that regret can be.

        It is judged with an alpha that the theorem allows: this one, or alpha_min if that is more.
        """
        return max(self.bound, self.bound_at_alpha_min) >= self.rounds

    @property
    def verdict(self) -> str:
        """What follows, in plain words."""
        broken = ", ".join(condition.name for condition in self.conditions if not condition.met)
        least = max(self.bound, self.bound_at_alpha_min)
        limit = f"{least:,.0f}, and regret never exceeds the {self.rounds:,} rounds"
        if broken:
            more = f" Its bound would be {limit}." if self.vacuous else ""
            return f"The theorem says nothing about this configuration (see {broken}).{more}"
        if self.vacuous:
            return f"All conditions are met, but the bound is {limit}: it says nothing yet."
        if self.weighed:
            return (
                f"All conditions are met: the theorem says that regret is at most {least:,.0f}, "
                "but where feedback is weighed it has counterexamples."
            )
        return f"All conditions are met: regret is at most {least:,.0f}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        derived = {"met": self.met, "vacuous": self.vacuous, "verdict": self.verdict}
        return asdict(self) | {"conditions": [asdict(c) for c in self.conditions]} | derived


def check(
    policy: Policy,
    env: Environment | None = None,
    *,
    rounds: int,
    dim: int | None = None,
    k: int | None = None,
    theta_norm: float | None = None,
) -> Conditions:
    """Hold a policy against Theorem 1, on an environment or for `dim`, `k` and `theta_norm`.

    F is what the policy gives for a click, in its own reading. Where its penalties are not
    gamma F, the condition on gamma is that of `gamma_max` with the largest penalty that a position
    can meet. `theta_norm` is 1 unless given, the most that the theorem allows.

    The proof asks for more than the theorem says, and that is checked too: ridge = 1 and
    Algorithm 1's powers of sigma; with an environment, also features of norm <= 1 and attraction
    that needs no clipping.
    """
    ridge, reward, alpha = _optimist(policy)
    dim, k, theta_norm = _size(env, dim, k, theta_norm)
    rounds = whole(rounds, "rounds")
    sigma = ridge.sigma
    needed = alpha_min(dim, k, rounds, sigma=sigma, theta_norm=theta_norm)
    table = reward.table(k)
    return Conditions(
        dim=dim,
        k=k,
        rounds=rounds,
        sigma=sigma,
        alpha=alpha,
        gamma=float(getattr(reward, "gamma", 0.0)),
        theta_norm=theta_norm,
        weighed=bool((table.clicked != 1.0).any() or table.ignored.any()),
        alpha_min=needed,
        gamma_max=_gamma_max_of(reward, k),
        bound=bound(dim, k, rounds, alpha=alpha, sigma=sigma),
        bound_at_alpha_min=bound(dim, k, rounds, alpha=needed, sigma=sigma),
        informative_from=informative_from(dim, k, alpha=alpha, sigma=sigma),
        informative_from_at_alpha_min=informative_from(dim, k, sigma=sigma, theta_norm=theta_norm),
        conditions=(
            _alpha(alpha, needed),
            _gamma(table.clicked.max(axis=0) - table.ignored.min(axis=0)),
            _preferences(theta_norm),
            _estimator(ridge),
            *(() if env is None else environment_conditions(env)),
        ),
    )


def _optimist(policy: Policy) -> tuple[Ridge, RewardModel, float]:
    """Return the parts that the theorem is about, or say why it is not about this policy."""
    if not isinstance(policy, ComposedPolicy) or type(policy.parts.exploration) is not UCB:
        raise ParameterError(
            "policy", "must explore by UCB (the theorem is about no other)", policy.label
        )
    if type(policy.parts.estimator) is not Ridge:
        raise ParameterError("policy", "must learn by ridge regression", policy.label)
    if policy.parts.estimator.weighs != "targets":
        rule = "must weigh targets (the theorem's does)"
        raise ParameterError("policy", rule, policy.label)
    if type(policy.parts.observation) is not FirstClick:
        rule = "must take positions down to the first click as seen"
        raise ParameterError("policy", rule, policy.label)
    if type(policy.parts.reranker) is not Identity:
        raise ParameterError("policy", "must not re-rank (the theorem's does not)", policy.label)
    return policy.parts.estimator, policy.parts.reward, policy.parts.exploration.alpha


def _size(
    env: Environment | None, dim: int | None, k: int | None, theta_norm: float | None
) -> tuple[int, int, float]:
    """Return d, K and the largest |theta*|, from the environment or as given."""
    if env is None:
        if dim is None or k is None:
            raise ValueError("dim and k must be given where no environment is")
        return whole(dim, "dim"), whole(k, "k"), 1.0 if theta_norm is None else float(theta_norm)
    for name, value in (("dim", dim), ("k", k), ("theta_norm", theta_norm)):
        if value is not None:
            raise ParameterError(name, "must be left out where an environment is given", value)
    if type(env.click_model) is not Cascade:
        raise ParameterError("click_model", "must be cascade (the theorem's)", env.click_model)
    if not env.stands_still or type(env.delay) is not NoDelay:
        rule = "must stand still and have no delay (the theorem's does)"
        raise ParameterError("env", rule, env)
    return env.items.dim, env.k, float(np.linalg.norm(env.preferences, axis=1).max())


def _gamma_max_of(reward: RewardModel, k: int) -> float:
    """Return the largest gamma for a reward model, whatever its own is."""
    rewards = reward.table(k).clicked.max(axis=0)
    if not isinstance(reward, ExposureAware):
        return gamma_max(rewards)
    penalties = -replace(reward, gamma=1.0).table(k).ignored.min(axis=0)
    return gamma_max(rewards, penalties)


def _alpha(alpha: float, needed: float) -> Condition:
    return _condition(
        "alpha",
        "alpha >= alpha_min",
        alpha >= needed,
        f"alpha is {alpha:.4g}, alpha_min {needed:.4g}",
    )


def _gamma(spread: Floats) -> Condition:
    """Check how far apart a click and an ignored item are, F(k) (1 + gamma) in the paper, (K,)."""
    over = spread > 1.0 + _ROUNDING
    first = int(np.argmax(over))
    return _condition(
        "gamma",
        "F(k) (1 + gamma) <= 1 for every k",
        not over.any(),
        f"reward + gamma penalty is {spread[first]:.4g} at position {first + 1}",
    )


def _preferences(theta_norm: float) -> Condition:
    return _condition(
        "preferences",
        "|theta*| <= 1 for every user",
        theta_norm <= 1.0 + _ROUNDING,
        f"the largest is {theta_norm:.4g}",
    )


def _estimator(ridge: Ridge) -> Condition:
    """Check that M and theta are the proof's, which starts from M = I."""
    own_scaling = ridge.reading == "reference" and ridge.sigma != 1.0
    return _condition(
        "estimator",
        "Algorithm 1 with ridge = 1",
        ridge.ridge == 1.0 and not own_scaling,
        f"reading 'reference' scales M and theta otherwise at sigma = {ridge.sigma:g}"
        if own_scaling
        else f"ridge is {ridge.ridge:g}",
    )


def environment_conditions(env: Environment) -> Iterator[Condition]:
    """Check what the proof, but not the theorem, asks of features and preferences."""
    pool = env.items.pool
    yield _condition(
        "features",
        "|x| <= 1 for every item",
        pool.radius <= 1.0 + _ROUNDING,
        f"the largest is {pool.radius:.4g}",
    )
    outside = 0
    for start in range(0, len(env.users), _USERS_AT_ONCE):
        products = env.preferences[start : start + _USERS_AT_ONCE] @ pool.by_feature  # (n, p)
        outside += int((np.abs(products - 0.5) > 0.5 + _ROUNDING).sum())
    yield _condition(
        "attraction",
        "0 <= x . theta* <= 1 for every user and item",
        outside == 0,
        f"{outside / (len(env.users) * len(pool)):.2%} of the pairs are outside and clipped",
    )


def _condition(name: str, rule: str, met: bool, reason: str) -> Condition:
    return Condition(name=name, rule=rule, met=bool(met), reason="" if met else reason)
