"""faircascade demo: the whole idea on the embedded data, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faircascade.cli.comparison_output import tell_comparison, write_comparison
from faircascade.cli.console import remark
from faircascade.errors import ParameterError
from faircascade.progress import progress
from faircascade.storage import check_folder


def demo(
    users: Annotated[int, typer.Option(help="Users to serve, at most 1,000.")] = 500,
    rounds: Annotated[int, typer.Option(help="Slates for each user.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the data's split and of the run.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("runs/demo"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare ways to share exposure on embedded data."""
    import numpy as np

    import faircascade as fc

    check_folder(out)
    env = fc.Environment.from_ratings(fc.load_dataset("synthetic"), seed=seed)
    if not 1 <= users <= len(env.users):
        raise ParameterError("users", f"must be between 1 and {len(env.users)}", users)
    served = env.take(np.linspace(0, len(env.users) - 1, users).astype(np.int64))
    people = f"{users:,}" if users == len(env.users) else f"{users:,} of {len(env.users):,}"
    remark(
        f"Synthetic data: serving {people} users from {len(env.items):,} items, slates of {env.k}, "
        f"{rounds:,} rounds.\n"
        "Popular items attract more users here, so a learner shows little else. EALinUCB counts a "
        "click low in the slate more,\nmerit-draws draws slates in proportion to merit; a smaller "
        "alpha explores less."
    )
    policies = [
        fc.LinUCB(),
        fc.LinUCB(alpha=0.0625),
        fc.EALinUCB(),
        fc.FRMLinUCB(variant="merit-draws"),
    ]
    with progress("Simulating") as report:
        comparison = fc.compare(served, policies, rounds=rounds, seeds=[seed], progress=report)
    page = write_comparison(
        comparison,
        out,
        title="Who gets seen? Four policies on synthetic data",
        notes=[f"{people} users were served. Popular items attract more of them."],
    )
    tell_comparison(comparison, page, as_json)
