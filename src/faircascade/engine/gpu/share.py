"""Some users of a job: on the device, or put aside while others are."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine.gpu.device_job import DeviceJob, Shelf
from faircascade.engine.gpu.source import ABSENT, Shape
from faircascade.engine.job import Job
from faircascade.engine.trace import TraceRows


class Share:
    """Users `users` of job `number`; `job` is theirs alone, and goes on from `state`, if any."""

    def __init__(
        self, number: int, users: slice, job: Job, state: Any, shape: Shape, xp: Any, shelf: Shelf
    ) -> None:
        self.number = number
        self.users = users
        self.job = job
        self.items = len(job.env.users) * len(job.env.items.pool)
        """Those that each of them could be shown, all together."""
        self.rows: list[TraceRows] = []
        """What is to be written of a trace."""
        self._state = state
        self._shape, self._xp, self._shelf = shape, xp, shelf
        self._cell: DeviceJob | None = None

    def fetch(self) -> DeviceJob:
        """Return the users' arrays on the device."""
        if self._cell is None:
            self._cell = DeviceJob(self.job, self._shape, self._xp, self._shelf)
            if self._state is not None:
                self._cell.resume(self._state)
        return self._cell

    def park(self) -> None:
        """Take the users off the device, and keep what was learned of them."""
        self._state = self.state()
        self._cell = None

    def state(self) -> Any:
        """Return the policy's state of these users."""
        if self._cell is not None:
            return self._cell.state()
        if self._state is None:
            users = self.job.env.users
            return self.job.policy.start(users, self.job.policy.dim_of(self.job.env.items))
        return self._state

    def trace(self, slates: Any, clicks: Any, outcomes: Any, first: int) -> None:
        """Note who saw what in the rounds of a launch, from the first one on."""
        for place in range(len(slates)):
            rows = np.flatnonzero(outcomes[place] != ABSENT)
            users, clicked = rows + self.users.start, clicks[place, rows] > 0
            self.rows.append(TraceRows.of(first + place, users, slates[place, rows], clicked))
