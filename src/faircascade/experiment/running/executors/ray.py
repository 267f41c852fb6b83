"""Cells on a Ray cluster: small ones are tasks, large ones are cut by their users into several.

Tasks get an environment from the object store, where it is put once, and send results back to the
machine that runs the command: only that one writes, and no folder need be shared.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar

from faircascade.cores import cores
from faircascade.engine import Result
from faircascade.engine.merging import join_parts, splittable
from faircascade.environment import Environment
from faircascade.experiment.cell import Cell, own_parts_of
from faircascade.experiment.cell_result import CellOutput
from faircascade.experiment.machine import platform_versions
from faircascade.experiment.running.cost_model import CostModel
from faircascade.experiment.running.executors.base import Plan, check_counts
from faircascade.experiment.running.run_cell import (
    CellOutcome,
    CellStatus,
    claim_cell,
    reason_of,
    simulate_cell,
    write_cell,
)
from faircascade.installation import install_command
from faircascade.registry import Component
from faircascade.registry.own_parts import adopt, own_code

OwnParts = dict[type[Component], dict[str, str]]
"""Parts that the cluster does not know, with the hashes of their sources."""

PART_SECONDS = 30.0
"""Cells that take longer are cut into parts of about this length if there are cores to spare."""
LONGEST = 600.0
"""Cells that take longer are cut in any case, so that a machine that dies costs no more."""
FEWEST_USERS = 32
"""Users that a part has at least."""
RETRIES = 5
"""How often Ray begins a task again whose process or machine dies."""
TRIES = 3
"""How often a cell is begun again that Ray has given up."""
AHEAD = 2
"""Tasks for each core that are handed to Ray at a time."""
_POLL_SECONDS = 0.5
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class Ray:
    """Runs cells on a Ray cluster, or on a Ray of this machine's own."""

    uses_gpu: ClassVar[bool] = False

    address: str | None = None
    """Of the cluster ("auto" or "host:port"); None starts Ray on this machine."""
    workers: int | None = None
    """Tasks at once; None is as many as the cluster has cores."""
    threads: int | None = None
    """Cores of a Ray that is started here; None is all."""

    def __post_init__(self) -> None:
        check_counts(workers=self.workers, threads=self.threads)
        if self.address is not None and self.threads is not None:
            raise ValueError("threads cannot be combined with an address: the cluster decides")

    def run(self, plan: Plan) -> None:
        """Run all cells."""
        own = {cls: own_code(cls) for cls in own_parts_of(plan.queue.left)}
        with connected(self) as ray, carried(ray, own):
            slots = int(ray.cluster_resources().get("CPU", 1))
            most = AHEAD * slots if self.workers is None else self.workers
            Dispatch(ray, plan, own, min(slots, most), most).to_the_end()

    def describe(self, plan: Plan) -> str:
        """Say which Ray it is."""
        return f"on Ray ({self.address or 'this machine'})"

    def cores(self, plan: Plan) -> int:
        """Return how many cores will be busy, as far as that is known before it begins."""
        return self.workers or self.threads or cores()


@contextmanager
def connected(settings: Ray) -> Iterator[Any]:
    """Connect to a cluster, or start one; what was started here is stopped at the end."""
    try:
        import ray
    except ImportError:
        raise ValueError(f"the ray executor needs Ray: {install_command('ray')}") from None
    already = ray.is_initialized()
    if not already:
        check_there(settings.address)
        options: dict[str, Any] = {"address": settings.address}
        if settings.address is None:
            here = settings.threads or cores()
            options = {"address": "local", "num_cpus": here, "include_dashboard": False}
        try:
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(f"no Ray cluster at {settings.address!r} ({error})") from error
    try:
        yield ray
    finally:
        if not already:
            ray.shutdown()


@contextmanager
def carried(ray: Any, own: OwnParts) -> Iterator[None]:
    """Send parts of one's own along with tasks: the cluster need not have their files."""
    modules = {name for sources in own.values() for name in sources} - {"__main__"}
    for name in modules:
        ray.cloudpickle.register_pickle_by_value(sys.modules[name])
    try:
        yield
    finally:
        for name in modules:
            ray.cloudpickle.unregister_pickle_by_value(sys.modules[name])


def check_there(address: str | None) -> None:
    """Say at once that nobody answers at an address: Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or not port.isdigit() or "://" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except OSError as error:
        raise ValueError(f"no Ray cluster at {address!r} ({error})") from None


@dataclass(frozen=True, eq=False)
class CellPart:
    """What a task sends back: all that is kept of a cell, or the result of some of its users."""

    versions: dict[str, str]
    product: CellOutput | None = None
    result: Result | None = None


@dataclass(eq=False)
class Underway:
    """A cell that is on the cluster."""

    cell: Cell
    env: Environment
    claim: ExitStack
    """Gives the cell back when it is closed."""
    parts: list[CellPart | None] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Return how much of it is done."""
        return sum(part is not None for part in self.parts) / len(self.parts)


class Dispatch:
    """Hands cells to Ray and takes their results in."""

    def __init__(self, ray: Any, plan: Plan, own: OwnParts, slots: int, most: int) -> None:
        self.ray = ray
        self.plan = plan
        self.own = own
        self.spare = ceil(AHEAD * slots / max(1, len(plan.queue)))
        """Cores for each cell: what parts come back with is large, so more parts do not pay."""
        self.most = most
        """Tasks at once, but for the parts of the last cell."""
        self.waiting: dict[Any, tuple[Underway, int]] = {}
        """Tasks: the cell that each is of, and which part of it."""
        self.put: dict[str, Any] = {}
        """Environments in the object store, by their keys."""
        self.needed = Counter(cell.environment_key for cell in plan.queue.left)
        """How many cells are still to be run in each environment."""
        self.losses: Counter[str] = Counter()
        self.task = ray.remote(max_retries=RETRIES, num_cpus=1)(simulate_part)
        plan.queue.longest_first()
        self.environments = plan.environments

    def to_the_end(self) -> None:
        """Go on until nothing is left."""
        queue = self.plan.queue
        try:
            while len(queue) or self.waiting:
                while len(self.waiting) < self.most and (cell := queue.take()) is not None:
                    self._begin(cell)
                if not self.waiting:
                    queue.wait()
                    continue
                queue.tell({under.cell: under.share for under, _ in self.waiting.values()})
                ready, _ = self.ray.wait(list(self.waiting), timeout=_POLL_SECONDS)
                for task in ready:
                    if task in self.waiting:
                        self._take_in(task)
        finally:
            for task in self.waiting:
                self.ray.cancel(task, force=True)
            for under in {id(under): under for under, _ in self.waiting.values()}.values():
                under.claim.close()

    def _begin(self, cell: Cell) -> None:
        """Claim a cell and hand it to Ray."""
        claim = ExitStack()
        ending = claim.enter_context(claim_cell(cell, self.plan.results))
        try:
            if ending is None:
                self._submit(Underway(cell, self.environments.of(cell), claim))
                return
        except OSError:
            claim.close()
            raise
        except Exception as error:
            ending = CellOutcome(CellStatus.IMPOSSIBLE, reason_of(error))
        claim.close()
        self._note(cell, ending)

    def _submit(self, under: Underway) -> None:
        cell, users = under.cell, len(under.env.users)
        environment = self._put(under)
        edges = cut(cell, users, self.spare, self.plan.queue.costs)
        under.parts = [None] * (len(edges) - 1)
        for number, rows in enumerate(pairwise(edges)):
            self.waiting[self.task.remote(cell, environment, rows, self.own)] = (under, number)

    def _put(self, under: Underway) -> Any:
        """Return an environment in the object store; it stays until the last cell that needs it."""
        key = under.cell.environment_key
        if key not in self.put:
            self.put[key] = self.ray.put(under.env)
        return self.put[key]

    def _take_in(self, task: Any) -> None:
        """Take in a part; the last one of a cell ends it."""
        under, number = self.waiting.pop(task)
        try:
            under.parts[number] = self.ray.get(task)
        except self.ray.exceptions.RayTaskError as error:
            self._end(under, CellOutcome(CellStatus.IMPOSSIBLE, reason_of(error.cause)))
        except self.ray.exceptions.RayError as error:  # its machine is gone, and so were others
            self._lost(under, str(error))
        else:
            if all(part is not None for part in under.parts):
                self._end(under, write_cell(under.cell, self.plan.results, self._whole(under)))

    def _whole(self, under: Underway) -> CellOutput:
        """Return what came out of a cell whose parts are all here."""
        parts = [part for part in under.parts if part is not None]
        for part in parts:
            if part.versions != platform_versions():
                self.plan.queue.say(
                    f"Machines of the cluster have different versions: {part.versions}"
                )
        product = parts[0].product
        if product is None:
            results = [part.result for part in parts if part.result is not None]
            product = CellOutput.of(under.cell, join_parts(under.env, results))
        return product

    def _lost(self, under: Underway, reason: str) -> None:
        """Begin a cell again, unless that has been done too often."""
        cell = under.cell
        self.losses[cell.key] += 1
        if self.losses[cell.key] < TRIES:
            self._drop(under)
            self.plan.queue.left.append(cell)
        else:
            self._end(under, CellOutcome(CellStatus.IMPOSSIBLE, reason.splitlines()[0]))

    def _end(self, under: Underway, ending: CellOutcome) -> None:
        self._drop(under)
        self._note(under.cell, ending)

    def _note(self, cell: Cell, ending: CellOutcome) -> None:
        """Note how a cell ended; its environment may go if no other cell needs it."""
        if ending.status is not CellStatus.TAKEN:
            self.needed[cell.environment_key] -= 1
            if not self.needed[cell.environment_key]:
                self.put.pop(cell.environment_key, None)
        self.plan.queue.end(cell, ending)

    def _drop(self, under: Underway) -> None:
        """Let go of a cell and of what is left of its tasks."""
        for task in [task for task, (other, _) in self.waiting.items() if other is under]:
            del self.waiting[task]
            self.ray.cancel(task, force=True)
        under.claim.close()


def simulate_part(cell: Cell, env: Environment, rows: tuple[int, int], own: OwnParts) -> CellPart:
    """Simulate some of the users of a cell's environment."""
    for cls, sources in own.items():
        adopt(cls, sources)
    if rows == (0, len(env.users)):
        return CellPart(
            product=CellOutput.of(cell, simulate_cell(cell, env, 1)), versions=platform_versions()
        )
    return CellPart(
        result=simulate_cell(cell, env.take(slice(*rows)), 1), versions=platform_versions()
    )


def cut(cell: Cell, users: int, spare: int, costs: CostModel) -> list[int]:
    """Return where to cut the users of a cell that has some cores, the ends included."""
    seconds = costs.of(cell)
    wanted = min(ceil(seconds / PART_SECONDS), max(spare, ceil(seconds / LONGEST)))
    parts = min(wanted, users // FEWEST_USERS)
    parts = max(1, parts) if splittable(cell.policy) else 1
    return [users * part // parts for part in range(parts + 1)]
