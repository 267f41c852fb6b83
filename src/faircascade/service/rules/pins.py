"""Slates with items whose place is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.scoring import RankedSlate
from faircascade.types import SlatePropensities


def with_pins(
    slate: RankedSlate | None,
    pins: Sequence[tuple[int, int]],
    catalogue: Catalogue,
    *,
    certain: bool = False,
) -> RankedSlate:
    """Return a slate with items, by row, at positions, and the others around them in their order.

    A slate has no holes: where there are too few others, pinned items stand further up. `certain`
    says that a slate without others is as likely as can be.
    """
    pool = catalogue.excerpt(np.array(sorted(row for _, row in pins)))
    rows = pool.rows[np.argsort(np.argsort([row for _, row in pins]))]
    features = np.concatenate([pool.items.features[rows], pool.items.topics[rows]], axis=1)
    rest = _NOTHING if slate is None else slate
    order = _order([position for position, _ in pins], len(rest.slots))
    if len(rest.slots):
        features = np.concatenate([features, rest.features])
    slots = np.concatenate([pool.items.ids[rows], rest.slots]).astype(np.int32)
    scores = [*([None] * len(pins)), *rest.scores]
    known = rest.propensities
    if certain:
        known = SlatePropensities.of(slate=1.0, cascade=(), item_position=())
    return replace(
        rest,
        slots=slots[order],
        features=features[order],
        scores=[scores[place] for place in order],
        propensities=None if known is None else _around(known, order, len(pins)),
        pinned=tuple(n for n, place in enumerate(order, start=1) if place < len(pins)),
    )


_NOTHING = RankedSlate(slots=np.empty(0, np.int32), features=np.empty((0, 0)), scores=[])


def _order(positions: Sequence[int], others: int) -> list[int]:
    """Return what stands at each position: the n-th pin, or after all pins the n-th other item."""
    order: list[int] = []
    first, pin, other = len(positions), 0, 0
    while len(order) < len(positions) + others:
        due = pin < len(positions) and positions[pin] <= len(order) + 1
        if due or other == others:
            order.append(pin)
            pin += 1
        else:
            order.append(first + other)
            other += 1
    return order


def _around(known: SlatePropensities, order: Sequence[int], pins: int) -> SlatePropensities:
    """Return propensities of a slate in which pinned items stand, each of which is certain."""
    cascade, alone, so_far = [], [], 1.0
    for place in order:
        if place >= pins:
            so_far = known.cascade[place - pins]
        cascade.append(so_far)
        if known.item_position is not None:
            alone.append(known.item_position[place - pins] if place >= pins else 1.0)
    single = None if known.item_position is None else alone
    return SlatePropensities.of(slate=known.slate, cascade=cascade, item_position=single)
