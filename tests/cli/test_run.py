"""faircascade run, report and diff: a spec file, a folder of results, a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import faircascade as fc
from faircascade.cli import console
from faircascade.engine.gpu.device import is_present
from tests.cli.conftest import Run
from tests.cli.processes import interrupted
from tests.experiment.specs import TINY


@pytest.fixture
def run(run: Run) -> Run:
    """Run a command in a folder with tiny.toml."""
    Path("tiny.toml").write_text(TINY)
    return run


def cells(folder: str) -> set[Path]:
    return set(Path(folder).glob("cells/*/cell.json"))


def test_a_run_tells_its_plan_and_prints_a_table_for_every_environment(run: Run) -> None:
    code, out, err = run("run", "tiny.toml")
    assert code == 0
    assert "tiny: 2 environments x 2 seeds x 6 policies" in err
    assert "24 cells; results in runs/tiny" in err
    assert "24 to run, 1 cell at a time" in err
    assert out.count("EALinUCB log") == 2 + 2  # over items, and over groups of them
    assert out.count("(optimal slates)") == 2
    assert "(random slates)" not in out  # a policy of the study
    plain = " ".join(out.split())  # titles are wrapped
    assert plain.count("of them are eligible, the others are never shown") == 2 + 2
    assert len(cells("runs/tiny")) == 24
    manifest = json.loads(Path("runs/tiny/manifest.json").read_text())
    assert manifest["specs"]["tiny"]["spec"]["run"]["rounds"] == 30
    for cell in manifest["cells"].values():
        assert {"seed", "engine", "seconds", "machine", "versions", "finished"} <= cell.keys()
        assert cell["versions"]["faircascade"] == fc.__version__


@pytest.mark.skipif(is_present(), reason="there is a GPU")
@pytest.mark.parametrize(
    ("command", "instead"),
    [
        (("run", "tiny.toml", "--executor", "gpu", "--out", "made"), "--executor local"),
        (("reproduce", "rq1", "--executor", "gpu", "--out", "made"), "--executor local"),
        (("simulate", "--data", "ml-1m", "--engine", "gpu", "--out", "made"), "cpu engine"),
        (("simulate", "--data", "ml-1m", "--engine", "gpuu", "--out", "made"), "mean 'gpu'"),
    ],
)
def test_without_a_gpu_one_line_says_so_before_anything_is_done(
    run: Run, command: tuple[str, ...], instead: str
) -> None:
    code, out, err = run(*command)
    assert (code, out) == (2, "")
    assert instead in err
    assert err.startswith(("Error: engine", "Error: --engine"))
    assert not Path("made").exists()


def test_a_policy_without_its_topics_is_one_line_before_anything_runs(run: Run) -> None:
    Path("bad.toml").write_text(TINY.replace('name = "random"', 'name = "cascade-lsb"'))
    code, out, err = run("run", "bad.toml", "--out", "made")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("Error: bad.toml:31: policy 'cascade-lsb' needs items with topics")
    assert not Path("made").exists()


def test_a_second_run_adds_only_what_is_new(run: Run) -> None:
    assert run("run", "tiny.toml")[0] == 0
    before = cells("runs/tiny")
    code, _, err = run("run", "tiny.toml", "--set", "run.seeds=3")
    assert code == 0
    assert "36 cells, 24 of them already finished" in err
    assert before < cells("runs/tiny")
    assert len(cells("runs/tiny")) == 36
    assert "to run" not in run("run", "tiny.toml")[2]


def test_a_plan_alone_is_the_result_and_writes_nothing(run: Run) -> None:
    code, out, err = run("run", "tiny.toml", "--plan")
    assert (code, err) == (0, "")
    assert "24 to run" in out
    code, out, err = run("run", "tiny.toml", "--plan", "--json")
    assert json.loads(out)["missing"] == 24
    assert "24 to run" in err
    assert not Path("runs").exists()


@pytest.mark.parametrize("arguments", [("run", "bad.toml"), ("run", "bad.toml", "--plan")])
@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("dim = 4", "dimm = 4", 11, "did you mean 'dim'"),
        ("k.grid = [3, 5]", "k.grid = [3, 500]", 12, "k must be at most"),
        ("[0.25, 1.0]", "-0.25", 25, "policy 'linucb': alpha.grid must be a list"),
        ("alpha.grid = [0.25, 1.0]", "alpha = -0.25", 25, "alpha must be >= 0, got -0.25"),
        ('name = "synthetic"', 'name = "gone.csv"', 6, "nor a file"),
        ('name = "random"', 'name = "rnadom"', 32, "did you mean 'random'"),
        ('title = "A small experiment"', 'show = ["tabel"]', 3, "did you mean 'table'"),
        ("dim = 4", "dim = 500", 11, "dim must be between 1 and"),
    ],
)
def test_a_wrong_spec_is_refused_with_its_line_before_anything_runs(
    run: Run, arguments: tuple[str, ...], old: str, new: str, line: int, words: str
) -> None:
    text = TINY.replace(", [1, 2, 3, 4, 5]", "").replace(old, new, 1)
    Path("bad.toml").write_text(text)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: bad.toml:{line}: ")
    assert words in err
    assert not list(Path("runs").glob("*/cells/*"))


def test_a_note_says_if_there_are_fewer_users_than_asked_for(run: Run) -> None:
    code, _, err = run("run", "tiny.toml", "--plan", "--set", "environment.users=21")
    assert (code, err) == (0, "Note: synthetic has 20 users, not 21; all are used.\n")


def test_json_is_one_document(run: Run) -> None:
    code, out, _ = run("run", "tiny.toml", "--json")
    document = json.loads(out)
    assert code == 0
    assert (document["cells"], document["missing"], document["failures"]) == (24, 0, {})
    assert document["baseline"] == "LinUCB (alpha=0.25)"
    assert len(document["table"]) == 12
    assert document["over"] == "catalogue"
    for environment in document["environments"]:
        assert all(
            e < i for e, i in zip(environment["eligible"], environment["items"], strict=True)
        )
        assert list(environment["yardsticks"]) == ["optimal"]
    for row in document["table"]:
        assert set(row["groups"]) == {"genre", "supplier"}
        assert 0 < row["groups"]["supplier"]["equality_b"]["mean"] <= 1


@pytest.mark.slow
def test_a_report_is_made_of_finished_and_of_half_finished_runs(run: Run) -> None:
    assert run("run", "tiny.toml")[0] == 0
    code, out, err = run("report", "runs/tiny")
    assert code == 0
    assert "EALinUCB log" in out
    assert Path("runs/tiny/report.html").is_file()
    assert (
        fc.load_results("runs/tiny").shape == fc.load_results("runs/tiny", backend="polars").shape
    )
    whole = len(fc.load_results("runs/tiny"))
    code, over, _ = run("report", "runs/tiny", "--over", "eligible", "--json", "--out", "over")
    assert code == 0
    assert json.loads(over)["studies"][0]["over"] == "eligible"
    assert "eligible items of" in Path("over/report.md").read_text()
    code, same, _ = run("run", "tiny.toml", "--over", "eligible", "--json")
    assert code == 0
    assert json.loads(same)["table"] == json.loads(over)["studies"][0]["table"]
    code, _, err = run("run", "tiny.toml", "--over", "eligable")
    assert code == 2
    assert "(did you mean 'eligible'?)" in err
    code, _, err = run("report", "runs/tiny", "--over", "all")
    assert (code, err) == (2, "Error: --over must be one of catalogue, eligible, got 'all'\n")
    for path in sorted(cells("runs/tiny"))[:10]:
        path.unlink()
    code, _, err = run("report", "runs/tiny", "--baseline", "Random", "--test", "wilcoxon")
    assert code == 0
    assert "Not finished: 10 cells" in err
    assert len(fc.load_results("runs/tiny")) < whole


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "nowhere"), "not the folder of a run"),
        (("report", "runs/tiny", "--baseline", "Rondom"), "did you mean 'Random'"),
        (("report", "runs/tiny", "--test", "z"), "test must be one of"),
        (("run", "gone.toml"), "no such spec file"),
        (("run", "tiny"), "did you mean 'tiny.toml'"),
        (("run", "."), "this is a folder"),
        (("run", "tiny.toml", "--executor", "loca"), "did you mean 'local'"),
        (("run", "tiny.toml", "--address", "x:1"), "--address needs --executor ray"),
        (("run", "tiny.toml", "--workers", "0"), "workers must be at least 1"),
        (("run", "tiny.toml", "--set", "run.rounds=0"), "rounds must be at least 1"),
    ],
)
def test_a_mistake_is_one_line(run: Run, arguments: tuple[str, ...], words: str) -> None:
    if "runs/tiny" in arguments:
        assert run("run", "tiny.toml")[0] == 0
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_narrow_table_wraps_names_and_never_cuts_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    monkeypatch.setattr(console, "_PIPE_WIDTH", width)
    numbers = [f"{number}.12345\n+{number}.0%*" for number in range(10, 22)]
    label = "EALinUCB (alpha=0.25, gamma=0.01, weight=linear)"
    headers = ["Policy", *(f"Metric of order {number}" for number in range(len(numbers)))]
    console.print_table(headers, [[label, *numbers]], title="Numbers", numbers=True)
    out = capsys.readouterr().out
    for number in numbers:
        assert set(number.split()) <= set(out.split())
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width
    assert "(alpha=0.25," in out


def test_diff_tells_what_changed(run: Run) -> None:
    assert run("run", "tiny.toml", "--out", "a")[0] == 0
    assert run("run", "tiny.toml", "--out", "b")[0] == 0
    code, out, _ = run("diff", "a", "b")
    assert code == 0
    assert "24 the same" in out
    assert run("run", "tiny.toml", "--out", "c", "--set", "every_policy.gamma=0.5")[0] == 0
    code, out, _ = run("diff", "a", "c", "--json")
    document = json.loads(out)
    assert code == 1
    assert document["asked"] == [{"what": "every_policy.gamma", "before": "0.01", "after": "0.5"}]
    assert (document["same"], document["only_before"], document["only_after"]) == (12, 12, 12)
    changed = {row["policy"] for row in document["results"]}
    assert changed == {"EALinUCB log", "EALinUCB linear", "EALinUCB custom"}
    assert "every_policy.gamma" in run("diff", "a", "c")[1]


def test_diff_tells_cells_whose_numbers_are_not_those_of_the_same_settings(run: Run) -> None:
    for folder in ("a", "b"):
        assert run("run", "tiny.toml", "--out", folder)[0] == 0
    path = next(iter(cells("b")))
    about = json.loads(path.read_text())
    about["metrics"]["clicks"] += 0.1
    path.write_text(json.dumps(about))
    code, out, _ = run("diff", "a", "b")
    assert code == 1
    assert "1 with the same settings but other numbers" in out


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(
    run: Run, workers: int, tmp_path: Path
) -> None:
    Path("long.toml").write_text(TINY.replace("rounds = 30", "rounds = 2000"))
    command = f"run long.toml --workers {workers}"
    code, _, err = interrupted(command, when="Running", folder=tmp_path)
    assert code == 130, err
    assert "Run the same command to continue" in err
    assert len(cells("runs/tiny")) < 24
    code, _, err = run(*command.split())
    assert code == 0, err
    assert len(cells("runs/tiny")) == 24
    assert list(Path("runs/tiny/underway").iterdir()) == []
