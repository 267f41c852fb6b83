"""Runs of a study: kept as they finish, after Ctrl-C and a kill too, and in no other file."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event, get_ident, main_thread

import numpy as np
import pytest

from faircascade.environment import Environment
from faircascade.paper.finished_runs import (
    RESULTS,
    FinishedRun,
    Stopped,
    complete,
    read_runs,
    simulate_alone,
)
from faircascade.policies import CascadeUCB1


@dataclass(frozen=True)
class Toy(FinishedRun):
    name: str
    seed: int
    regret: float

    @property
    def key(self) -> int:
        return self.seed


def done(seed: int) -> Callable[[Event], Toy]:
    return lambda stop: Toy("a, b", seed, seed / 3)


def ctrl_c(stop: Event) -> Toy:
    """Press Ctrl-C, and run until told to end."""
    main = main_thread().ident
    assert main not in (None, get_ident())
    signal.pthread_kill(main, signal.SIGINT)
    assert stop.wait(20)
    raise KeyboardInterrupt


def never(stop: Event) -> Toy:
    raise AssertionError("this one is not to be run")


def test_ctrl_c_keeps_what_is_finished_and_the_same_call_continues(tmp_path: Path) -> None:
    wanted = {1: done(1), 2: ctrl_c, 3: never}
    with pytest.raises(Stopped, match=f"1 of 3 runs are kept in {tmp_path / RESULTS}"):
        complete(tmp_path, Toy, wanted, threads=1)
    shares: list[float] = []
    wanted = {1: never, 2: done(2), 3: done(3)}
    found = complete(tmp_path, Toy, wanted, threads=1, progress=shares.append)
    assert found == [Toy("a, b", seed, seed / 3) for seed in (1, 2, 3)]
    assert shares == [2 / 3, 1]
    assert read_runs(tmp_path / RESULTS, Toy) == found


def test_an_error_ends_a_study_and_keeps_what_is_finished(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="not to be run"):
        complete(tmp_path, Toy, {1: done(1), 2: never}, threads=1)
    assert [run.seed for run in read_runs(tmp_path / RESULTS, Toy)] == [1]


def test_a_long_run_ends_soon_after_it_is_told_to() -> None:
    env = Environment.from_attraction(np.full((1, 16), 0.1), k=4)
    stop = Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        simulate_alone(env, CascadeUCB1(), rounds=100_000_000, seed=1, stop=stop)


@pytest.mark.parametrize("cut", ["b,2", "b,2,0.", 'b,"', "b"])
def test_the_end_of_a_line_that_was_cut_off_is_run_again(tmp_path: Path, cut: str) -> None:
    file = tmp_path / RESULTS
    file.write_text(f"name,seed,regret\na,1,0.5\n{cut}")
    assert read_runs(file, Toy) == [Toy("a", 1, 0.5)]
    assert complete(tmp_path, Toy, {1: never, 2: done(2)})[1] == Toy("a, b", 2, 2 / 3)
    file.write_text("")
    assert read_runs(file, Toy) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x,y\n1,2\n", "row 1 must name the columns name,seed,regret, got 'x,y'; use another"),
        ("a word", "row 1 must name the columns name,seed,regret, got 'a word'; use another"),
        ("name,seed,regret\na,1\nb,2,0.5\n", "row 2 must have 3 values, got 2"),
        ("name,seed,regret\na,1,0.5\nb,two,0.5\n", "row 3: seed must be a whole number, got 'two'"),
        ("name,seed,regret\na,1,\n", "row 2: regret must be a number, got ''"),
        (b"\xff\xfe\x00", "must be a table of finished runs, got 'utf-8' codec"),
    ],
)
def test_another_file_is_refused_in_a_line_and_left_as_it_is(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    file = tmp_path / RESULTS
    before = content.encode() if isinstance(content, str) else content
    file.write_bytes(before)
    with pytest.raises(ValueError, match=RESULTS) as error:
        complete(tmp_path, Toy, {1: never})
    assert str(error.value).startswith(f"{file}: {said}")
    assert file.read_bytes() == before
