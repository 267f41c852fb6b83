"""The contract of an executor: it runs cells somewhere, to the same bits wherever that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from faircascade.errors import ParameterError
from faircascade.experiment.running.work_queue import WorkQueue
from faircascade.experiment.store.environments import EnvironmentStore, Sources
from faircascade.experiment.store.results import Results


@dataclass(frozen=True)
class Plan:
    """What an executor needs to know."""

    queue: WorkQueue
    results: Results
    sources: Sources

    @property
    def environments(self) -> EnvironmentStore:
        return EnvironmentStore(self.results.environments, self.sources)


class Executor(Protocol):
    """Runs what is to be done.

    It writes each cell when it is finished, notes in `queue` how each ended, and returns when
    nothing is left. Ctrl-C and an error of the disk come out as they are.
    """

    uses_gpu: ClassVar[bool]

    def run(self, plan: Plan) -> None: ...

    def describe(self, plan: Plan) -> str:
        """Say where the cells will run, for the plan that a user sees."""
        ...

    def cores(self, plan: Plan) -> int:
        """Return how many cores will be busy."""
        ...


def check_counts(**counts: int | None) -> None:
    """Refuse a number of workers or threads below one."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ParameterError(name, "must be at least 1", count)
