"""faircascade theory: what Theorem 1 of the paper says about a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import print_json, print_table
from faircascade.cli.options import Alpha, Beta, Gamma, ReadingName, Sigma
from faircascade.errors import ParameterError, check_choice
from faircascade.registry import build, components, to_spec

if TYPE_CHECKING:
    from faircascade.policies import Policy
    from faircascade.theory import Conditions


def theory(
    dim: Annotated[int, typer.Option(help="Number of features, d.")] = 10,
    k: Annotated[int, typer.Option(help="Length of a slate, K.")] = 10,
    rounds: Annotated[int, typer.Option(help="Slates for each user, n.")] = 50_000,
    weight: Annotated[
        str | None,
        typer.Option(help="Weight of positions: log, rbp, linear or none (LinUCB); default: all."),
    ] = None,
    beta: Beta = None,
    gamma: Gamma = None,
    alpha: Alpha = None,
    sigma: Sigma = None,
    reading: ReadingName = None,
    theta_norm: Annotated[float, typer.Option(help="Largest |theta*| of any user.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check whether the paper's regret bound applies, and compute it."""
    from faircascade.theory import check

    given = {"beta": beta, "gamma": gamma, "alpha": alpha, "sigma": sigma, "reading": reading}
    found = [
        (policy, check(policy, dim=dim, k=k, rounds=rounds, theta_norm=theta_norm))
        for policy in _policies(
            weight, {n: value for n, value in given.items() if value is not None}
        )
    ]
    if as_json:
        documents = [
            {"policy": policy.label, "parameters": to_spec(policy), **checked.to_dict()}
            for policy, checked in found
        ]
        print_json(documents if weight is None else documents[0])
    elif weight is None:
        _print_all(found)
    else:
        _print_one(*found[0])


def _policies(weight: str | None, parameters: dict[str, Any]) -> list[Policy]:
    """Return the UCB policy with that weight, or LinUCB and one for each weight of the paper."""
    if weight is None:
        if "beta" in parameters:
            raise ParameterError("beta", "must come with --weight", parameters["beta"])
        plain = {name: value for name, value in parameters.items() if name != "gamma"}
        weighed = [_policies(name, parameters)[0] for name in ("log", "rbp", "linear")]
        return [*_policies("none", plain), *weighed]
    if weight == "none":
        return [build("policy", "linucb", parameters)]
    check_choice("weight", weight, ("none", *components("weight")))
    return [build("policy", "ealinucb", {"weight": weight, **parameters})]


def _print_all(found: list[tuple[Policy, Conditions]]) -> None:
    """Print a line for each policy."""
    rows = [
        [
            policy.label,
            f"{checked.alpha:g}",
            f"{checked.alpha_min:.2f}",
            f"{checked.gamma:g}",
            f"{checked.gamma_max:.4f}",
            f"{checked.bound_at_alpha_min:,.0f}",
            f"{checked.rounds:,}",
            ", ".join(c.name for c in checked.conditions if not c.met) or "–",
        ]
        for policy, checked in found
    ]
    headers = ["Policy", "alpha", "alpha_min", "gamma", "gamma_max", "Bound at alpha_min", "n"]
    print_table([*headers, "Not met"], rows, numbers=True)
    limited = [policy.label for policy, checked in found if checked.met and not checked.vacuous]
    typer.echo(
        f"The theorem limits the regret of {', '.join(limited) or 'none of them'}: "
        "use --weight NAME for the reasons."
    )


def _print_one(policy: Policy, checked: Conditions) -> None:
    """Print the numbers, the conditions and what follows."""
    typer.echo(
        f"{policy.label}: d={checked.dim}, k={checked.k}, {checked.rounds:,} rounds, "
        f"sigma={checked.sigma:g}, alpha={checked.alpha:g}, gamma={checked.gamma:g}, "
        f"reading {getattr(policy, 'reading', 'paper')}"
    )
    numbers = {
        "alpha_min": f"{checked.alpha_min:.4f}",
        "gamma_max": f"{checked.gamma_max:.4f}",
        "bound at alpha": _with_start(checked.bound, checked.informative_from)
        + ("; valid from alpha_min on" if checked.alpha < checked.alpha_min else ""),
        "bound at alpha_min": _with_start(
            checked.bound_at_alpha_min, checked.informative_from_at_alpha_min
        ),
        "n": f"{checked.rounds:,}",
    }
    for name, text in numbers.items():
        typer.echo(f"  {name:<19} {text}")
    rows = [[c.name, c.rule, "met" if c.met else "not met", c.reason] for c in checked.conditions]
    print_table(["Condition", "Rule", "", "Why not"], rows)
    typer.echo(checked.verdict)


def _with_start(bound: float, start: int | None) -> str:
    when = "not within reach" if start is None else f"from round {start:,}"
    return f"{bound:,.0f} (below n: {when})"
