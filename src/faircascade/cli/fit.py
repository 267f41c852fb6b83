"""faircascade fit: click models fitted to a log, and the one that predicts best."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.log_options import LogFile, LogSettings, defaults, open_log, with_log_options
from faircascade.errors import ParameterError
from faircascade.progress import progress
from faircascade.storage import can_be_written

if TYPE_CHECKING:
    from faircascade.fitting import Candidate, FittedClickModel

_MOST_POSITIONS = 20
"""Positions that are printed."""
_OF_COUNTS = {
    "impression": "impressions",
    "click": "clicks",
    **{
        name: name
        for name in (
            "item", "position", "context", "first_position", "member", "sep", "encoding",
        )
    },
}  # fmt: skip
"""Options of a log that counts have, and what they are called there."""


@with_log_options
def fit(
    log: LogFile,
    model: Annotated[
        str,
        typer.Option(help="cascade, dcm, sdbn, dbn, pbm, ubm or ccm, or auto, which fits all."),
    ] = "auto",
    method: Annotated[
        str, typer.Option(help="em, or counting (cascade, dcm, sdbn): quick and less exact.")
    ] = "em",
    held_out: Annotated[
        float, typer.Option(help="Share of the users that models are compared by.")
    ] = 0.2,
    smoothing: Annotated[
        float, typer.Option(help="Imagined impressions for each parameter; 0 for none.")
    ] = 1.0,
    iterations: Annotated[int, typer.Option(help="Steps of EM at most.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of what is held out.")] = 0,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Rows are impressions and clicks of an item at a position (--impression, --click "
            "name their columns).",
        ),
    ] = False,
    excess: Annotated[
        str,
        typer.Option(help="With --counts: refuse or cap more clicks than impressions."),
    ] = "refuse",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the fitted model as JSON.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    *,
    log_settings: LogSettings,
) -> None:
    """Fit click models to a log, and choose the best predictor."""
    from faircascade.fitting import fit_click_model

    options: dict[str, Any] = {"method": method, "held_out": held_out, "smoothing": smoothing}
    if out is not None and out.is_dir():
        raise ParameterError("out", "must be a file", str(out))
    if out is not None and not can_be_written(out):
        raise ParameterError("out", "must be in a folder that can be written to", str(out))
    if out is not None and out.exists() and log.exists() and out.samefile(log):
        raise ParameterError("out", "must not be the log itself", str(out))
    if excess != "refuse" and not counts:
        raise ParameterError("excess", "must come with --counts", excess)
    source = _counts(log, log_settings, excess) if counts else open_log(log, log_settings)
    with progress("fit") as report:
        found = fit_click_model(
            source,
            model,
            **options,
            iterations=iterations,
            seed=seed,
            progress=lambda label, done, of: report(label, done / of if of else 0.0),
        )
    if as_json:
        document = found.document()
        del document["entries"]
        print_json(document)
    else:
        _print(found, [] if counts else source.notes)
    if out is not None:
        _save(found, out)


def _save(found: FittedClickModel, out: Path) -> None:
    try:
        found.save(out)
    except OSError as error:
        raise ValueError(
            f"{out}: the fitted model could not be written: {error.strerror}"
        ) from None
    remark(f"The fitted model is in {out}.")


def _counts(source: Path, settings: LogSettings, excess: Any) -> Any:
    from faircascade.data.base import DataError
    from faircascade.fitting import ClickCounts

    usual = defaults()
    given = {n: v for n, v in settings.items() if n in _OF_COUNTS or v != usual.get(n)}
    for name, value in given.items():
        if name not in _OF_COUNTS:
            raise ParameterError(name, "must be left out: counts have no such column", value)
    named = {_OF_COUNTS[name]: value for name, value in given.items()}
    try:
        return ClickCounts(source, excess=excess, **named)
    except DataError as error:  # names the parameters of counts
        words = str(error)
        for option, parameter in _OF_COUNTS.items():
            words = words.replace(f"{parameter}=", f"{option}=")
        raise DataError(words) from None


def _print(found: FittedClickModel, told: Sequence[str]) -> None:
    """Print tables and the choice; notes that were told already are left out."""
    typer.echo(
        f"{found.total:,} impressions of {len(found.attraction):,} "
        f"{'items' if found.context_ids is None else 'pairs of context and item'}; prior: "
        f"{found.prior}."
    )
    rows = [_row(candidate) for candidate in found.candidates if not candidate.refused]
    headers = ["Model", "Log-likelihood", "Difference (95%)", "Perplexity", "Given clicks above"]
    title = "Held-out clicks, means over impressions" if found.scores else ""
    print_table(headers, rows, numbers=True, title=title)
    if found.scores is not None:
        print_table(
            ["Model", *map(str, range(1, min(found.k, _MOST_POSITIONS) + 1))],
            [
                [
                    c.name,
                    *(
                        f"{p:.4f}" if p == p else "–"
                        for p in c.scores.perplexity_by_position[:_MOST_POSITIONS]
                    ),
                ]
                for c in found.candidates
                if c.scores is not None
            ],
            numbers=True,
            title="Perplexity by position",
        )
    for candidate in found.candidates:
        if candidate.refused:
            typer.echo(f"Not fitted: {candidate.refused}.")
        elif not candidate.converged:
            typer.echo(f"{candidate.name} did not converge in {candidate.iterations} steps.")
    for name, text in _parameters(found):
        typer.echo(f"  {name:<13} {text}")
    for note in found.notes:
        if note not in told:
            typer.echo(f"Note: {note}.")
    typer.echo(found.best)


def _row(candidate: Candidate) -> list[str]:
    scores, behind = candidate.scores, candidate.behind
    if scores is None:
        return [candidate.name, "–", "–", "–", "–"]
    gap = "best"
    if behind is not None:
        gap = f"{behind.mean:.5f} ({behind.low:.5f} to {behind.high:.5f})"
    given = scores.conditional_perplexity
    return [
        candidate.name,
        f"{scores.log_likelihood:.5f}",
        gap,
        f"{scores.perplexity:.4f}",
        f"{given:.4f}" if given == given else "–",
    ]


def _with_errors(value: Any, error: Any) -> str:
    """Return a number, or several, each with its standard error if that is known."""
    if isinstance(value, list | tuple):
        errors = [None] * len(value) if error is None else error
        return " ".join(_with_errors(*pair) for pair in zip(value, errors, strict=False))
    known = error is not None and isfinite(error) and error > 0
    return f"{value:.3f}±{error:.3f}" if known else f"{value:.3f}"


def _parameters(found: FittedClickModel) -> list[tuple[str, str]]:
    """Return the parameters of the chosen model, but for those of items."""
    from faircascade.registry import to_spec

    spec = to_spec(found.click_model)
    lines = [("model", found.name)]
    for name, value in spec.items():
        if name == "name" or name in found.entry_parameters:
            continue
        rows = value if isinstance(value, list) else [value]
        more = " ..." if len(rows) > _MOST_POSITIONS else ""
        rows = rows[:_MOST_POSITIONS]
        errors = found.errors.get(name, [None] * len(rows))
        texts = [_with_errors(row, error) for row, error in zip(rows, errors, strict=False)]
        nested = any(isinstance(row, list | tuple) for row in rows)
        lines.append((name, ("; " if nested else " ").join(texts) + more))
    w = found.attraction
    lines.append(("attraction", f"{w.min():.3f} to {w.max():.3f}, mean {w.mean():.3f}"))
    return lines
