"""faircascade compare: several policies on one data set, with defaults for everything."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.comparison_output import tell_comparison, write_comparison
from faircascade.cli.console import counted, remark
from faircascade.cli.data import dataset_or_file, read_ratings, tell_of_ratings
from faircascade.cli.options import (
    AsJson,
    ClickModelName,
    ClickRate,
    DataName,
    DataPath,
    Dim,
    EngineName,
    ItemsOver,
    OtherParameters,
    OwnComponents,
    SlateLength,
    Threads,
    WorldName,
)
from faircascade.cli.policy_options import sort_comparison_settings
from faircascade.errors import ParameterError
from faircascade.progress import progress
from faircascade.storage import check_folder, free_folder

if TYPE_CHECKING:
    from faircascade.data.base import Ratings
    from faircascade.environment import Environment

USERS, ROUNDS, SEEDS = 300, 1000, 2
"""What a first picture needs: seconds, once the engine is compiled."""


def compare(
    data: DataName = "synthetic",
    path: DataPath = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="Policy, or POLICY(parameter=value, ...): {policy}. May be repeated; the first "
            "is the baseline.",
            show_default="linucb, linucb(alpha=0.0625), ealinucb, most-popular",
        ),
    ] = None,
    users: Annotated[
        int | None, typer.Option(help="Users to sample, the most active.", show_default=str(USERS))
    ] = None,
    dim: Dim = 10,
    k: SlateLength = 10,
    world: WorldName = None,
    click_rate: ClickRate = None,
    click_model: ClickModelName = None,
    rounds: Annotated[int, typer.Option(help="Slates for each user.")] = ROUNDS,
    seeds: Annotated[int, typer.Option(help="How many splits and runs of each policy.")] = SEEDS,
    engine: EngineName = "auto",
    threads: Threads = None,
    settings: OtherParameters = None,
    over: ItemsOver = "catalogue",
    components: OwnComponents = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results and report.", show_default="runs/DATA-compare"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare policies on a data set or a file: table and report.

    `--set alpha=0.5` is for all policies that have the parameter, `--set ealinucb.alpha=0.5` for
    one of them. Ctrl-C keeps the policies and seeds that were finished.
    """
    import faircascade as fc
    from faircascade.engine.simulation import check_engine
    from faircascade.environment.environment import part_words
    from faircascade.experiment.comparison import POLICIES
    from faircascade.experiment.comparison_inputs import distinct_labels, seeds_of
    from faircascade.metrics.tally import check_over

    flags = locals()
    check_engine(engine)
    items = check_over(over)
    data, which = dataset_or_file(data), seeds_of(seeds)
    chosen, extra = sort_comparison_settings(settings or [], flags, policy or POLICIES, data)
    distinct_labels(chosen)
    if rounds < 1:
        raise ParameterError("--rounds", "must be at least 1", rounds)
    ratings = read_ratings(data, path, extra["data"])
    asked: dict[str, Any] = {
        "dim": dim,
        "k": k,
        "users": USERS if users is None else users,
    }
    asked |= extra["environment"]

    @cache
    def environment(seed: int) -> Environment:
        return fc.Environment.from_ratings(ratings, **({"seed": seed} | asked))

    typed = extra["environment"].get("users", users)
    tell_of_ratings(ratings, typed, [extra["environment"].get("threshold")])
    env = environment(which[0])
    folder = check_folder(out or free_folder(f"{Path(data).stem}-compare"))
    runs = (
        f"{counted(len(chosen), 'policy')} x {counted(seeds, 'seed')} x {counted(rounds, 'round')}"
    )
    people = _sampled(env, ratings)
    remark(
        f"{ratings.name}: {people}, {len(env.items):,} items, slates of {env.k}"
        f"{part_words(env.part_specs)}; {runs} "
        "(--users, --seeds and --rounds change that)"
    )
    with progress("Comparing") as report:
        comparison = fc.compare(
            environment,
            chosen,
            rounds=rounds,
            seeds=which,
            progress=report,
            engine=engine,
            threads=threads,
            **extra["simulate"],
        )
    comparison = comparison.measured(items)
    by_default = typed is None and len(env.users) < ratings.n_users
    notes = [f"Simulated are {people}."] if by_default else []
    page = write_comparison(comparison, folder, notes=notes)
    tell_comparison(comparison, page, as_json)


def _sampled(env: Environment, ratings: Ratings) -> str:
    """Say how many users were taken, and which."""
    taken = f"{len(env.users):,}"
    if len(env.users) < ratings.n_users and env.info["sampling"] == "active":
        taken = f"the {taken} most active"
    return f"{taken} of {ratings.n_users:,} users"
