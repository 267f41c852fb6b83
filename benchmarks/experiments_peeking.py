"""How often do watched experiments raise a false alarm, and how soon do they find a gain?

Simulated users with a taste of their own return any number of times (few of them often), see a few
slates again and again, and are divided between two arms. After every batch the service's intervals
are compared with 0. `alarms.csv`: the share of tests of equal arms that raised an alarm at some
look, next to what a fixed-horizon interval does at every look and at the end. `power.csv`: slates
until a true difference was found, next to a fixed-horizon test.

    python benchmarks/experiments_peeking.py --out docs/reproduction/experiments
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from faircascade.service.experiments.equality import equality, equality_difference
from faircascade.service.experiments.sample_ratio import sample_ratio
from faircascade.service.experiments.sequential import BLOCKS, ConfidenceSequence, Estimate
from faircascade.types import Floats, Ints

Row = dict[str, Any]
ITEMS, K, KINDS = 24, 5, 100
"""Items, positions, and slates that there are."""
FAVOURITES = 3
"""Slates that a user sees three times in four."""
PER_USER = 10
"""Slates of a user on average; the busiest have some 40 times as many."""
MEASURES = ("clicks", "equality_b", "equality_p")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """How users come."""

    name: str = "returning"
    """`returning`: three in ten are there at the start, and all stay. `once`: nobody returns.
    `late`: those who come in the second half are five times as busy. `passing`: they come at any
    time and stay for a fiftieth of it, so that information grows with slates."""
    users: int
    batches: int = 20
    share: float = 0.5
    """Of users in the treatment."""
    measures: tuple[str, ...] = MEASURES
    lift: float = 0.0
    """Of clicks, in the treatment."""
    spread: float = 0.0
    """Share of slates in the treatment that are drawn evenly from all there are."""
    first_look: int = 0
    """Slates before it."""


@dataclass(frozen=True, eq=False)
class Batches:
    """What was counted up to each batch, by arm and block."""

    users: Ints
    """(batches, 2)"""
    slates: Ints
    """(batches, 2, B)"""
    clicks: Ints
    """(batches, 2, B)"""
    kinds: Ints | None
    """How often each kind of slate was shown, (batches, 2, B, KINDS)."""


class Shop:
    """The items of each kind of slate, and how popular it is."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        popularity = np.arange(1, ITEMS + 1) ** -0.8
        popularity /= popularity.sum()
        self.appearances = np.zeros((KINDS, ITEMS))
        self.weighed = np.zeros((KINDS, ITEMS))
        for kind in range(KINDS):
            slate = rng.choice(ITEMS, K, replace=False, p=popularity)
            self.appearances[kind, slate] = 1.0
            self.weighed[kind, slate] = 1.0 / np.log2(np.arange(K) + 2.0)
        chances = np.arange(1, KINDS + 1) ** -0.7
        self.chances = np.cumsum(chances / chances.sum())

    def draw(self, uniforms: Floats) -> Ints:
        return np.searchsorted(self.chances, uniforms)


def batches(rng: np.random.Generator, shop: Shop, case: Scenario) -> Batches:
    """Simulate an experiment."""
    n = case.users
    arm = (rng.random(n) < case.share).astype(np.int64)
    block = rng.integers(BLOCKS, size=n)
    busy = np.minimum((1.0 - rng.random(n)) ** (-1 / 1.5), 100.0)  # Pareto, cut; 2.7 on average
    since, stay, visits = visits_of(rng, case, busy)
    rate = 0.35 * busy**-0.15  # the busy click less
    taste = rng.beta(4.25 * rate, 4.25 * (1.0 - rate)) * (1.0 + case.lift * arm)
    user = np.repeat(np.arange(n), visits)
    when = since[user] + stay[user] * rng.random(len(user))
    batch = np.minimum((when * case.batches).astype(np.int64), case.batches - 1)
    cell = (2 * batch + arm[user]) * BLOCKS + block[user]
    clicked = rng.random(len(user)) < taste[user]
    shape = (case.batches, 2, BLOCKS)
    first = np.full(n, case.batches)
    np.minimum.at(first, user, batch)
    seen = first < case.batches
    arrivals = np.bincount(2 * first[seen] + arm[seen], minlength=2 * case.batches)
    kinds = None
    if case.measures != ("clicks",):
        chosen = cell * KINDS + kinds_shown(rng, shop, case, arm, user)
        kinds = counted(chosen, (*shape, KINDS))
    return Batches(
        arrivals.reshape(-1, 2).cumsum(axis=0),
        counted(cell, shape),
        counted(cell[clicked], shape),
        kinds,
    )


def visits_of(
    rng: np.random.Generator, case: Scenario, busy: Floats
) -> tuple[Floats, Floats, Ints]:
    """Return when users come, how long they stay, and how many slates they see, (n,) each."""
    n = len(busy)
    since = rng.random(n)
    if case.name == "once":
        return since, np.zeros(n), np.ones(n, dtype=np.int64)
    if case.name == "passing":
        return since, np.minimum(1.0 - since, 0.02), rng.poisson(PER_USER * busy / 2.7)
    since[rng.random(n) < 0.3] = 0.0
    stay = 1.0 - since
    often = np.where((since > 0.5) & (case.name == "late"), 5.0 * busy, busy)
    return since, stay, rng.poisson(PER_USER * often * stay / (2.7 * 0.65))


def kinds_shown(
    rng: np.random.Generator, shop: Shop, case: Scenario, arm: Ints, user: Ints
) -> Ints:
    """Return which kind of slate each visit sees."""
    favourites = shop.draw(rng.random((case.users, FAVOURITES)))
    pick = rng.integers(FAVOURITES + 1, size=len(user))
    own = favourites[user, np.minimum(pick, FAVOURITES - 1)]
    kind = np.where(pick < FAVOURITES, own, shop.draw(rng.random(len(user))))
    evenly = rng.random(len(user)) < case.spread * arm[user]
    return np.where(evenly, rng.integers(KINDS, size=len(user)), kind)


def counted(cells: Ints, shape: tuple[int, ...]) -> Ints:
    """Return counts up to each batch."""
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).cumsum(axis=0)


def differences(shop: Shop, found: Batches, measure: str) -> Iterator[Estimate]:
    """Yield the difference between the arms at each look."""
    for look in range(len(found.slates)):
        if measure == "clicks":
            theirs, ours = map(Estimate.ratio, found.clicks[look], found.slates[look])
            yield ours.minus(theirs)
        else:
            items = shop.appearances if measure == "equality_b" else shop.weighed
            assert found.kinds is not None
            theirs, ours = (equality(kinds @ items) for kinds in found.kinds[look])
            yield equality_difference(ours, theirs)


@dataclass(frozen=True, eq=False)
class Looks:
    """One experiment, look by look."""

    opened: bool
    found: Ints
    """1 or -1 where the interval excludes 0, (batches,)."""
    fixed: Ints
    """The same for a fixed-horizon interval of 95%."""
    widths: tuple[float, float]
    """Of both at the end; NaN if there are none."""
    last: Estimate
    """The difference at the end."""


def watched(shop: Shop, found: Batches, measure: str, first_look: int = 0) -> Looks:
    """Look at an experiment after every batch."""
    sequence = ConfidenceSequence()
    signs, fixed = [], []
    widths = (np.nan, np.nan)
    slates = found.slates.sum(axis=(1, 2))
    for apart, shown in zip(differences(shop, found, measure), slates, strict=True):
        sequence = sequence.look(apart) if shown >= first_look else sequence
        half, plain = sequence.half_width(apart), np.nan
        if half is not None:
            freedom = max(apart.freedom, 2.0)
            plain = stats.t.ppf(0.975, freedom) * apart.variance**0.5 + apart.bias
            widths = (half, plain)
        signs.append(0 if half is None else int(np.sign(apart.value) * (abs(apart.value) > half)))
        fixed.append(int(np.sign(apart.value) * (abs(apart.value) > plain)) if half else 0)
    opened = sequence.origin is not None
    return Looks(opened, np.array(signs), np.array(fixed), widths, apart)


def mismatched(found: Batches, share: float) -> bool:
    """Return True if users seem not to be divided as planned at some look."""
    shares = {"control": 1.0 - share, "treatment": share}
    return any(
        sample_ratio(dict(zip(shares, users.tolist(), strict=True)), shares).mismatch
        for users in found.users
    )


def alarm_rows(shop: Shop, case: Scenario, seed: int, runs: int) -> Iterator[Row]:
    """Test equal arms; yield a row for each measure."""
    looks: dict[str, list[Looks]] = {measure: [] for measure in case.measures}
    broken = 0
    slates = []
    for run in range(runs):
        found = batches(np.random.default_rng([seed, run]), shop, case)
        broken += mismatched(found, case.share)
        slates.append(found.slates[-1].sum())
        for measure in case.measures:
            looks[measure].append(watched(shop, found, measure))
    about = {
        "scenario": case.name,
        "users": case.users,
        "share": case.share,
        "batches": case.batches,
        "slates": int(np.mean(slates)),
    }
    for measure, all_looks in looks.items():
        alarms = sum(bool(one.found.any()) for one in all_looks)
        widths = np.array([one.widths for one in all_looks])
        ends = stats.binomtest(alarms, runs).proportion_ci()
        yield about | {
            "measure": measure,
            "runs": runs,
            "with_intervals": share_of(all_looks, "opened"),
            "alarms": alarms / runs,
            "alarms_low": round(ends.low, 4),
            "alarms_high": round(ends.high, 4),
            "fixed_at_every_look": float(np.mean([one.fixed.any() for one in all_looks])),
            "fixed_at_the_end": float(np.mean([one.fixed[-1] != 0 for one in all_looks])),
            "times_as_wide": round(float(np.nanmean(widths[:, 0] / widths[:, 1])), 3),
        }
    yield about | {"measure": "sample_ratio", "runs": runs, "alarms": broken / runs}


def share_of(looks: Sequence[Looks], name: str) -> float:
    return round(float(np.mean([getattr(one, name) for one in looks])), 4)


def power_row(shop: Shop, case: Scenario, runs: int) -> Row:
    """Test arms that differ; return how many slates it took to find that out."""
    (measure,) = case.measures
    looks, slates = [], []
    for run in range(runs):
        found = batches(np.random.default_rng([case.users, 7, run]), shop, case)
        slates.append(found.slates.sum(axis=(1, 2)))
        looks.append(watched(shop, found, measure, case.first_look))
    at = np.array(slates)  # (runs, batches)
    right = np.array([one.found > 0 for one in looks])
    until = np.where(right.any(axis=1), right.argmax(axis=1), case.batches - 1)
    difference = float(np.mean([one.last.value for one in looks]))
    of_a_slate = np.mean([one.last.variance for one in looks] * at[:, -1])
    taken = at[np.arange(runs), until]
    return {
        "measure": measure,
        "lift_percent": 100 * case.lift,
        "spread": case.spread,
        "first_look": case.first_look,
        "difference": round(difference, 4),
        "runs": runs,
        "users": case.users,
        "slates": int(at[:, -1].mean()),
        "found": round(float(right.any(axis=1).mean()), 3),
        "wrong_sign": float(np.mean([(one.found < 0).any() for one in looks])),
        "mean_slates": int(taken.mean()),
        "slates_80_percent": int(np.quantile(taken, 0.8)),
        "fixed_80_percent": planned(0.8, of_a_slate, difference),
        "fixed_90_percent": planned(0.9, of_a_slate, difference),
    }


def planned(power: float, variance: float, difference: float) -> int:
    """Return the slates of a fixed-horizon test at 5%, if its variance were known beforehand."""
    errors = stats.norm.ppf(0.975) + stats.norm.ppf(power)
    return int(errors**2 * variance / difference**2)


CLICKS = ("clicks",)
ALARMS = (
    Scenario(users=200, measures=("clicks", "equality_p")),
    Scenario(users=2_000),
    Scenario(users=20_000),
    Scenario(users=2_000, share=0.1, batches=10, measures=("clicks", "equality_p")),
    Scenario(users=200, batches=100, measures=CLICKS),
    Scenario(users=2_000, batches=100, measures=CLICKS),
    Scenario(users=20_000, batches=100, measures=CLICKS),
    Scenario(name="once", users=2_000, batches=100, measures=CLICKS),
    Scenario(name="late", users=2_000, batches=100, measures=CLICKS),
)
GAIN = Scenario(name="passing", users=60_000, batches=120, measures=CLICKS, lift=0.10)
SMALL = replace(GAIN, users=500_000, batches=100, lift=0.03)
FAIRER = replace(GAIN, users=20_000, batches=40, measures=("equality_p",), lift=0.0, spread=0.6)
POWER = (
    (GAIN, 200),
    (replace(GAIN, first_look=50_000), 200),
    (SMALL, 100),
    (replace(SMALL, first_look=500_000), 100),
    (FAIRER, 100),
)


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="tests of equal arms, of each kind")
    parser.add_argument("--part", choices=["alarms", "power"], help="by default both")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of cases, from 0")
    parser.add_argument("--out", type=Path, default=Path("runs/experiments"))
    asked = parser.parse_args()
    shop = Shop()
    begin = time.perf_counter()
    rows: list[Row] = []
    for number, case in enumerate(ALARMS):
        if asked.part != "power" and (asked.only is None or number in asked.only):
            rows += alarm_rows(shop, case, number, asked.runs)
            print(
                f"{time.perf_counter() - begin:4.0f} s", rows[-len(case.measures) - 1 :], flush=True
            )
    if rows:
        write(asked.out / "alarms.csv", rows)
    if asked.part != "alarms":
        rows = []
        for number, (case, runs) in enumerate(POWER):
            if asked.only is None or number in asked.only:
                rows.append(power_row(shop, case, runs))
                print(f"{time.perf_counter() - begin:4.0f} s", rows[-1], flush=True)
        write(asked.out / "power.csv", rows)


if __name__ == "__main__":
    main()
