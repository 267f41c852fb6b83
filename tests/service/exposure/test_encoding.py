"""An account survives as bytes, and nothing else is taken for one."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.exposure.counters import ALL, Counters
from faircascade.service.exposure.encoding import VERSION, from_bytes, to_bytes
from faircascade.service.exposure.windows import SPANS
from tests.service.exposure.events import NOW, catalogue, events_at, listed, plainly

ITEMS = catalogue(8)
WEEK = 7 * 86400.0


def account_of(events) -> Counters:
    account = Counters()
    account.count(events, NOW, ITEMS)
    account.advance(NOW, ITEMS)
    return account


def seen(account: Counters, now: float):
    """All that can be read from an account."""
    account.advance(now, ITEMS)
    counts = {name: plainly(account.snapshot(name, now).counts, 8) for name in (ALL, *SPANS)}
    steps = {
        name: [
            (moment.since, moment.totals.tolist(), repr(moment.fairness))
            for moment in account.timeline(name, now).moments
            if isinstance(moment.fairness, np.ndarray)
        ]
        for name in SPANS
    }
    return account.first, counts, steps


recent = st.floats(NOW - 1.1 * WEEK, NOW) | st.floats(NOW - 4000, NOW)


@given(
    st.lists(events_at(recent), max_size=20),
    st.lists(events_at(recent), max_size=20),
    st.floats(0, WEEK),
)
def test_an_account_goes_on_after_a_restart_as_if_there_was_none(events, more, later) -> None:
    account = account_of(events)
    restored = from_bytes(to_bytes(account))
    assert seen(restored, NOW) == seen(account, NOW)
    for one in (account, restored):
        one.count(more, NOW + later, ITEMS)
    assert seen(restored, NOW + later) == seen(account, NOW + later)


def test_the_same_account_gives_the_same_bytes() -> None:
    account = account_of([listed(NOW, 1), listed(NOW - 3000, 2)])
    data = to_bytes(account)
    assert to_bytes(account) == data == to_bytes(from_bytes(data))


def test_large_counts_survive() -> None:
    account = Counters()
    nothing = [[0, 0]] * 3
    account.counts.add_entries(np.arange(2), np.array([[2**40, 1], [2**56, 1], *nothing]))
    assert from_bytes(to_bytes(account)).counts.by_slot.tolist() == [[2**40, 1], [2**56, 1], [0, 0]]


@pytest.mark.parametrize("data", [b"", b"counts", b"PK\x03\x04", bytes(1000)])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="exposure counts"):
        from_bytes(data)


def test_a_single_array_or_an_archive_of_others_is_refused() -> None:
    single, other = BytesIO(), BytesIO()
    np.save(single, np.arange(3))
    np.savez(other, theta=np.arange(3))
    for file in (single, other):
        with pytest.raises(ValueError, match="exposure counts"):
            from_bytes(file.getvalue())


def changed(data: bytes, **arrays) -> bytes:
    with np.load(BytesIO(data)) as archive:
        members = {name: archive[name] for name in archive.files} | arrays
    file = BytesIO()
    np.savez(file, **{name: array for name, array in members.items() if array is not None})
    return file.getvalue()


def test_another_version_is_refused_by_its_number() -> None:
    data = changed(to_bytes(Counters()), version=np.array(VERSION + 1))
    with pytest.raises(ValueError, match=f"version {VERSION + 1}"):
        from_bytes(data)


@pytest.mark.parametrize(
    "change",
    [
        {"first": None},
        {"1h/packed": np.zeros(7, dtype=np.uint8)},
        {"1h/lengths": np.array([1, 2])},
        {"24h/sizes": np.array([5])},
        {"1h/fairness": np.zeros((0, 5))},
        {"24h/totals": None},
        {"7d/running": np.array(0)},
        {"7d/numbers": np.array(["x"])},
        {"first": np.array("never")},
    ],
)
def test_parts_that_do_not_fit_are_refused(change) -> None:
    data = to_bytes(account_of([listed(NOW - 600, 1, 2), listed(NOW, 3)]))
    with pytest.raises(ValueError, match="exposure counts are damaged"):
        from_bytes(changed(data, **change))


@given(st.data())
def test_damaged_bytes_are_refused_or_do_not_matter(data) -> None:
    account = account_of([listed(NOW - 600, 1, 2), listed(NOW, 3)])
    good = to_bytes(account)
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= data.draw(st.integers(1, 255))
    try:
        found = from_bytes(bytes(bad))
    except ValueError:
        return
    assert seen(found, NOW) == seen(account, NOW)


@given(st.integers(0, 10_000))
def test_bytes_that_were_cut_off_are_refused(size) -> None:
    good = to_bytes(Counters())
    with pytest.raises(ValueError, match="exposure counts"):
        from_bytes(good[: min(size, len(good) - 1)])
