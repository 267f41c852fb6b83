"""Click bandits under fitted click models: runs that stay, and what they are summed up to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from faircascade.paper import yandex
from faircascade.paper.finished_runs import RESULTS
from faircascade.paper.yandex import Run, read_runs, reproduce, summarise
from faircascade.report.survival import write_heat_map
from tests.cli.conftest import run
from tests.paper.test_finished_runs import ctrl_c

__all__ = ["run"]

ROUNDS = 2000


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Two queries of six documents under two click models."""
    attraction = [0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    examination = [1.0, 0.8, 0.6, 0.4, 0.2, 0.1]
    queries = {"a": attraction, "b": attraction[::-1]}
    document = {
        "CM": {query: {"params": [w]} for query, w in queries.items()},
        "PBM": {query: {"params": [w, examination]} for query, w in queries.items()},
    }
    path = tmp_path / "models.json"
    path.write_text(json.dumps(document))
    return path


def test_every_policy_runs_under_every_click_model(models: Path, tmp_path: Path) -> None:
    runs = reproduce(models, tmp_path / "out", rounds=ROUNDS, runs=2)
    found = {(each.click_model, each.policy): each for each in summarise(runs)}
    assert found.keys() == {(m, p) for m in ("cascade", "pbm") for p in yandex.POLICIES}
    for each in found.values():
        assert each.seeds == 2
        assert each.policy == "Random" or each.of_random < 0.8
    assert found["pbm", "Random"].of_random == 1.0
    assert found["pbm", "Random"].stuck == 1.0
    picture = write_heat_map(list(found.values()), tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_runs_stay_and_more_seeds_add_to_them(models: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(yandex, "POLICIES", {"Random": yandex.POLICIES["Random"]})
    first = reproduce(models, tmp_path, rounds=50, runs=2)
    more = reproduce(models, tmp_path, rounds=50, runs=3)
    assert [each for each in more if each.seed < 3] == first
    assert sorted(read_runs(tmp_path / RESULTS), key=str) == sorted(more, key=str)

    def broken(*_: object) -> Run:
        raise AssertionError("nothing is left to run")

    monkeypatch.setattr(yandex, "_run", broken)
    assert reproduce(models, tmp_path, rounds=50, runs=3) == more
    with pytest.raises(AssertionError):
        reproduce(models, tmp_path, rounds=51, runs=2)


def test_standard_errors_are_over_seeds() -> None:
    def of(policy: str, *regrets: float) -> list[Run]:
        return [
            Run("pbm", policy, seed, 10, "", regret, 0.02, 0.5)
            for seed, regret in enumerate(regrets)
        ]

    random, learned = summarise([*of("Random", 100, 100), *of("TopRank", 10, 14)])
    assert random.error == 0.0
    assert (learned.regret, learned.of_random, learned.stuck) == (12, 0.12, 0.5)
    assert np.isclose(learned.error, np.sqrt(8) / np.sqrt(2))


def test_the_command_prints_regrets_and_names_what_is_missing(run, models: Path) -> None:
    where = ("reproduce", "yandex", "--path", str(models), "--rounds", "60", "--seeds", "2")
    code, out, err = run(*where)
    assert code == 0, err
    assert "TopRank" in out
    assert Path("runs/reproduce/yandex/survival.png").exists()
    code, out, err = run(*where, "--json")
    assert code == 0, err
    assert len(json.loads(out)["policies"]) == 2 * len(yandex.POLICIES)
    Path("foreign").mkdir()
    Path("foreign", RESULTS).write_text("a,b\n1,2\n")
    for wrong, said in (
        (("yandex",), "--path must be a file of fitted click models"),
        (("yandex", "rq1"), "must be yandex alone"),
        (("yandex", "--path", "no.json"), "no.json: there is no such file"),
        ((*where[1:], "--reading", "paper"), "--reading must be left out with yandex"),
        ((*where[1:], "--seeds", "1"), "--seeds must be at least 2"),
        ((*where[1:-2], "--seeds", "0"), "--seeds must be at least 2"),
        ((*where[1:4], "--rounds", "0"), "--rounds must be at least 1, got 0"),
        ((*where[1:], "--out", "foreign"), "foreign/results.csv: row 1 must name the columns"),
    ):
        code, out, err = run("reproduce", *wrong)
        assert code == 2
        assert said in err
        assert len(err.strip().splitlines()) == 1
    assert Path("foreign", RESULTS).read_text() == "a,b\n1,2\n"


def test_ctrl_c_says_what_is_kept_and_how_to_continue(run, models: Path, monkeypatch) -> None:
    true = yandex._run
    calls = iter([true] * 3 + [lambda *given: ctrl_c(given[-1])])  # type: ignore[list-item]
    monkeypatch.setattr(yandex, "_run", lambda *given: next(calls)(*given))
    size = ("--rounds", "60", "--seeds", "2", "--threads", "1")
    code, out, err = run("reproduce", "yandex", "--path", str(models), *size, "--out", "here")
    assert (code, out) == (130, "")
    kept = f"3 of {2 * 2 * len(yandex.POLICIES)} runs are kept in here/results.csv"
    assert err == f"Stopped early: {kept}. Run the same command to continue.\n"
    assert len(read_runs(Path("here", RESULTS))) == 3
