"""The command line as a user meets it: results on stdout, remarks on stderr, one line a mistake."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from faircascade.paper import kveton2015, yandex
from faircascade.paper.specs import EXPERIMENTS, FAIR_RANKERS, GENERALITY, GROUPS, LARGE
from faircascade.registry import components
from tests.cli.processes import interrupted

SMALL = ["--set", "data.users=60", "--set", "items=120", "--dim", "4", "--k", "5", "--rounds", "20"]


def test_simulate_prints_one_json_document_with_all_fields(run) -> None:
    code, out, err = run("simulate", *SMALL, "--policy", "linucb", "--json", "--seed", "3")
    assert code == 0, err
    document = json.loads(out)
    fields = (
        "policy reading data users items dim k rounds seed engine clicks optimal_value regret "
        "equality_b equality_p equity_b equity_p seconds recommendations_per_second"
    )
    assert set(fields.split()) <= set(document)
    assert document["policy"] == "linucb"
    assert document["reading"] == "intended"
    assert document["users"] == 60
    assert document["seed"] == 3
    assert document["rounds"] == 20


def test_simulate_twice_gives_the_same_numbers(run) -> None:
    documents = [json.loads(run("simulate", *SMALL, "--json")[1]) for _ in range(2)]
    for name in ("seconds", "recommendations_per_second"):
        for document in documents:
            del document[name]
    assert documents[0] == documents[1]


def test_every_policy_flag_reaches_the_policy(run) -> None:
    flags = "--weight linear --beta 0.1 --gamma 0.01 --reading intended --alpha 0.5 --sigma 2"
    code, out, err = run("simulate", *SMALL, "--json", *flags.split(), "--ridge", "3")
    assert code == 0, err
    parameters = json.loads(out)["parameters"]
    assert parameters == {
        "observation": {"name": "first-click"},
        "name": "ealinucb",
        "weight": "linear",
        "beta": 0.1,
        "gamma": 0.01,
        "reading": "intended",
        "alpha": 0.5,
        "sigma": 2.0,
        "ridge": 3.0,
        "reranker": {"name": "identity"},
        "weighs": "targets",
    }


def test_flags_of_other_policies_and_of_the_environment(run) -> None:
    code, out, _ = run("simulate", *SMALL, "--json", "--policy", "lints", "--scale", "0.1")
    assert code == 0
    assert json.loads(out)["parameters"]["scale"] == 0.1
    code, out, _ = run("simulate", *SMALL, "--json", "--policy", "epsilon-greedy", "--epsilon", "0")
    assert code == 0
    flags = "--users 30 --sampling random --world paper --click-rate 0.3 --env-seed 5"
    code, out, _ = run(
        "simulate", *SMALL, "--json", *flags.split(), "--set", "threshold=5", "--threads", "1"
    )
    document = json.loads(out)
    assert document["users"] == 30
    assert document["environment"]["threshold"] == 5
    assert document["environment"]["seed"] == 5
    assert document["environment"]["world"] == "paper"
    assert document["environment"]["click_rate"] == 0.3
    assert document["environment"]["sampling"] == "random"


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_help_says_under_what_the_click_rate_is_calibrated(run, command: str) -> None:
    words = " ".join(re.sub(r"[^\w .,-]", " ", run(command, "--help")[1]).split())
    assert "optimal slates under a cascade, 0 to 1." in words


def test_results_name_the_parts_of_the_environment(run, tmp_path: Path) -> None:
    flags = ["--click-model", "dcm", "--set", "activity=0.5", "--out", str(tmp_path / "dcm")]
    code, out, err = run("simulate", *SMALL, "--json", *flags)
    assert code == 0, err
    (saved,) = json.loads((tmp_path / "dcm/results.json").read_text())["runs"]
    for document in (json.loads(out), saved):
        assert document["environment"]["click_model"] == {"name": "dcm", "stop": 0.5}
        assert document["environment"]["dynamics"] == {"name": "still"}
        assert document["environment"]["delay"] == {"name": "none"}
        assert document["activity"] == 0.5
    assert "k=5, click model dcm, 20 rounds" in run("simulate", *SMALL, *flags[:2])[1]
    assert "click model" not in run("simulate", *SMALL)[1]


def test_an_optimal_value_that_is_no_number_of_clicks_says_so(run) -> None:
    noted = r"optimal_value +[\d.]+  \(not clicks, but what the click model values\)\n"
    assert re.search(noted, run("simulate", *SMALL, "--click-model", "dcm")[1])
    assert "not clicks" not in run("simulate", *SMALL, "--click-model", "pbm")[1]


def test_any_combination_of_components_can_be_simulated(run) -> None:
    flags = "--policy bandit --set reward=exposure_aware --set reward.gamma=0.1"
    code, out, err = run(
        "simulate", *SMALL, *flags.split(), "--set", "exploration=thompson", "--json"
    )
    assert code == 0, err
    parameters = json.loads(out)["parameters"]
    assert parameters["reward"]["gamma"] == 0.1
    assert parameters["exploration"]["name"] == "thompson"
    deep = "--policy bandit --set reward.weight.beta=0.8 --set reward.weight=rbp"
    code, out, err = run(
        "simulate", *SMALL, *deep.split(), "--set", "reward=exposure-aware", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["parameters"]["reward"]["weight"] == {"name": "rbp", "beta": 0.8}
    code, out, err = run("simulate", *SMALL, "--set", "weight=[1,2,3,4,5]", "--json")
    assert code == 0, err
    assert json.loads(out)["parameters"]["weight"] == [1, 2, 3, 4, 5]


def test_realised_regret_is_shown_if_it_was_counted(run) -> None:
    assert "realised_regret" in run("simulate", *SMALL, "--set", "realised=true")[1]
    assert "realised_regret" not in run("simulate", *SMALL)[1]


@pytest.mark.parametrize("option", ["--users=61", "--set=environment.users=61"])
def test_a_note_says_if_there_are_fewer_users_than_asked_for(run, option: str) -> None:
    code, _, err = run("simulate", *SMALL, option)
    assert (code, err) == (0, "Note: synthetic has 60 users, not 61; all are used.\n")
    assert run("simulate", *SMALL)[2] == ""


def test_settings_are_toml_as_in_spec_files(run) -> None:
    table = "reward={name='exposure-aware', weight={name='linear', beta=0.1}}"
    for setting in (
        table,
        "popularity_power=0.5",
        "threshold=3.5",
        "data.users=70",
        "click-model=cascade",
    ):
        code, _, err = run("simulate", *SMALL, "--policy", "bandit", "--set", setting)
        assert code == 0, err
    code, _, err = run("simulate", *SMALL, "--weight=custom", "--set=weight.weights=[1,2,3,4,5]")
    assert code == 0, err


def test_a_place_that_cannot_be_written_is_told_before_the_run(run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for command in (["simulate", *SMALL, "--rounds", "1000000"], ["demo", "--rounds", "1000000"]):
        expect_one_line(run(*command, "--out", "file"), "results go into a folder")


def test_help_without_arguments(run) -> None:
    for command in ([], ["data"]):
        code, out, _ = run(*command)
        assert code == 0
        assert "Usage:" in out
        assert len(out.splitlines()) > 5


def test_out_and_trace_write_what_they_promise(run, tmp_path: Path) -> None:
    code, _, err = run("simulate", *SMALL, "--out", "here", "--trace", "trace.parquet")
    assert code == 0, err
    assert (tmp_path / "here/report.html").exists()
    assert (tmp_path / "here/results.json").exists()
    assert pq.read_table(tmp_path / "trace.parquet").num_rows == 60 * 20 * 5


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        (["--policy", "epsilon-greedy"], {"pscore", "pscore_cascade", "pscore_item_position"}),
        (["--policy", "epsilon-greedy", "--no-propensities"], set()),
        (["--policy", "lints", "--propensity-draws", "5"], {"pscore_item_position_estimate"}),
        (["--policy", "lints"], set()),
    ],
)
def test_a_trace_has_the_propensities_that_were_asked_for(
    run, tmp_path: Path, arguments: list[str], known: set[str]
) -> None:
    code, _, err = run("simulate", *SMALL, "--trace", "trace.parquet", *arguments)
    assert code == 0, err
    table = pq.read_table(tmp_path / "trace.parquet")
    scores = [name for name in table.column_names if name.startswith("pscore")]
    assert {name for name in scores if table[name].null_count == 0} == known
    assert {name for name in scores if table[name].null_count == table.num_rows} == {
        *scores
    } - known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "linucd"], "did you mean 'linucb'?"),
        (["--policy", "linucb", "--weight", "log"], "policy 'linucb' has no parameter 'weight'"),
        (["--weight", "logg"], "weight must be one of custom, linear, log, rbp"),
        (["--rounds", "0"], "--rounds must be at least 1, got 0"),
        (["--k", "0"], "k must be between 1 and"),
        (["--k", "5000"], "k must be at most"),
        (["--alpha", "-1"], "alpha must be >= 0, got -1"),
        (["--set", "thresh=3"], "did you mean 'threshold'?"),
        (["--set", "threshold=high"], "threshold must be a number, or a quantile"),
        (["--set", "threshold=q7"], "such as 'q0.7', got 'q7'"),
        (["--set", "alpha=wide"], "alpha must be a number, got 'wide'"),
        (["--set", "lazy=1"], "lazy must be true or false"),
        (["--set", "threshold"], "--set must be name=value, got 'threshold'"),
        (["--set", "seed=3"], "--set must say which seed is meant: environment.seed or data.seed"),
        (["--set", "env_seed=3"], "--set env_seed=3: use the option --env-seed"),
        (["--alpha", "1", "--set", "alpha=2"], "must not repeat the option --alpha"),
        (["--set", "policy.nope=3"], "policy 'ealinucb' has no parameter 'nope'"),
        (["--set", "activity.x=1"], "activity must be a number"),
        (["--weight", "custom"], "weight 'custom' needs the parameter 'weights'"),
        (["--set", "checkpoints=abc"], "checkpoints must be"),
        (["--sampling", "best"], "sampling must be one of active, random, got 'best'"),
        (["--trace", "/"], "trace must name a file"),
        (["--propensity-draws", "5"], "--propensity-draws needs --trace"),
        (["--no-propensities"], "--no-propensities needs --trace"),
        (["--set", "train_share=1"], "train_share must be between 0 and 1"),
        (
            ["--click-model", "dcm", "--set", "click_model.stop=1.2"],
            "click_model.stop must be in [0, 1], got 1.2",
        ),
        (
            ["--click-model", "pbm", "--set", "click_model.kappa=[1, 0.5]"],
            "click_model.kappa must be one number, or one for each of the",
        ),
        (
            ["--set", "observation=examination", "--set", "observation.kappa=[1]"],
            "observation.kappa must be one number, or one for each of the",
        ),
        (["--set", "weighs=rows"], "weighs must be one of targets, observations, got 'rows'"),
        (["--alpha", "x"], "--alpha must be a number, got 'x'"),
        (["--env-seed", "1.5"], "--env-seed must be a whole number"),
        (["--threads", "0"], "--threads must be at least 1"),
        (["--policy", "bandit", "--set", "reward=nonsense"], "reward must be one of"),
        (["--policy", "bandit", "--set", "reward=3"], "reward must be a reward"),
        (["--policy", "bandit", "--set", "reward.nope=3"], "has no parameter 'nope'"),
        (["--set", "threshold=9"], "no positives after binarising"),
        (["--engine", "warp"], "--engine must be one of auto, gpu, cpu, loop, got 'warp'"),
        (["--rounds", "many"], "--rounds must be a whole number, got 'many'"),
        (["--nonsense"], "No such option: --nonsense"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(run, arguments, message) -> None:
    expect_one_line(run("simulate", *SMALL, *arguments), message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("ml-1mm", "did you mean 'ml-1m'?"),
        ("nowhere.csv", "nowhere.csv"),
        ("yahoo-r2", "--path FOLDER"),
        ("table", "--path FILE"),
    ],
)
def test_data_that_is_not_there_is_told_in_one_line(run, data: str, message: str) -> None:
    expect_one_line(run("simulate", "--data", data), message)


SPEC = """
name = "mine"
policies = [{ name = "linucb" }]
[run]
rounds = 5
seeds = [1]
[data]
name = "mine.csv"
[environment]
dim = 2
k = 1
"""


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("user\n1\n", "name the separator with --set data.sep=..."),
        ("user,item,rating\n1,2,3\n,3,3\n", "--set data.missing=drop"),
        ("1,2,3,4,5\n", "with --set data.columns=..., or say --set data.layout=matrix if"),
    ],
)
def test_options_of_the_data_are_named_as_they_are_typed(run, text: str, option: str) -> None:
    Path("mine.csv").write_text(text)
    Path("mine.toml").write_text(SPEC)
    for command in ("simulate --data", "compare --data", "data describe"):
        expect_one_line(run(*command.split(), "mine.csv"), option)
    expect_one_line(run("run", "mine.toml"), option)


def test_the_path_of_data_is_named_as_each_command_takes_it(run) -> None:
    Path("mine.toml").write_text(SPEC.replace("mine.csv", "yahoo-r2"))
    expect_one_line(run("compare", "--data", "yahoo-r2"), "with --path FOLDER;")
    expect_one_line(run("run", "mine.toml"), "with --set data.path=FOLDER;")
    expect_one_line(run("simulate", "--data", "x.csv", "--path", "y"), "--path goes with the name")


def test_fairness_is_over_all_or_eligible_items(run) -> None:
    arguments = ["simulate", *SMALL, "--set", "density=0.02"]
    every = json.loads(run(*arguments, "--json")[1])
    some = json.loads(run(*arguments, "--over", "eligible", "--json", "--out", "here")[1])
    assert (every["over"], some["over"]) == ("catalogue", "eligible")
    assert some["eligible"] < some["items"]
    assert some["equality_b"] > every["equality_b"]
    assert some["clicks"] == every["clicks"]
    assert "eligible items of" in Path("here/report.md").read_text()
    assert "fairness over eligible items" in run(*arguments, "--over", "eligible")[1]
    expect_one_line(run(*arguments, "--over", "eligable"), "(did you mean 'eligible'?)")


def test_a_file_of_ratings_can_be_simulated(run, tmp_path: Path) -> None:
    rows = [f"{u};{i};{5 if (u * i) % 3 else 2}" for u in range(20) for i in range(15)]
    (tmp_path / "mine.csv").write_text("\n".join(["who;item;stars", *rows]))
    flags = "--data mine.csv --set user=who --dim 3 --k 4 --rounds 10 --json"
    code, out, err = run("simulate", *flags.split())
    assert code == 0, err
    assert json.loads(out)["data"] == "mine.csv"


def expect_one_line(outcome: tuple[int, str, str], message: str) -> None:
    code, out, err = outcome
    assert code == 2, err
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("Error:")]
    assert len(lines) == 1
    assert err.splitlines()[-1] == lines[0]
    assert message in lines[0]
    assert "Traceback" not in err


def test_data_list_info_and_fetch(run, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAIRCASCADE_CACHE", str(tmp_path / "cache"))
    code, out, _ = run("data", "list", "--json")
    assert code == 0
    assert {"synthetic", "ml-1m", "yahoo-r2"} <= {row["name"] for row in json.loads(out)}
    code, out, _ = run("data", "list")
    assert "ml-latest-small" in out
    code, out, _ = run("data", "info", "synthetic", "--json", "--set", "users=50")
    facts = json.loads(out)
    assert facts["users"] == 50
    assert set(facts["groups"]) == {"genre", "supplier"}
    assert facts["options"]["items"] == 2800
    code, out, _ = run("data", "info", "synthetic")
    assert "1,000" in out
    code, out, _ = run("data", "info", "ml-1m")
    assert code == 0
    assert "not downloaded yet: faircascade data fetch ml-1m" in out
    assert "GroupLens" in out
    code, out, _ = run("data", "info", "yahoo-r2")
    assert "--path" in out
    (tmp_path / "odd.csv").write_text("user item rating\n1 2 5\n")
    code, out, _ = run("data", "info", "odd.csv", "--set", "sep= ", "--json")
    assert json.loads(out)["ratings"] == 1
    code, out, _ = run("data", "fetch", "synthetic")
    assert out.strip() == "synthetic: nothing to download"
    code, out, _ = run("data", "fetch", "yahoo_r2")
    assert "--path" in out
    expect_one_line(run("data", "fetch", "nope"), "data must be one of")
    expect_one_line(run("data", "info", "synthetic", "--set", "nope=1"), "--set must name one of")


def test_data_describe_says_how_a_file_is_read(run, tmp_path: Path) -> None:
    rows = [(user, item, 1 + (user * item) % 10) for user in range(1, 6) for item in range(1, 11)]
    text = "".join(f"{user}\t{item}\t{rating}\n" for user, item, rating in rows)
    (tmp_path / "mine.tsv").write_text(text)
    code, out, err = run("data", "describe", "mine.tsv", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    liked = sum(rating >= 8 for _, _, rating in rows)
    assert (facts["feedback"], facts["threshold"], facts["positives"]) == ("explicit", 8, liked)
    assert facts["scale"] == "1 to 10 in steps of 1"
    assert (facts["users"], facts["items"], facts["density"]) == (5, 10, 1)
    assert any("no header" in note for note in facts["notes"])
    assert any("8 or more counts as liked" in note for note in facts["notes"])
    code, out, err = run("data", "describe", "mine.tsv", "--set", "threshold=q0.5")
    assert code == 0
    assert "Note: the quantile q0.5 of the ratings is" in err
    assert "top 20 percent share" in out
    code, out, _ = run("data", "describe", "mine.tsv", "--set", "feedback=implicit", "--json")
    assert json.loads(out)["positive_share"] == 1
    expect_one_line(run("data", "describe", "nope.csv"), "is neither a data set")
    expect_one_line(run("data", "describe", "mine.tsv", "--set", "dim=3"), "--set must name one of")


def test_a_scale_that_was_guessed_is_told(run, tmp_path: Path) -> None:
    rows = [f"{u},{i},{1 + (u * i) % 10}" for u in range(40) for i in range(30)]
    (tmp_path / "mine.csv").write_text("\n".join(["user,item,rating", *rows]))
    code, _, err = run(
        "simulate", "--data", "mine.csv", *["--dim", "3", "--k", "4", "--rounds", "5"]
    )
    assert code == 0
    assert "8 or more counts as liked (see threshold)" in err


def test_no_network_is_told_in_one_line(run, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAIRCASCADE_MIRROR", "http://127.0.0.1:9/")  # nobody listens there
    monkeypatch.setenv("FAIRCASCADE_CACHE", str(tmp_path / "cache"))
    code, _, err = run("data", "fetch", "ml-100k")
    assert code == 2
    last = err.strip().splitlines()[-1]
    assert last.startswith("Error:")
    assert "pass it with --path FILE" in last


def test_doctor_finds_all_that_is_needed(run) -> None:
    code, out, _ = run("doctor", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["problems"] == []
    assert {"numpy", "pyarrow"} <= {package["name"] for package in found["packages"]}
    code, out, _ = run("doctor")
    assert "Everything that faircascade needs" in out


def test_version_and_help(run) -> None:
    code, out, _ = run("--version")
    assert (code, out.split()[0]) == (0, "faircascade")
    code, out, _ = run("simulate", "--help")
    assert code == 0
    flags = (
        "data path users sampling dim k world click-rate policy weight beta gamma reading alpha "
        "epsilon scale sigma ridge rounds seed env-seed engine threads trace no-propensities "
        "propensity-draws json out set"
    )
    for flag in flags.split():
        assert f"--{flag}" in out


def test_help_lists_the_registered_parts(run) -> None:
    _, out, _ = run("simulate", "--help")
    said = " ".join(out.split()).replace("- ", "-")  # names are broken at hyphens
    for kind in ("policy", "click_model", "dynamics", "delay"):
        assert ", ".join(components(kind)) in said
    _, out, _ = run("reproduce", "--help")
    members = {*GENERALITY, *FAIR_RANKERS}  # the help names their groups
    assert {*GROUPS, *EXPERIMENTS, *LARGE} - members <= set(re.split(r"[\s,;:]+", out))


@pytest.mark.parametrize("study", [kveton2015, yandex], ids=lambda study: study.NAME)
def test_help_and_document_name_the_studies_with_their_rounds_and_seeds(run, study) -> None:
    _, out, _ = run("reproduce", "--help")
    said = " ".join(out.split())
    assert re.search(rf"or {study.ROUNDS} for [^.]*{study.NAME}", said)
    assert re.search(rf"or {study.RUNS} for [^.]*{study.NAME}", said)
    page = Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md"
    (row,) = (line for line in page.read_text("utf-8").splitlines() if f"| `{study.NAME}`" in line)
    assert f"{study.ROUNDS:,} rounds, {study.RUNS} seeds" in row


@pytest.mark.parametrize("command", ["demo", "simulate", "theory", "serve", "bench"])
def test_help_says_slate_and_not_list(run, command: str) -> None:
    _, out, _ = run(command, "--help")
    assert not re.search(r"\b[Ll]ists?\b", out.replace("data list", ""))


def test_commands_are_described_in_whole(run) -> None:
    _, out, _ = run("--help")
    assert "..." not in out.partition("Commands:")[2]


def test_demo_compares_and_writes_a_report(run, tmp_path: Path) -> None:
    code, out, err = run("demo", "--users", "8", "--rounds", "30")
    assert code == 0, err
    assert "Popular items" in err
    for label in ("LinUCB (alpha=0.25)", "EALinUCB log", "FRMLinUCB merit-draws"):
        assert label in out
    folder = tmp_path / "runs/demo"
    names = {path.name for path in folder.iterdir()}
    assert {"report.html", "figures", "results.json", "results.parquet"} <= names
    assert list((folder / "figures").glob("*.png"))
    assert list((folder / "figures").glob("*.svg"))


def test_ctrl_c_keeps_the_rounds_that_all_users_finished(tmp_path: Path) -> None:
    command = "simulate --rounds 1000000 --json --users 50 --out here"
    code, out, err = interrupted(command, when="Simulating", folder=tmp_path)
    assert code == 130, err
    document = json.loads(out)
    assert document["interrupted"]
    assert 0 < document["rounds"] < 1_000_000
    assert "Stopped before it was complete" in (tmp_path / "here/report.html").read_text()


def test_a_click_model_is_named_on_the_command_line(run) -> None:
    small = ["simulate", "--users", "20", "--rounds", "3", "--json", "--set", "items=60"]
    code, out, _ = run(*small, "--click-model", "cascade")
    assert code == 0
    assert json.loads(out)["rounds"] == 3
    code, _, err = run(*small, "--click-model", "cascad")
    assert code == 2
    assert "--click-model must be one of" in err
    code, _, err = run(*small, "--set", "click_model.stop=0.7")
    assert code == 2
    assert "click_model 'cascade' has no parameter 'stop'" in err


@pytest.mark.parametrize("option", [("--no-run",), ("--executor", "ray"), ("--data", "ml-1m")])
def test_options_that_mean_nothing_to_a_study_are_refused(run, option: tuple[str, ...]) -> None:
    code, _, err = run("reproduce", "kveton2015", *option)
    assert code == 2
    assert f"{option[0]} must be left out with kveton2015" in err
