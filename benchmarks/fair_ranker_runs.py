"""Collect the runs of the study of fair rankers for docs/reproduction/fair-rankers/.

    faircascade reproduce fair-rankers --data ml-1m.tsv --out runs/fair-rankers/ml-1m
    python benchmarks/fair_ranker_runs.py ml-1m=runs/fair-rankers/ml-1m anime=...
    python benchmarks/fair_ranker_runs.py --costs        # time and memory: wants the machine alone

Each folder of runs is a data set of the page. Writes results.csv (a line for each policy,
environment and seed), trials.csv (every trial of the search) and costs.csv; lines of other data
sets stay.
`python docs/fair_rankers.py` then writes the page. A study that is not finished can be collected.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from faircascade.data.load import load_dataset
from faircascade.environment import Environment
from faircascade.experiment.bench.isolated_run import IsolatedRun
from faircascade.experiment.store.manifest import read_studies
from faircascade.experiment.study import Study
from faircascade.experiment.study_results import EnvironmentResults
from faircascade.experiment.tuning.every import without_grids
from faircascade.paper.specs import FAIR_RANKERS, find_specs

FOLDER = Path(__file__).parents[1] / "docs" / "reproduction" / "fair-rankers"
METRICS = ("clicks", "equality_b", "equality_p", "equity_b", "equity_p", "coverage", "tail_share")
WORST = "worst_tenth"
WHERE = ("dataset", "world", "users")
RESULTS = (*WHERE, "policy", "rounds", "seed", *METRICS, WORST)
TRIALS = (*WHERE, "policy", "trial", "values", "within", "chosen", "clicks_change", *METRICS[1:5])
COSTS = ("policy", "engine", "users", "items", "rounds", "threads", "slates_per_second", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="NAME=FOLDER")
    parser.add_argument("--costs", action="store_true", help="measure time and memory")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder of the page")
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    for each in asked.folders:
        dataset, _, folder = each.partition("=")
        collect(dataset, Path(folder), asked.to)
    if asked.costs:
        measure_costs(asked.to)


def collect(dataset: str, folder: Path, to: Path) -> None:
    """Take the runs and trials of a folder into the tables of the page."""
    studies = [study for study in read_studies(folder) if study.spec.name in FAIR_RANKERS]
    found = [line for study in studies for line in runs_of(dataset, study)]
    others = [line for line in read(to / "results.csv") if line["dataset"] != dataset]
    write(to / "results.csv", RESULTS, [*others, *found])
    tried = [line for study in studies for line in trials_of(dataset, study, folder)]
    others = [line for line in read(to / "trials.csv") if line["dataset"] != dataset]
    write(to / "trials.csv", TRIALS, [*others, *tried])
    print(f"{dataset}: {len(found)} runs, {len(tried)} trials")


def labels(name: str) -> list[str]:
    """Return what the policies of a study are called as written, before they are tuned."""
    (spec,) = find_specs([name])
    return [label for label, _, _ in without_grids(spec).lines()]


def where(dataset: str, environment: EnvironmentResults) -> dict[str, str]:
    given = environment.given
    return {"dataset": dataset, "world": given["world"], "users": given["click_model"]}


def runs_of(dataset: str, study: Study) -> Iterable[dict[str, Any]]:
    """Yield one line for each run, and for the baseline at the rounds of shorter policies."""
    (environment,) = study.environments
    whole = environment.over("eligible")
    baseline, longest = environment.baseline, environment.longest
    shorter = sorted({rounds for _, _, rounds in study.lines if rounds < longest})
    for label, (tuned, _, _) in zip(labels(study.spec.name), study.lines, strict=True):
        for place, run in enumerate(environment.runs[tuned]):
            for rounds in (run.rounds, *(shorter if tuned == baseline else ())):
                ended = rounds == run.rounds
                worst = whole.runs[tuned][place].value(WORST) if ended else math.nan
                values = {metric: run.value(metric, rounds) for metric in METRICS} | {WORST: worst}
                yield {
                    **where(dataset, environment),
                    "policy": label,
                    "rounds": rounds,
                    "seed": run.seed,
                    **{metric: f"{value:.6g}" for metric, value in values.items()},
                }


def trials_of(dataset: str, study: Study, folder: Path) -> Iterable[dict[str, Any]]:
    """Yield one line for each trial, with means over the seeds of the search."""
    (environment,) = study.environments
    for line in read(folder / f"{study.spec.name}-trials.csv"):
        cells = [json.loads((folder / "cells" / key / "cell.json").read_text())
                 for key in line["cells"].split()]  # fmt: skip
        if line["failure"] or not cells:
            continue
        change = 100.0 * (float(line["clicks"]) / float(line["baseline_clicks"]) - 1.0)
        yield {
            **where(dataset, environment),
            **{name: line[name] for name in ("policy", "trial", "values", "within", "chosen")},
            "clicks_change": f"{change:.4g}",
            **{m: f"{mean([cell['metrics'][m] for cell in cells]):.5g}" for m in METRICS[1:5]},
        }


def measure_costs(to: Path) -> None:
    """Measure every policy that is not in the table yet, in a process of its own, with the
    strengths that it has as written."""
    data = load_dataset("synthetic", users=1000, items=2800)
    env = Environment.from_ratings(data, dim=10, k=10, topics="factors")
    found: list[Mapping[str, Any]] = [*read(to / "costs.csv")]
    (spec,) = find_specs(["fair-rankers-popular-cascade"])
    for label, policy, limit in without_grids(spec).lines():
        if any(line["policy"] == label for line in found):
            continue
        slow = limit < spec.rounds
        run = IsolatedRun(
            case="fair rankers",
            environment=lambda: env,
            policy=policy,
            rounds=3 if slow else 60,
            engine="loop" if slow else "cpu",
            threads=2,
        )
        measured = run.measure()
        found.append(
            {
                "policy": label,
                "engine": policy_engine(measured.engine),
                **{n: getattr(measured, n) for n in ("users", "items", "rounds", "threads")},
                "slates_per_second": f"{measured.per_second:.0f}",
                "memory": f"{(measured.peak_memory or 0) / 2**20:.0f}",
            }
        )
        write(to / "costs.csv", COSTS, found)
        print(found[-1], flush=True)


def policy_engine(words: str) -> str:
    """Return the engine alone."""
    return words.partition(",")[0]


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def read(path: Path) -> list[dict[str, str]]:
    """Return the lines of a table; there are none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(lines)


if __name__ == "__main__":
    main()
