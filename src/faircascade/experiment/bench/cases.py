"""The cases: what is measured under which name, and at what size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any

from faircascade.clicks import UBM
from faircascade.cores import cores
from faircascade.engine.simulation import PRECISIONS
from faircascade.environment import Environment
from faircascade.errors import ParameterError, check_choice
from faircascade.experiment.bench.environments import BenchEnvironments, low_rank
from faircascade.experiment.bench.isolated_run import IsolatedRun
from faircascade.experiment.bench.measurement import Measurement, Task, TimedRun
from faircascade.experiment.bench.peer import PeerRun
from faircascade.observations import AllPositions
from faircascade.policies import CascadeHybrid, CascadeLSB, EALinUCB, LinTS, LinUCB

LINUCB = LinUCB(reading="reference")
BOTH = (LINUCB, EALinUCB(weight="log", reading="reference"))
ON_TOPICS = (CascadeLSB(reading="reference"), CascadeHybrid(reading="reference"))
ENGINES = ("cpu", "gpu")
_INCOMPARABLE = ("paper", "large", "crowd", "topics")
"""Cases that have no time against `paper`."""
_UNDISTURBED = 0.85
"""Share of its cores that a run has at least, if nothing else is going on."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much of each case is measured."""

    users: int = 1000
    rounds: int = 50_000
    """Rounds of `paper`, `items` and `dim`."""
    full_rounds: int = 2_000
    thompson_rounds: int = 2_000
    loop_rounds: int = 100
    large_rounds: int = 1_000
    large_users: int = 10_000
    large_items: int = 100_000
    crowd_rounds: int = 5_000
    crowd_users: int = 100_000
    crowd_items: int = 2_800
    topics_rounds: int = 10_000
    peer_slates: int = 2_000

    def __post_init__(self) -> None:
        for field in fields(self):
            size = getattr(self, field.name)
            if size < 1:
                raise ParameterError(field.name, "must be at least 1", size)

    def with_given(self, **given: int | None) -> Sizes:
        """Return the sizes with those that were given."""
        return replace(self, **{name: size for name, size in given.items() if size is not None})


STANDARD = Sizes()
QUICK = Sizes(
    users=200,
    rounds=500,
    full_rounds=100,
    thompson_rounds=200,
    loop_rounds=30,
    large_rounds=100,
    large_users=200,
    large_items=20_000,
    crowd_rounds=50,
    crowd_users=2_000,
    crowd_items=600,
    topics_rounds=50,
    peer_slates=400,
)


@dataclass(frozen=True)
class CaseContext:
    """What the tasks of a case are made from."""

    environments: BenchEnvironments
    sizes: Sizes
    threads: int | None
    engine: str = "cpu"
    precision: str = "float64"

    def run(self, kind: type[TimedRun] = TimedRun, **what: Any) -> TimedRun:
        usual: dict[str, Any] = {
            "environment": lambda: self.environments.paper,
            "rounds": self.sizes.rounds,
            "threads": self.threads,
            "engine": self.engine,
            "precision": self.precision,
        }
        return kind(**(usual | what))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A named set of measurements."""

    tasks: Callable[[str, CaseContext], list[Task]]
    needs: tuple[str, ...] = ()
    """Cases to be measured before it, because it is told as a ratio to them."""
    note: Callable[[Sizes], str] = lambda _: ""
    """What a reader of the table has to know."""
    only_if_named: bool = False


def _paper(case: str, material: CaseContext) -> list[Task]:
    return [material.run(IsolatedRun, case=case, policy=policy) for policy in BOTH]


def _full(case: str, material: CaseContext) -> list[Task]:
    rounds = material.sizes.full_rounds
    return [material.run(case=case, policy=policy, rounds=rounds, lazy=False) for policy in BOTH]


def _thompson(case: str, material: CaseContext) -> list[Task]:
    policy, rounds = LinTS(reading="reference"), material.sizes.thompson_rounds
    return [material.run(case=case, policy=policy, rounds=rounds, lazy=False)]


def _items(case: str, material: CaseContext) -> list[Task]:
    def environment() -> Environment:
        return material.environments.tenfold

    return [material.run(case=case, policy=policy, environment=environment) for policy in BOTH]


def _dim(case: str, material: CaseContext) -> list[Task]:
    def environment() -> Environment:
        return material.environments.wide

    return [material.run(case=case, policy=policy, environment=environment) for policy in BOTH]


def _large(case: str, material: CaseContext) -> list[Task]:
    sizes = material.sizes

    @cache
    def environment() -> Environment:
        return low_rank(users=sizes.large_users, items=sizes.large_items)

    rounds = sizes.large_rounds
    return [
        material.run(IsolatedRun, case=case, policy=LINUCB, rounds=rounds, environment=environment)
    ]


def _loop(case: str, material: CaseContext) -> list[Task]:
    rounds = material.sizes.loop_rounds
    how: dict[str, Any] = {"engine": "loop", "precision": "float64"}
    return [material.run(case=case, policy=policy, rounds=rounds, **how) for policy in BOTH]


def _crowd(case: str, material: CaseContext) -> list[Task]:
    sizes = material.sizes

    @cache
    def environment(users: int) -> Environment:
        return low_rank(users=users, items=sizes.crowd_items)

    return [
        material.run(
            case=case,
            policy=LINUCB,
            rounds=sizes.crowd_rounds,
            environment=partial(environment, users),
        )
        for users in (sizes.crowd_users // 10, sizes.crowd_users)
    ]


def _clicks(case: str, material: CaseContext) -> list[Task]:
    policies = (LINUCB, replace(LINUCB, observation=AllPositions()))

    @cache
    def environment() -> Environment:
        return replace(material.environments.paper, click_model=UBM())

    return [material.run(case=case, policy=policy, environment=environment) for policy in policies]


def _topics(case: str, material: CaseContext) -> list[Task]:
    rounds = material.sizes.topics_rounds
    return [
        material.run(
            case=case,
            policy=policy,
            rounds=rounds,
            environment=lambda: material.environments.topical,
        )
        for policy in ON_TOPICS
    ]


def _against(case: str, material: CaseContext) -> list[Task]:
    slates = material.sizes.peer_slates
    return [PeerRun(case=case, environment=lambda: material.environments.paper, slates=slates)]


def _against_topics(case: str, material: CaseContext) -> list[Task]:
    slates = material.sizes.peer_slates
    return [
        PeerRun(
            case=case,
            environment=lambda: material.environments.topical,
            slates=slates,
            label=policy.label,
        )
        for policy in ON_TOPICS
    ]


def _fewer(case: str, rounds: int, sizes: Sizes) -> str:
    if rounds >= sizes.rounds:
        return ""
    return (
        f"{case} is measured over {rounds:,} of the {sizes.rounds:,} rounds: it scores every item, "
        "which costs the same in every round."
    )


CASES: dict[str, Case] = {
    "paper": Case(tasks=_paper),
    "full": Case(
        tasks=_full,
        needs=("paper",),
        note=lambda sizes: _fewer("full", sizes.full_rounds, sizes),
    ),
    "thompson": Case(
        tasks=_thompson,
        note=lambda sizes: _fewer("thompson", sizes.thompson_rounds, sizes),
    ),
    "items": Case(
        tasks=_items,
        needs=("paper",),
        note=lambda _: "items: ten copies of the catalogue, nine of them with noise.",
    ),
    "dim": Case(tasks=_dim, needs=("paper",)),
    "loop": Case(tasks=_loop),
    "large": Case(tasks=_large, note=lambda _: "large: random users and items of low rank."),
    "crowd": Case(
        tasks=_crowd,
        only_if_named=True,
        note=lambda _: "crowd: many random users, 2,800 items.",
    ),
    "clicks": Case(
        tasks=_clicks,
        needs=("paper",),
        only_if_named=True,
        note=lambda _: "clicks: click model ubm; observation first-click, then all.",
    ),
    "topics": Case(
        tasks=_topics,
        only_if_named=True,
        note=lambda _: "topics: bandits on topics that were found in the likes.",
    ),
}
AGAINST = {
    name: Case(
        tasks=tasks,
        note=lambda sizes: (
            f"against: rankers and the click model of FairDynamicRec, {sizes.peer_slates:,} slates "
            "in one process, without the text file that it appends to for every slate."
        ),
    )
    for name, tasks in (("topics", _against_topics), ("paper", _against))
}
"""What the authors' package is measured at, by the case of ours that it is set against."""


def choose(names: Sequence[str], *, against: bool = False) -> dict[str, Case]:
    """Return the named cases, or all, and those that they need; refuse a name that is none."""
    for name in names:
        check_choice("case", name, CASES)
    wanted = set(names or (name for name, case in CASES.items() if not case.only_if_named))
    wanted |= {need for name in wanted for need in CASES[name].needs}
    peer = next(name for name in AGAINST if name in {*wanted, "paper"})
    if against:
        wanted.add(peer)
    chosen = {name: case for name, case in CASES.items() if name in wanted}
    return chosen | ({"against": AGAINST[peer]} if against else {})


def check_engine(engine: str, precision: str) -> None:
    """Refuse an engine that cannot be measured, or is not here."""
    check_choice("engine", engine, ENGINES)
    if precision not in PRECISIONS or (engine == "cpu" and precision != "float64"):
        raise ParameterError("precision", "must be float64, or float32 on a GPU", precision)
    if engine == "gpu":
        from faircascade.engine.gpu.device import the_gpu

        the_gpu()


def plan(
    cases: dict[str, Case],
    environments: BenchEnvironments,
    sizes: Sizes,
    *,
    threads: int | None = None,
    engine: str = "cpu",
    precision: str = "float64",
) -> list[Task]:
    """Return what to measure, in order."""
    material = CaseContext(environments, sizes, threads, engine, precision)
    return [task for name, case in cases.items() for task in case.tasks(name, material)]


def notes(cases: dict[str, Case], sizes: Sizes) -> list[str]:
    """Return what a reader of the numbers has to know."""
    general = [
        "Slates/s: recommendations per second of all threads together. The clock starts when "
        "kernels are compiled and loaded, and optimal slates known. On a GPU, copying to and from "
        "it counts.",
        "Time/paper: time of one recommendation against paper with the same policy (LinTS: with "
        "LinUCB).",
        "Peak MB: largest resident memory of a fresh process that loads the environment and "
        "simulates.",
    ]
    return general + [note for case in cases.values() if (note := case.note(sizes))]


def disturbed(found: Iterable[Measurement]) -> list[str]:
    """Return a note on the runs of the cpu engine that did not have their cores to themselves."""
    short = [
        f"{m.case}, {m.policy}: {m.cores_used:.1f} of {min(m.threads, cores())}"
        for m in found
        if m.engine.startswith("cpu")
        and m.seconds >= 1
        and m.cores_used < _UNDISTURBED * min(m.threads, cores())
    ]
    if not short:
        return []
    return [f"Other work took some of the cores, so these were slowed down: {'; '.join(short)}."]


def with_time_against_paper(measurement: Measurement, before: Iterable[Measurement]) -> Measurement:
    """Return the measurement with its ratio to the same policy, or LinUCB, in `paper`."""
    paper = {other.policy: other for other in before if other.case == "paper"}
    other = paper.get(measurement.policy) or paper.get(LINUCB.label)
    if other is None or measurement.case in _INCOMPARABLE:
        return measurement
    return replace(measurement, time_against_paper=other.per_second / measurement.per_second)
