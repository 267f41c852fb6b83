"""faircascade demo: the whole idea on the embedded data, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faircascade.cli.console import print_json, progress, remark
from faircascade.cli.tables import print_comparison
from faircascade.readings import Reading

READING: Reading = "intended"


def demo(
    users: Annotated[int, typer.Option(help="Users to serve, of the 1,000 in the data.")] = 120,
    rounds: Annotated[int, typer.Option(help="How often each is served.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the data's split and of the run.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("runs/demo"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare LinUCB with the exposure-aware bandit on the embedded synthetic data."""
    import numpy as np

    import faircascade as fc
    from faircascade.experiment.store import document, save_comparison

    env = fc.Environment.from_ratings(fc.load_dataset("synthetic"), seed=seed)
    if not 1 <= users <= len(env.users):
        raise ValueError(f"users must be between 1 and {len(env.users)}, got {users}")
    served = env.take(np.linspace(0, len(env.users) - 1, users).astype(np.int64))
    remark(
        f"Synthetic data: serving {users:,} of {len(env.users):,} users from {len(env.items):,} "
        f"items, {env.k} a list, {rounds:,} rounds.\n"
        f"EALinUCB in the reading '{READING}': a click low in the list counts more."
    )
    weights = ("log", "rbp", "linear")
    policies = [
        fc.LinUCB(reading=READING),
        *(fc.EALinUCB(weight=weight, reading=READING) for weight in weights),
    ]
    with progress("Simulating") as report:
        comparison = fc.compare(served, policies, rounds=rounds, seeds=[seed], progress=report)
    save_comparison(comparison, out)
    page = fc.write_report(
        comparison,
        out,
        title="Who gets seen? LinUCB and EALinUCB on synthetic data",
        notes=[
            f"Reading '{READING}': rewards rise with the position of the click and penalties fall, "
            "so that both criteria of the paper hold."
        ],
    )
    if as_json:
        print_json(document(comparison))
    else:
        print_comparison(comparison)
    if comparison.interrupted:
        remark(f"Stopped early: the results cover the {comparison.rounds:,} rounds all finished.")
    remark(f"Report: {page}")
