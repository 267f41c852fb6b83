"""A job on the device: its record, its arrays, and what comes back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from faircascade.engine.cpu import packing
from faircascade.engine.cpu.click_numbers import click_numbers
from faircascade.engine.cpu.records import PackedEnvironment
from faircascade.engine.cpu.rules import pack_rules
from faircascade.engine.gpu.source import Shape
from faircascade.engine.gpu.structs import fields_of
from faircascade.engine.job import Job
from faircascade.metrics.tally import BY_ROUND
from faircascade.policies import BanditState

_COUNTS = (
    "appearances",
    "item_clicks",
    "outcomes",
    "regrets",
    "widths",
    "by_round",
    "slates",
    "clicks",
)


def pack(values: dict[str, Any], address: Any) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the record of a job: 8 bytes per field, arrays as the addresses of their data."""
    fields = fields_of("Job")
    record = np.zeros(len(fields), dtype=np.uint64)
    for place, field in enumerate(fields):
        value = values[field.name]
        if field.type == "double":
            record[place : place + 1].view(np.float64)[0] = value
        elif field.type == "Int":
            record[place : place + 1].view(np.int64)[0] = value
        else:
            record[place] = address(value)
    return record


class DeviceCatalogue(NamedTuple):
    """The items of an environment, which jobs share."""

    packed: PackedEnvironment
    """As it was packed for the first of them."""
    values: dict[str, Any]
    """The fields of the record that are about items."""


Shelf = dict[int, DeviceCatalogue]
"""Catalogues on the device, by the identity of their items."""


class DeviceJob:
    """A job's arrays on a device."""

    def __init__(self, job: Job, shape: Shape, xp: Any, shelf: Shelf) -> None:
        """Put a job's environment, rules and fresh sums into arrays of `xp`, NumPy or CuPy."""
        self.job = job
        self.xp = xp
        self._real = np.dtype(shape.precision)
        known = shelf.get(id(job.env.items))
        packed = packing.pack_environment(job, known and known.packed)
        if known is None:
            known = shelf[id(job.env.items)] = DeviceCatalogue(packed, self._items(packed))
        rules = pack_rules(job)
        self.packed, self.rules = packed, rules
        account = packing.start_account(job, packed, rules)
        self.values: dict[str, Any] = {
            **known.values,
            **self._users(packed),
            **self._draws(),
            **self._rules(),
            "units": xp.zeros(account.units.shape, dtype=np.int64),
            "worth": xp.zeros(account.worth.shape, dtype=np.int64),
            "total": xp.zeros(max(1, len(account.total)), dtype=np.int64),
            "prices": xp.asarray(account.prices),
            "broken": xp.zeros(1, dtype=np.int64),
        }
        self.resume(job.policy.start(job.env.users, job.policy.dim_of(job.env.items)))

    def _items(self, packed: PackedEnvironment) -> dict[str, Any]:
        xp = self.xp
        return {
            "items": len(packed.keys),
            "padded": packed.padded,
            "features": self._reals(packed.features),
            "by_feature": self._reals(packed.by_feature),
            "norms": self._reals(
                np.nextafter(packed.norms.astype(self._real), self._real.type(np.inf))
            ),
            "radius": packed.radius,
            "keys": xp.asarray(packed.keys),
            "rows": xp.asarray(packed.rows),
            "by_key": xp.asarray(packed.by_key),
            "rank": xp.asarray(packed.rank),
            "true_features": xp.asarray(packed.features),
            "catalogue": len(self.job.env.items),
        }

    def _users(self, packed: PackedEnvironment) -> dict[str, Any]:
        return {
            "users": len(packed.preferences),
            "preferences": self.xp.asarray(packed.preferences),
            "optimal_values": self.xp.asarray(packed.optimal_values),
            "optimal_slates": self.xp.asarray(packed.optimal_slates),
        }

    def _draws(self) -> dict[str, Any]:
        draws = packing.pack_draws(self.job)._asdict()
        draws["radius_draw"], draws["angle_draw"] = draws.pop("radius"), draws.pop("angle")
        del draws["random"]
        return {name: self.xp.asarray(words) for name, words in draws.items()}

    def _rules(self) -> dict[str, Any]:
        rules = self.rules._asdict() | {"lazy_draws": self.job.lazy}
        numbers = click_numbers(self.job.env)._asdict()
        rules |= {f"click_{name}": value for name, value in numbers.items()}
        del rules["k"], rules["first_theta"], rules["logistic"]
        return {
            name: self.xp.asarray(value) if isinstance(value, np.ndarray) else value
            for name, value in rules.items()
        }

    def _reals(self, array: Any) -> Any:
        return self.xp.asarray(np.ascontiguousarray(array, dtype=self._real))

    def open_counts(self, rounds: int, intervals: int) -> None:
        """Make room for what is counted in a launch."""
        xp, values = self.xp, self.values
        n, k, m = values["users"], self.rules.k, values["catalogue"]
        values["appearances"] = xp.zeros((intervals, m, k), dtype=np.int64)
        values["item_clicks"] = xp.zeros((intervals, m, k), dtype=np.int64)
        values["outcomes"] = xp.empty((rounds, n), dtype=np.int32)
        values["regrets"] = xp.empty((rounds, n), dtype=np.int64)
        values["widths"] = xp.empty((rounds, n), dtype=np.int64)
        values["by_round"] = xp.empty((len(BY_ROUND), rounds), dtype=np.int64)
        for name in ("slates", "clicks"):
            values[name] = xp.empty((rounds if self.rules.traced else 0, n, k), dtype=np.int32)

    def close_counts(self) -> None:
        """Give the room back."""
        for name in _COUNTS:
            del self.values[name]

    def is_sound(self) -> bool:
        """Say whether every slate had scores, and every sum is a number."""
        return not to_host(self.values["broken"])[0]

    @staticmethod
    def bytes_a_user(job: Job, shape: Shape) -> int:
        """Return roughly how much device memory a user takes."""
        accounts = job.policy.ledger_scope == "user"
        sums = (2 * shape.pairs + 2 * shape.d) * np.dtype(shape.precision).itemsize
        environment = 8 * shape.d + 4 * shape.k + 8 * 13
        return sums + environment + (16 * len(job.env.items.pool) if accounts else 0)

    @staticmethod
    def bytes_of_items(job: Job, shape: Shape) -> int:
        """Return roughly how much device memory a catalogue takes."""
        each = (2 * shape.d + 1) * np.dtype(shape.precision).itemsize + 8 * shape.d + 40
        return each * len(job.env.items)

    @staticmethod
    def bytes_of_interval(job: Job) -> int:
        """Return how much memory the counts between two checkpoints take."""
        return 2 * 8 * len(job.env.items) * job.env.k

    def record(self) -> Any:
        """Return the record of this job."""
        return pack(self.values, address_of)

    def resume(self, state: BanditState) -> None:
        """Continue from what was learned: the inverse of `state`."""
        learned = self.job.policy.arrays(state)
        half = np.triu_indices(len(learned["B"]))
        for name in ("M", "M_inv"):
            self.values[name] = self._reals(learned[name][half].T)
        for name in ("B", "theta"):
            self.values[name] = self._reals(learned[name].T)
        for name in ("updates", "interval"):
            self.values[name] = self.xp.asarray(learned[name])
        if state.ledger is not None:
            account = packing.start_account(self.job, self.packed, self.rules)
            packing.pack_account(self.job, self.packed, state.ledger, account)
            for name in ("units", "worth", "total"):
                self.values[name] = self.xp.asarray(getattr(account, name))

    def state(self) -> BanditState:
        """Return what was learned in the layout of the library: the user is the last axis."""
        arrays = {
            "M": packing.symmetric(self._by_user("M")),
            "M_inv": packing.symmetric(self._by_user("M_inv")),
            "B": self._by_user("B"),
            "theta": self._by_user("theta"),
            "updates": to_host(self.values["updates"]),
            "interval": to_host(self.values["interval"]),
        }
        if self.rules.accounts:
            units = to_host(self.values["units"])
            arrays |= packing.unpack_account(self.job, self.packed, units).arrays()
        state: BanditState = self.job.policy.restore(self.job.env.users, arrays)
        return state

    def _by_user(self, name: str) -> Any:
        """Return what was learned in float64 with one column per user."""
        return np.ascontiguousarray(to_host(self.values[name]).T, dtype=np.float64)


def address_of(array: Any) -> int:
    """Return where the data of an array of NumPy or CuPy is."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def to_host(array: Any) -> Any:
    """Return an array of NumPy with the same values."""
    return array.copy() if isinstance(array, np.ndarray) else array.get()
