"""What changed in a store, in full: the source of an event log.

A store that logs its changes keeps each of them in the transaction that makes it, so that none is
lost or invented, whenever a process dies. Items and small values are not among them: a store keeps
what they are, so that who reads them later misses nothing but what was overwritten.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from faircascade.service.stores.base import Impression, ModelUpdate
from faircascade.service.stores.packing import (
    pack_answered_impression,
    pack_impression,
    pack_note,
    pack_part,
    pack_text,
    read_floats,
    read_impression,
    read_note,
    read_text,
)
from faircascade.types import Floats, Ints

_LENGTH = struct.Struct("<I")
_ANSWER = struct.Struct("<dIII")  # time, bytes of the note, bytes of refunds, increments
_MOVE = struct.Struct("<?qqq")  # whether of a cohort, first, size, into
_ROUNDS = struct.Struct("<q")


@dataclass(frozen=True, kw_only=True, eq=False)
class Change(ABC):
    """Something that changed."""

    code: ClassVar[int]
    """First byte of a packed change."""
    kinds: ClassVar[dict[int, type[Change]]] = {}
    """By their codes."""

    def __init_subclass__(cls) -> None:
        if "code" in cls.__dict__:
            Change.kinds[cls.code] = cls

    def pack(self, dim: int) -> bytes:
        """Return it as bytes; items are described by `dim` numbers."""
        return bytes([self.code]) + self._body(dim)

    @abstractmethod
    def _body(self, dim: int) -> bytes:
        """Return what follows the code."""

    @classmethod
    @abstractmethod
    def _read(cls, body: bytes, dim: int) -> Self:
        """Return what `_body` packed."""


def read_change(packed: bytes, dim: int) -> Change:
    """Return what `Change.pack` packed."""
    return Change.kinds[packed[0]]._read(packed[1:], dim)


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown(Change):
    """A slate was handed out."""

    code = 1

    impression: Impression
    units: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """What each position added to the account of the user; empty if nothing was."""

    @classmethod
    def of(cls, impression: Impression, name: str, units: Ints | None) -> Self:
        """Return the change of a slate that was recorded under an id."""
        some = np.empty(0, np.int64) if units is None else units[: len(impression.slots)]
        return cls(impression=replace(impression, id=name), units=some)

    def _body(self, dim: int) -> bytes:
        units = self.units.astype("<i8", copy=False).tobytes()
        head = pack_part(self.impression.id) + _LENGTH.pack(len(units))
        return head + units + pack_impression(self.impression, dim)

    @classmethod
    def _read(cls, body: bytes, dim: int) -> Self:
        name, at = _name(body)
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(body, at)[0]
        units = np.frombuffer(body[start:at], dtype="<i8").astype(np.int64)
        return cls(impression=read_impression(name, body[at:], dim), units=units)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answered(Change):
    """A slate was answered, and the answer learned."""

    code = 2

    impression: Impression
    """With its answer; without its features, (K, 0)."""
    time: float
    """When it was answered."""
    increments: Floats
    """What was added to the first sums of the user."""
    note: Mapping[str, Any] = field(default_factory=dict)
    """The note of its event."""
    refunds: Mapping[int, int] = field(default_factory=dict)
    """Units that were taken from the account of the user, by slot."""

    @classmethod
    def of(cls, update: ModelUpdate) -> Self:
        """Return the change of an update that was learned."""
        shown = update.impression
        answered = replace(
            shown,
            features=np.empty((len(shown.slots), 0)),
            clicked=update.clicked,
            examined=update.examined,
            details=update.details,
        )
        return cls(
            impression=answered,
            time=update.time,
            increments=update.increments,
            note=update.counted,
            refunds=update.refunds,
        )

    def _body(self, dim: int) -> bytes:
        note = pack_note(self.note)
        refunds = np.array([*self.refunds.items()], dtype="<i8").tobytes()
        return b"".join(
            [
                pack_part(self.impression.id),
                _ANSWER.pack(self.time, len(note), len(refunds), len(self.increments)),
                note,
                refunds,
                self.increments.astype("<f8", copy=False).tobytes(),
                pack_answered_impression(self.impression, 0),
            ]
        )

    @classmethod
    def _read(cls, body: bytes, dim: int) -> Self:
        name, at = _name(body)
        time, noted, refunded, increments = _ANSWER.unpack_from(body, at)
        note = at + _ANSWER.size
        refunds = note + noted
        numbers = refunds + refunded
        end = numbers + 8 * increments
        return cls(
            impression=read_impression(name, body[end:], 0),
            time=time,
            increments=read_floats(body[numbers:end]),
            note=read_note(body[note:refunds]),
            refunds=dict(np.frombuffer(body[refunds:numbers], "<i8").reshape(-1, 2).tolist()),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Expired(Change):
    """The time of a slate was over before it was answered."""

    code = 3

    impression: Impression

    def _body(self, dim: int) -> bytes:
        return pack_part(self.impression.id) + pack_impression(self.impression, dim)

    @classmethod
    def _read(cls, body: bytes, dim: int) -> Self:
        name, at = _name(body)
        return cls(impression=read_impression(name, body[at:], dim))


@dataclass(frozen=True, kw_only=True, eq=False)
class Erased(Change):
    """A user was forgotten, with all impressions."""

    code = 4

    user: str

    def _body(self, dim: int) -> bytes:
        return pack_text(self.user)

    @classmethod
    def _read(cls, body: bytes, dim: int) -> Self:
        return cls(user=read_text(body))


@dataclass(frozen=True, kw_only=True, eq=False)
class Imported(Change):
    """A user came in with what was known."""

    code = 5

    user: str
    sums: Floats
    rounds: int

    def _body(self, dim: int) -> bytes:
        sums = self.sums.astype("<f8", copy=False).tobytes()
        return pack_part(self.user) + _ROUNDS.pack(self.rounds) + sums

    @classmethod
    def _read(cls, body: bytes, dim: int) -> Self:
        user, at = _name(body)
        (rounds,) = _ROUNDS.unpack_from(body, at)
        return cls(user=user, rounds=rounds, sums=read_floats(body[at + _ROUNDS.size :]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Moved(Change):
    """Numbers of a user, or of a cohort, were added to others of the same, or dropped."""

    code = 6

    name: str
    cohort: bool
    first: int
    size: int
    into: int | None

    def _body(self, dim: int) -> bytes:
        into = -1 if self.into is None else self.into
        return pack_part(self.name) + _MOVE.pack(self.cohort, self.first, self.size, into)

    @classmethod
    def _read(cls, body: bytes, dim: int) -> Self:
        name, at = _name(body)
        cohort, first, size, into = _MOVE.unpack_from(body, at)
        return cls(
            name=name, cohort=cohort, first=first, size=size, into=None if into < 0 else into
        )


def _name(body: bytes) -> tuple[str, int]:
    """Return the text that a body begins with, and where it ends."""
    end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
    return read_text(body[_LENGTH.size : end]), end
