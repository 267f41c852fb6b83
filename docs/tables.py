"""Fill the tables of README.md and docs/explanation/ from the results in docs/reproduction/.

    python docs/tables.py            # rewrite the documents
    python docs/tables.py --check    # exit with 1 if a document differs from its results

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; NAME is a function of this file.
Changes are paired by seed and in percent of the baseline's mean, with 95% intervals (Student's t);
a dagger marks p < 0.05 of a paired t-test, Holm-corrected over the comparisons of the table.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from faircascade.evaluation.estimators import ESTIMATORS
from faircascade.experiment.stats import LEVEL, Contrast, contrasts, estimate
from faircascade.paper.published import PublishedRow, published
from faircascade.paper.yandex import KNOWN, Survival, read_runs, summarise
from faircascade.report.survival import MODELS as FITTED
from faircascade.types import Floats

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "reproduction"
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SIZES = ((10, 10), (10, 5), (20, 10), (20, 5))
FAIRNESS = ("equality_b", "equality_p", "equity_b", "equity_p")
GAMMAS = ("0.0", "0.001", "0.005", "0.01", "0.05", "0.1", "0.2")
TITLES = {
    "clicks": "clicks",
    "regret": "regret",
    "equality_b": "Equality (B)",
    "equality_p": "Equality (P)",
    "equity_b": "Equity (B)",
    "equity_p": "Equity (P)",
}
SAME = "the same slates"
"""In place of changes, where a policy shows what the baseline shows."""

TABLES: dict[str, Callable[[], str]] = {}


class Runs:
    """The results of one spec in one environment: a value for each policy, metric and seed."""

    def __init__(self, spec: str = "", data: str = "ml-1m", **where: object) -> None:
        wanted = {name: str(value) for name, value in where.items()}
        wanted |= {"spec": spec} if spec else {}
        self._values: dict[tuple[str, str], dict[int, float]] = {}
        for line in results(data):
            if all(line[name] == wanted[name] for name in wanted):
                of = self._values.setdefault((line["policy"], line["metric"]), {})
                of[int(line["seed"])] = float(line["value"])

    def of(self, policy: str, metric: str) -> Floats:
        """Return the values of a policy by rising seed, (seeds,)."""
        by_seed = self._values[policy, metric]
        return np.array([by_seed[seed] for seed in sorted(by_seed)])

    def contrasts(
        self, policies: Iterable[str], metrics: Sequence[str], baseline: str
    ) -> dict[tuple[str, str], Contrast]:
        """Compare policies with a baseline; p-values are corrected over all of these."""
        return contrasts(
            {
                (policy, metric): (self.of(policy, metric), self.of(baseline, metric))
                for policy in policies
                for metric in metrics
            }
        )


@cache
def results(data: str, name: str = "results.csv") -> tuple[dict[str, str], ...]:
    """Return the lines of a file of results; those of a results.csv are one for each metric, which
    may be columns there."""
    with (RESULTS / data / name).open(encoding="utf-8", newline="") as file:
        lines = tuple(csv.DictReader(file))
    if name != "results.csv" or not lines or "metric" in lines[0]:
        return lines
    metrics = tuple(lines[0])[list(lines[0]).index("seed") + 1 :]
    return tuple({**line, "metric": m, "value": line[m]} for line in lines for m in metrics)


def table(function: Callable[[], str]) -> Callable[[], str]:
    """Make a function available under its name, with dashes."""
    TABLES[function.__name__.replace("_", "-")] = function
    return function


def level(values: Floats, decimals: int) -> str:
    """Return a mean with its interval: `0.3955 [0.3940, 0.3969]`."""
    found = estimate(values)
    mean, low, high = (f"{v:.{decimals}f}" for v in (found.mean, found.low, found.high))
    return f"{mean} [{low}, {high}]"


def signed(value: float, decimals: int) -> str:
    """Return a number with its sign, and none if it rounds to 0.

    >>> signed(-3.14, 1), signed(45.2, 0), signed(-0.04, 1)
    ('−3.1', '+45', '0.0')
    """
    text = f"{value:+.{decimals}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def decimals_of(percent: float, whole: float = 20.0) -> int:
    """Return how many decimals a change gets: none from `whole` percent on, two below 0.1."""
    return 0 if abs(percent) >= whole else 2 if 0 < abs(percent) < 0.1 else 1


def change(of: Contrast, *, interval: bool = True, dagger: bool = True, whole: float = 20) -> str:
    """Return a change in percent: `−3.1% [−3.2, −3.1] †`."""
    decimals = decimals_of(of.percent, whole)
    text = f"{signed(of.percent, decimals)}%"
    if interval:
        low, high = (signed(end, decimals) for end in of.percents)
        text += f" [{low}, {high}]"
    return f"{text} †" if dagger and of.corrected < 1 - LEVEL else text


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table whose first columns are text and whose others are numbers."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [_line(cells) for cells in (head, rule, *rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _compared(
    runs: Runs,
    policies: Mapping[str, str],
    metrics: Sequence[str],
    baseline: tuple[str, str],
    same: Mapping[str, str] | None = None,
    intervals: Sequence[str] | None = None,
    **options: bool,
) -> str:
    """Return levels of the baseline and changes of the other policies (label by policy)."""
    same = same or {}
    found = runs.contrasts([p for p in policies if p not in same], metrics, baseline[0])
    first = [level(runs.of(baseline[0], m), 4 if m == "clicks" else 3) for m in metrics]
    rows = [[baseline[1], *first]] if baseline[1] else []
    for policy, label in policies.items():
        if policy in same:
            rows.append([label, same[policy], *[""] * (len(metrics) - 1)])
            continue
        cells = [
            change(found[policy, m], interval=intervals is None or m in intervals, **options)
            for m in metrics
        ]
        rows.append([label, *cells])
    return markdown(["policy", *(TITLES[m] for m in metrics)], rows)


REFERENCE = "LinUCB (reading=reference)"
"""The baseline of the spec `grid`."""
EARS = "EARSLinUCB (reading=reference, tolerance=0.05)"
MERIT_DRAWS = "FRMLinUCB merit-draws (reading=reference)"
LOG = "EALinUCB log (reading=reference)"
RBP = "EALinUCB rbp (reading=reference)"
LINEAR = "EALinUCB linear (reading=reference)"
RBP_INTENDED = "EALinUCB rbp (reading=intended)"


def _grid(d: int, k: int, align: str) -> Runs:
    return Runs("grid", d=d, k=k, align=align)


@table
def headline() -> str:
    runs = _grid(10, 10, "sign")
    return _compared(
        runs,
        {
            EARS: "EARSLinUCB",
            MERIT_DRAWS: "FRMLinUCB (`merit-draws`)",
            LOG: "EALinUCB log",
            RBP: "EALinUCB rbp, as in the authors' package",
            LINEAR: "EALinUCB linear",
            RBP_INTENDED: "EALinUCB rbp, turned round (`intended`)",
        },
        ("clicks", "equality_b", "equity_b"),
        (REFERENCE, "LinUCB"),
        same={RBP: f"{SAME} as LinUCB"},
    )


@table
def exploration() -> str:
    runs = Runs("rq1")
    first, *others = (f"LinUCB (alpha={alpha})" for alpha in ("0.25", "0.75", "1.0", "2.0", "5.0"))
    metrics = ("clicks", "regret", "equality_b", "equality_p")
    found = runs.contrasts(others, metrics, first)
    rows = [["0.25", *_with_regret(runs, first, lambda m: level(runs.of(first, m), 4))]]
    for policy in others:
        name = policy.removeprefix("LinUCB (alpha=").removesuffix(")").removesuffix(".0")

        def cell(metric: str, policy: str = policy) -> str:
            return change(found[policy, metric], whole=1000)

        cells = _with_regret(runs, policy, cell)
        if found[policy, "regret"].corrected < 1 - LEVEL:
            cells[1] += " †"
        rows.append([name, *cells])
    return markdown(["alpha", *(TITLES[m] for m in metrics)], rows, left=0)


def _with_regret(runs: Runs, policy: str, cell: Callable[[str], str]) -> list[str]:
    regret = estimate(runs.of(policy, "regret")).mean
    return [cell("clicks"), f"{regret:,.0f}", cell("equality_b"), cell("equality_p")]


@table
def baselines() -> str:
    runs = _grid(10, 10, "sign")
    return _compared(
        runs,
        {
            EARS: "EARSLinUCB",
            MERIT_DRAWS: "FRMLinUCB merit-draws",
            LOG: "EALinUCB log",
            RBP: "EALinUCB rbp",
            LINEAR: "EALinUCB linear",
        },
        ("clicks", "equality_b", "equality_p", "equity_b"),
        (REFERENCE, "LinUCB"),
        same={RBP: SAME},
    )


@table
def published_sizes() -> str:
    rows = []
    for d, k in SIZES:
        runs = Runs("rq2", d=d, k=k, align="none", rounds=50_000)
        theirs = published()
        before = theirs[PublishedRow("movielens", d, k, "LinUCB", "")]
        levels = ", ".join(
            f"{estimate(runs.of('LinUCB', m)).mean:.{n}f} ({before[m]:.{n}f})"
            for m, n in (("clicks", 4), ("equality_b", 3))
        )
        cells = [f"d = {d}, K = {k}", levels]
        for weight in ("log", "linear"):
            after = theirs[PublishedRow("movielens", d, k, "EALinUCB", weight)]
            ours = runs.contrasts([f"EALinUCB {weight}"], ("clicks", "equality_b"), "LinUCB")
            own = [of.percent for of in ours.values()]
            their = [100 * (after[m] / before[m] - 1) for m in ("clicks", "equality_b")]
            cells.append(f"{_pair(*own)} ({_pair(*their)})")
        rows.append(cells)
    return markdown(["", "LinUCB: clicks, Equality (B)", "log", "linear"], rows)


def _pair(clicks: float, equality: float) -> str:
    return f"{signed(clicks, 1)}%, {signed(equality, 0)}%"


@table
def merit_draws_sizes() -> str:
    by_size = {size: _grid(*size, "sign") for size in SIZES}
    against_merit_draws = contrasts(
        {
            (size, policy, metric): (runs.of(policy, metric), runs.of(MERIT_DRAWS, metric))
            for size, runs in by_size.items()
            for policy in (LOG, LINEAR)
            for metric in ("clicks", "equality_b")
        }
    )
    rows = []
    for size, runs in by_size.items():
        cells = [f"d = {size[0]}, K = {size[1]}"]
        for policy in (MERIT_DRAWS, LOG, LINEAR):
            own = runs.contrasts([policy], ("clicks", "equality_b"), REFERENCE)
            parts = []
            for metric, decimals in (("clicks", 1), ("equality_b", 0)):
                text = f"{signed(own[policy, metric].percent, decimals)}%"
                tested = against_merit_draws.get((size, policy, metric))
                sure = tested is not None and tested.corrected < 1 - LEVEL
                parts.append(f"{text} †" if sure else text)
            cells.append(", ".join(parts))
        rows.append(cells)
    return markdown(["", "`merit-draws`", "log", "linear"], rows)


@table
def frm_family() -> str:
    runs = Runs("frm-full")
    return _compared(
        runs,
        {
            "FRMLinUCB merit-draws": "FRMLinUCB merit-draws (sharpness=400)",
            "FRMLinUCB exposure-charge (eta=1e-05)": "FRMLinUCB exposure-charge (eta=0.00001)",
            "FRMLinUCB exposure-charge (eta=0.0001)": "FRMLinUCB exposure-charge (eta=0.0001)",
            "FRMLinUCB reorder": "FRMLinUCB reorder",
            "EALinUCB log": "EALinUCB log",
            "EALinUCB linear": "EALinUCB linear",
        },
        ("clicks", *FAIRNESS),
        ("LinUCB", ""),
        intervals=("equality_b", "equity_b"),
    )


@table
def frm_tuning() -> str:
    runs = Runs("frm")
    merit_draws = {f"FRMLinUCB merit-draws (sharpness={c}.0)": c for c in (200, 400, 600, 1000)}
    exposure_charge = {"1e-05": "0.00001", "0.0001": "0.0001", "0.001": "0.001"}
    return _compared(
        runs,
        {
            **{
                policy: f"FRMLinUCB merit-draws (sharpness={c})"
                for policy, c in merit_draws.items()
            },
            **{
                f"FRMLinUCB exposure-charge (eta={eta})": f"FRMLinUCB exposure-charge (eta={text})"
                for eta, text in exposure_charge.items()
            },
            "FRMLinUCB reorder": "FRMLinUCB reorder",
        },
        ("clicks", "equality_b", "equity_p"),
        ("LinUCB", "LinUCB"),
        intervals=(),
    )


def _penalties(zero_rows: str) -> str:
    runs = Runs("rq3", zero_rows=zero_rows)
    weights = ("log", "rbp", "linear")
    head = ["gamma", *(t for w in weights for t in (f"{w}: clicks", "Equality (B)"))]
    rows = []
    for gamma in GAMMAS:
        cells = [gamma.removesuffix(".0")]
        for weight in weights:
            policy = f"EALinUCB {weight} (gamma={gamma})"
            cells += [f"{estimate(runs.of(policy, m)).mean:.4f}" for m in ("clicks", "equality_b")]
        rows.append(cells)
    return markdown(head, rows, left=0)


@table
def penalties_keep() -> str:
    return _penalties("keep")


@table
def penalties_exclude() -> str:
    return _penalties("exclude")


@table
def small_penalty() -> str:
    runs = Runs("rq3", zero_rows="keep")
    weights = ("log", "rbp", "linear")

    def pair(weight: str, metric: str) -> tuple[Floats, Floats]:
        some, none = (f"EALinUCB {weight} (gamma={gamma})" for gamma in ("0.005", "0.0"))
        return runs.of(some, metric), runs.of(none, metric)

    found = contrasts({(w, m): pair(w, m) for w in weights for m in FAIRNESS})
    clicks = contrasts({w: pair(w, "clicks") for w in weights})
    rows = [
        [
            weight,
            change(clicks[weight], interval=False, dagger=False),
            *(change(found[weight, metric]) for metric in FAIRNESS),
        ]
        for weight in weights
    ]
    return markdown(["weight", "clicks", *(TITLES[m] for m in FAIRNESS)], rows)


def _readings(d: int) -> str:
    policies = {
        LOG: "log, `reference`",
        "EALinUCB log (reading=paper)": "log, `paper` and `intended`",
        "EALinUCB rbp (reading=paper)": "rbp, `paper`",
        RBP_INTENDED: "rbp, `intended`",
        LINEAR: "linear, `reference`",
        "EALinUCB linear (reading=paper)": "linear, `paper` and `intended`",
        MERIT_DRAWS: "FRM `merit-draws`, `reference`",
    }
    environments = [_grid(d, k, align) for k in (10, 5) for align in ("none", "sign")]
    head = ["policy, reading"]
    for k in (10, 5):
        head += [f"d = {d}, K = {k}: none", "sign"]
    rows = []
    for policy, label in policies.items():
        cells = [label]
        for runs in environments:
            found = runs.contrasts([policy], ("clicks", "equality_b"), REFERENCE)
            clicks, equality = (of.percent for of in found.values())
            cells.append(f"{signed(clicks, 1)} / {signed(equality, 0)}")
        rows.append(cells)
    return markdown(head, rows)


@table
def readings_10() -> str:
    return _readings(10)


@table
def readings_20() -> str:
    return _readings(20)


@table
def penalised_readings() -> str:
    runs = Runs("readings")
    names = ("reference", "paper", "intended")
    rows = []
    for weight in ("log", "rbp", "linear"):
        for gamma in ("0.0", "0.005"):
            cells = [weight, gamma.removesuffix(".0")]
            for reading in names:
                policy = f"EALinUCB {weight} (reading={reading}, gamma={gamma})"
                found = runs.contrasts(
                    [policy], ("clicks", "equality_b"), f"LinUCB (reading={reading})"
                )
                clicks, equality = (of.percent for of in found.values())
                text = f"{signed(clicks, 2 if abs(clicks) < 0.1 else 1)}%"
                cells.append(f"{text} / {signed(equality, 0)}%" if clicks or equality else SAME)
            rows.append(cells)
    return markdown(["policy", "gamma", *(f"`{name}`" for name in names)], rows)


@table
def music() -> str:
    metrics = ("clicks", "equality_b", "equality_p", "equity_b")
    policies = {
        "EARSLinUCB (tolerance=0.05)": "EARSLinUCB",
        "EALinUCB log": "EALinUCB log",
        "EALinUCB linear": "EALinUCB linear",
    }
    by_size = {
        (d, k): Runs("rq2", "synthetic-music", d=d, k=k, align="none", rounds=50_000)
        for d, k in SIZES
    }
    found = contrasts(
        {
            (size, policy, metric): (runs.of(policy, metric), runs.of("LinUCB", metric))
            for size, runs in by_size.items()
            for policy in policies
            for metric in metrics
        }
    )
    rows = []
    for size, runs in by_size.items():
        where = f"{size[0]}, {size[1]}"
        rows.append([where, "LinUCB", *(level(runs.of("LinUCB", m), 3) for m in metrics)])
        for policy, label in policies.items():
            cells = [change(found[size, policy, m], whole=1000) for m in metrics]
            rows.append([where, label, *cells])
    return markdown(["d, K", "policy", *(TITLES[m] for m in metrics)], rows, left=2)


DATASETS = {"ml-1m": "MovieLens 1M", "ml-2016": "MovieLens 2016", "anime": "Anime", "coat": "Coat"}
WORLDS = ("paper", "popular")
IN_WORLDS = {
    "EALinUCB log (reading=intended)": "log",
    "EALinUCB rbp (reading=intended)": "rbp",
    "EALinUCB linear (reading=intended)": "linear",
}


PRICE = ("clicks", "equality_b")
"""What a policy costs, and what it brings."""


def _worlds(spec: str, dataset: str, world: str, **where: object) -> Runs:
    return Runs(spec, "worlds", dataset=dataset, world=world, **where)


def _against_linucb(
    wanted: Mapping[tuple[str, ...], tuple[Runs, str]],
) -> dict[tuple[str, ...], tuple[Contrast, ...]]:
    """Compare runs of policies with LinUCB's, by place in a table: one family of tests for all."""
    found = contrasts(
        {
            (*place, metric): (runs.of(policy, metric), runs.of("LinUCB", metric))
            for place, (runs, policy) in wanted.items()
            for metric in PRICE
        }
    )
    return {place: tuple(found[*place, metric] for metric in PRICE) for place in wanted}


def _cost_and_gain(found: tuple[Contrast, ...]) -> str:
    """Return the changes of clicks and Equality (B) in one cell."""
    clicks, equality = found
    return f"{change(clicks, interval=False, dagger=False)}, {change(equality, whole=10)}"


def _levels(runs: Runs, metrics: Sequence[str] = PRICE) -> list[str]:
    return [f"{runs.of('LinUCB', metric).mean():.3f}" for metric in metrics]


@table
def worlds() -> str:
    runs = {(d, w): _worlds("worlds", d, w) for d in DATASETS for w in WORLDS}
    found = _against_linucb({(*at, p): (own, p) for at, own in runs.items() for p in IN_WORLDS})
    rows = [
        [
            *(DATASETS[dataset], world, *_levels(own)),
            *(_cost_and_gain(found[dataset, world, policy]) for policy in IN_WORLDS),
        ]
        for (dataset, world), own in runs.items()
    ]
    heads = [f"EALinUCB {label}" for label in IN_WORLDS.values()]
    return markdown(["data", "world", "clicks", "Equality (B)", *heads], rows, left=2)


LESS, MERIT_DRAWS_HERE = "LinUCB (alpha=0.0625)", "FRMLinUCB merit-draws"


@table
def worlds_long() -> str:
    """The headline pair in the popular world for ten times as long."""
    log = "EALinUCB log (reading=intended)"
    runs = {(dataset,): _worlds("long", dataset, "popular") for dataset in DATASETS}
    found = _against_linucb({at: (own, log) for at, own in runs.items()})
    rows = [
        [DATASETS[dataset], *_levels(own), *map(change, found[dataset,])]
        for (dataset,), own in runs.items()
    ]
    return markdown(["data", "clicks", "Equality (B)", "clicks, log", "Equality (B), log"], rows)


@table
def worlds_baselines() -> str:
    policies = {
        "EALinUCB log (reading=reference)": "EALinUCB log, base K (`reference`)",
        "EALinUCB rbp (reading=paper)": "EALinUCB rbp, as printed (`paper`)",
        "EARSLinUCB (tolerance=0.05)": "EARSLinUCB",
        MERIT_DRAWS_HERE: "FRMLinUCB (`merit-draws`, sharpness 400)",
        LESS: "LinUCB, alpha = 0.0625",
    }
    found = _against_linucb(
        {
            (policy, world, dataset): (_worlds("worlds", dataset, world), policy)
            for policy in policies
            for world in WORLDS
            for dataset in DATASETS
        }
    )
    rows = [
        [label, world, *(_cost_and_gain(found[policy, world, dataset]) for dataset in DATASETS)]
        for policy, label in policies.items()
        for world in WORLDS
    ]
    return markdown(["policy", "world", *DATASETS.values()], rows, left=2)


def _in_both_worlds(
    spec: str, policies: Mapping[str, str], first: Sequence[Sequence[str]] = ()
) -> str:
    """Return the changes of policies (label by policy) on MovieLens 1M, a column for each."""
    found = _against_linucb(
        {
            (policy, world): (_worlds(spec, "ml-1m", world), policy)
            for policy in policies
            for world in WORLDS
        }
    )
    rows = [
        [label, *(change(contrast) for world in WORLDS for contrast in found[policy, world])]
        for policy, label in policies.items()
    ]
    heads = [f"{TITLES[metric]}, {world}" for world in WORLDS for metric in PRICE]
    return markdown(["policy", *heads], [*first, *rows])


@table
def scale_and_shape() -> str:
    policies = {
        LESS: "LinUCB, alpha = 0.0625",
        "LinUCB (alpha=0.125)": "LinUCB, alpha = 0.125",
        "LinUCB (alpha=0.5)": "LinUCB, alpha = 0.5",
        "LinUCB (alpha=1.0)": "LinUCB, alpha = 1",
        "log": "log, 0.69 to 2.4",
        "log, scaled to a mean of 1": "log, scaled to a mean of 1",
        "rbp, turned round": "rbp, 0.39 to 1",
        "rbp, turned round, scaled to a mean of 1": "rbp, scaled to a mean of 1",
        "linear": "linear, 0.05 to 0.5",
        "linear, scaled to a mean of 1": "linear, scaled to a mean of 1",
    }
    return _in_both_worlds("scale", policies)


@table
def popularity_power() -> str:
    runs = {
        (power,): _worlds(
            "worlds" if power == "1.0" else "sweep", "ml-1m", "popular", popularity_power=power
        )
        for power in ("0.0", "0.25", "0.5", "0.75", "1.0")
    }
    found = _against_linucb({(*at, p): (own, p) for at, own in runs.items() for p in IN_WORLDS})
    rows = [
        [
            *(power, *_levels(own, ("equality_b", "coverage", "head_share"))),
            *(_cost_and_gain(found[power, policy]) for policy in IN_WORLDS),
        ]
        for (power,), own in runs.items()
    ]
    heads = [f"EALinUCB {label}" for label in IN_WORLDS.values()]
    head = ["power", "Equality (B)", "coverage", "positions for the head", *heads]
    return markdown(head, rows)


@table
def two_worlds() -> str:
    """For the README: MovieLens 1M, what each policy costs and brings in both."""
    policies = {
        **{policy: f"EALinUCB {label}" for policy, label in IN_WORLDS.items()},
        MERIT_DRAWS_HERE: "LinUCB + `merit-draws`",
        LESS: "LinUCB, alpha = 0.0625",
    }
    levels = [level for world in WORLDS for level in _levels(_worlds("worlds", "ml-1m", world))]
    return _in_both_worlds("worlds", policies, [["LinUCB", *levels]])


MODELS = ("cascade", "dcm", "dbn", "pbm")
"""Click models of the study."""
BANDITS = {
    "LinUCB": "EALinUCB",
    "LinTS": "EALinTS",
    "LogisticUCB": "LogisticUCB",
    "CascadeLSB": "CascadeLSB",
    "CascadeHybrid": "CascadeHybrid",
}
"""Labels of the bandits without weights, and how those with weights begin."""
WEIGHTS = ("log", "rbp", "linear")
WAYS = ("targets", "observations")
"""Where a weight enters."""
SCALED = ("log scaled", "linear scaled")
ELSEWHERE = ("cascade", "pbm")
"""Click models of the runs with scaled weights and on other data sets."""

Place = tuple[str, str, str, str, str]
"""World, bandit, click model, weight, and where it enters."""


@cache
def generality_changes(
    dataset: str = "ml-1m",
    models: Sequence[str] = MODELS,
    weights: Sequence[str] = WEIGHTS,
    ways: Sequence[str] = WAYS,
) -> dict[Place, tuple[Contrast, ...]]:
    """Compare bandits with themselves without weights: one family of tests for all."""
    pairs = {}
    for world, model in product(WORLDS, models):
        runs = _generality(dataset, world, model)
        for bandit, weight, way in product(BANDITS, weights, ways):
            weighted = _weighted(bandit, weight, way)
            for metric in PRICE:
                values = runs.of(weighted, metric), runs.of(bandit, metric)
                pairs[world, bandit, model, weight, way, metric] = values
    found = contrasts(pairs)
    places = dict.fromkeys(place[:-1] for place in pairs)
    return {place: tuple(found[*place, metric] for metric in PRICE) for place in places}


def _weighted(bandit: str, weight: str, way: str) -> str:
    """Return the label of a bandit with weights; scaled ones enter one way only."""
    return f"{BANDITS[bandit]} {weight}" + ("" if weight in SCALED else f" (weighs={way})")


def _generality(dataset: str, world: str, model: str) -> Runs:
    return Runs("", "generality", dataset=dataset, world=world, click_model=model)


@table
def generality() -> str:
    """What log weights on targets cost and bring each bandit under each click model."""
    found = generality_changes()
    rows = [
        [
            bandit,
            world,
            *(_cost_and_gain(found[world, bandit, model, "log", "targets"]) for model in MODELS),
        ]
        for bandit, world in product(BANDITS, WORLDS)
    ]
    return markdown(["bandit", "world", *(f"`{model}`" for model in MODELS)], rows, left=2)


def _verdict(cells: Sequence[tuple[Contrast, ...]]) -> list[str]:
    """Count where exposure is significantly more and less equal; return the range of clicks."""
    sure = [equality for _, equality in cells if equality.corrected < 1 - LEVEL]
    fairer = sum(equality.percent > 0 for equality in sure)
    clicks = sorted(clicks.percent for clicks, _ in cells)
    least, most = (signed(end, 1) for end in (clicks[0], clicks[-1]))
    return [f"{fairer}, {len(sure) - fairer} of {len(cells)}", f"{least}% to {most}%"]


VERDICTS = [head for w in WORLDS for head in (f"fairer, less fair, {w}", f"clicks, {w}")]
"""Heads of the columns of verdicts."""


@table
def generality_verdicts() -> str:
    """How often each weight makes exposure more or less equal, over bandits and click models."""
    found = generality_changes()
    rows = []
    for weight, way in product(WEIGHTS, WAYS):
        row = [weight, way]
        for world in WORLDS:
            row += _verdict([found[world, b, m, weight, way] for b, m in product(BANDITS, MODELS)])
        rows.append(row)
    return markdown(["weight", "weighs", *VERDICTS], rows, left=2)


def _generality_of(world: str) -> str:
    """Return all changes of a world: a row for each bandit, weight and way to weigh."""
    found = generality_changes()
    rows = [
        [*place, *(_cost_and_gain(found[world, place[0], m, *place[1:]]) for m in MODELS)]
        for place in product(BANDITS, WEIGHTS, WAYS)
    ]
    return markdown(["bandit", "weight", "weighs", *(f"`{m}`" for m in MODELS)], rows, left=3)


@table
def generality_paper() -> str:
    return _generality_of("paper")


@table
def generality_popular() -> str:
    return _generality_of("popular")


@table
def generality_shape() -> str:
    """What the shape of weights does without their scale, in both worlds."""
    found = generality_changes("ml-1m", ELSEWHERE, SCALED, ("targets",))
    rows = [
        [
            *(bandit, world),
            *(
                _cost_and_gain(found[world, bandit, model, weight, "targets"])
                for weight, model in product(SCALED, ELSEWHERE)
            ),
        ]
        for bandit, world in product(BANDITS, WORLDS)
    ]
    heads = [f"{weight}, `{model}`" for weight, model in product(SCALED, ELSEWHERE)]
    return markdown(["bandit", "world", *heads], rows, left=2)


def _elsewhere() -> tuple[list[str], dict[str, dict[Place, tuple[Contrast, ...]]]]:
    """Return the other data sets, and what log weights do there."""
    others = [dataset for dataset in DATASETS if dataset != "ml-1m"]
    return others, {d: generality_changes(d, ELSEWHERE, ("log",)) for d in others}


@table
def generality_elsewhere_verdicts() -> str:
    """How often log weights make exposure more or less equal on other data sets."""
    others, found = _elsewhere()
    rows = []
    for way in WAYS:
        row = [way]
        for world in WORLDS:
            places = product(others, BANDITS, ELSEWHERE)
            row += _verdict([found[d][world, b, m, "log", way] for d, b, m in places])
        rows.append(row)
    return markdown(["weighs", *VERDICTS], rows)


@table
def generality_elsewhere() -> str:
    """What log weights cost and bring on other data sets, both ways."""
    others, found = _elsewhere()
    rows = [
        [
            *(bandit, world, way),
            *(
                _cost_and_gain(found[dataset][world, bandit, model, "log", way])
                for dataset, model in product(others, ELSEWHERE)
            ),
        ]
        for bandit, world, way in product(BANDITS, WORLDS, WAYS)
    ]
    heads = [f"{DATASETS[dataset]}, `{model}`" for dataset, model in product(others, ELSEWHERE)]
    return markdown(["bandit", "world", "weighs", *heads], rows, left=3)


@table
def generality_levels() -> str:
    """Clicks and Equality (B) of the bandits without weights."""
    runs = {(world, m): _generality("ml-1m", world, m) for world, m in product(WORLDS, MODELS)}
    rows = [
        [
            bandit,
            world,
            *(
                ", ".join(f"{runs[world, m].of(bandit, metric).mean():.3f}" for metric in PRICE)
                for m in MODELS
            ),
        ]
        for bandit, world in product(BANDITS, WORLDS)
    ]
    return markdown(["bandit", "world", *(f"`{model}`" for model in MODELS)], rows, left=2)


@table
def survival() -> str:
    """Regret of click bandits under click models fitted to queries, with standard errors."""
    found = _survivals(100_000)
    cells = {(each.policy, each.click_model): each for each in found}
    rows = [
        [
            policy,
            *(f"{cells[policy, m].regret:,.0f} ± {cells[policy, m].error:.0f}" for m in FITTED),
        ]
        for policy in dict.fromkeys(each.policy for each in found)
    ]
    return markdown(["regret", *(f"`{model}`" for model in FITTED)], rows)


@table
def survival_long() -> str:
    """Regret of some of them under PBM users after ten times as many rounds."""
    short = {each.policy: each for each in _survivals(100_000) if each.click_model == "pbm"}
    queries, rows = 60, []
    for each in _survivals(1_000_000):
        if each.policy not in ("Random", KNOWN):
            before, runs = short[each.policy], queries * each.seeds
            rows.append(
                [
                    each.policy,
                    f"{before.regret:,.0f} ± {before.error:.0f}",
                    f"{each.regret:,.0f} ± {each.error:.0f}",
                    f"{each.regret / before.regret:.1f}",
                    f"{each.stuck * runs:.0f} of {runs}",
                ]
            )
    headers = ["`pbm`", "100,000 rounds", "1,000,000 rounds", "ratio", "runs that are stuck"]
    return markdown(headers, rows)


def _survivals(rounds: int) -> list[Survival]:
    runs = read_runs(RESULTS / "yandex" / "results.csv")
    return summarise([run for run in runs if run.rounds == rounds])


def _covered(*, policy: str, **where: str) -> tuple[int, float]:
    """Return how many evaluations had enough evidence, and the share with the truth inside."""
    wanted = {"policy": policy, "verdict": "enough", **where}
    some = [
        line
        for line in results("evaluation", "coverage.csv")
        if all(line[name] == value for name, value in wanted.items())
    ]
    logs = [int(line["logs"]) for line in some]
    inside = [n * float(line["coverage"]) for n, line in zip(logs, some, strict=True)]
    return sum(logs), sum(inside) / max(sum(logs), 1)


def _share_inside(logs: int, share: float) -> str:
    """Return a share with the half-width of its interval: `94.9% ± 0.4`."""
    return f"{100 * share:.1f}% ± {196 * math.sqrt(share * (1 - share) / logs):.1f}"


@table
def coverage() -> str:
    """How often the truth is in the intervals of evaluations with enough evidence."""
    lines = results("evaluation", "coverage.csv")
    cases = dict.fromkeys((line["click_model"], line["users"]) for line in lines)
    rows = []
    for policy in ("near", "random"):
        for model, users in sorted(cases, key=lambda case: (case[0], int(case[1]))):
            cells = [f"`{model}`, {users} users", policy]
            for name in ("snrips", "equality_b", "equality_p"):
                logs, share = _covered(
                    policy=policy, click_model=model, users=users, estimator=name
                )
                exact = policy == "random" and name != "snrips"
                cells.append("computed exactly" if exact else _share_inside(logs, share))
            cells.insert(2, f"{logs:,}")
            rows.append(cells)
    head = ["users", "policy", "enough", "clicks (SNRIPS)", "Equality (B)", "Equality (P)"]
    return markdown(head, rows, left=2)


MEASURED = {
    "clicks": "clicks per slate",
    "equality_b": "Equality (B)",
    "equality_p": "Equality (P)",
}
SERVED = {"clicks_per_slate" if name == "clicks" else name: t for name, t in MEASURED.items()}
COMING = {
    "returning": "return",
    "once": "come once",
    "late": "return, five times as busy in the second half",
}


def _percent(share: str, decimals: int = 1) -> str:
    return f"{100 * float(share):.{decimals}f}%"


@table
def peeking_alarms() -> str:
    """How often experiments with equal arms raise an alarm at some look."""
    rows = []
    for line in results("experiments", "alarms.csv"):
        if line["measure"] not in MEASURED:
            continue
        low, high = (_percent(line[end]) for end in ("alarms_low", "alarms_high"))
        small = "" if line["share"] == "0.5" else f", {_percent(line['share'], 0)} in the treatment"
        rows.append(
            [
                f"{int(line['users']):,}, {COMING[line['scenario']]}{small}",
                MEASURED[line["measure"]],
                line["batches"],
                _percent(line["with_intervals"], 0),
                f"{_percent(line['alarms'])} [{low}, {high}]",
                _percent(line["fixed_at_every_look"]),
                _percent(line["fixed_at_the_end"]),
                f"{float(line['times_as_wide']):.2f}",
            ]
        )
    head = ["users", "measure", "looks", "with intervals", "alarms", "95% t, every look"]
    return markdown([*head, "95% t, at the end", "times as wide"], rows, left=2)


@table
def service_alarms() -> str:
    """How often experiments of a service say that arms differ, at some look."""
    rows = []
    for line in results("experiments", "service.csv"):
        low, high = (_percent(line[end]) for end in ("low", "high"))
        lift = float(line["lift"])
        arms = f"{_percent(line['lift'], 0)} more clicks" if lift else "equal arms"
        rows.append(
            [
                f"{arms}, restarts" if int(line["restarts"]) else arms,
                SERVED[line["measure"]],
                f"{int(line['experiments']):,}",
                _percent(line["ready"], 0),
                f"{_percent(line['alarms'])} [{low}, {high}]",
                _percent(line["mismatches"]),
            ]
        )
    head = ["experiments with", "measure", "experiments", "with intervals"]
    return markdown([*head, "said to differ", "sample ratio alarms"], rows, left=2)


@table
def peeking_power() -> str:
    """How many slates it takes to find a true difference."""
    rows = []
    for line in results("experiments", "power.csv"):
        lift = f"{float(line['lift_percent']):+.0f}% clicks"
        what = lift if line["measure"] == "clicks" else f"{float(line['difference']):+.3f} Equality"
        wanted = ["first_look", "mean_slates", "slates_80_percent"]
        wanted += ["fixed_80_percent", "fixed_90_percent"]
        cells = [f"{round(int(line[name]), -2):,}" for name in wanted]
        rows.append([what, *cells, _percent(line["found"], 0), _percent(line["wrong_sign"], 1)])
    head = ["true difference", "first look at", "mean slates until found", "found in 80% by"]
    head += ["fixed test, power 80%", "fixed test, power 90%", "found at all", "wrong sign"]
    return markdown(head, rows)


@table
def estimator_coverage() -> str:
    """The same for all estimators, over logs of both sizes."""
    rows = []
    for name in ESTIMATORS:
        cells = [ESTIMATORS[name].title]
        for policy in ("near", "random"):
            for model in ("cascade", "pbm"):
                _, share = _covered(policy=policy, click_model=model, estimator=name)
                cells.append(f"{100 * share:.1f}%")
        rows.append(cells)
    head = [f"{policy}, `{model}`" for policy in ("near", "random") for model in ("cascade", "pbm")]
    return markdown(["estimator", *head], rows)


@table
def decisions() -> str:
    """What was predicted of policies from a log, and what is true."""
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for line in results("decisions", "decisions.csv"):
        numbers = {name: 100 * float(line[name]) for name in ("predicted", "low", "high", "truth")}
        found.setdefault((line["policy"], line["metric"]), []).append(numbers)
    rows = []
    for (policy, metric), shops in found.items():
        truths = sorted(shop["truth"] for shop in shops)
        off = np.mean([abs(shop["predicted"] - shop["truth"]) for shop in shops])
        inside = sum(shop["low"] <= shop["truth"] <= shop["high"] for shop in shops)
        ends = " to ".join(f"{signed(end, 1)}%" for end in (truths[0], truths[-1]))
        rows.append([policy, TITLES[metric], ends, f"{off:.2f}", f"{inside} of {len(shops)}"])
    head = ["policy", "change of", "true change", "off by, points", "truth inside"]
    return markdown(head, rows, left=2)


@table
def simulators() -> str:
    """Clicks and Equality in worlds made of a log, over those in the shop."""
    lines = results("decisions", "levels.csv")
    shops = {line["shop"]: line for line in lines if line["world"] == "shop"}
    rows = []
    for world in dict.fromkeys(line["world"] for line in lines if line["world"] != "shop"):
        some = [line for line in lines if line["world"] == world]
        right = sum(line["fitted"] == shops[line["shop"]]["click_model"] for line in some)
        cells = [world, f"{right} of {len(some)}"]
        for column in ("clicks", "equality_b", "random_clicks"):
            pairs = [(float(line[column]), float(shops[line["shop"]][column])) for line in some]
            ratios = sorted(made / true for made, true in pairs)
            cells.append(f"{ratios[0]:.2f} to {ratios[-1]:.2f}")
        rows.append(cells)
    head = ["made with", "click model found", "clicks", "Equality (B)", "clicks of random slates"]
    return markdown(head, rows)


@table
def short_logs() -> str:
    """Clicks in worlds made of short logs, over those in the shop."""
    lines = results("decisions", "short.csv")
    rows = []
    for length in dict.fromkeys(line["impressions_per_user"] for line in lines):
        some = [line for line in lines if line["impressions_per_user"] == length]
        right = sum(line["fitted"] == line["click_model"] for line in some)
        cells = [length, f"{right} of {len(some)}"]
        for column in ("clicks", "random_clicks"):
            ratios = sorted(float(line[column]) for line in some)
            middle = np.median(ratios)
            cells.append(f"{ratios[0]:.2f} to {ratios[-1]:.2f}, median {middle:.2f}")
        rows.append([*cells, str(sum(int(line["noted"]) for line in some))])
    head = [
        "impressions per user", "click model found", "clicks", "clicks of random slates", "noted",
    ]  # fmt: skip
    return markdown(head, rows)


def fill(text: str) -> str:
    """Return a document with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        name = match[2]
        if name not in TABLES:
            raise KeyError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
        return f"{match[1]}{TABLES[name]()}{match[3]}"

    return MARKED.sub(made, text)


def documents() -> list[Path]:
    """Return the documents that have tables."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [page for page in pages if MARKED.search(page.read_text(encoding="utf-8"))]


def main() -> int:
    stale = []
    for page in documents():
        text = page.read_text(encoding="utf-8")
        filled = fill(text)
        if filled != text:
            stale.append(page)
            if "--check" not in sys.argv:
                page.write_text(filled, encoding="utf-8")
    for page in stale:
        print(page.relative_to(ROOT))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())
