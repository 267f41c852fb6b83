"""Studies of `reproduce` that are no spec files: click bandits on instances of the literature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.run_output import STOPPED
from faircascade.errors import ParameterError
from faircascade.progress import progress

if TYPE_CHECKING:
    from faircascade.engine.job import Progress
    from faircascade.paper.yandex import Survival

QUICK_RUNS = 2
QUICKER = 100
"""How many times fewer rounds there are with --quick."""


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What `reproduce` was told."""

    path: Path | None
    out: Path | None
    rounds: int | None
    seeds: int | None
    quick: bool
    threads: int | None
    as_json: bool
    refused: Mapping[str, object]
    """Options that mean nothing to these studies."""

    def runs_of(self, rounds: int, runs: int) -> tuple[int, int]:
        """Return rounds and seeds: those that were given, or a study's own or fewer."""
        if self.quick:
            rounds, runs = rounds // QUICKER, QUICK_RUNS
        return (
            rounds if self.rounds is None else self.rounds,
            runs if self.seeds is None else self.seeds,
        )

    def folder(self, name: str) -> Path:
        """Return where the runs of a study are kept."""
        return self.out or Path("runs/reproduce") / name


def click_bandit_study(what: Sequence[str]) -> Callable[[StudyOptions], None] | None:
    """Return the study that is asked for, if it is one of these; they are run alone."""
    named = [name for name in what if name in STUDIES]
    if named and len(what) > 1:
        raise ParameterError("WHAT", f"must be {named[0]} alone", " ".join(what))
    return STUDIES[named[0]] if named else None


def _kveton(options: StudyOptions) -> None:
    """Print Table 1 of Kveton et al. (2015), ours next to the published one."""
    from faircascade.paper import kveton2015

    _refuse(kveton2015.NAME, {**options.refused, "path": options.path})
    rounds, seeds = options.runs_of(kveton2015.ROUNDS, kveton2015.RUNS)
    with _telling(f"{kveton2015.NAME}: {rounds:,} rounds, {seeds} runs") as tell:
        found = kveton2015.reproduce(
            options.folder(kveton2015.NAME),
            rounds=rounds,
            runs=seeds,
            threads=options.threads,
            progress=tell,
        )
    if options.as_json:
        print_json([cell.to_dict() for cell in found])
        return
    rows = [
        [
            cell.policy,
            str(cell.setting.items),
            str(cell.setting.k),
            f"{cell.setting.gap:g}",
            f"{cell.mean:,.1f} ± {cell.error:.1f}",
            "–" if cell.published is None else "{:,.1f} ± {:.1f}".format(*cell.published),
            "–" if cell.distance is None else f"{cell.distance:.1f}",
            {None: "–", True: "yes", False: "no"}[cell.near],
        ]
        for cell in found
    ]
    headers = ["Policy", "L", "K", "Delta", "Regret", "Published", "Standard errors apart"]
    headers.append(f"Within {kveton2015.NEAR:g}")
    print_table(headers, rows, numbers=True)


def _yandex(options: StudyOptions) -> None:
    """Run click bandits under click models that were fitted to queries, and draw a heat map."""
    from faircascade.paper import yandex
    from faircascade.report.survival import write_heat_map

    _refuse(yandex.NAME, options.refused)
    if options.path is None:
        rule = f"must be a file of fitted click models for {yandex.NAME}"
        raise ParameterError("path", rule, options.path)
    rounds, seeds = options.runs_of(yandex.ROUNDS, yandex.RUNS)
    folder = options.folder(yandex.NAME)
    with _telling(f"{yandex.NAME}: {rounds:,} rounds, {seeds} runs") as tell:
        runs = yandex.reproduce(
            options.path,
            folder,
            rounds=rounds,
            runs=seeds,
            threads=options.threads,
            progress=tell,
        )
    found = yandex.summarise(runs)
    picture = write_heat_map(found, folder)
    if options.as_json:
        print_json({"figure": str(picture), "policies": [asdict(each) for each in found]})
    else:
        _print_regrets(found)
    remark(f"Figure: {picture}")


@contextmanager
def _telling(what: str) -> Iterator[Progress]:
    """Show progress, and after Ctrl-C what is kept."""
    from faircascade.paper.finished_runs import Stopped

    try:
        with progress(what) as tell:
            yield lambda share: tell("", share)
    except Stopped as stopped:
        remark(f"Stopped early: {stopped}. Run the same command to continue.")
        raise typer.Exit(STOPPED) from None


def _print_regrets(found: Sequence[Survival]) -> None:
    """Print the regret of each policy under each click model, with its standard error."""
    models = list(dict.fromkeys(each.click_model for each in found))
    cells = {(each.policy, each.click_model): each for each in found}
    rows = [
        [
            policy,
            *(f"{cells[policy, m].regret:,.0f} ± {cells[policy, m].error:.1f}" for m in models),
        ]
        for policy in dict.fromkeys(each.policy for each in found)
    ]
    print_table(["Regret under", *models], rows, numbers=True)


def _refuse(name: str, options: Mapping[str, object]) -> None:
    """Refuse options that mean nothing to a study."""
    for option, value in options.items():
        if value is not None:
            raise ParameterError(option, f"must be left out with {name}", value)


STUDIES: Mapping[str, Callable[[StudyOptions], None]] = {"kveton2015": _kveton, "yandex": _yandex}
"""By the name that `reproduce` is given."""
