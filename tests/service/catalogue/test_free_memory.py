from __future__ import annotations

import gc

import numpy as np
import pytest

from faircascade.service.catalogue import free_memory


def test_memory_is_given_back_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    clock = iter([100.0, 101.0, 100.0 + free_memory.EVERY])
    monkeypatch.setattr(free_memory, "_trim", lambda: calls.append)
    monkeypatch.setattr(free_memory, "monotonic", lambda: next(clock))
    memory = free_memory.FreeMemory()
    counts = []
    for _ in range(3):
        memory.give_back()
        counts.append(len(calls))
    assert counts == [1, 1, 2]


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory, "_trim", lambda: None)
    free_memory.FreeMemory().give_back()


@pytest.mark.parametrize("shape", [(0,), (3,), (10, 0), (10, 16_384), (20_000,)])
@pytest.mark.parametrize("kind", [np.int32, np.float64, np.uint64])
def test_a_copy_in_pages_of_its_own_is_the_same(shape: tuple[int, ...], kind: type) -> None:
    array = np.random.default_rng(0).integers(0, 9, size=shape).astype(kind)
    copy = free_memory.in_own_pages(array[..., ::2])
    assert np.array_equal(copy, array[..., ::2])
    assert copy.dtype == array.dtype
    assert copy.flags.c_contiguous
    assert copy.flags.writeable
    assert not np.shares_memory(copy, array)


def test_settings_of_another_c_library_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory.ctypes, "CDLL", lambda _: object())
    free_memory.keep_little()


def test_rows_are_taken_into_pages_of_their_own() -> None:
    array = np.random.default_rng(0).normal(size=(3, 20_000))
    rows = np.random.default_rng(1).integers(0, 20_000, size=9_000)
    taken = free_memory.taken(array, rows)
    assert np.array_equal(taken, array[:, rows])
    assert taken.flags.writeable
    assert free_memory.taken(array, rows[:0]).shape == (3, 0)


def test_the_collector_goes_on_as_before() -> None:
    before = gc.isenabled()
    with free_memory.without_collector():
        assert not gc.isenabled()
        with free_memory.without_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() == before
