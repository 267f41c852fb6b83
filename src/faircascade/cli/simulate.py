"""faircascade simulate: one policy on one data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from faircascade.cli.console import print_json, progress, remark
from faircascade.cli.data import showing
from faircascade.cli.options import (
    Alpha,
    Beta,
    ClickModelName,
    DelayName,
    DynamicsName,
    Epsilon,
    Gamma,
    OtherParameters,
    PolicyName,
    ReadingName,
    Ridge,
    Scale,
    Sigma,
    Weight,
)
from faircascade.cli.policy_options import (
    DEFAULT_POLICY,
    ENVIRONMENT_FLAGS,
    policy_of,
    sort_settings,
)
from faircascade.cli.tables import print_summary
from faircascade.storage import check_folder


def simulate(
    data: Annotated[str, typer.Option(help="A data set's name, or a file.")] = "synthetic",
    path: Annotated[Path | None, typer.Option(help="Archive or folder of the data set.")] = None,
    users: Annotated[int, typer.Option(help="Users in the sample.")] = 1000,
    sampling: Annotated[str, typer.Option(help="active or random users.")] = "active",
    dim: Annotated[int, typer.Option(help="Number of features, d.")] = 10,
    k: Annotated[int, typer.Option(help="Length of a list, K.")] = 10,
    preferences: Annotated[str, typer.Option(help="svd or lstsq.")] = "svd",
    align: Annotated[str, typer.Option(help="sign, none or procrustes.")] = "sign",
    click_model: ClickModelName = None,
    dynamics: DynamicsName = None,
    delay: DelayName = None,
    policy: PolicyName = None,
    weight: Weight = None,
    beta: Beta = None,
    gamma: Gamma = None,
    reading: ReadingName = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    scale: Scale = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    rounds: Annotated[int, typer.Option(help="How often each user is served.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the run.")] = 0,
    env_seed: Annotated[int | None, typer.Option(help="Seed of the split alone.")] = None,
    engine: Annotated[str, typer.Option(help="auto, gpu, cpu or loop.")] = "auto",
    precision: Annotated[
        str, typer.Option(help="float64, or float32 on a GPU (faster, less exact).")
    ] = "float64",
    threads: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write every slate and click to this Parquet file.")
    ] = None,
    no_propensities: Annotated[
        bool,
        typer.Option("--no-propensities", help="Leave propensities out of the trace (faster)."),
    ] = False,
    propensity_draws: Annotated[
        int, typer.Option(help="Draws per slate to estimate unknown propensities.")
    ] = 0,
    settings: OtherParameters = None,
    out: Annotated[Path | None, typer.Option(help="Folder for results and report.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Simulate one policy and print clicks, regret and exposure fairness."""
    import faircascade as fc
    from faircascade.engine.simulation import check_engine
    from faircascade.experiment.comparison import Comparison
    from faircascade.experiment.store.tables import save_comparison

    flags = locals()
    check_engine(engine, precision)
    if out is not None:
        check_folder(out)
    policy = policy or DEFAULT_POLICY
    named = [name for name in ENVIRONMENT_FLAGS if flags[name] is not None]
    parts = [f"environment.{name}={flags[name]}" for name in named]
    extra = sort_settings([*parts, *(settings or [])], policy, data)
    chosen = policy_of(policy, flags, extra["policy"])
    with showing() as report:
        ratings = fc.load_dataset(data, path=path, progress=report, **extra["data"])
    environment: dict[str, Any] = {
        "dim": dim,
        "k": k,
        "users": users,
        "sampling": sampling,
        "preferences": preferences,
        "align": align,
        "seed": seed if env_seed is None else env_seed,
    }
    env = fc.Environment.from_ratings(ratings, **(environment | extra["environment"]))
    for note in ratings.notes:
        remark(note)
    with progress(f"Simulating {chosen.label}") as tell:
        result = fc.simulate(
            env,
            chosen,
            rounds=rounds,
            seed=seed,
            engine=engine,
            precision=precision,
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
    if result.interrupted:
        raise typer.Exit(130)
