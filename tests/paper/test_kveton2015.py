"""Table 1 of the cascading bandits: what the command prints, refuses and keeps."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from threading import Event

import pytest

from faircascade.paper import kveton2015
from faircascade.paper.finished_runs import RESULTS
from faircascade.paper.kveton2015 import NEAR, SETTINGS, Reproduced, Run, Setting
from faircascade.policies import Policy
from tests.cli.conftest import run
from tests.cli.processes import interrupted
from tests.paper.test_finished_runs import ctrl_c, never

__all__ = ["run"]

SMALL = ("reproduce", "kveton2015", "--rounds", "50", "--seeds", "2")


def cell(mean: float) -> Reproduced:
    return Reproduced(SETTINGS[0], "CascadeUCB1", mean, error=4.0, published=(100.0, 3.0))


def test_near_is_within_three_standard_errors_of_the_difference() -> None:
    """The error of the difference is sqrt(3^2 + 4^2) = 5."""
    assert NEAR == 3
    assert (cell(115.0).distance, cell(115.0).near) == (3.0, True)
    assert (cell(84.0).distance, cell(84.0).near) == (3.2, False)
    assert cell(84.0).to_dict()["near"] is False


def test_the_command_says_which_cells_are_near(run, monkeypatch) -> None:
    def published(setting: Setting, policy: Policy, seed: int, rounds: int, stop: Event) -> Run:
        regret = {"CascadeUCB1": setting.ucb1, "CascadeKLUCB": setting.kl_ucb}[policy.label][0]
        wrong = 500.0 if setting == SETTINGS[0] else 0.0
        where = (setting.items, setting.k, setting.gap)
        return Run(policy.label, *where, seed, rounds, regret + wrong + seed)

    monkeypatch.setattr(kveton2015, "_run", published)
    code, out, err = run("reproduce", "kveton2015", "--seeds", "2")
    assert code == 0, err
    assert "Within 3" in out
    verdicts = [line.rstrip("│ \n").rpartition(" ")[2] for line in out.splitlines() if "±" in line]
    assert verdicts == ["no"] * 2 + ["yes"] * 16
    code, out, err = run("reproduce", "kveton2015", "--seeds", "2", "--json")
    assert code == 0, err
    assert [cell["near"] for cell in json.loads(out)] == [False] * 2 + [True] * 16


def test_a_shorter_study_has_no_verdict_and_its_runs_stay(run, monkeypatch) -> None:
    code, out, err = run(*SMALL)
    assert code == 0, err
    assert "yes" not in out
    assert len(Path("runs/reproduce/kveton2015", RESULTS).read_text().splitlines()) == 1 + 2 * 18
    monkeypatch.setattr(kveton2015, "_run", never)
    again = run(*SMALL)
    assert again == (0, out, "")


def test_ctrl_c_says_what_is_kept_and_how_to_continue(run, monkeypatch) -> None:
    true = kveton2015._run
    calls = iter([true] * 5 + [lambda *given: ctrl_c(given[-1])])  # type: ignore[list-item]
    monkeypatch.setattr(kveton2015, "_run", lambda *given: next(calls)(*given))
    code, out, err = run(*SMALL, "--threads", "1", "--out", "here")
    assert (code, out) == (130, "")
    said = "Stopped early: 5 of 36 runs are kept in here/results.csv. Run the same command to"
    assert err == f"{said} continue.\n"
    monkeypatch.setattr(kveton2015, "_run", true)
    code, out, err = run(*SMALL, "--out", "here")
    assert code == 0, err
    assert out == run(*SMALL, "--out", "anew")[1]
    assert Path("here", RESULTS).read_bytes() == Path("anew", RESULTS).read_bytes()


@pytest.mark.slow
def test_ctrl_c_ends_the_study_and_leaves_a_table(tmp_path: Path) -> None:
    command = "reproduce kveton2015 --out here"
    code, out, err = interrupted(command, when="kveton2015: 100,000", folder=tmp_path)
    assert (code, out) == (130, "")
    with (tmp_path / "here" / RESULTS).open(newline="") as file:
        kept = len(list(csv.DictReader(file)))
    assert 0 < kept < 360
    assert f"Stopped early: {kept} of 360 runs are kept in here/results.csv. Run the same" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--rounds", "0"), "--rounds must be at least 1, got 0"),
        (("--seeds", "0"), "--seeds must be at least 2 for a standard error, got 0"),
        (("--quick", "--seeds", "1"), "--seeds must be at least 2 for a standard error, got 1"),
        (("--threads", "0"), "--threads must be at least 1, got 0"),
        (("--path", "a.json"), "--path must be left out with kveton2015"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_run(run, monkeypatch, given, said) -> None:
    monkeypatch.setattr(kveton2015, "_run", never)
    code, out, err = run("reproduce", "kveton2015", *given)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert not Path("runs").exists()
