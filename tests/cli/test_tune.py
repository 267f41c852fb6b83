"""faircascade tune as a user meets it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from faircascade.experiment.spec import Spec
from faircascade.experiment.store.manifest import read_studies
from faircascade.installation import install_command
from tests.cli.processes import interrupted
from tests.experiment.specs import TUNE

pytest.importorskip("optuna")

LOOSE = TUNE.replace("clicks >= -3%", "clicks >= -20%")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(LOOSE)
    return path


def test_a_search_ends_with_a_comparison_on_other_seeds(run, spec: Path, tmp_path: Path) -> None:
    code, out, err = run("tune", "small.toml")
    assert code == 0, err
    assert "The best of 6 trials; means over seeds 101, 102" in out
    assert "1 (as written)" in out
    assert "change against LinUCB" in " ".join(out.split())
    assert "On the seeds of the comparison, clicks >= -20% " in out
    assert "(2 seeds) against LinUCB." in out
    assert "Up to 6 trials x 2 seeds of 30 rounds" in err
    folder = tmp_path / "runs/small-tune"
    assert {"tuned.toml", "trials.csv", "trials.parquet"} <= {p.name for p in folder.iterdir()}
    (study,) = read_studies(folder)  # so that `faircascade report` finds it
    assert study.spec.name == "small-tuned"
    assert study.missing == 0
    code, again, err = run("tune", "small.toml")
    assert code == 0, err
    assert again == out


def test_the_spec_that_it_writes_can_be_run(run, spec: Path, tmp_path: Path) -> None:
    code, _, err = run("tune", "small.toml", "--trials", "3", "--out", "here")
    assert code == 0, err
    cells = len(list((tmp_path / "here/cells").iterdir()))
    code, _, err = run("run", "here/tuned.toml", "--out", "here")
    assert code == 0, err
    assert re.search(r"(\d+) cells, \1 of them already finished", err)
    assert len(list((tmp_path / "here/cells").iterdir())) == cells


def test_json_is_one_document(run, spec: Path) -> None:
    code, out, err = run("tune", "small.toml", "--json", "--trials", "3")
    assert code == 0, err
    document = json.loads(out)
    assert document["maximize"] == "equality_p"
    assert document["subject_to"] == ["clicks >= -20%"]
    assert [trial["number"] for trial in document["trials"]] == [1, 2, 3]
    best = document["trials"][document["best"] - 1]
    assert best["parameters"] == document["parameters"]
    assert best["feasible"]
    assert document["comparison"]["missing"] == 0
    assert document["bounds"][0]["seeds"] == 2
    assert len(best["cells"]) == 2


def test_a_bound_that_fails_out_of_sample_is_admitted(run, spec: Path) -> None:
    """Of two pairs of seeds the search gets the one with more clicks, and a bound in between."""
    pairs = ["[1, 2]", "[101, 102]"]

    def tuned(bound: str, search: str, final: str, *options: str) -> str:
        settings = (f"tune.subject_to=clicks >= {bound}%", f"tune.seeds={search}")
        given = [
            word for setting in (*settings, f"run.seeds={final}") for word in ("--set", setting)
        ]
        code, out, err = run("tune", "small.toml", "--trials", "1", *given, *options)
        assert code == 0, err
        return out

    changes = {}
    for final, search in (pairs, pairs[::-1]):
        document = json.loads(tuned("-90", search, final, "--json"))
        changes[final] = document["bounds"][0]["measured"]
    final, search = sorted(pairs, key=changes.__getitem__)
    assert changes[final] < changes[search]
    out = tuned(f"{sum(changes.values()) / 2:.6f}", search, final)
    assert " does not hold" in out
    assert "A bound that held on the seeds of the search need not hold on others" in out


def test_no_feasible_trial_is_told_with_the_nearest(run, spec: Path, tmp_path: Path) -> None:
    setting = ("--set", "tune.subject_to=clicks >= 900%", "--trials", "3")
    code, out, err = run("tune", "small.toml", *setting)
    assert code == 1
    assert "NO" in out
    assert "No trial keeps to clicks >= +900%" in err
    assert "The nearest is trial " in err
    assert not (tmp_path / "runs/small-tune/tuned.toml").exists()
    assert (tmp_path / "runs/small-tune/trials.csv").exists()
    code, out, _ = run("tune", "small.toml", *setting, "--json")
    assert code == 1
    document = json.loads(out)
    assert document["best"] is None
    assert document["nearest"] in (1, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "tune.policy=ealinucbb"], "Error: --set tune.policy=ealinucbb: policy must be"),
        (["--set", "run.seeds=[101]"], "Error: small.toml:30: seeds must not be among"),
        (["--trials", "0"], "Error: --trials must be at least 1, got 0"),
        (["--workers", "0"], "Error: --workers must be at least 1, got 0"),
        (["--executor", "rya"], "Error: --executor must be one of local, gpu, ray"),
        (["--set", "environment.k=500"], "Error: --set environment.k=500: "),
        (["--out", "small.toml"], "Error: small.toml: results go into a folder"),
    ],
)
def test_a_mistake_is_one_line(run, spec: Path, arguments: list[str], message: str) -> None:
    code, out, err = run("tune", "small.toml", *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith(message)
    assert len(err.splitlines()) == 1


def test_without_optuna_it_says_how_to_get_it(
    run, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = run("tune", "small.toml")
    assert code == 2
    assert err == f"Error: tuning needs Optuna: {install_command('tune')}\n"


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(
    run, spec: Path, tmp_path: Path
) -> None:
    spec.write_text(LOOSE.replace("rounds = 30", "rounds = 4000"))
    code, _, err = interrupted("tune small.toml --threads 1", when="Tuning trial", folder=tmp_path)
    assert code == 130, err
    assert "Run the same command to continue" in err
    assert "Traceback" not in err
    code, _, err = run("tune", "small.toml")
    assert code == 0, err
    assert Spec.load(tmp_path / "runs/small-tune/tuned.toml").rounds == 4000


@pytest.mark.slow
def test_cells_side_by_side_give_the_same_search(run, spec: Path) -> None:
    documents = []
    for workers in ("1", "2"):
        code, out, err = run(
            *("tune", "small.toml", "--trials", "2", "--json"),
            *("--workers", workers, "--out", f"with{workers}"),
        )
        assert code == 0, err
        documents.append(json.loads(out)["trials"])
    assert documents[0] == documents[1]


FAIR = LOOSE[: LOOSE.index("[tune]")].replace(
    'weight = "log"', 'weight = "log"\n\n[[policies]]\nname = "linucb"\nreranker = "fairco"'
)


@pytest.mark.parametrize("command", ["run", "tune"])
def test_every_policy_of_any_spec_is_compared_at_the_same_cost(
    run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "fair.toml").write_text(FAIR + "\n[tune]\ntrials = 3\nseeds = 1\n")
    asked = (command, "fair.toml", "--fairest-within", "20%", "--out", "here")
    code, out, err = run(*asked)
    assert code == 0, err
    assert "Tuned 2 policies: here/small-tuned.toml" in err
    assert "reranker.strength = " in out
    assert "gamma = " in out
    assert "clicks >= -20%" in out
    code, out, err = run(*asked, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert [each["policy"] for each in document["tuned"]] == ["EALinUCB log", "LinUCB + fairco"]
    assert document["tuned"][1]["bounds"][0]["bound"] == "clicks >= -20%"
    assert (document if command == "run" else document["comparison"])["missing"] == 0


def test_a_share_that_is_none_is_refused_before_anything_runs(run, spec: Path) -> None:
    code, _, err = run("run", "small.toml", "--fairest-within", "2")
    assert code == 2
    assert 'must be a share of the clicks between 0% and 100%, like "2%"' in err
    assert not Path("runs").exists()


def test_ctrl_c_while_all_are_tuned_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "fair.toml").write_text(FAIR)
    command = "run fair.toml --set run.rounds=20000 --fairest-within 20%"
    code, _, err = interrupted(command, when="Tuning", folder=tmp_path)
    assert code == 130, err
    assert "while tuning. Run the same command to continue." in err
