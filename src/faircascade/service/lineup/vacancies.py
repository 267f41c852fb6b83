"""Numbers of users that nobody needs any more, so that a year of changes does not fill the store.

A model that no version is left of, and that no other goes on from, is dropped. One that only goes
on in others, as its branches do, is added to the one that comes after it for all who read it.
Either is a move that the store makes user by user. Then the numbers are 0, and another model may
have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from faircascade.service.lineup.models import Model
from faircascade.service.lineup.policies import NamedPolicy

Models = tuple[Model, ...]

REST = 60.0
"""Seconds before numbers are moved, or given to another model: another service may not have noticed
yet that they are not needed, and teach them or read them."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """Numbers of each user."""

    first: int
    size: int
    since: float
    """When they came to this use, seconds since 1970."""

    @property
    def end(self) -> int:
        return self.first + self.size


@dataclass(frozen=True, kw_only=True)
class Move(Span):
    """Numbers that are to be added to others, or to be dropped."""

    into: int | None = None


@dataclass(frozen=True, kw_only=True)
class Vacancies:
    """What is to be moved, and what is free."""

    moves: tuple[Move, ...] = ()
    free: tuple[Span, ...] = ()
    """They are 0 for everybody."""

    def end(self, models: Models) -> int:
        """Return how many numbers of a user there are, with those of models."""
        spans: tuple[Model | Span, ...] = (*models, *self.moves, *self.free)
        return max((one.end for one in spans), default=0)

    def place(self, models: Models, size: int, now: float) -> int:
        """Return where a new model of a size may begin."""
        for span in without_models(self.free, models):
            if span.size >= size and now - span.since >= REST:
                return span.first
        return self.end(models)

    def due(self, now: float) -> list[Move]:
        """Return the moves that can be made."""
        return [move for move in self.moves if now - move.since >= REST]

    def freed(self, move: Move, now: float) -> Vacancies:
        """Return them when a move was made."""
        spans = [*self.free, Span(first=move.first, size=move.size, since=now)]
        moves = tuple(one for one in self.moves if one != move)
        return replace(self, moves=moves, free=_joined(spans))

    def to_json(self) -> dict[str, Any]:
        """Return them as plain data."""
        return {
            "moves": [asdict(move) for move in self.moves],
            "free": [asdict(span) for span in self.free],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Vacancies:
        """Return what `to_json` was called on."""
        moves = tuple(Move(**one) for one in data["moves"])
        return cls(moves=moves, free=tuple(Span(**one) for one in data["free"]))


NOTHING = Vacancies()


def tidied(
    models: Models, policies: Sequence[NamedPolicy], vacant: Vacancies, now: float
) -> tuple[Models, dict[int, int], Vacancies]:
    """Return the models that are needed, their new numbers by the old ones, and what is to be moved
    of the others."""
    used = {version.model for named in policies for version in named.versions}
    live = [models[n] for n in used if n is not None]
    places = {first for model in live for first in model.branch_base}
    kept = [n for n, model in enumerate(models) if model.first in places]
    gone = [model for model in models if model.first not in places]
    moves = [move for move in vacant.moves if move.into is None or move.first in places]
    moves += [Move(first=model.first, size=model.size, since=now) for model in gone]
    for n in kept:
        if n not in used and (into := _heir(models[n], live, moves)) is not None:
            base = models[n]
            moves.append(Move(first=base.first, size=base.size, since=now, into=into))
    found = replace(vacant, moves=tuple(moves), free=tuple(without_models(vacant.free, models)))
    return tuple(models[n] for n in kept), {old: new for new, old in enumerate(kept)}, found


def _heir(base: Model, live: Sequence[Model], moves: Sequence[Move]) -> int | None:
    """Return where the numbers of a base can go: to those that all who read it read next. None if
    they differ, or if either is being moved."""
    chains = [model.branch_base for model in live if base.first in model.branch_base]
    heirs = {chain[chain.index(base.first) + 1] for chain in chains}
    moving = {place for move in moves for place in (move.first, move.into)}
    return heirs.pop() if len(heirs) == 1 and not moving & {base.first, *heirs} else None


def without_models(free: Sequence[Span], models: Models) -> list[Span]:
    """Return what models leave of spans."""
    left = list(free)
    for model in models:
        left = [rest for span in left for rest in _cut(span, model)]
    return left


def _cut(span: Span, model: Model) -> list[Span]:
    """Return what a model leaves of a span."""
    ends = [(span.first, min(span.end, model.first)), (max(span.first, model.end), span.end)]
    return [replace(span, first=a, size=b - a) for a, b in ends if a < b]


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return spans in order, neighbours as one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: one.first):
        if found and found[-1].end == span.first:
            last = found.pop()
            span = replace(last, size=last.size + span.size, since=max(last.since, span.since))
        found.append(span)
    return tuple(found)
