"""Users of the compiled engine: what they know goes in, is kept step by step, and comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.engine.cpu import packing
from faircascade.engine.cpu.kernels.bandit import serve_bandit
from faircascade.engine.cpu.kernels.yardstick import serve_yardstick
from faircascade.engine.cpu.records import USERS, Sums
from faircascade.engine.job import Job, not_finite
from faircascade.estimators import RidgeState
from faircascade.policies import Bandit, Policy
from faircascade.policies.bandit import BanditState


class Served(ABC):
    """Users as the kernels see them."""

    kernel: Callable[..., None]

    def __init__(self, job: Job, policy: Policy) -> None:
        self.job = job
        self.world = packing.pack_world(job)
        self.draws = packing.pack_draws(job)
        self.rules = packing.pack_rules(job, policy)
        self.shortlist = packing.start_shortlist(self.world, self.rules)

    def resume(self, state: Any) -> None:
        """Go on from a state of the policy: there is nothing in it unless something is learned."""
        return

    @abstractmethod
    def serve(self, *where: Any) -> None:
        """Serve some of the users in some rounds."""

    def keep(self, last: int) -> None:
        """Take a step as done: there is nothing to take unless something is learned."""
        return

    def state(self) -> Any:
        """Return the policy's state after the last step that was kept."""
        return self.job.policy.start(self.job.env.users, self.job.env.items.dim)


class Learning(Served):
    """A bandit's users."""

    kernel = staticmethod(serve_bandit)

    def __init__(self, job: Job, policy: Bandit) -> None:
        super().__init__(job, policy)
        self.sums = packing.start_sums(policy.estimator, len(job.env.users), job.env.items.dim)
        self.kept = packing.start_sums(policy.estimator, len(job.env.users), job.env.items.dim)
        self.account = packing.start_account(job, self.world, self.rules)
        self.kept_units = self.account.units.copy()

    def resume(self, state: BanditState) -> None:
        pack_sums(state.sums, self.sums)
        if state.ledger is not None:
            packing.pack_account(self.job, self.world, state.ledger, self.account)
        self._copy()

    def serve(self, *where: Any) -> None:
        parts = (self.world, self.draws, self.rules, self.sums, self.shortlist, self.account)
        self.kernel(*parts, *where)

    def keep(self, last: int) -> None:
        for array in self.sums:
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise not_finite(self.job, last)
        self._copy()

    def _copy(self) -> None:
        for array, kept in zip(self.sums, self.kept, strict=True):
            kept[:] = array
        self.kept_units[:] = self.account.units

    def state(self) -> BanditState:
        users, account = self.job.env.users, None
        if self.rules.accounts:
            account = packing.unpack_account(self.job, self.world, self.kept_units)
        sums = unpack_sums(self.kept, len(users))
        return BanditState(users=users, sums=sums, ledger=account)


class Standing(Served):
    """The users of a policy that does not learn."""

    kernel = staticmethod(serve_yardstick)

    def __init__(self, job: Job, policy: Policy) -> None:
        super().__init__(job, policy)
        self.contenders = packing.pack_contenders(job, policy, self.world)

    def serve(self, *where: Any) -> None:
        self.kernel(self.world, self.draws, self.rules, self.contenders, *where)


def unpack_sums(sums: Sums, n: int) -> RidgeState:
    """Return what was learned in the layout of the library: the user is the last axis."""
    return RidgeState(
        M=packing.symmetric(by_user(sums.M, n)),
        M_inv=packing.symmetric(by_user(sums.M_inv, n)),
        B=by_user(sums.B, n),
        theta=by_user(sums.theta, n),
        updates=by_user(sums.updates, n)[0],
        interval=by_user(sums.interval, n)[0],
    )


def pack_sums(learned: RidgeState, sums: Sums) -> None:
    """Put what was learned into the lanes of the users: `unpack_sums` backwards."""
    half = np.triu_indices(len(learned.B))
    columns = {**learned.arrays(), "M": learned.M[half], "M_inv": learned.M_inv[half]}
    for name, column in columns.items():
        lanes = getattr(sums, name)
        groups = len(lanes)
        rows = by_user(lanes, groups * USERS)
        rows[:, : len(learned)] = column  # lanes without a user stay as they are
        lanes[:] = rows.reshape(-1, groups, USERS).transpose(1, 0, 2).reshape(groups, -1)


def by_user(lanes: NDArray[Any], n: int) -> Any:
    """Return a copy with one column a user, (groups, c * 8) -> (c, n)."""
    groups = len(lanes)
    rows = lanes.reshape(groups, -1, USERS).transpose(1, 0, 2)
    return rows.reshape(-1, groups * USERS)[:, :n].copy()
