"""Cost of a slate on one core of the cpu engine, against rounds, users, items and features.

    python benchmarks/scaling.py

Prints Markdown tables and draws `engine-cost.png` into `--figures`; takes about three minutes. All
environments come from the embedded synthetic data: more items are copies with noise, more users are
copies with draws of their own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from threadpoolctl import threadpool_limits

import faircascade as fc
from faircascade.experiment.bench import warm_up
from faircascade.experiment.bench.cases import BOTH
from faircascade.experiment.bench.environments import more_items
from faircascade.report.style import drawing, file_bytes, line_styles, log_axis

POLICIES = {policy.label: policy for policy in BOTH}
WINDOWS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 20_000, 30_000, 40_000, 50_000)
USERS = (8, 32, 128, 512, 2_048)
ITEMS = (1_000, 2_800, 10_000, 28_000, 100_000)
DIMS = (2, 5, 10, 20, 40)
WAYS = {"lazy": "lazy", "full": "every item scored"}
LINES = [(label, way) for way in WAYS for label in POLICIES]


@dataclass(frozen=True)
class Length:
    """How long the runs are."""

    users: int = 128
    rounds: int = 1_000
    window_users: int = 256
    full_users: int = 32
    full_scores: int = 60_000_000
    """Scores of a run that scores every item: it costs the same in every round, so few will do."""

    def full_rounds(self, env: fc.Environment) -> int:
        return max(1, self.full_scores // (len(env.items) * self.full_users))


Costs = dict[tuple[str, str], list[float]]
"""Nanoseconds by (policy, way), one for each size."""


@dataclass(frozen=True)
class Panel:
    """Cost against one size."""

    title: str
    across: str
    sizes: Sequence[float]
    costs: Costs
    names: Sequence[str]
    """The sizes as a table has them."""
    ticks: Sequence[int]


def cost(env: fc.Environment, policy: fc.Policy, *, rounds: int, lazy: bool) -> float:
    """Return nanoseconds for one slate on one core, by a clock that stops when others run."""
    env.optimum(1)  # not the policy's time
    begin = time.process_time()
    result = fc.simulate(env, policy, rounds=rounds, seed=1, engine="cpu", lazy=lazy, threads=1)
    return 1e9 * (time.process_time() - begin) / result.recommendations


def full_cost(env: fc.Environment, policy: fc.Policy, length: Length) -> float:
    some = env.take(slice(0, length.full_users))
    return cost(some, policy, rounds=length.full_rounds(some), lazy=False)


def against(
    title: str,
    across: str,
    sizes: Sequence[int],
    environment: Callable[[int], fc.Environment],
    length: Length,
    *,
    served: bool = False,
) -> Panel:
    """Measure environments of several sizes; `served` if the size is the number of users."""
    costs: Costs = {line: [] for line in LINES}
    for size in sizes:
        env = environment(size)
        lazy = env if served else env.take(slice(0, length.users))
        for label, policy in POLICIES.items():
            costs[label, "lazy"].append(cost(lazy, policy, rounds=length.rounds, lazy=True))
            costs[label, "full"].append(full_cost(env, policy, length))
    title = f"{title}, first {length.rounds:,} rounds"
    return Panel(title, across, sizes, costs, [f"{size:,}" for size in sizes], sizes)


def against_rounds(env: fc.Environment, length: Length, ends: Sequence[int]) -> Panel:
    """Measure the cost in windows of one long run."""
    served = env.take(slice(0, length.window_users))
    costs: Costs = {line: [] for line in LINES}
    for label, policy in POLICIES.items():
        costs[label, "lazy"] = list(windows(served, policy, ends))
        costs[label, "full"] = [full_cost(env, policy, length)] * len(ends)
    begins = [0, *ends[:-1]]
    middles = [float(np.sqrt((a + 1) * b)) for a, b in zip(begins, ends, strict=True)]
    names = [f"{a + 1:,} to {b:,}" for a, b in zip(begins, ends, strict=True)]
    ticks = [tick for tick in (1, 10, 100, 1_000, 10_000) if tick <= ends[-1]]
    return Panel("Rounds", "round", middles, costs, names, ticks)


def windows(env: fc.Environment, policy: fc.Policy, ends: Sequence[int]) -> Iterator[float]:
    """Return the cost between rounds at which the engine reports, as these are checkpoints."""
    fc.simulate(env, policy, rounds=ends[0], engine="cpu", threads=1)  # memory is fresh once
    stamps: list[tuple[float, float]] = []
    begin = time.process_time()
    fc.simulate(
        env,
        policy,
        rounds=ends[-1],
        seed=1,
        engine="cpu",
        threads=1,
        checkpoints=ends,
        progress=lambda share: stamps.append((share * ends[-1], time.process_time() - begin)),
    )
    done, before = 0, 0.0
    for end in ends:
        at = max(seconds for rounds, seconds in stamps if rounds <= end + 1e-6)
        yield 1e9 * (at - before) / ((end - done) * len(env.users))
        done, before = end, at


def with_users(env: fc.Environment, users: int) -> fc.Environment:
    """Return the environment with copies of its users, who click for themselves."""
    rows = np.arange(users) % len(env.users)
    return fc.Environment.from_arrays(
        env.items.pool.by_feature.T, env.preferences[rows], k=env.k, name="more users"
    )


def with_items(env: fc.Environment, items: int) -> fc.Environment:
    """Return the environment with some of its items, or with noisy copies."""
    more = more_items(env, copies=-(-items // len(env.items.pool)))
    kept = np.random.default_rng(0).permutation(len(more.items))[:items]
    return fc.Environment.from_arrays(
        more.items.features[kept], env.preferences, k=env.k, name="other items"
    )


def measure(length: Length, ends: Sequence[int]) -> Iterator[Panel]:
    """Measure panel by panel."""
    ratings = fc.load_dataset("synthetic")
    env = fc.Environment.from_ratings(ratings, world="paper")
    yield against_rounds(env, length, ends)
    yield against(
        "Users", "users", USERS, lambda users: with_users(env, users), length, served=True
    )
    yield against("Items", "items", ITEMS, lambda items: with_items(env, items), length)
    yield against(
        "Features",
        "features d",
        DIMS,
        lambda dim: fc.Environment.from_ratings(ratings, dim=dim, world="paper"),
        length,
    )


def print_panel(panel: Panel) -> None:
    head = [panel.across, *(f"{label}, {way}" for label, way in LINES)]
    print(f"| {' | '.join(head)} |")
    print("| ---: |" + " ---: |" * len(LINES))
    for name, *costs in zip(panel.names, *(panel.costs[line] for line in LINES), strict=True):
        print(f"| {name} | " + " | ".join(f"{value:,.0f}" for value in costs) + " |")
    print(flush=True)


def draw(panels: Sequence[Panel], path: Path) -> None:
    with drawing():
        figure = Figure(figsize=(8.4, 6.4), layout="constrained")
        FigureCanvasAgg(figure)
        low = min(min(costs) for panel in panels for costs in panel.costs.values())
        high = max(max(costs) for panel in panels for costs in panel.costs.values())
        for axes, panel in zip(figure.subplots(2, 2).flat, panels, strict=True):
            draw_panel(axes, panel, low, high)
        add_legend(figure)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file_bytes(figure, "png"))


def draw_panel(axes: Axes, panel: Panel, low: float, high: float) -> None:
    for line in LINES:
        costs, look = panel.costs[line], look_of(*line)
        measured = {} if len(set(costs)) == len(costs) else {"marker": ""}
        axes.plot(panel.sizes, costs, **(look | measured))
    log_axis(axes, "x", panel.ticks[0], max(panel.ticks[-1], panel.sizes[-1]))
    axes.set_xticks(panel.ticks, [f"{tick:,}" for tick in panel.ticks])
    log_axis(axes, "y", low, high)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.across)
    axes.set_ylabel("ns per slate and core")


def look_of(label: str, way: str) -> dict[str, object]:
    """Return how a line is drawn: a policy has its colour, scoring every item is dotted."""
    look = line_styles(list(POLICIES))[label]
    return {
        "color": look.colour,
        "marker": look.marker,
        "zorder": look.order,
        "linestyle": "-" if way == "lazy" else (0, (1, 1.4)),
        "linewidth": min(look.width, 2.4),
        "markersize": 3.0 + 1.2 * look.width,
    }


def add_legend(figure: Figure) -> None:
    figure.legend(
        [Line2D([], [], **look_of(*line)) for line in LINES],
        [f"{label}, {WAYS[way]}" for label, way in LINES],
        loc="outside upper center",
        ncols=2,
        handlelength=3,
        columnspacing=2,
    )


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50_000, help="of the panel by rounds")
    parser.add_argument("--users", type=int, default=128, help="of the panels by items and d")
    parser.add_argument("--figures", type=Path, default=Path("docs/figures"))
    given = parser.parse_args()
    warm_up()
    length = replace(Length(), users=given.users)
    ends = [end for end in WINDOWS if end < given.rounds] + [given.rounds]
    panels = []
    with threadpool_limits(1):  # idle threads of the linear algebra would count as ours
        for panel in measure(length, ends):
            print_panel(panel)
            panels.append(panel)
    draw(panels, given.figures / "engine-cost.png")


if __name__ == "__main__":
    main()
