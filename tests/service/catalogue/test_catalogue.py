"""A catalogue that is changed step by step is the one that is built at once, and no larger."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade.random import keys_of
from faircascade.service.catalogue import item_names, segment
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.stores.base import StoredItem
from faircascade.service.stores.item_columns import ItemColumns
from faircascade.types import Items

DIM, TOPICS = 3, 1
SMALL = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let segments and pages be so small that few items need many of them."""
    monkeypatch.setattr(segment, "SIZE", 5)
    monkeypatch.setattr(item_names, "PAGE", 4)
    monkeypatch.setattr(item_names, "RECENT", 6)


def item(slot: int, version: int = 0, *, removed: bool = False) -> StoredItem:
    return StoredItem(
        id=f"item-{slot}-é",
        features=np.random.default_rng([slot, version]).normal(size=DIM + TOPICS),
        merit=1.0 + slot % 3,
        popularity=float(version),
        groups={"group": f"g{slot % 2}"} if slot % 4 else {},
        slot=slot,
        removed=removed,
    )


def columns(*items: StoredItem) -> ItemColumns:
    return ItemColumns.of(items, DIM + TOPICS)


def built(*items: StoredItem) -> Catalogue:
    return Catalogue.empty(DIM, TOPICS).changed(columns(*items))


steps = st.lists(
    st.dictionaries(st.integers(0, 29), st.booleans(), min_size=1, max_size=12), max_size=12
)


@given(steps=steps)
@SMALL
@pytest.mark.usefixtures("small_segments")
def test_changes_one_by_one_make_the_catalogue_that_is_built_at_once(
    steps: list[dict[int, bool]],
) -> None:
    changing, known, seen = Catalogue.empty(DIM, TOPICS), {}, 0
    for version, step in enumerate(steps):
        # a store gives out slots in order
        step = {min(slot, seen + n): gone for n, (slot, gone) in enumerate(step.items())}
        seen = max(seen, *(slot + 1 for slot in step))
        changed = [item(slot, version, removed=gone) for slot, gone in step.items()]
        known |= {one.slot: one for one in changed}
        changing = changing.changed(columns(*changed))
        at_once = built(*sorted(known.values(), key=lambda one: one.slot)) if known else changing
        live = [one for _, one in sorted(known.items()) if not one.removed]
        assert len(changing) == len(at_once) == len(live)
        assert changing.slots.tolist() == at_once.slots.tolist() == [one.slot for one in live]
        for name, column in changing.items.arrays().items():
            assert np.array_equal(column, at_once.items.arrays()[name]), name
        assert changing.items.keys.tolist() == keys_of(one.id for one in live).tolist()
        assert list(changing.rows) == [one.id for one in live]
        for row, one in enumerate(live):
            found = changing.item(row)
            assert (found.id, found.slot, found.merit, found.groups) == (
                *(one.id, one.slot, one.merit),
                dict(one.groups),
            )
            assert np.array_equal(found.features, one.features)
        names = [one.id for one in known.values()]
        rows = {one.slot: row for row, one in enumerate(live)}
        assert changing.find(names).tolist() == [rows.get(slot, -1) for slot in known]
        assert changing.names(np.array(list(known))) == names
        sizes = [len(part) for part in changing.segments]
        assert max(sizes, default=0) <= 5
        assert min(sizes, default=1) > 0


@pytest.mark.usefixtures("small_segments")
def test_a_request_under_way_keeps_the_catalogue_that_it_began_with() -> None:
    before = built(*map(item, range(20)))
    kept = before.items.features.copy()
    after = before.changed(columns(item(3, 1), item(7, removed=True), item(20)))
    assert np.array_equal(before.items.features, kept)
    assert before.at("item-20-é") is None
    assert after.at("item-7-é") is None
    assert before.at("item-7-é") is not None


@pytest.mark.usefixtures("small_segments")
def test_segments_that_a_change_does_not_touch_are_not_copied() -> None:
    before = built(*map(item, range(20)))
    after = before.changed(columns(item(11, 1)))
    same = [part is other for part, other in zip(before.segments, after.segments, strict=True)]
    assert same == [True, True, False, True]


@pytest.mark.usefixtures("small_segments")
def test_full_segments_are_not_copied_when_items_come_after_them() -> None:
    before = built(*map(item, range(10)))
    after = before.changed(columns(*map(item, range(10, 23))))
    assert [len(part) for part in after.segments] == [5, 5, 5, 5, 3]
    assert after.segments[:2] == before.segments


@pytest.mark.usefixtures("small_segments")
def test_small_neighbours_are_joined() -> None:
    catalogue = built(*map(item, range(40)))
    catalogue = catalogue.changed(
        columns(*(item(slot, removed=True) for slot in range(40) if slot % 5))
    )
    assert len(catalogue) == 8
    assert len(catalogue.segments) <= 4


def test_names_with_one_key_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(names: list[str]) -> np.ndarray:
        return np.full(len(names), 7, dtype=np.uint64)

    monkeypatch.setattr(item_names, "keys_of_names", same)
    names = item_names.ItemNames()
    listed = [f"name {slot}" for slot in range(3_000)]
    names.add(np.arange(1_500, dtype=np.int32), listed[:1_500], same(listed[:1_500]))
    names.settle()
    names.add(np.arange(1_500, 1_600, dtype=np.int32), listed[1_500:1_600], same(listed[:100]))
    assert names.find([listed[3], listed[1_499], listed[1_550], "nobody"]).tolist() == [
        *(3, 1_499, 1_550),
        -1,
    ]


def test_choices_leave_out_what_is_not_there() -> None:
    catalogue = built(*map(item, range(6))).changed(columns(item(2, removed=True)))
    assert catalogue.slots.tolist() == [0, 1, 3, 4, 5]
    some = catalogue.choice(["item-5-é", "item-2-é", "item-0-é", "?", "item-0-é"], ["item-5-é"])
    assert some.among.tolist() == [0]
    assert some.left == 1
    every = catalogue.choice(None, ["item-5-é", "item-5-é", "item-2-é"])
    assert every.among is None
    assert every.without.tolist() == [4]
    assert every.left == 4


def test_an_excerpt_has_the_largest_merit_beside_what_it_offers() -> None:
    catalogue = built(*map(item, range(6)))  # merit 1, 2, 3, 1, 2, 3
    pool = catalogue.excerpt(np.array([0, 4]))
    assert pool.items.ids[pool.rows].tolist() == [0, 4]
    assert pool.items.merit.max() == 3.0


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Leave everything to reference counts, as in a service that froze its objects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_what_a_change_replaces_is_gone_at_once() -> None:
    catalogue = built(*map(item, range(100)))
    seen = []
    for version in range(3):
        part = catalogue.segments[0]
        _ = part.pool.norms, part.rough_pool.single_by_feature, catalogue.recipients.merit_share
        _ = catalogue.whole.by_feature, catalogue.recipients.by_group
        seen += [weakref.ref(catalogue), weakref.ref(part), weakref.ref(part.items)]
        del part
        catalogue = catalogue.changed(columns(item(5, version + 1)))
    assert [one() for one in seen] == [None] * len(seen)


@pytest.mark.usefixtures("no_collector")
def test_memory_does_not_grow_with_changes() -> None:
    def change(after: Catalogue, times: int) -> Catalogue:
        for version in range(times):
            slot = version % 2_000
            after = after.changed(columns(item(slot, version, removed=version % 7 == 0)))
            _ = after.segments[0].rough_pool.radius, after.recipients.merit_share
        return after

    tracemalloc.start()
    try:
        catalogue = change(built(*map(item, range(2_000))), 400)
        before, _ = tracemalloc.get_traced_memory()
        catalogue = change(catalogue, 400)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 48_000  # one copy of the features


@pytest.mark.usefixtures("no_collector")
def test_items_and_their_pool_do_not_hold_each_other() -> None:
    items = Items.of(np.eye(3))
    assert items.pool is items.pool
    _ = items.pool.with_topics, items.pool.by_key
    gone = weakref.ref(items)
    del items
    assert gone() is None


def test_an_item_takes_about_200_bytes_beside_its_name() -> None:
    rows = np.random.default_rng(0).normal(size=(20_000, 10))
    catalogue = Catalogue.empty(10).changed(
        ItemColumns.of(
            [
                StoredItem(id=f"item-{slot}", features=row, slot=slot)
                for slot, row in enumerate(rows)
            ],
            10,
        )
    )
    for part in catalogue.segments:
        _ = part.rough_pool.single_by_feature, part.rough_pool.radius, part.pool.radius
    held = sum(
        column.nbytes
        for part in catalogue.segments
        for column in [*part.columns.values(), part.rough_pool.single_by_feature]
    )
    assert held / 20_000 <= 180
