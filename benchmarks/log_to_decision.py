"""From a log to a decision, where the truth is known: may the answers be trusted?

    python benchmarks/log_to_decision.py [--seeds 20]

A service runs LinUCB with a fifth of its slates randomised and logged. Would EALinUCB, taught by
that log, be better? Each seed is another shop. Printed are the verdict and the interval of
`fc.evaluate` next to the truth, and what a simulator made by `Environment.from_log` says next to
the shop itself. The setting was picked after a look at the shop of seed 7, with logs of three
lengths, and at one shop of another setting.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import faircascade as fc
from faircascade.environment import Environment
from faircascade.rerankers import LoggedRandomisation

ITEMS, USERS, DIM, K, ROUNDS = 30, 600, 4, 4, 200
SHARE, SHORTLIST = 0.2, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(1, parser.parse_args().seeds + 1)
    print(f"covered: {sum(map(one_shop, seeds))} of {len(seeds)}")


def one_shop(seed: int) -> bool:
    """Print what a log says and what is true; return whether the interval holds the truth."""
    rng = np.random.default_rng(seed)
    features, preferences = rng.normal(size=(ITEMS, DIM)) / 4, rng.normal(size=(USERS, DIM)) / 3
    shop = Environment.from_arrays(features, preferences + 0.3, k=K)
    service = fc.LinUCB(reranker=LoggedRandomisation(share=SHARE, shortlist=SHORTLIST))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        fc.simulate(shop, service, rounds=ROUNDS, seed=seed, trace=log)
        ranker = fc.Ranker(fc.EALinUCB(weight="log"), items=shop.items)
        ranker.learn(log)
        (found,) = fc.evaluate(log, {"EALinUCB": ranker}).policies
        simulator = Environment.from_log(log, k=K, dim=DIM)
    (estimate,) = (each for each in found.estimates if each.name == found.main)
    truth = true_clicks(shop, ranker)
    print(
        f"seed {seed}: {str(found.verdict).partition(':')[0]}; {estimate.value:.3f} "
        f"[{estimate.low:.3f}, {estimate.high:.3f}], in truth {truth:.3f}"
    )
    for label, world in {"simulator": simulator, "shop": shop}.items():
        print(f"  {label} ({world.click_model.name}): {outcome(world, seed)}", flush=True)
    return bool(estimate.low <= truth <= estimate.high)


def true_clicks(shop: Environment, ranker: fc.Ranker) -> float:
    """Return the expected clicks of a slate that a ranker shows as it is now."""
    slates = [[int(item) for item in ranker.recommend(u, k=K).items] for u in shop.users.ids]
    shown = np.array(slates)
    return float(shop.click_model.value(shop.attraction(shown), shown).mean())


def outcome(world: Environment, seed: int) -> str:
    """Say what LinUCB, EALinUCB and random slates get in a world."""
    policies = (fc.LinUCB(), fc.EALinUCB(weight="log"), fc.Random())
    runs = [fc.simulate(world, policy, rounds=ROUNDS, seed=seed) for policy in policies]
    clicks = ", ".join(f"{run.clicks:.3f}" for run in runs)
    equality = ", ".join(f"{run.equality_b:.3f}" for run in runs[:2])
    return f"clicks {clicks} (random last); Equality (B) {equality}"


if __name__ == "__main__":
    main()
