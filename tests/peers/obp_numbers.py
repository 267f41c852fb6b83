"""Computes what the Open Bandit Pipeline makes of a small trace: `obp_numbers.json`.

Needs obp 0.5.7 and what it imports, in an environment of its own:

    python tests/peers/obp_numbers.py

Nothing of faircascade is imported. `trace` is all that both sides share: the same seed makes the
same slates, clicks and probabilities in both.
"""

from __future__ import annotations

import json
import sys
import types
from itertools import permutations
from pathlib import Path

import numpy as np

ITEMS, K, SLATES, SEED = 5, 3, 400, 20


def plackett_luce(scores: np.ndarray, slates: np.ndarray) -> np.ndarray:
    """Return the probability of each item given those above it, (n, K)."""
    strength = np.exp(scores)  # (n, m)
    listed = np.take_along_axis(strength, slates, axis=1)
    above = np.cumsum(listed, axis=1) - listed
    return listed / (strength.sum(axis=1)[:, None] - above)


def marginals(scores: np.ndarray, slates: np.ndarray) -> np.ndarray:
    """Return the probability of each item at its position, by enumeration, (n, K)."""
    found = np.zeros(slates.shape)
    for order in permutations(range(ITEMS), K):
        every = np.tile(order, (len(slates), 1))
        found += plackett_luce(scores, every).prod(axis=1)[:, None] * (every == slates)
    return found


def trace(seed: int = SEED) -> dict[str, np.ndarray]:
    """Return slates of a policy with propensities of it and of another one, and rates q."""
    rng = np.random.default_rng(seed)
    logging, other = rng.normal(size=(2, SLATES, ITEMS))
    gumbel = -np.log(-np.log(rng.random((SLATES, ITEMS))))
    slates = np.argsort(-(logging + gumbel), axis=1)[:, :K]
    clicks = (rng.random((SLATES, K)) < 0.3).astype(np.int64)
    dist = np.empty((SLATES, K, ITEMS))
    for item in range(ITEMS):
        for place in range(K):
            asked = slates.copy()
            asked[:, place] = item
            chance = plackett_luce(other, asked)[:, place]
            again = (slates[:, :place] == item).any(axis=1)
            dist[:, place, item] = np.where(again, 0.0, chance)
    return {
        "slates": slates,
        "clicks": clicks,
        "logging_cascade": np.cumprod(plackett_luce(logging, slates), axis=1),
        "logging_item_position": marginals(logging, slates),
        "policy_cascade": np.cumprod(plackett_luce(other, slates), axis=1),
        "policy_item_position": marginals(other, slates),
        "policy_choices": dist,
        "q": rng.random((ITEMS, K)),
    }


def numbers() -> dict[str, float]:
    """Return what obp estimates."""
    torch = types.ModuleType("torch")  # imported there, not used here
    vars(torch).update(Tensor=type("Tensor", (), {}), tensor=None)
    sys.modules.setdefault("torch", torch)
    slate = _slate_estimators()
    made = trace()
    n = SLATES
    flat = {name: values.reshape(-1) for name, values in made.items()}
    common = {
        "slate_id": np.repeat(np.arange(n), K),
        "reward": flat["clicks"].astype(float),
        "position": np.tile(np.arange(K), n),
    }
    whole = {
        "pscore": np.repeat(made["logging_cascade"][:, -1], K),
        "evaluation_policy_pscore": np.repeat(made["policy_cascade"][:, -1], K),
    }
    prefix = {
        "pscore_cascade": flat["logging_cascade"],
        "evaluation_policy_pscore_cascade": flat["policy_cascade"],
    }
    alone = {
        "pscore_item_position": flat["logging_item_position"],
        "evaluation_policy_pscore_item_position": flat["policy_item_position"],
    }
    q_hat = np.broadcast_to(made["q"].T, (n, K, ITEMS)).reshape(-1)
    return {
        "ips": slate.SlateStandardIPS(len_list=K).estimate_policy_value(**common, **whole),
        "iips": slate.SlateIndependentIPS(len_list=K).estimate_policy_value(**common, **alone),
        "rips": slate.SlateRewardInteractionIPS(len_list=K).estimate_policy_value(
            **common, **prefix
        ),
        "snips": slate.SelfNormalizedSlateStandardIPS(len_list=K).estimate_policy_value(
            **common, **whole
        ),
        "sniips": slate.SelfNormalizedSlateIndependentIPS(len_list=K).estimate_policy_value(
            **common, **alone
        ),
        "snrips": slate.SelfNormalizedSlateRewardInteractionIPS(len_list=K).estimate_policy_value(
            **common, **prefix
        ),
        "cascade-dr": slate.SlateCascadeDoublyRobust(
            len_list=K, n_unique_action=ITEMS
        ).estimate_policy_value(
            **common,
            **prefix,
            action=flat["slates"],
            q_hat=q_hat,
            evaluation_policy_action_dist=flat["policy_choices"],
        ),
    }


def _slate_estimators() -> types.ModuleType:
    """Import the module of slate estimators alone: the package imports far more."""
    import importlib.util

    found = importlib.util.find_spec("obp")
    if found is None or found.submodule_search_locations is None:
        raise SystemExit("obp 0.5.7 is not installed")
    root = Path(next(iter(found.submodule_search_locations)))
    for name in ("obp", "obp.ope"):
        package = types.ModuleType(name)
        package.__path__ = [str(root / name.partition(".")[2])]
        sys.modules[name] = package
    return importlib.import_module("obp.ope.estimators_slate")


if __name__ == "__main__":
    path = Path(__file__).with_suffix(".json")
    found = {name: float(value) for name, value in numbers().items()}
    path.write_text(json.dumps({"obp": "0.5.7", "estimates": found}, indent=2) + "\n")
    print(path.read_text())
