"""Progress where there is no terminal: lines with an estimate of what is left."""

from __future__ import annotations

import pytest

from faircascade.cli import console


def told(capsys: pytest.CaptureFixture[str], monkeypatch, reports: list[tuple[float, float]]):
    """Return the lines of reports, each a time and the share of the work that is done by then."""
    now = 0.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now)
    with console.progress("Running") as tell:
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
