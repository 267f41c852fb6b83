"""How far an event log has come, as workers of one service tell it."""

from __future__ import annotations

from pathlib import Path

from faircascade.service.event_log.status import LogStatus


def test_all_workers_know_of_a_problem_of_the_one_that_writes(tmp_path: Path) -> None:
    writer, other, alone = LogStatus(), LogStatus(), LogStatus()
    for status in (writer, other):
        status.share(tmp_path)
    for why in ("the disk is full", "日本 is full"):
        writer.problem = why
        assert [status.problem for status in (writer, other, alone)] == [why, why, ""]
    writer.wrote(1.0, 1, behind=False)
    assert writer.problem == other.problem == ""
    writer.stopped("another service writes the event log")
    assert other.problem == "another service writes the event log"


def test_a_writer_that_takes_over_clears_the_problem_of_the_one_that_died(tmp_path: Path) -> None:
    died, new = LogStatus(), LogStatus()
    for status in (died, new):
        status.share(tmp_path)
    died.problem = "the disk is full"
    new.wrote(1.0, 1, behind=False)
    assert died.problem == new.problem == ""
