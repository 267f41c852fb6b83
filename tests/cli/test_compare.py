"""One line from a file to a table and a report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import faircascade as fc
from faircascade.cli.policy_options import sort_comparison_settings
from faircascade.cli.study_output import print_results
from faircascade.storage import free_folder
from tests.cli.processes import interrupted

SMALL = ["--users", "25", "--dim", "4", "--k", "5", "--rounds", "12"]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    file = tmp_path / "my.csv"
    rows = [f"{user},{item},{4 + item % 2}" for user in range(40) for item in range(user % 7, 30)]
    file.write_text("\n".join(["user,item,rating", *rows]))
    return file


def test_a_file_becomes_a_table_and_a_report(run, ratings: Path, tmp_path: Path) -> None:
    code, out, err = run("compare", "--data", "my.csv", *SMALL)
    assert code == 0, err
    for label in ("LinUCB", "EALinUCB log", "(random slates)", "MostPopular", "2 seeds", "★"):
        assert label in out
    assert "my.csv: the 25 most active of 40 users, 30 items, slates of 5" in err
    assert "4 policies x 2 seeds x 12 rounds (--users, --seeds and --rounds change that)" in err
    assert "Report: runs/my-compare/report.html" in err
    page = (tmp_path / "runs/my-compare/report.html").read_text()
    assert "<html" in page
    assert "With 2 seeds a t-test" in out
    assert "With 2 seeds a t-test" in page
    assert free_folder("my-compare") == Path("runs/my-compare-2"), "nothing is written over"


def test_a_comparison_names_a_click_model_that_is_not_the_usual_one(run, ratings: Path) -> None:
    given = ["compare", "--data", "my.csv", *SMALL, "--policy", "linucb", "--set"]
    code, out, err = run(*given, "click_model=dcm")
    assert code == 0, err
    assert "slates of 5, click model dcm; 1 policy" in err
    assert "Clicks and fair exposure: my.csv, click_model=dcm, 2 seeds" in " ".join(out.split())
    for run_of_it in json.loads(run(*given, "click_model=dcm", "--json")[1])["runs"]:
        assert run_of_it["environment"]["click_model"] == {"name": "dcm", "stop": 0.5}


def test_the_document_has_what_python_computes(run, ratings: Path) -> None:
    policies = ["--policy", "linucb", "--policy", "ealinucb(weight=rbp, beta=0.8)"]
    code, out, err = run("compare", "--data", "my.csv", *SMALL, *policies, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["page"] == "runs/my-compare/report.html"
    data = fc.load_dataset(ratings)
    expected = fc.compare(
        lambda seed: fc.Environment.from_ratings(data, users=25, dim=4, k=5, seed=seed),
        [fc.LinUCB(), fc.EALinUCB(weight="rbp", beta=0.8)],
        rounds=12,
        seeds=2,
    )
    assert document["table"] == json.loads(json.dumps(expected.document()["table"]))
    for name in ("items", "eligible"):
        assert document[name] == [of_seed[name] for of_seed in document["runs"][:2]]


def test_users_click_as_the_named_model_says(run, ratings: Path) -> None:
    small = ["compare", "--data", "my.csv", *SMALL, "--seeds", "1", "--policy", "random", "--json"]
    code, out, err = run(*small, "--click-model", "dcm", "--set", "click_model.stop=0.1")
    assert code == 0, err
    data = fc.load_dataset(ratings)
    model = {"name": "dcm", "stop": 0.1}
    env = fc.Environment.from_ratings(data, users=25, dim=4, k=5, seed=1, click_model=model)
    expected = fc.simulate(env, fc.Random(), rounds=12, seed=1)
    assert json.loads(out)["table"][0]["clicks"] == expected.clicks
    code, _, err = run(*small, "--click-model", "cascad")
    assert code == 2
    assert "--click-model must be one of" in err


def test_settings_are_for_all_policies_that_have_them_or_for_one() -> None:
    written = ["linucb", "ealinucb", "ealinucb(weight=rbp)", "most_popular"]
    settings = (
        "alpha=0.5 ealinucb.gamma=0.1 policies.linucb.ridge=3 policy.sigma=2 environment.seed=7 "
        "linucb.reranker.tolerance=0.2 linucb.reranker=ears density=0.5 checkpoints=3"
    )
    policies, others = sort_comparison_settings(settings.split(), {}, written, "synthetic")
    shared = {"alpha": 0.5, "sigma": 2.0}
    assert policies == [
        fc.LinUCB(ridge=3, reranker={"name": "ears", "tolerance": 0.2}, **shared),
        fc.EALinUCB(gamma=0.1, **shared),
        fc.EALinUCB(gamma=0.1, weight="rbp", **shared),
        fc.MostPopular(),
    ]
    assert others == {
        "environment": {"seed": 7},
        "simulate": {"checkpoints": 3},
        "data": {"density": 0.5},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "linucd"], "--policy must be one of .*did you mean 'linucb'"),
        (["--policy", "linucb(alhpa=1)"], r"has no parameter 'alhpa' \(did you mean 'alpha'"),
        (["--policy", "linucb(0.5)"], r"parameters must be name=value, got 'linucb\(0.5\)'"),
        (["--policy", "linucb", "--policy", "linucb"], "policies must be distinct, got 'LinUCB'"),
        (["--set", "alhpa=1"], "did you mean 'alpha'"),
        (["--set", "linucb.gamma=1"], "policy 'linucb' has no parameter 'gamma'"),
        (["--set", "ealinucb=1"], "must name one of"),
        (["--set", "rounds=5"], "use the option --rounds"),
        (["--set", "policy=linucb"], "use the option --policy"),
        (["--seeds", "0"], "--seeds must be at least one"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--users", "0"], "--users must be at least 1"),
        (["--over", "eligable"], "--over must be one of .*did you mean 'eligible'"),
        (["--k", "500"], "--k must be at most 30"),
        (["--data", "no.csv"], "'no.csv' is neither a data set nor a file"),
        (["--out", "my.csv"], "results go into a folder"),
    ],
)
def test_a_mistake_is_one_line(run, ratings: Path, arguments: list[str], message: str) -> None:
    code, out, err = run("compare", "--data", "my.csv", "--dim", "4", *arguments)
    assert code == 2
    assert out == ""
    *_, last = err.splitlines()
    assert last.startswith("Error: ")
    assert re.search(message, last)


@pytest.mark.slow
def test_ctrl_c_keeps_the_policies_that_were_finished(tmp_path: Path) -> None:
    command = (
        "compare --users 40 --rounds 150000 --set data.users=60 --set data.items=100 "
        "--policy most-popular --policy linucb --seeds 1 --json --out here"
    )
    code, out, err = interrupted(command, when="Comparing LinUCB", folder=tmp_path)
    assert code == 130, err
    document = json.loads(out)
    assert document["interrupted"]
    assert [row["policy"] for row in document["table"]] == ["MostPopular"]
    assert document["rounds"] == 150_000
    assert "Stopped early: the results cover MostPopular" in err
    assert "Stopped before it was complete" in (tmp_path / "here/report.html").read_text()


def test_a_world_is_named_once(run, ratings: Path) -> None:
    code, _, err = run(
        "compare", "--data", "my.csv", *SMALL, "--world", "paper", "--set", "world=x"
    )
    assert code == 2
    assert "must not repeat the option --world" in err


@pytest.mark.parametrize("asked", [[], ["--users", "9"], ["--set", "users=9"]])
def test_users_are_noted_on_the_page_unless_they_were_asked_for(
    run, ratings: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    monkeypatch.setattr("faircascade.cli.compare.USERS", 9)
    notes: list[str] = []

    def write(comparison: fc.Comparison, folder: Path, *, notes: list[str], to=notes) -> Path:
        to.extend(notes)
        return folder / "report.html"

    monkeypatch.setattr("faircascade.cli.compare.write_comparison", write)
    options = ["--dim", "4", "--k", "5", "--rounds", "2", "--seeds", "1", *asked]
    code, _, err = run("compare", "--data", "my.csv", *options)
    assert code == 0, err
    assert "my.csv: the 9 most active of 40 users" in err
    assert "only the" not in err
    assert notes == ([] if asked else ["Simulated are the 9 most active of 40 users."])


@pytest.mark.parametrize(("seeds", "warned"), [(1, True), (2, True), (4, True), (5, False)])
def test_tables_warn_of_few_seeds_as_pages_do(
    ratings: Path, capsys: pytest.CaptureFixture[str], seeds: int, warned: bool
) -> None:
    env = fc.Environment.from_ratings(ratings, dim=4, k=5)
    print_results(fc.compare(env, ["linucb", "random"], rounds=5, seeds=seeds))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("With ") == warned
    assert ("use 5 or more" in last) == (warned and seeds > 1)
