"""Write docs/reproduction/fair-rankers/fair-rankers.md and its figures from the tables beside it.

    python docs/fair_rankers.py [--check]     # --check: exit with 1 if the page differs from them

Changes are paired by seed, in percent of LinUCB's mean with 95% intervals (Student's t); a dagger
marks p < 0.05 of a paired t-test, Holm-corrected over the comparisons of a table.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faircascade.experiment.stats import LEVEL, Contrast, contrasts
from faircascade.report.sections.pareto_front import Place as Spot
from faircascade.report.sections.pareto_front import front
from faircascade.report.style import DOTTED, INK, PALE, drawing, file_bytes
from faircascade.types import Floats

FOLDER = Path(__file__).parent / "reproduction" / "fair-rankers"
PAGE = "fair-rankers.md"
BASELINE = "LinUCB (alpha=0.25)"
LIMIT = -2.0
"""What fairness may cost, in percent of the clicks."""
LEFT = -12.0
"""Policies that lose more of the clicks are not drawn."""
WORST = "worst_tenth"
YARDSTICKS = ("MostPopular", "Random")
DATA = {
    "ml-1m": "MovieLens 1M",
    "movielens-2016": "MovieLens 2016",
    "anime": "Anime",
    "coat": "Coat",
}
WORLDS = {"popular": "popular items are popular", "paper": "the paper's world"}
USERS = {"cascade": "cascade users", "pbm": "PBM users"}
METRICS = {"equality_b": "Equality (B)", "equity_b": "Equity (B)", WORST: "worst-off tenth"}
NAMES = {
    BASELINE: "LinUCB",
    "LinUCB (alpha=0.0625)": "LinUCB, alpha tuned",
    "EALinUCB log (alpha=0.25)": "EALinUCB log",
    "EALinUCB log (alpha=0.125)": "EALinUCB, all of it tuned",
    "LinUCB + frank-wolfe (welfare=alpha-fair, alpha=1.0, offset=0.1)": "frank-wolfe, alpha-fair",
    "LinUCB + frank-wolfe (welfare=gini, worst=1.0, smoothing=1.0)": "frank-wolfe, gini",
}
EXPOSURE_AWARE = ("EALinUCB log", "EALinUCB rbp", "EALinUCB linear", "EALinUCB, all of it tuned")


def short(label: str) -> str:
    """Return what a policy is called on the page.

    >>> short("LinUCB + fairco"), short("EALinUCB log + fairco"), short("FairXTS")
    ('fairco', 'EALinUCB log + fairco', 'FairXTS')
    """
    return NAMES.get(label, label.removeprefix("LinUCB + "))


@dataclass(frozen=True, order=True)
class Place:
    """An environment of the study."""

    users: str
    world: str
    dataset: str


class Tables:
    """The results and the trials of the study, as far as they are there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = read(folder / "results.csv")
        self.trials = read(folder / "trials.csv")
        self.costs = read(folder / "costs.csv")

    @cached_property
    def values(self) -> dict[tuple[Place, str, int, str], dict[int, float]]:
        """Metrics by environment, policy, rounds and metric: a value for each seed."""
        found: dict[tuple[Place, str, int, str], dict[int, float]] = {}
        for line in self.lines:
            place = Place(line["users"], line["world"], line["dataset"])
            for metric in ("clicks", "equality_p", "coverage", *METRICS):
                key = (place, line["policy"], int(line["rounds"]), metric)
                found.setdefault(key, {})[int(line["seed"])] = float(line[metric])
        return found

    @cached_property
    def rounds(self) -> dict[str, int]:
        """The rounds of each policy."""
        most: dict[str, int] = {}
        for line in self.lines:
            most[line["policy"]] = max(most.get(line["policy"], 0), int(line["rounds"]))
        return most

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(line["policy"] for line in self.lines))

    @property
    def places(self) -> list[Place]:
        """The environments that have any result, in the order of the page."""
        there = {place for place, *_ in self.values}
        return [
            Place(users, world, dataset)
            for users in USERS
            for world in WORLDS
            for dataset in dict.fromkeys((*DATA, *(p.dataset for p in sorted(there))))
            if Place(users, world, dataset) in there
        ]

    def paired(self, place: Place, policy: str, metric: str) -> tuple[Floats, Floats]:
        """Return a metric of a policy and of the baseline at the same rounds, by seed."""
        rounds = self.rounds[policy]
        own = self.values.get((place, policy, rounds, metric), {})
        other = self.values.get((place, BASELINE, rounds, metric), {})
        seeds = sorted(own.keys() & other.keys())
        return np.array([own[s] for s in seeds]), np.array([other[s] for s in seeds])

    def changes(self, place: Place) -> dict[tuple[str, str], Contrast]:
        """Compare every policy with the baseline in an environment."""
        pairs = {
            (policy, metric): pair
            for policy in self.policies
            if policy != BASELINE
            for metric in ("clicks", *METRICS)
            for pair in [self.paired(place, policy, metric)]
            if len(pair[0]) > 1 and not np.isnan(pair).any()
        }
        return contrasts(pairs) if pairs else {}

    def factor(self, place: Place, policy: str, metric: str) -> float:
        """Return how many times as much as the baseline a policy has, of means over seeds."""
        own, other = self.paired(place, policy, metric)
        return float(own.mean() / other.mean()) if len(own) and other.mean() > 0 else math.nan

    def cost(self, place: Place, policy: str) -> float:
        """Return the change of clicks in percent."""
        return 100.0 * (self.factor(place, policy, "clicks") - 1.0)


def page(tables: Tables) -> str:
    """Return the page."""
    if not tables.lines:
        raise SystemExit(f"{tables.folder}: there is no results.csv; see benchmarks/")
    parts = [head(tables), *overview(tables)]
    for users in USERS:
        for world in WORLDS:
            parts.extend(environment_part(tables, users, world))
    parts += [searches(tables), costs(tables), FOOT]
    return "\n\n".join(part for part in parts if part) + "\n"


def head(tables: Tables) -> str:
    seeds = {len(of) for (_, policy, _, m), of in tables.values.items() if m == "clicks"}
    finished, asked = len(tables.places), len(DATA) * len(WORLDS) * len(USERS)
    state = "" if finished == asked else f" **{finished} of {asked} environments so far.**"
    shorter = [f"{short(p)} {n}" for p, n in tables.rounds.items() if n < tables.rounds[BASELINE]]
    few = f" Fewer rounds, as they are slow: {', '.join(shorter)}." if shorter else ""
    return f"""# Which fair ranker?

Every fair ranker of the package was tuned to *the fairest within 2% of LinUCB's clicks*: the
strength that keeps 98% of them and makes exposure most equal, under a cascade, in up to eight
trials of two seeds of their own. What is below comes from {_span(seeds)} other seeds: 200 users,
{tables.rounds[BASELINE]:,} rounds, d = K = 10.{few} All are compared with LinUCB
(alpha = 0.25) at the same round, seed by seed.{state}

Written by `python docs/fair_rankers.py` from [results.csv](results.csv), [trials.csv](trials.csv)
and [costs.csv](costs.csv), which `benchmarks/fair_ranker_runs.py` collects."""


def _span(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def overview(tables: Tables) -> list[str]:
    """Return the answer for each world and kind of users: all data sets together."""
    blocks = ["## In short"]
    columns = [(u, w) for u in USERS for w in WORLDS if any(_places(tables, u, w))]
    answers = [answer(tables, users, world) for users, world in columns]
    blocks.append("\n".join(f"- {line}" for line in answers if line))
    names = [f"{WORLDS[w]}, {USERS[u]}" for u, w in columns]
    rows = []
    for policy in tables.policies:
        if policy == BASELINE:
            continue
        cells = [_summary(tables, policy, users, world) for users, world in columns]
        rows.append(f"| {short(policy)} | {' | '.join(cells)} |")
    blocks.append(
        "Clicks, then Equality (B) in multiples of LinUCB's: means over the data sets (geometric "
        "for the multiples), and on how many of them at least 98% of the clicks were kept. The "
        "search knew cascade users alone."
    )
    heads = f"| policy | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}"
    return [*blocks, heads + "\n" + "\n".join(rows)]


def _places(tables: Tables, users: str, world: str) -> list[Place]:
    return [place for place in tables.places if (place.users, place.world) == (users, world)]


def _summary(tables: Tables, policy: str, users: str, world: str) -> str:
    found = totals(tables, policy, users, world)
    if found is None:
        return "–"
    cost, times, kept, count = found
    return f"{signed(cost)}%, ×{times:.2f} ({kept} of {count})"


def totals(
    tables: Tables, policy: str, users: str, world: str
) -> tuple[float, float, int, int] | None:
    """Return mean cost, mean multiple of Equality (B), and where the clicks were kept."""
    places = [
        place
        for place in _places(tables, users, world)
        if not math.isnan(tables.factor(place, policy, "equality_b"))
    ]
    if not places:
        return None
    costs = [tables.cost(place, policy) for place in places]
    times = [math.log(tables.factor(place, policy, "equality_b")) for place in places]
    kept = sum(cost >= LIMIT for cost in costs)
    return float(np.mean(costs)), math.exp(float(np.mean(times))), kept, len(places)


def answer(tables: Tables, users: str, world: str) -> str:
    """Return what was fairest for about the same clicks, and how EALinUCB stands beside it."""
    found = {
        policy: of
        for policy in tables.policies
        if policy not in (BASELINE, *YARDSTICKS)
        and tables.rounds[policy] == tables.rounds[BASELINE]
        and (of := totals(tables, policy, users, world)) is not None
    }
    near = {policy: of for policy, of in found.items() if of[0] >= 1.5 * LIMIT}
    if not near:
        return ""
    first, second, *_ = [*sorted(near, key=lambda p: -near[p][1]), "", ""]
    aware = {p: of for p, of in found.items() if short(p) in EXPOSURE_AWARE}
    best = max(aware, key=lambda p: (aware[p][0] >= 1.5 * LIMIT, aware[p][1])) if aware else ""
    said = f"**{WORLDS[world].capitalize()}, {USERS[users]}**: {_gives(first, near[first])}"
    if second:
        said += f"; then {_gives(second, near[second])}"
    if best and best not in (first, second):
        said += f". The best of the exposure-aware reward model: {_gives(best, aware[best])}"
    return said + "."


def _gives(policy: str, found: tuple[float, float, int, int]) -> str:
    cost, times, _, count = found
    on = "one data set" if count == 1 else f"{count} data sets"
    price = f"{signed(cost)}% of the clicks ({on})"
    return f"`{short(policy)}` gives {times:.2f} times the equality for {price}"


def environment_part(tables: Tables, users: str, world: str) -> list[str]:
    """Return the tables and the figure of one world and one kind of users."""
    places = _places(tables, users, world)
    if not places:
        return []
    name = f"{world}-{users}"
    with drawing():
        (tables.folder / "figures").mkdir(exist_ok=True)
        (tables.folder / "figures" / f"{name}.png").write_bytes(
            file_bytes(figure(tables, places), "png")
        )
    parts = [
        f"## {WORLDS[world].capitalize()}: {USERS[users]}",
        f"![Clicks against fairness: {WORLDS[world]}, {USERS[users]}](figures/{name}.png)",
    ]
    for place in places:
        changes = tables.changes(place)
        level = {m: _level(tables, place, m) for m in ("clicks", *METRICS)}
        parts.append(
            f"**{DATA.get(place.dataset, place.dataset)}.** LinUCB: clicks {level['clicks']}, "
            f"Equality (B) {level['equality_b']}, Equity (B) {level['equity_b']}, "
            f"worst-off tenth {level['worst_tenth']}."
        )
        rows = []
        for policy in tables.policies:
            if (policy, "clicks") in changes:
                shown = [_cell(tables, changes, place, policy, m) for m in ("clicks", *METRICS)]
                rows.append(f"| {short(policy)} | {' | '.join(shown)} |")
        heads = f"| policy | clicks | {' | '.join(METRICS.values())} |\n| --- |"
        heads += " ---: |" * (1 + len(METRICS))
        parts.append(heads + "\n" + "\n".join(rows))
    return parts


def _level(tables: Tables, place: Place, metric: str) -> str:
    values = tables.values.get((place, BASELINE, tables.rounds[BASELINE], metric), {})
    return f"{np.mean(list(values.values())):.3f}" if values else "–"


def _cell(
    tables: Tables,
    changes: dict[tuple[str, str], Contrast],
    place: Place,
    policy: str,
    metric: str,
) -> str:
    if metric == WORST:  # LinUCB has none of it as a rule, so there is no change in percent
        own = tables.values.get((place, policy, tables.rounds[policy], metric), {})
        mean = float(np.mean(list(own.values())))
        return "–" if math.isnan(mean) else f"{mean:.3f}"
    change = changes.get((policy, metric))
    if change is None or math.isnan(change.percent):
        return "–"
    low, high = change.percents
    star = " †" if change.corrected < 1 - LEVEL else ""
    return f"{signed(change.percent)}% [{signed(low)}, {signed(high)}]{star}"


def signed(value: float) -> str:
    """Return a number with its sign.

    >>> signed(-2.04), signed(131.2)
    ('−2.0', '+131')
    """
    return f"{value:+.{0 if abs(value) >= 20 else 1}f}".replace("-", "−")


def figure(tables: Tables, places: Sequence[Place]) -> Figure:
    """Return clicks against fairness: a panel for each metric and data set."""
    drawn = Figure(figsize=(3.1 * len(places) + 2.2, 2.5 * len(METRICS)), layout="constrained")
    axes = drawn.subplots(len(METRICS), len(places), squeeze=False)
    policies = [p for p in tables.policies if p not in YARDSTICKS]
    for row, metric in enumerate(METRICS):
        for column, place in enumerate(places):
            ax, spots = axes[row][column], {}
            if metric != WORST:
                ax.set_yscale("log")
                _curves(ax, tables, place, metric)
            for number, policy in enumerate(policies):
                if math.isnan(cost := tables.cost(place, policy)) or cost < LEFT:
                    continue
                own = tables.values[place, policy, tables.rounds[policy], metric]
                if math.isnan(y := float(np.mean(list(own.values())))):
                    continue
                if tables.rounds[policy] == tables.rounds[BASELINE]:
                    spots[policy] = Spot(cost, y)
                colour = _COLOURS[number % len(_COLOURS)]
                mark = "o" if policy == BASELINE else _MARKERS[number % len(_MARKERS)]
                ax.plot(cost, y, mark, color=colour, markersize=5)
                text: dict[str, Any] = {"xytext": (4, 2), "textcoords": "offset points"}
                ax.annotate(str(number), (cost, y), **text, fontsize=6)
            _front(ax, spots)
            ax.axvline(LIMIT, color=INK, linewidth=0.7, linestyle=(0, (1, 1.6)))
            ax.set_xlim(LEFT, 4)
            if row == 0:
                ax.set_title(DATA.get(place.dataset, place.dataset), fontsize=9)
            if column == 0:
                ax.set_ylabel(METRICS[metric], fontsize=8)
    drawn.supxlabel("change of clicks in percent (dotted: the bound of the search)", fontsize=8)
    listed = "\n".join(f"{number}  {short(policy)}" for number, policy in enumerate(policies))
    axes[0][-1].annotate(
        listed, (1.05, 1.0), xycoords="axes fraction", va="top", fontsize=6.5, annotation_clip=False
    )
    return drawn


_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4b2e83")
_MARKERS = ("s", "^", "D", "v", "P", "X")


def _curves(ax: Axes, tables: Tables, place: Place, metric: str) -> None:
    """Draw what the trials of the search gave: one pale line for each policy."""
    by_policy: dict[str, list[tuple[float, float]]] = {}
    for line in tables.trials:
        at = Place(line["users"], line["world"], line["dataset"])
        if at == place and place.users == "cascade":  # the search knew no others
            point = float(line["clicks_change"]), float(line[metric])
            by_policy.setdefault(line["policy"], []).append(point)
    for policy, points in by_policy.items():
        seen = sorted(point for point in points if point[0] >= LEFT)
        if seen and tables.rounds.get(policy) == tables.rounds[BASELINE]:
            ax.plot(*zip(*seen, strict=True), **PALE, zorder=1)


def _front(ax: Axes, points: dict[str, Spot]) -> None:
    """Draw the Pareto front of policies that ran all rounds."""
    corners = [points[policy] for policy in front(points)]
    if corners:
        ax.plot(
            [LEFT, *(corner.x for corner in corners)],
            [corners[0].y, *(corner.y for corner in corners)],
            drawstyle="steps-pre",
            **DOTTED,
            zorder=1.5,
        )


def searches(tables: Tables) -> str:
    """Return what each policy was tuned to."""
    chosen = [
        line for line in tables.trials if line["chosen"] == "True" and line["users"] == "cascade"
    ]
    if not chosen:
        return ""
    where = list(dict.fromkeys((line["world"], line["dataset"]) for line in chosen))
    by = {(line["policy"], line["world"], line["dataset"]): line for line in chosen}
    heads = " | ".join(f"{DATA.get(d, d)}, {w}" for w, d in where)
    rows = [
        f"| {short(policy)} | " + " | ".join(_tuned(by.get((policy, *at))) for at in where) + " |"
        for policy in dict.fromkeys(line["policy"] for line in chosen)
    ]
    return (
        "## What they were tuned to\n\n"
        "A cross marks where no trial kept 98% of the clicks on the seeds of the search; the "
        "nearest trial is then what is compared.\n\n"
        f"| policy | {heads} |\n| --- |{' --- |' * len(where)}\n" + "\n".join(rows)
    )


def _tuned(line: dict[str, str] | None) -> str:
    if line is None:
        return "–"
    parts = [each.rpartition("reranker.")[2] for each in line["values"].split()]
    values = " ".join(part if "weight=" in part else part.rpartition("=")[2] for part in parts)
    return values + ("" if line["within"] == "True" else " ✗")


def costs(tables: Tables) -> str:
    """Return time and memory."""
    if not tables.costs:
        return ""
    rows = []
    for line in tables.costs:
        speed = f"{float(line['slates_per_second']):,.0f}"
        rows.append(f"| {short(line['policy'])} | {line['engine']} | {speed} | {line['memory']} |")
    first = tables.costs[0]
    sizes = f"{int(first['users']):,} users, {int(first['items']):,} items, d = K = 10"
    return (
        f"## Time and memory\n\n{sizes}, {first['threads']} threads; memory is the largest "
        "resident size of a process of its own, of which Python and its libraries take most.\n\n"
        "| policy | engine | slates a second | MiB |\n| --- | --- | ---: | ---: |\n"
        + "\n".join(rows)
    )


FOOT = """## Again

```console
$ faircascade reproduce fair-rankers --data anime.tsv --out runs/fair-rankers/anime
$ python benchmarks/fair_ranker_runs.py anime=runs/fair-rankers/anime ...
$ python docs/fair_rankers.py
```

The first runs one data set, and continues where it stopped. The pale lines of the figures are the
trials of the search (two seeds), the points means over the seeds of the comparison, and the dotted
line their Pareto front. The worst-off tenth is
[what the tenth of the eligible items with the least exposure get](../../reference/metrics.md), in
units of an equal share."""


def read(path: Path) -> list[dict[str, str]]:
    """Return the lines of a table; there are none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    text = page(Tables(asked.folder))
    place = asked.folder / PAGE
    if asked.check:
        sys.exit(place.read_text(encoding="utf-8") != text)
    place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
