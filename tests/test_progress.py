"""Progress: shown to who is watching, and to nobody else."""

from __future__ import annotations

import io
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

import faircascade as fc
from faircascade import progress as room
from faircascade.progress import progress, progress_if_watched
from tests.environments import small_environment


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as if a Jupyter kernel did."""
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", shell)


def compare(**options: object) -> fc.Comparison:
    return fc.compare(small_environment(), ["linucb", "random"], rounds=4, **options)


def test_a_comparison_shows_its_policies_on_a_terminal(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    compare()
    assert "Comparing" in stream.getvalue()
    assert "%" in stream.getvalue()


@pytest.mark.usefixtures("notebook")
def test_a_comparison_shows_its_policies_in_a_notebook(capsys) -> None:
    compare()
    shown = capsys.readouterr().err
    assert re.match(r"\rComparing LinUCB: \d+%", shown)
    assert shown.endswith(" \r"), "the line is left empty"


def test_elsewhere_a_comparison_is_silent(capsys) -> None:
    compare()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("notebook")
def test_a_comparison_is_silent_when_asked_to_be(capsys) -> None:
    compare(progress=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("notebook")
def test_a_function_gets_what_would_be_shown(capsys) -> None:
    told: list[tuple[str, float]] = []
    compare(progress=lambda label, share: told.append((label, share)))
    assert [label for label, _ in told] == sorted(label for label, _ in told)
    assert told[-1] == ("Random", 1.0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("notebook")
def test_a_notebook_line_covers_a_longer_one(monkeypatch, capsys) -> None:
    monkeypatch.setattr(room, "_NOTEBOOK_STEP", 0.0)
    with progress_if_watched("Comparing") as tell:
        assert tell is not None
        tell("a long name", 0.0)
        tell("b", 0.5)
    _, longer, shorter, blank, _ = capsys.readouterr().err.split("\r")
    assert longer == "Comparing a long name: 0%"
    assert shorter.strip() == "Comparing b: 50%"
    assert len(shorter) == len(longer)
    assert blank.strip() == ""


def test_plain_lines_come_with_every_tenth_once_it_takes_long(monkeypatch, capsys) -> None:
    clock = iter([0.0, 0.5, 10.0, 10.1, 20.0])
    monkeypatch.setattr(room.time, "monotonic", lambda: next(clock))
    with progress("Running") as tell:
        tell("a", 0.05)  # too early for a line
        tell("a", 0.2)
        tell("a", 0.21)  # the same tenth
        tell("b", 0.4)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["Running a: 20%, about 51 s left", "Running b: 40%, about 33 s left"]


def told(capsys: pytest.CaptureFixture[str], monkeypatch, reports: list[tuple[float, float]]):
    """Return the lines of reports, each a time and the share of the work that is done by then."""
    now = 0.0
    monkeypatch.setattr(room.time, "monotonic", lambda: now)
    with progress("Running") as tell:
        for now, share in reports:  # noqa: B007 - the clock reads it
            tell("", share)
    return capsys.readouterr().err.splitlines()


def test_an_estimate_leaves_out_the_time_before_work_began_to_show(capsys, monkeypatch) -> None:
    lines = told(capsys, monkeypatch, [(5, 0.0), (20, 0.1), (22, 0.2), (24, 0.3)])
    assert lines == [
        "Running: 0%",
        "Running: 10%",
        "Running: 20%, about 16 s left",
        "Running: 30%, about 14 s left",
    ]


def test_what_is_done_in_no_time_is_not_told(capsys, monkeypatch) -> None:
    assert told(capsys, monkeypatch, [(0.2, 0.3), (0.9, 1.0)]) == []
