"""faircascade simulate: one policy on one data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from faircascade.cli.comparison_output import write_comparison
from faircascade.cli.console import print_json, remark
from faircascade.cli.data import dataset_or_file, read_ratings, tell_of_ratings
from faircascade.cli.options import (
    Alpha,
    Beta,
    ClickModelName,
    ClickRate,
    DataName,
    DataPath,
    DelayName,
    Dim,
    DynamicsName,
    EngineName,
    Epsilon,
    Gamma,
    ItemsOver,
    OtherParameters,
    OwnComponents,
    PolicyName,
    ReadingName,
    Ridge,
    Scale,
    Sigma,
    SlateLength,
    Weight,
    WorldName,
)
from faircascade.cli.policy_options import DEFAULT_POLICY, sort_settings
from faircascade.cli.run_output import STOPPED
from faircascade.progress import progress
from faircascade.registry import build, components
from faircascade.storage import check_folder


def simulate(
    data: DataName = "synthetic",
    path: DataPath = None,
    users: Annotated[int | None, typer.Option(help="Users to sample.", show_default="1000")] = None,
    sampling: Annotated[
        str, typer.Option(help="Which users: active (most ratings) or random.")
    ] = "active",
    dim: Dim = 10,
    k: SlateLength = 10,
    world: WorldName = None,
    click_rate: ClickRate = None,
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
    rounds: Annotated[int, typer.Option(help="Slates for each user.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the run.")] = 0,
    env_seed: Annotated[int | None, typer.Option(help="Seed of the split alone.")] = None,
    engine: EngineName = "auto",
    precision: Annotated[
        str, typer.Option(help="float64, or on a GPU float32 (faster, less exact).")
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
        int, typer.Option(help="Draws per slate to estimate propensities that are not exact.")
    ] = 0,
    settings: OtherParameters = None,
    over: ItemsOver = "catalogue",
    components: OwnComponents = None,
    out: Annotated[Path | None, typer.Option(help="Folder for results and report.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Simulate one policy: clicks, regret, exposure fairness."""
    import faircascade as fc
    from faircascade.engine.simulation import check_engine
    from faircascade.experiment.comparison import Comparison
    from faircascade.metrics.tally import check_over

    flags = locals()
    check_engine(engine, precision)
    items = check_over(over)
    if trace is None and (no_propensities or propensity_draws):
        option = "--no-propensities" if no_propensities else "--propensity-draws"
        raise ValueError(f"{option} needs --trace FILE, where propensities are written")
    if out is not None:
        check_folder(out)
    policy, data = policy or DEFAULT_POLICY, dataset_or_file(data)
    extra = sort_settings(settings or [], flags, policy, data)
    chosen = build("policy", policy, extra["policy"])
    ratings = read_ratings(data, path, extra["data"])
    environment: dict[str, Any] = {
        "dim": dim,
        "k": k,
        **({} if users is None else {"users": users}),
        "sampling": sampling,
        "seed": seed if env_seed is None else env_seed,
    }
    env = fc.Environment.from_ratings(ratings, **(environment | extra["environment"]))
    tell_of_ratings(
        ratings, extra["environment"].get("users", users), [extra["environment"].get("threshold")]
    )
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
        comparison = Comparison.of(result).measured(items)
        title = f"{chosen.label} on {data}"
        remark(f"Report: {write_comparison(comparison, out, title=title)}")
    if result.interrupted:
        remark(f"Stopped early: the result covers the {result.rounds:,} rounds all users finished.")
    if as_json:
        print_json(result.summary(over=items))
    else:
        print_summary(result.summary(over=items))
    if result.interrupted:
        raise typer.Exit(STOPPED)


def print_summary(summary: dict[str, Any]) -> None:
    """Print the result of one run, one line per metric."""
    from faircascade.engine import HEADLINE
    from faircascade.environment.environment import part_words

    typer.echo(
        f"{summary['label']} on {summary['data']}: {summary['users']:,} users, "
        f"{summary['items']:,} items ({summary['eligible']:,} eligible), "
        f"d={summary['dim']}, k={summary['k']}{part_words(summary['environment'])}, "
        f"{summary['rounds']:,} rounds, "
        f"seed {summary['seed']}"
        + ("; fairness over eligible items" if summary["over"] == "eligible" else "")
    )
    others = [name for name in components("metric") if name not in HEADLINE]
    realised = ["realised_regret"] if "realised_regret" in summary else []
    for metric in (*HEADLINE, *realised, "optimal_value", *others):
        value = summary[metric]
        why = f"–  ({summary['missing'].get(metric, 'unknown')})"
        other = metric == "optimal_value" and not summary["value_is_clicks"]
        note = "  (not clicks, but what the click model values)" if other else ""
        typer.echo(f"  {metric:<16} {why if value is None else f'{value:.4f}{note}'}")
    typer.echo(
        f"  {summary['seconds']:.1f} s, {summary['recommendations_per_second']:,.0f} "
        f"recommendations/s (engine {summary['engine']})"
    )
