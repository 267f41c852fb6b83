"""Bias and standard deviation of every estimator of `fc.evaluate`, by log size and distance.

Logs of users drawn from a population in which everything is known are evaluated for policies ever
further from the one that made the log: they explore less, and rank more as users like it. Their
distance is the effective share: how many impressions of the policy itself would say as much as one
of the log, by the weights of whole slates. Writes `errors.csv` and `estimator-errors.png`.

    python benchmarks/evaluation_errors.py --world 1 --workers 2 --out runs/evaluation-errors
    python benchmarks/evaluation_errors.py --draw runs/evaluation-errors/errors.csv
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from evaluation_population import (
    LOGGING,
    VISITS,
    Greedy,
    K,
    Row,
    all_rows,
    catalogue,
    frozen,
    grouped,
    population,
    simulated_log,
    truth,
    write_csv,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

import faircascade as fc
from faircascade.evaluation.estimators import ESTIMATORS
from faircascade.policies import Policy
from faircascade.report.style import DOTTED, INK, drawing, file_bytes, plain_number

POLICIES: dict[str, Policy] = {
    f"{epsilon:g} {agreement:g}": Greedy(epsilon=epsilon, agreement=agreement)
    for epsilon, agreement in ((0.4, 0.62), (0.3, 0.65), (0.3, 0.8), (0.1, 1.0))
}
"""By exploration and agreement with what users like, the nearest first; the log's has 0.5 0.6."""
COLOURS = dict(zip(POLICIES, ("#56b4e9", "#0072b2", "#e69f00", "#d55e00"), strict=True))
DASHES = {"cascade": "-", "pbm": (0, (3, 1.5))}
DRAWN = (
    *("ips", "snips", "rips", "snrips", "cascade-dr"),
    *("iips", "sniips", "aips", "dm", "click-model"),
)
"""Estimators in the order of the figure, the first five above."""
COLUMNS = 5
LIMITS = {"bias": (-30.0, 30.0), "deviation": (0.3, 300.0)}
LOGS = {25: 400, 100: 300, 400: 120, 1600: 40}
"""Logs of each number of users: larger ones differ less, and take longer."""


def evaluated(task: tuple[str, int, int]) -> list[Row]:
    """Evaluate one log; return a row for each policy and estimator."""
    model, users, seed = task
    log, people = simulated_log(model, users, seed)
    found = fc.evaluate(log, frozen(POLICIES, people, seed), draws=8)
    about = {"click_model": model, "users": users}
    return [
        about | {"policy": policy.label, "estimator": name, "value": value}
        for policy in found.policies
        for name, value in _values(policy)
    ]


def _values(policy: Any) -> list[tuple[str, float]]:
    clicks = [(one.name, one.value) for one in policy.estimates if not one.why_not]
    return clicks + [(one.metric, one.value) for one in policy.equality]


def effective_share(policy: Policy, draws: int = 20) -> float:
    """Return the effective sample size of logged slates per slate, by whole slates.

    That is 1 over the mean square of the weights in the log, which is their mean over slates of
    the policy itself.
    """
    users, people, pool = np.arange(len(population())), population(), catalogue().pool
    weights = []
    for draw in range(draws):
        slates = policy.recommend(people, users, pool, K, round=draw + 1, seed=300 + draw).items
        ours, theirs = (
            each.propensities(people, users, pool, slates, round=1, seed=0).whole
            for each in (policy, LOGGING)
        )
        weights.append(ours / theirs)
    return float(1.0 / np.mean(weights))


def errors(rows: Sequence[Row]) -> list[Row]:
    """Return bias and deviation of each estimator in each case."""
    shares = {label: effective_share(policy) for label, policy in POLICIES.items()}
    keys = ("click_model", "users", "policy", "estimator")
    found = []
    for key, some in grouped(rows, *keys).items():
        model, users, label, estimator = key
        known = truth(POLICIES[label])
        true = getattr(known, estimator, None) or known.clicks[model]
        values = np.array([row["value"] for row in some])
        found.append(
            dict(zip(keys, key, strict=True))
            | {
                "impressions": users * VISITS,
                "effective": round(shares[label], 4),
                "logs": len(some),
                "truth": round(true, 5),
                "bias": round(float(values.mean() - true), 5),
                "deviation": round(float(values.std(ddof=1)), 5),
                "rmse": round(float(np.sqrt(((values - true) ** 2).mean())), 5),
            }
        )
    return found


def read_csv(path: Path) -> list[Row]:
    """Return rows of a CSV file, numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {name: text if name in ("click_model", "policy", "estimator") else float(text)
             for name, text in row.items()}
            for row in csv.DictReader(file)
        ]  # fmt: skip


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw bias above deviation for each estimator: lines by distance, dashes by click model."""
    with drawing():
        figure = Figure(figsize=(8.4, 8.2), layout="constrained")
        panels = figure.subplots(4, COLUMNS, sharex=True, sharey="row")
        by_line = grouped(rows, "estimator", "policy", "click_model")
        for (estimator, policy, model), some in by_line.items():
            if estimator not in DRAWN:
                continue
            block, column = divmod(DRAWN.index(estimator), COLUMNS)
            some = sorted(some, key=lambda row: row["impressions"])
            sizes = [row["impressions"] for row in some]
            look = {"color": COLOURS[policy], "ls": DASHES[model], "lw": 1.5, "ms": 3}
            for row, name in enumerate(("bias", "deviation")):
                shares = [100 * row_[name] / row_["truth"] for row_ in some]
                panels[2 * block + row][column].plot(sizes, shares, marker="o", **look)
        for place, estimator in enumerate(DRAWN):
            block, column = divmod(place, COLUMNS)
            _panel(panels[2 * block][column], ESTIMATORS[estimator].title)
            _panel(panels[2 * block + 1][column], "")
        for row, words in enumerate(2 * ("Bias", "Standard deviation")):
            panels[row][0].set_ylabel(f"{words},\nin % of clicks")
            if row % 2:
                panels[row][0].set(yscale="log", ylim=LIMITS["deviation"])
                panels[row][0].yaxis.set_minor_locator(NullLocator())
                panels[row][0].yaxis.set_major_formatter(lambda value, _: plain_number(value))
            else:
                panels[row][0].set(ylim=LIMITS["bias"])
        figure.supxlabel("Impressions of the log", fontsize=9)
        _legend(figure, rows)
        path.write_bytes(file_bytes(figure, "png"))


def _panel(ax: Axes, title: str) -> None:
    ax.set_title(title)
    ax.set(xscale="log", xticks=[users * VISITS for users in LOGS])
    ax.set_xticklabels([f"{users * VISITS:,}" for users in LOGS], rotation=45)
    ax.minorticks_off()
    if title:
        ax.axhline(0, **DOTTED)


def _legend(figure: Figure, rows: Sequence[Row]) -> None:
    shares = {row["policy"]: row["effective"] for row in rows}
    handles = [Line2D([], [], color=COLOURS[policy], lw=2) for policy in shares]
    labels = [f"{100 * share:.2g}% effective" for share in shares.values()]
    handles += [Line2D([], [], color=INK, ls=dashes) for dashes in DASHES.values()]
    labels += [f"users of {model}" for model in DASHES]
    order = [0, 1, 4, 2, 3, 5]  # columns are filled one after the other
    figure.legend(
        [handles[place] for place in order],
        [labels[place] for place in order],
        loc="outside upper center",
        ncols=3,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="times as many logs")
    parser.add_argument("--world", type=int, default=0, help="which items and population")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--draw", type=Path, help="draw the figure of this errors.csv, and stop")
    parser.add_argument("--out", type=Path, default=Path("runs/evaluation-errors"))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.draw is None:
        begin = time.perf_counter()
        tasks = [
            (model, users, seed)
            for users, logs in reversed(LOGS.items())
            for seed in range(round(asked.scale * logs))
            for model in ("cascade", "pbm")
        ]
        rows = all_rows(evaluated, tasks, asked.world, asked.workers)
        write_csv(asked.out / "errors.csv", errors(rows))
        print(f"{len(tasks):,} logs in {time.perf_counter() - begin:.0f} s")
    draw(read_csv(asked.draw or asked.out / "errors.csv"), asked.out / "estimator-errors.png")


if __name__ == "__main__":
    main()
