"""How fast and how large: named cases, measured and never asserted."""

from faircascade.experiment.bench.cases import (
    CASES,
    QUICK,
    STANDARD,
    Sizes,
    check_engine,
    choose,
    disturbed,
    notes,
    plan,
    with_time_against_paper,
)
from faircascade.experiment.bench.environments import BenchEnvironments
from faircascade.experiment.bench.measurement import Measurement, Task, TimedRun, warm_up
from faircascade.experiment.bench.peer import PEERS, check_peer
from faircascade.experiment.machine import describe_machine

__all__ = [
    "CASES",
    "PEERS",
    "QUICK",
    "STANDARD",
    "BenchEnvironments",
    "Measurement",
    "Sizes",
    "Task",
    "TimedRun",
    "check_engine",
    "check_peer",
    "choose",
    "describe_machine",
    "disturbed",
    "notes",
    "plan",
    "warm_up",
    "with_time_against_paper",
]
