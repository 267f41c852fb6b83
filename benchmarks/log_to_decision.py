"""From a log to a decision, where the truth is known: may the answers be trusted?

    python benchmarks/log_to_decision.py --shops 5 --workers 2 --out runs/log-to-decision

A service runs LinUCB with a fifth of its slates randomised and logged. What would another policy,
taught by that log, do in the next 100 rounds? Each shop has items and users of its own, and users
who click as in a cascade, by position, as in DCM or as in DBN. Asked are `fc.evaluate`, and worlds
drawn from `fc.fit_traffic`, with the features that the service has and without. Writes
`decisions.csv` (a row for each shop and policy: changes against LinUCB, predicted with an interval
and true), `levels.csv` (clicks and Equality of LinUCB, and clicks of random slates, from scratch),
`short.csv` (the same for logs with few impressions of each user), and prints what of it the
documents say.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import t as student

import faircascade as fc
from faircascade.clicks import DBN, DCM, PBM, Cascade, ClickModel
from faircascade.environment import Environment
from faircascade.rerankers import LoggedRandomisation

ITEMS, USERS, DIM, K, ROUNDS, NEXT = 30, 600, 4, 4, 200, 100
SHARE, SHORTLIST = 0.2, 8
WORLDS = 5
SHORT = (5, 10, 20, 50)
FILES = ("decisions.csv", "levels.csv", "short.csv")
METRICS = ("clicks", "equality_b")
SATISFACTION = tuple(np.random.default_rng(5).uniform(0.2, 0.9, ITEMS).tolist())
CLICK_MODELS: dict[str, ClickModel] = {
    "cascade": Cascade(),
    "pbm": PBM(kappa=(1.0, 0.7, 0.5, 0.35)),
    "dcm": DCM(stop=(0.7, 0.6, 0.5, 0.5)),
    "dbn": DBN(satisfaction=SATISFACTION, continuation=0.8),
}
NOW = "LinUCB"
POLICIES = {
    NOW: fc.LinUCB(),
    "EALinUCB log": fc.EALinUCB(weight="log"),
    "LinUCB, alpha = 0.0625": fc.LinUCB(alpha=0.0625),
    "LinUCB + merit-draws": fc.LinUCB(reranker="merit-draws"),
}
FROM_SCRATCH = {NOW: fc.LinUCB(), "Random": fc.Random()}
Row = dict[str, Any]
Outcome = dict[str, dict[str, float]]


def shop_of(seed: int, click_model: ClickModel) -> Environment:
    """Return a shop; attraction is cut at 0 for half of all pairs of user and item."""
    rng = np.random.default_rng(seed)
    features, preferences = rng.normal(size=(ITEMS, DIM)) / 4, rng.normal(size=(USERS, DIM)) / 3
    return Environment.from_arrays(features, preferences + 0.3, k=K, click_model=click_model)


def outcome(world: Environment, policies: dict[str, Any], rounds: int, seed: int) -> Outcome:
    """Return what policies get in a world."""
    runs = {n: fc.simulate(world, p, rounds=rounds, seed=seed) for n, p in policies.items()}
    return {n: {m: getattr(run, m) for m in METRICS} for n, run in runs.items()}


def table(shop: Environment, known: int) -> pa.Table:
    """Return the first so many features of the items."""
    columns = {f"x{n}": shop.items.features[:, n] for n in range(known)}
    return pa.table({"item_id": shop.items.ids, **columns})


def change(found: Outcome, name: str, metric: str) -> float:
    return found[name][metric] / found[NOW][metric] - 1.0


def decisions(seed: int, model: str, log: Path, shop: Environment) -> Iterator[Row]:
    """Yield what was predicted of policies taught by the log, and what is true."""
    taught = {}
    for name, policy in POLICIES.items():
        taught[name] = fc.Ranker(policy, items=shop.items)
        taught[name].learn(log)
    traffic = fc.fit_traffic(log, k=K, features=table(shop, DIM))
    worlds = [
        outcome(traffic.environment(seed=world), taught, NEXT, seed=world)
        for world in range(WORLDS)
    ]
    true = outcome(shop, taught, NEXT, seed=1000 + seed)
    (verdict,) = fc.evaluate(log, {"EALinUCB": taught["EALinUCB log"]}).policies
    wide = float(student.ppf(0.975, WORLDS - 1)) * np.sqrt(1.0 + 1.0 / WORLDS)
    for name in list(POLICIES)[1:]:
        for metric in METRICS:
            seen = np.array([change(world, name, metric) for world in worlds])
            half = wide * float(seen.std(ddof=1))
            yield {
                "shop": seed,
                "click_model": model,
                "fitted": traffic.name,
                "verdict": verdict.verdict.answer,
                "policy": name,
                "metric": metric,
                "predicted": round(float(seen.mean()), 5),
                "low": round(float(seen.mean()) - half, 5),
                "high": round(float(seen.mean()) + half, 5),
                "truth": round(change(true, name, metric), 5),
            }


def short_logs(seed: int, model: str, shop: Environment) -> Iterator[Row]:
    """Yield clicks in worlds made of logs with few impressions of each user, over those in the
    shop."""
    true = outcome(shop, FROM_SCRATCH, ROUNDS, seed)
    for rounds in SHORT:
        with tempfile.TemporaryDirectory() as folder:
            log = logged(shop, seed, rounds, Path(folder))
            traffic = fc.fit_traffic(log, k=K, features=table(shop, DIM))
        found = outcome(traffic.environment(seed=seed), FROM_SCRATCH, ROUNDS, seed)
        yield {
            "shop": seed,
            "click_model": model,
            "impressions_per_user": rounds,
            "fitted": traffic.name,
            "noted": int(any("not foreseen" in note for note in traffic.notes)),
            **{
                name: round(found[policy]["clicks"] / true[policy]["clicks"], 4)
                for name, policy in (("clicks", NOW), ("random_clicks", "Random"))
            },
        }


def logged(shop: Environment, seed: int, rounds: int, folder: Path) -> Path:
    """Return the log of the service."""
    service = fc.LinUCB(reranker=LoggedRandomisation(share=SHARE, shortlist=SHORTLIST))
    fc.simulate(shop, service, rounds=rounds, seed=seed, trace=folder / "log.parquet")
    return folder / "log.parquet"


def levels(seed: int, model: str, log: Path, shop: Environment) -> Iterator[Row]:
    """Yield what policies get from scratch in the shop and in worlds made of the log."""
    worlds = {
        "shop": shop,
        "features given": Environment.from_log(log, k=K, features=table(shop, DIM), seed=seed),
        "features fitted": Environment.from_log(log, k=K, seed=seed),
        "half of the features": Environment.from_log(
            log, k=K, features=table(shop, DIM // 2), seed=seed
        ),
    }
    for label, world in worlds.items():
        found = outcome(world, FROM_SCRATCH, ROUNDS, seed)
        yield {
            "shop": seed,
            "click_model": model,
            "world": label,
            "fitted": world.info.get("fitted_click_model", model),
            "clicks": round(found[NOW]["clicks"], 4),
            "equality_b": round(found[NOW]["equality_b"], 4),
            "random_clicks": round(found["Random"]["clicks"], 4),
        }


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def summary(made: list[Row], found: list[Row]) -> None:
    """Print how good predictions were."""
    for metric in METRICS:
        some = [row for row in made if row["metric"] == metric]
        inside = sum(row["low"] <= row["truth"] <= row["high"] for row in some)
        off = np.abs([row["predicted"] - row["truth"] for row in some])
        size = np.abs([row["truth"] for row in some])
        print(
            f"change of {metric}: {inside} of {len(some)} truths in the interval; off by "
            f"{100 * off.mean():.2f}% on average ({100 * off.max():.2f}% at most), where changes "
            f"are {100 * size.mean():.2f}% on average"
        )
    shops = {row["shop"]: row for row in found if row["world"] == "shop"}
    for label in ("features given", "features fitted", "half of the features"):
        some = [row for row in found if row["world"] == label]
        print(f"{label}: click model found in {right(some)} of {len(some)}")
        for column in ("clicks", "equality_b", "random_clicks"):
            ratio = np.array([row[column] / shops[row["shop"]][column] for row in some])
            print(f"  {column}: {ratio.min():.3f} to {ratio.max():.3f} times the truth")


def right(rows: list[Row]) -> int:
    return sum(row["fitted"] == row["click_model"] for row in rows)


def shop_rows(task: tuple[int, str, str]) -> list[list[Row]]:
    """Return the rows of one shop for each file."""
    seed, name, part = task
    shop = shop_of(seed, CLICK_MODELS[name])
    short = list(short_logs(seed, name, shop))
    if part == "short":
        return [[], [], short]
    with tempfile.TemporaryDirectory() as folder:
        log = logged(shop, seed, ROUNDS, Path(folder))
        return [
            list(decisions(seed, name, log, shop)),
            list(levels(seed, name, log, shop)),
            short,
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shops", type=int, default=5, help="of each click model")
    parser.add_argument("--part", choices=("all", "short"), default="all")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/log-to-decision"))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    names = list(CLICK_MODELS) * asked.shops
    tasks = [(seed, name, asked.part) for seed, name in enumerate(names, start=1)]
    files: list[list[Row]] = [[], [], []]
    with ProcessPoolExecutor(asked.workers) as pool:
        for (seed, name, _), found in zip(tasks, pool.map(shop_rows, tasks), strict=True):
            for file, rows, more in zip(FILES, files, found, strict=True):
                rows.extend(more)
                if rows:
                    write(asked.out / file, rows)
            print(f"shop {seed} ({name})", flush=True)
    if files[0]:
        summary(files[0], files[1])


if __name__ == "__main__":
    main()
