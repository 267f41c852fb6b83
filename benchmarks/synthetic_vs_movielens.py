"""Compare the synthetic data set with MovieLens 1M: likes, spectrum, and how policies do on both.

    python benchmarks/synthetic_vs_movielens.py --path ml-1m.zip --users 200 --rounds 2000 --seeds 2

Prints Markdown tables and draws `synthetic.png` (aggregate curves only) into `--figures`. Each
seed is another split and other clicks on MovieLens, and another environment on the synthetic side.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from faircascade.data.base import Ratings
from faircascade.data.load import load_dataset
from faircascade.data.prepare import binarise, sample_users
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.policies import EALinUCB, LinUCB, Policy

RANKS = (1, 10, 100, 200, 500, 1000, 1500, 2000, 2400, 2700)
USER_RANKS = (1, 10, 30, 100, 200, 500, 900, 1000)
VALUES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30)
MEASURES = ("clicks", "regret", "equality_b", "equality_p")
COLORS = {"MovieLens 1M": "#1b6ca8", "synthetic": "#d1495b"}


def policies() -> Iterator[tuple[str, Policy]]:
    yield "LinUCB", LinUCB(reading="reference")
    yield "EALinUCB log", EALinUCB(weight="log", reading="reference")
    yield "EALinUCB linear", EALinUCB(weight="linear", reading="reference")


@dataclass(frozen=True, slots=True)
class Shape:
    """Aggregate curves of the likes of a data set's 1,000 most active users."""

    by_item: np.ndarray
    """Likes of each item, most liked first."""
    by_user: np.ndarray
    """Likes of each user, most active first."""
    values: np.ndarray
    """Singular values of the binary matrix, largest first."""

    @classmethod
    def of(cls, ratings: Ratings) -> Shape:
        likes = binarise(sample_users(ratings, 1000, "active", 0), 4.0)
        A = np.zeros((likes.n_users, likes.n_items))
        A[likes.users, likes.items] = 1
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(A @ A.T)[::-1], 0))
        return cls(np.sort(A.sum(axis=0))[::-1], np.sort(A.sum(axis=1))[::-1], values)

    @property
    def density(self) -> float:
        return float(self.by_item.sum() / (len(self.by_item) * len(self.by_user)))


def gini(values: np.ndarray) -> float:
    """Return the Gini index: 0 if all are equal, towards 1 if one has all."""
    ascending, m = np.sort(values), len(values)
    return float((2 * np.arange(1, m + 1) - m - 1) @ ascending / (m * values.sum()))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1) -> str:
    """Return a Markdown table; after the first columns, `names`, numbers go to the right."""
    rule = ["---"] * names + ["---:"] * (len(head) - names)
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def span(values: Sequence[float], digits: int) -> str:
    """Return a value, or the smallest and the largest of several."""
    ends = sorted({f"{value:.{digits}f}" for value in (min(values), max(values))}, key=float)
    return " to ".join(ends)


def at_ranks(curve: np.ndarray, ranks: Sequence[int], digits: int = 0) -> list[str]:
    return [f"{curve[rank - 1]:.{digits}f}" if rank <= len(curve) else "-" for rank in ranks]


def print_shapes(shapes: dict[str, Shape]) -> None:
    head = ["1,000 most active users", *shapes]
    both = shapes.values()
    print(
        table(
            head,
            [
                ["items with a like", *[f"{len(s.by_item):,}" for s in both]],
                ["likes", *[f"{s.by_item.sum():,.0f}" for s in both]],
                ["density of likes", *[f"{s.density:.1%}" for s in both]],
                ["Gini index of likes over items", *[f"{gini(s.by_item):.3f}" for s in both]],
                ["Gini index of likes over users", *[f"{gini(s.by_user):.3f}" for s in both]],
            ],
        )
    )
    for title, ranks, curve in (
        ("likes of the item of rank", RANKS, "by_item"),
        ("likes of the user of rank", USER_RANKS, "by_user"),
        ("singular value number", VALUES, "values"),
    ):
        rows = [[name, *at_ranks(getattr(s, curve), ranks)] for name, s in shapes.items()]
        print(table([title, *[f"{rank:,}" for rank in ranks]], rows))


def print_environments(by_data: dict[str, list[Environment]]) -> None:
    def covered(env: Environment) -> np.ndarray:
        return np.bincount(env.optimum(1).slates.ravel(), minlength=len(env.items))

    rows = []
    for name, envs in by_data.items():
        rows.append(
            [
                name,
                span([float(env.optimum(1).values.mean()) for env in envs], 3),
                span([float(env.optimum(1).values.std()) for env in envs], 3),
                span([1 - gini(covered(env)) for env in envs], 3),
                span([float((covered(env) > 0).mean()) for env in envs], 2),
                span([env.info["items_with_zero_row"] for env in envs], 0),
            ]
        )
    head = ["optimal slates, d = 10, K = 10", "expected reward", "its sd over users"]
    print(table([*head, "Equality_B", "items in some slate", "items without features"], rows))


def print_policies(by_data: dict[str, list[Environment]], users: int, rounds: int) -> None:
    rows = []
    for label, policy in policies():
        for name, envs in by_data.items():
            some = [env.take(slice(0, users)) for env in envs]
            results = [
                simulate(env, policy, rounds=rounds, seed=seed, threads=1, checkpoints=1)
                for seed, env in enumerate(some)
            ]
            measured = [[float(getattr(r, m)) for r in results] for m in MEASURES]
            best = statistics.mean(r.clicks / r.optimal_value for r in results)
            cells = [
                span(v, 1 if m == "regret" else 3) for m, v in zip(MEASURES, measured, strict=True)
            ]
            rows.append([label, name, *cells, f"{best:.1%}"])
    head = ["policy", "data", "clicks", "regret", "Equality_B", "Equality_P", "of optimal clicks"]
    print(table(head, rows, names=2))


def draw(shapes: dict[str, Shape], path: Path) -> None:
    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    by_item, by_user, spectrum = figure.subplots(1, 3)
    for name, shape in shapes.items():
        line = {"color": COLORS[name], "label": name, "linewidth": 1.8, "alpha": 0.9}
        by_item.plot(np.arange(1, len(shape.by_item) + 1), shape.by_item, **line)
        by_user.plot(np.arange(1, len(shape.by_user) + 1), shape.by_user, **line)
        spectrum.plot(np.arange(1, 31), shape.values[:30], marker="o", markersize=3, **line)
    _finish(by_item, "item, most liked first", "likes", ticks=(1, 10, 100, 1000))
    _finish(by_user, "user, most active first", "likes", ticks=(200, 500, 1000))
    _finish(spectrum, "singular value number", "singular value", ticks=(30, 50, 100, 200, 300))
    by_item.legend(frameon=False, loc="upper right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})


def _finish(axes: Axes, across: str, up: str, *, ticks: Sequence[int]) -> None:
    axes.set_yscale("log")
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)


def main() -> None:
    """Compare, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", type=Path, required=True, help="ml-1m.zip, or its folder")
    parser.add_argument("--users", type=int, default=200, help="users that are served")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--figures", type=Path, default=Path("docs/figures"))
    given = parser.parse_args()
    real = load_dataset("ml-1m", path=given.path)
    shapes = {"MovieLens 1M": Shape.of(real), "synthetic": Shape.of(load_dataset("synthetic"))}
    print_shapes(shapes)
    draw(shapes, given.figures / "synthetic.png")
    seeds = range(given.seeds)
    by_data = {
        "MovieLens 1M": [
            Environment.from_ratings(real, seed=seed, world="paper") for seed in seeds
        ],
        "synthetic": [
            Environment.from_ratings(load_dataset("synthetic", seed=seed), seed=seed, world="paper")
            for seed in seeds
        ],
    }
    print_environments(by_data)
    print_policies(by_data, given.users, given.rounds)


if __name__ == "__main__":
    main()
