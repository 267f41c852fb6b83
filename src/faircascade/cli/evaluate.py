"""faircascade evaluate: what other policies would have got in a click log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.log_options import LogFile, LogSettings, open_log, with_log_options
from faircascade.cli.options import AsJson, OwnComponents
from faircascade.errors import ParameterError
from faircascade.registry import as_component
from faircascade.storage import free_folder, results_folder

if TYPE_CHECKING:
    from faircascade.data.log import Log
    from faircascade.evaluation.results import Evaluation, PolicyEvaluation


@with_log_options
def evaluate(
    log: LogFile,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="Policy, or POLICY(parameter=value, ...): {policy}. May be repeated.",
        ),
    ] = None,
    frozen: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Ranker with what it learned (.npz). May be repeated."),
    ] = None,
    policy_slate: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Your policy's probabilities of whole slates."),
    ] = None,
    policy_cascade: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Of the items down to each position."),
    ] = None,
    policy_item_position: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of each item at its position.")
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Table of items: an id, and features as numbers or vectors."
        ),
    ] = None,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            help="Estimator; the verdict rests on the first. May be repeated.", show_default="all"
        ),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Let policies learn from the log as they go.")
    ] = False,
    matches: Annotated[
        bool,
        typer.Option("--matches", help="With --replay: learn only where their slates agree."),
    ] = False,
    warm_up: Annotated[
        float, typer.Option(help="Share of the log that policies learn from before they stop.")
    ] = 0.5,
    precision: Annotated[
        float, typer.Option(help="Half-width of an interval that is enough, as a share of clicks.")
    ] = 0.1,
    behaviour: Annotated[
        str, typer.Option(help="Of users, for AIPS: standard, cascade, independent or estimated.")
    ] = "estimated",
    click_model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Position-based model that 'faircascade fit --model pbm --out FILE' wrote.",
            show_default="counted from the log",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of what policies draw.")] = 0,
    components: OwnComponents = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page; default: runs/evaluation.")
    ] = None,
    as_json: AsJson = False,
    *,
    log_settings: LogSettings,
) -> None:
    """Estimate what other policies would have got in a click log.

    Policies that learn do so from the first half of the log and are evaluated on the rest.
    """
    import faircascade as fc
    from faircascade.cli.data import showing
    from faircascade.report import write_evaluation

    if matches and not replay:
        raise ParameterError("--matches", "needs --replay", matches)
    policies: list[Any] = [*(policy or ()), *(frozen or ())]
    given: dict[str, Any] = {
        "slate": policy_slate,
        "cascade": policy_cascade,
        "item_position": policy_item_position,
    }
    if any(given.values()):
        policies.append(fc.Probabilities(**given))
    if not policies:
        rule = "must be given, or --frozen FILE, or columns of its probabilities"
        raise ParameterError("--policy", rule, None)
    for text in policy or ():
        if text.endswith(".npz"):
            rule = "must be a policy by name; for the file of a ranker there is --frozen"
            raise ParameterError("--policy", rule, text)
        as_component("policy", text)
    opened = open_log(log, log_settings)
    said = opened.notes
    _check_columns(opened, given)
    with results_folder(free_folder("evaluation") if out is None else out) as folder:
        with showing() as report:
            found = fc.evaluate(
                opened,
                policies,
                items=items,
                estimators=estimator,
                replay=("matches" if matches else "log") if replay else None,
                warm_up=warm_up,
                precision=precision,
                behaviour=behaviour,
                click_model=click_model,
                seed=seed,
                progress=report,
            )
        page = write_evaluation(found, folder)
    if as_json:
        print_json({"page": str(page), **found.to_dict()})
        return
    for note in found.notes:
        if note not in said:
            remark(f"Note: {note}")
    _print(found)
    remark(f"Page: {page}")


def _check_columns(log: Log, given: dict[str, str | None]) -> None:
    """Refuse columns of probabilities that are not there, by the names of their options."""
    from faircascade.data.base import DataError

    for kind, column in given.items():
        try:
            log.with_propensities(**{kind: column})
        except DataError as error:
            words = str(error).replace(f"({kind}_propensity=)", f"(policy_{kind}=)")
            raise DataError(words) from None


def _print(found: Evaluation) -> None:
    typer.echo(
        f"{found.log}: {found.impressions:,} impressions evaluated, {found.users:,} users, "
        f"{found.items:,} items, {found.clicks:.4f} clicks per slate"
    )
    for policy in found.policies:
        typer.echo(f"\n{policy.label}, {policy.how}.\n{policy.verdict}")
        _print_policy(policy)


def _print_policy(policy: PolicyEvaluation) -> None:
    from faircascade.evaluation.results import between, estimate_rows
    from faircascade.report.numbers import share

    rows = estimate_rows(policy)
    print_table(
        ["Estimator", "Assumes", "Clicks", "95% interval"], _last(rows), numbers=True, names=2
    )
    rows = [
        [one.title, one.how, f"{one.value:.4f}", between(one.low, one.high)]
        for one in policy.equality
    ]
    if rows:
        print_table(["Exposure", "How", "Estimate", "95% interval"], rows, numbers=True, names=2)
    rows = [
        [
            overlap.kind.replace("_", " "),
            f"{100 * min(overlap.mass, 1.0):.0f}%",
            f"{overlap.effective:,.0f}",
            f"{overlap.largest:,.1f}",
            share(overlap.top_share),
        ]
        for overlap in policy.overlaps
    ]
    if rows:
        heads = ["Weights of", "Could be shown", "Effective", "Largest", "Top 1%"]
        print_table(heads, rows, numbers=True)
    for note in policy.notes:
        remark(f"Note: {note}")


def _last(rows: list[list[str]]) -> list[list[str]]:
    """Put numbers behind words."""
    return [[title, words, value, interval] for title, value, interval, words in rows]
