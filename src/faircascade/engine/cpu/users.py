"""Users of the compiled engine: their state goes in, is kept step by step, and comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.engine.cpu import memory, packing
from faircascade.engine.cpu.click_numbers import click_numbers
from faircascade.engine.cpu.kernels.bandit import serve_bandit
from faircascade.engine.cpu.kernels.yardstick import serve_yardstick
from faircascade.engine.cpu.records import USERS, Shortlist, StepCounts, Sums, Trace
from faircascade.engine.cpu.rules import pack_rules
from faircascade.engine.job import Job, not_finite
from faircascade.policies import BanditState, Yardstick
from faircascade.registry import Component
from faircascade.rerankers import Ledger


class Served(ABC):
    """Users as the kernels see them."""

    kernel: Callable[..., None]
    understands: frozenset[str] = frozenset()
    """What parts may give in their `kernel`, if that is not checked elsewhere."""
    estimates_by: str = ""
    """The estimator of these users, for messages."""
    round_by_round: bool = False
    """Whether a round must be over for all users before the next one begins."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.packed = packing.pack_environment(job)
        self.numbers = click_numbers(job.env)

    @classmethod
    def refuses(cls, part: Component) -> bool:
        """Say whether a part has something in its `kernel` that these users cannot do."""
        return not part.kernel().keys() <= cls.understands

    def session(self) -> AbstractContextManager[None]:
        """Return what has to hold while a run is under way."""
        return nullcontext()

    def make_trace(self, rounds: int) -> Trace:
        """Return room for the slates and clicks of some rounds, if they are wanted."""
        return memory.make_trace(self.job, rounds)

    sets: int = 0
    """How many sets of items there are between the front and all."""

    @abstractmethod
    def make_scratch(self) -> Any:
        """Return scratch space for one thread."""

    def resume(self, state: Any) -> None:
        """Continue from a state of the policy, which is empty unless something is learned."""
        return

    @abstractmethod
    def serve(self, *where: Any) -> None:
        """Serve some of the users in some rounds."""

    def keep(self, last: int, books: Sequence[StepCounts], trace: Trace) -> None:
        """Commit a step, whose counts may still grow; there may be nothing to commit."""
        return

    def state(self) -> Any:
        """Return the policy's state after the last step that was kept."""
        return self.job.policy.start(self.job.env.users, self.job.policy.dim_of(self.job.env.items))


class Scored(Served):
    """Users whose items are scored by their features, or not at all."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.draws = packing.pack_draws(job)
        self.rules = pack_rules(job)
        self.shortlist = self.start_shortlist()
        self.sets = len(self.shortlist.room)

    def start_shortlist(self) -> Shortlist:
        """Return room for the items that slates come from."""
        return memory.start_shortlist(self.packed, self.rules)

    def make_scratch(self) -> Any:
        d = self.job.policy.dim_of(self.job.env.items)
        return memory.make_scratch(self.packed, self.rules, self.shortlist, d)


class Learning(Scored):
    """A bandit's users."""

    kernel = staticmethod(serve_bandit)

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        n, d = len(job.env.users), job.policy.dim_of(job.env.items)
        logistic = self.rules.logistic
        self.sums, self.kept = (memory.start_sums(n, d, logistic=logistic) for _ in range(2))
        self.account = packing.start_account(job, self.packed, self.rules)
        self.kept_units = self.account.units.copy()
        self.resume(job.policy.start(job.env.users, d))

    def resume(self, state: BanditState) -> None:
        pack_sums(self.job.policy.arrays(state), self.sums)
        if state.ledger is not None:
            self.pack_ledger(state.ledger)
        self._copy()

    def pack_ledger(self, ledger: Ledger) -> None:
        """Continue from an account of exposure."""
        packing.pack_account(self.job, self.packed, ledger, self.account)

    def serve(self, *where: Any) -> None:
        parts = (self.draws, self.rules, self.sums, self.shortlist, self.account)
        self.kernel(self.packed, self.numbers, *parts, *where)

    def keep(self, last: int, books: Sequence[StepCounts], trace: Trace) -> None:
        for array in self.sums:
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise not_finite(self.job, last)
        self._copy()

    def _copy(self) -> None:
        for array, kept in zip(self.sums, self.kept, strict=True):
            kept[:] = array
        self.kept_units[:] = self.account.units

    def state(self) -> BanditState:
        users = self.job.env.users
        arrays = unpack_sums(self.kept, len(users))
        arrays |= self.ledger_arrays()
        state: BanditState = self.job.policy.restore(users, arrays)
        return state

    def ledger_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the account of exposure, if one is kept, as it is stored."""
        if not self.rules.accounts:
            return {}
        return packing.unpack_account(self.job, self.packed, self.kept_units).arrays()


class Standing(Scored):
    """The users of a policy that does not learn."""

    kernel = staticmethod(serve_yardstick)

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        assert isinstance(job.policy, Yardstick)
        self.contenders = packing.pack_contenders(job, job.policy, self.packed)

    def serve(self, *where: Any) -> None:
        self.kernel(self.packed, self.numbers, self.draws, self.rules, self.contenders, *where)


def unpack_sums(sums: Sums, n: int) -> dict[str, NDArray[Any]]:
    """Return what was learned as the estimator's arrays: the user is the last axis."""
    return {
        "M": packing.symmetric(by_user(sums.M, n)),
        "M_inv": packing.symmetric(by_user(sums.M_inv, n)),
        "B": by_user(sums.B, n),
        "theta": by_user(sums.theta, n),
        "updates": by_user(sums.updates, n)[0],
        "interval": by_user(sums.interval, n)[0],
    }


def pack_sums(learned: Mapping[str, NDArray[Any]], sums: Sums) -> None:
    """Put what was learned into the lanes of the users: the inverse of `unpack_sums`."""
    half = np.triu_indices(len(learned["theta"]))
    for name, lanes in sums._asdict().items():
        if name not in learned:  # a logistic regression has no B
            continue
        column = learned[name][half] if name in ("M", "M_inv") else learned[name]
        groups, n = len(lanes), column.shape[-1]
        rows = by_user(lanes, groups * USERS)
        rows[:, :n] = column  # lanes without a user stay as they are
        lanes[:] = rows.reshape(-1, groups, USERS).transpose(1, 0, 2).reshape(groups, -1)


def by_user(lanes: NDArray[Any], n: int) -> Any:
    """Return a copy with one column per user, (groups, c * 8) -> (c, n)."""
    groups = len(lanes)
    rows = lanes.reshape(groups, -1, USERS).transpose(1, 0, 2)
    return rows.reshape(-1, groups * USERS)[:, :n].copy()
