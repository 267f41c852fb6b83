"""faircascade simulate: one policy on one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import print_json, progress, remark
from faircascade.cli.data import showing
from faircascade.cli.settings import sort_settings
from faircascade.cli.tables import print_summary
from faircascade.registry import build
from faircascade.storage import check_folder

if TYPE_CHECKING:
    from faircascade.policies import Policy

_POLICY_FLAGS = (
    "weight",
    "beta",
    "gamma",
    "reading",
    "alpha",
    "epsilon",
    "scale",
    "sigma",
    "ridge",
)


def simulate(
    data: Annotated[str, typer.Option(help="A data set's name, or a file.")] = "synthetic",
    path: Annotated[Path | None, typer.Option(help="Archive or folder of the data set.")] = None,
    users: Annotated[int, typer.Option(help="Users in the sample.")] = 1000,
    sampling: Annotated[str, typer.Option(help="active or random users.")] = "active",
    dim: Annotated[int, typer.Option(help="Number of features, d.")] = 10,
    k: Annotated[int, typer.Option(help="Length of a list, K.")] = 10,
    preferences: Annotated[str, typer.Option(help="svd or lstsq.")] = "svd",
    align: Annotated[str, typer.Option(help="sign, none or procrustes.")] = "sign",
    policy: Annotated[str, typer.Option(help="linucb, ealinucb, lints, random, ...")] = "ealinucb",
    weight: Annotated[
        str | None, typer.Option(help="log, rbp, linear; or --set weight=[1,2,...].")
    ] = None,
    beta: Annotated[float | None, typer.Option(help="Parameter of rbp and linear.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Penalty of ignored items.")] = None,
    reading: Annotated[str | None, typer.Option(help="paper, intended or reference.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Width of the UCB bonus.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Share of random positions.")] = None,
    scale: Annotated[float | None, typer.Option(help="Spread of Thompson sampling.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    ridge: Annotated[float | None, typer.Option(help="Regularisation.")] = None,
    rounds: Annotated[int, typer.Option(help="How often each user is served.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the run.")] = 0,
    env_seed: Annotated[int | None, typer.Option(help="Seed of the split alone.")] = None,
    engine: Annotated[str, typer.Option(help="auto, cpu or loop.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write who saw what to Parquet.")] = None,
    no_propensities: Annotated[
        bool, typer.Option("--no-propensities", help="A trace without propensities: faster.")
    ] = False,
    propensity_draws: Annotated[
        int, typer.Option(help="Draws of each list to estimate unknown propensities by.")
    ] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="name=value for any other parameter.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for results and report.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Simulate one policy and print clicks, regret and exposure fairness."""
    import faircascade as fc
    from faircascade.experiment.comparison import Comparison
    from faircascade.experiment.store.comparisons import save_comparison

    flags = locals()
    if out is not None:
        check_folder(out)
    extra = sort_settings(settings or [], policy, data)
    chosen: Policy = build(
        "policy",
        policy,
        {name: flags[name] for name in _POLICY_FLAGS if flags[name] is not None} | extra["policy"],
    )
    with showing() as report:
        ratings = fc.load_dataset(data, path=path, progress=report, **extra["data"])
    world: dict[str, Any] = {
        "dim": dim,
        "k": k,
        "users": users,
        "sampling": sampling,
        "preferences": preferences,
        "align": align,
        "seed": seed if env_seed is None else env_seed,
    }
    env = fc.Environment.from_ratings(ratings, **(world | extra["environment"]))
    for note in ratings.notes:
        remark(note)
    with progress(f"Simulating {chosen.label}") as tell:
        result = fc.simulate(
            env,
            chosen,
            rounds=rounds,
            seed=seed,
            engine=engine,
            threads=threads,
            trace=trace,
            propensities=not no_propensities,
            propensity_draws=propensity_draws,
            progress=lambda share: tell("", share),
            **extra["simulate"],
        )
    if out is not None:
        comparison = Comparison({chosen.label: (result,)}, interrupted=result.interrupted)
        save_comparison(comparison, out)
        remark(f"Report: {fc.write_report(comparison, out, title=f'{chosen.label} on {data}')}")
    if result.interrupted:
        remark(f"Stopped early: the result covers the {result.rounds:,} rounds all users finished.")
    if as_json:
        print_json(result.summary())
    else:
        print_summary(result.summary())
