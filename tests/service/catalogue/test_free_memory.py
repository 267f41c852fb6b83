from __future__ import annotations

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
