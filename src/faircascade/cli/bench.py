"""faircascade bench: recommendations per second and memory, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.data import dataset_or_file, read_ratings
from faircascade.cli.options import DataName, DataPath
from faircascade.errors import ParameterError
from faircascade.progress import progress

if TYPE_CHECKING:
    from faircascade.experiment.bench import Measurement, Task

_HEADERS = (
    "Case",
    "Policy",
    "Engine",
    "Users",
    "Items",
    "d",
    "Rounds",
    "Seconds",
    "Slates/s",
    "Time/paper",
    "Peak MB",
)


def bench(
    cases: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            metavar="NAME",
            help="Case to measure: paper, full, thompson, items, dim, loop, large, crowd, "
            "clicks or topics. May be repeated. Cases compared with paper measure it, too.",
            show_default="all",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE",
            help="Also time another package, fairdynamicrec, on the paper's cell or, with "
            "--case topics, on that one.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(help="Rounds of paper, items and dim.", show_default="50000"),
    ] = None,
    full_rounds: Annotated[
        int | None,
        typer.Option(help="Rounds of full.", show_default="2000"),
    ] = None,
    thompson_rounds: Annotated[
        int | None, typer.Option(help="Rounds of thompson.", show_default="2000")
    ] = None,
    loop_rounds: Annotated[
        int | None, typer.Option(help="Rounds of loop.", show_default="100")
    ] = None,
    large_rounds: Annotated[
        int | None, typer.Option(help="Rounds of large.", show_default="1000")
    ] = None,
    users: Annotated[
        int | None,
        typer.Option(help="Users to serve; large and crowd have their own.", show_default="1000"),
    ] = None,
    crowd_rounds: Annotated[
        int | None, typer.Option(help="Rounds of crowd.", show_default="5000")
    ] = None,
    engine: Annotated[str, typer.Option(help="cpu or gpu, for all cases but loop.")] = "cpu",
    precision: Annotated[str, typer.Option(help="float64, or float32 on a GPU.")] = "float64",
    threads: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: half a minute.")] = False,
    data: DataName = "synthetic",
    path: DataPath = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure recommendations per second and peak memory.

    The cases are: paper (LinUCB and EALinUCB log on about 2,800 items, 1,000 users, d = 10,
    K = 10), full (the same, scoring every item in every round), thompson (LinTS), items (ten
    times the items), dim (d = 20), loop (the engine in plain NumPy), large (10,000 users,
    100,000 items, with its memory) and, only if named, crowd (10,000 and 100,000 users),
    clicks (users and bandits that read on after a click) and topics (bandits on topics).
    Kernels are compiled before the clock starts. All of it takes about a quarter of an hour on
    two cores, half of that for large. Ctrl-C prints what was measured so far.
    """
    from faircascade.experiment import bench as measuring

    if against is not None:
        measuring.check_peer(against)
    if threads is not None and threads < 1:
        raise ParameterError("threads", "must be at least 1", threads)
    measuring.check_engine(engine, precision)
    chosen = measuring.choose(cases or [], against=against is not None)
    sizes = (measuring.QUICK if quick else measuring.STANDARD).with_given(
        users=users,
        rounds=rounds,
        full_rounds=full_rounds,
        thompson_rounds=thompson_rounds,
        loop_rounds=loop_rounds,
        large_rounds=large_rounds,
        crowd_rounds=crowd_rounds,
    )
    ratings = read_ratings(dataset_or_file(data), path)
    environments = measuring.BenchEnvironments(ratings=ratings, users=sizes.users)
    tasks = measuring.plan(
        chosen, environments, sizes, threads=threads, engine=engine, precision=precision
    )
    if engine == "cpu":
        measuring.warm_up()
    found, stopped = _measure(tasks)
    document: dict[str, Any] = {
        **measuring.describe_machine(against, engine=engine),
        "data": ratings.name,
        "interrupted": stopped is not None,
        "notes": measuring.notes(chosen, sizes) + measuring.disturbed(found),
        "measurements": [measurement.to_dict() for measurement in found],
    }
    if as_json:
        print_json(document)
    else:
        _print(document, found)
    if isinstance(stopped, KeyboardInterrupt):
        remark(f"Stopped early: {len(found)} of {len(tasks)} measured.")
    elif stopped is not None:
        raise stopped


def _measure(tasks: Sequence[Task]) -> tuple[list[Measurement], BaseException | None]:
    """Measure one after the other; what ended it early comes back with what was measured."""
    from faircascade.experiment.bench import with_time_against_paper

    found: list[Measurement] = []
    for place, task in enumerate(tasks, 1):
        try:
            task.prepare()
            with progress(f"{place} of {len(tasks)}, {task.case}: {task.label}") as tell:
                measurement = task.measure(partial(tell, ""))
        except (KeyboardInterrupt, Exception) as error:
            if not found:
                raise
            return found, error
        found.append(with_time_against_paper(measurement, found))
    return found, None


def _print(document: dict[str, Any], found: Sequence[Measurement]) -> None:
    machine, versions = document["machine"], document["versions"]
    print_table(
        _HEADERS,
        [_row(measurement) for measurement in found],
        title=f"{document['data']} data; {machine['cpu']}, {_count(machine['cores'], 'core')}, "
        f"{_count(found[0].threads, 'thread')}; {document['date']}; "
        + ", ".join(f"{name} {version}" for name, version in versions.items()),
        numbers=True,
        names=3,
    )
    for note in document["notes"]:
        typer.echo(note)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _row(measurement: Measurement) -> list[str]:
    ratio, peak = measurement.time_against_paper, measurement.peak_memory
    return [
        measurement.case,
        measurement.policy,
        measurement.engine,
        f"{measurement.users:,}",
        f"{measurement.items:,}",
        str(measurement.dim),
        f"{measurement.rounds:,}",
        f"{measurement.seconds:.1f}",
        f"{measurement.per_second:,.0f}",
        "" if ratio is None else f"{ratio:.3g}",
        "" if peak is None else f"{peak / 1e6:,.0f}",
    ]
