"""Spec files: grids, labels, keys, and mistakes told before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.experiment.cell import Cell
from faircascade.experiment.spec import Spec, SpecError
from faircascade.experiment.spec.errors import line_of
from faircascade.experiment.store.environments import Sources
from tests.experiment.specs import TINY


def test_grids_give_every_combination_by_environment_and_seed_by_seed() -> None:
    cells = Spec.parse(TINY).cells("data")
    assert len(cells) == 2 * 2 * 6  # environments, seeds, policies
    assert [cell.environment["k"] for cell in cells] == [3] * 12 + [5] * 12
    assert [cell.seed for cell in cells[:12]] == [1] * 6 + [2] * 6
    assert [cell.label for cell in cells[:6]] == [
        "LinUCB (alpha=0.25)",
        "LinUCB (alpha=1.0)",
        "EALinUCB log",
        "EALinUCB linear",
        "EALinUCB custom",
        "Random",
    ]
    assert len({cell.key for cell in cells}) == len(cells)


def test_every_policy_gives_its_values_to_those_that_have_such_a_parameter() -> None:
    policies = {label: policy for label, policy, _ in Spec.parse(TINY).lines()}
    assert policies["EALinUCB log"].gamma == 0.01
    assert policies["LinUCB (alpha=1.0)"].reading == "paper"
    assert not hasattr(policies["Random"], "reading")


def test_a_policy_can_run_for_fewer_rounds_and_all_are_looked_at_there() -> None:
    cells = Spec.parse(TINY).cells("data")
    assert {cell.rounds for cell in cells if cell.label == "Random"} == {10}
    assert all(10 in cell.checkpoints for cell in cells)
    assert {cell.checkpoints[-1] for cell in cells} == {10, 30}


def test_the_key_is_the_content_and_not_the_label_or_the_file() -> None:
    spec = Spec.parse(TINY)
    alone = Spec.parse(
        TINY.replace("alpha.grid = [0.25, 1.0]", "alpha = 0.25").replace("tiny", "x")
    )
    assert alone.cells("data")[0].label != spec.cells("data")[0].label
    assert alone.cells("data")[0].key == spec.cells("data")[0].key
    assert spec.cells("other data")[0].key != spec.cells("data")[0].key


def test_an_option_that_is_the_default_anyway_leaves_the_key_as_it_is() -> None:
    same = Spec.parse(TINY.replace("dim = 4", 'dim = 4\nalign = "sign"'))
    other = Spec.parse(TINY.replace("dim = 4", 'dim = 4\nalign = "none"'))
    key = Spec.parse(TINY).cells("data")[0].key
    assert same.cells("data")[0].key == key
    assert other.cells("data")[0].key != key


def test_changes_replace_values_and_are_checked() -> None:
    changed = Spec.parse(TINY).changed(rounds=7, seeds=[5], every_policy={"gamma": 0.5})
    assert {cell.rounds for cell in changed.cells("data")} == {7}
    assert {cell.seed for cell in changed.cells("data")} == {5}
    assert changed.cells("data")[2].policy.gamma == 0.5
    with pytest.raises(ValueError, match="gamma must be >= 0"):
        Spec.parse(TINY).changed(every_policy={"gamma": -1.0})


def test_no_rounds_means_that_nothing_is_run_and_no_data_is_needed() -> None:
    text = (
        TINY.replace("rounds = 30", "rounds = 0")
        .replace("rounds = 10", "")
        .replace('[data]\nname = "synthetic"\n', "")
    )
    assert Spec.parse(text.replace("users = 20\nitems = 60\n", "")).cells("") == []


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[environment]", "[enviroment]", 10, "did you mean 'environment'"),
        ("dim = 4", "dimm = 4", 11, "did you mean 'dim'"),
        ("dim = 4", 'dim = "four"', 11, "dim must be a whole number"),
        ("dim = 4", "dim = 0", 11, "dim must be at least 1"),
        ("seeds = 2", "sedes = 2", 16, "did you mean 'seeds'"),
        ("seeds = 2", "seeds = [1, 1]", 16, "seeds must be at least one and distinct"),
        ("seeds = 2", "seeds = 0", 16, "seeds must be at least one"),
        ("rounds = 30", "rounds = -1", 15, "rounds must be at least 0"),
        ("checkpoints = 6", "checkpoints = [5, 40]", 17, "checkpoints must rise"),
        ("checkpoints = 6", "checkpoints = 0", 17, "checkpoints must be at least 1"),
        ('name = "linucb"', 'name = "linucbb"', 24, "did you mean 'linucb'"),
        ("alpha.grid", "alhpa.grid", 25, "did you mean 'alpha'"),
        ("[0.25, 1.0]", "[\n  0.25,\n  -1.0,\n]", 25, "alpha must be >= 0"),
        ("[0.25, 1.0]", "[0.25, 0.25]", 23, "policies must be distinct"),
        ("rounds = 30", "", 14, "rounds"),
        ('name = "tiny"', "", None, "name"),
        ('name = "synthetic"', 'name = "syntetic"', 6, "did you mean 'synthetic'"),
        ('name = "synthetic"', 'name = "here.csv"', 6, "nor a file"),
        ('name = "synthetic"', 'name = "ml-1m"\npath = "no.zip"', 7, "no file or folder"),
        ("users = 20", "user = 20", 7, "did you mean 'users'"),
        ("dim = 4", "dim = ", 11, "not TOML"),
        ("dim = 4", 'dim = 4\nalign = "sgin"', 12, "did you mean 'sign'"),
        ("dim = 4", "dim = 4\nthreshold = nan", 12, "threshold must be finite"),
        ("k.grid = [3, 5]", "k.grid = [3, 3]", 10, "the same environment twice"),
        ("k.grid = [3, 5]", "k.grid = []", 12, "k.grid must be a list"),
        ("k.grid = [3, 5]", "k.grid = 3", 12, "k.grid must be a list"),
        ("k.grid = [3, 5]", "k = {grid = [3], more = 1}", 12, "k must be a grid or a table"),
        ("k.grid = [3, 5]", "k = 7", 29, r"weight must cover all 7 positions .* \[1.*5.0\]$"),
        (
            'name = "random"',
            'name = "lints"\nobservation = {name = "examination", kappa = [0.9]}',
            33,
            r"observation.kappa must be .* for each of the 3 positions, got \[0.9\]$",
        ),
        ('name = "random"', 'name = "cascade-lsb"', 31, "'cascade-lsb' needs items with topics"),
        ('name = "random"', 'name = "cascade-hybrid"\nscope = "shared"', 31, "needs items"),
        (
            'name = "random"',
            'name = "logistic-ucb"\nreward = {name = "exposure-aware", gamma = 0.1}',
            31,
            "estimator 'logistic' cannot have a reward with penalties",
        ),
        ("gamma = 0.01", "gama = 0.01", 21, r"\[every_policy\] has 'gama'.*mean 'gamma'"),
        ("[run]", "[runn]", 14, "has no key 'runn'.*mean 'run'"),
        ("[0.25, 1.0]", "0.25", 25, "policy 'linucb': alpha.grid must be a list"),
        ("alpha.grid", "alpha.gird", 25, "alpha.gird must be written alpha.grid"),
        ('title = "A small experiment"', 'baseline = "linucb"', 3, "mean 'LinUCB .alpha="),
        ("gamma = 0.01", "gamma = -1.0", 21, "gamma must be >= 0"),
        ("rounds = 10", "rounds = 0", 33, "rounds must be at least 1"),
        (
            'name = "random"',
            'name = "lints"\nreranker = {eta = 1}',
            33,
            "reranker 'identity' has no parameter 'eta'",
        ),
        ('title = "A small experiment"', 'show = "table"', 3, "show must be a list"),
        ('title = "A small experiment"', "metrics = []", 3, "metrics must have at least one"),
        ('name = "tiny"', 'name = "../tiny"', 2, "name must be letters"),
        ("users = 20", "users.grid = [20, 20]", 5, "must not have the same data twice"),
        ("users = 20\nitems = 60", "grid = [1]", 5, "cannot be a grid as a whole"),
        ("seeds = 2", 'seeds = "12"', 16, "seeds must be a whole number or a list"),
        ("[every_policy]", "[tune]\ntrails = 3\n[every_policy]", 20, "did you mean 'trials'"),
        (
            'name = "random"\nrounds = 10',
            'name = "bandit"\n[policies.exploration]\nname = "ucb"\nalhpa = 1',
            35,
            "did you mean 'alpha'",
        ),
        (
            'name = "random"\nrounds = 10',
            'name = "bandit"\n[policies.exploration]\nname = "ucb"\nalpha = -1',
            35,
            "alpha must be >= 0",
        ),
        ('title = "A small experiment"', 'metrics = ["cliks"]', 3, "did you mean 'clicks'"),
        ('title = "A small experiment"', 'baseline = "Randon"', 3, "did you mean 'Random'"),
    ],
)
def test_a_mistake_is_told_with_the_line_and_what_was_meant(
    old: str, new: str, line: int | None, message: str
) -> None:
    assert old in TINY
    with pytest.raises(SpecError, match=message) as error:
        Spec.parse(TINY.replace(old, new, 1), where="mine.toml")
    place = "mine.toml: " if line is None else f"mine.toml:{line}: "
    assert str(error.value).startswith(place)


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("run.rounds=7", lambda spec: spec.rounds == 7),
        ("environment.k=4", lambda spec: spec.environment["k"] == 4),
        ("environment.dim.grid=[2, 3]", lambda spec: len(spec.environments()) == 4),
        ("policies.linucb.alpha=0.5", lambda spec: spec.lines()[0][1].alpha == 0.5),
        ("policies.2.rounds=9", lambda spec: spec.lines()[-1][2] == 9),
        ("every_policy.reading=intended", lambda spec: spec.lines()[0][1].reading == "intended"),
        ("policies.ealinucb.observation.name=first_click", lambda spec: len(spec.lines()) == 6),
        ("environment.train-share=0.4", lambda spec: spec.environment["train_share"] == 0.4),
        ("metrics=['equality-b']", lambda spec: spec.metrics == ("equality_b",)),
        ("data.users.grid=[20, 30]", lambda spec: len(spec.sources()) == 2),
    ],
)
def test_a_setting_replaces_what_the_file_says(setting: str, found: Callable[[Spec], bool]) -> None:
    assert found(Spec.parse(TINY, settings=[setting]))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("environment.k=4x", "--set environment.k=4x: k must be a whole number"),
        ("enviroment.k=4", "--set enviroment.k=4: the spec has no key 'enviroment'"),
        ("policies.linucb.alpha=-1", "--set policies.linucb.alpha=-1: alpha must be >= 0"),
        ("run.rounds", "--set must be name=value"),
        (
            "policies.linucb.alpha.grid=[0.5, -2]",
            "--set policies.linucb.alpha.grid=[0.5, -2]: alpha must be >= 0",
        ),
        ("policies.linucbb.alpha=1", "--set policies.linucbb.alpha=1: policies has no entry"),
        ("policies.linucb=1", "--set policies.linucb=1: policies.linucb needs the name"),
        ("run.rounds.most=1", "--set run.rounds.most=1: run.rounds is not a table"),
        ("policies.lints.alpha=1", "--set policies.lints.alpha=1: policies has no entry 'lints'"),
    ],
)
def test_a_mistake_in_a_setting_names_the_setting(setting: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        Spec.parse(TINY, where="mine.toml", settings=[setting])
    assert str(error.value).startswith(message)


def test_a_grid_can_be_deep_inside_a_policy_and_over_data_sets() -> None:
    text = TINY.replace('name = "synthetic"', 'name.grid = ["synthetic", "synthetic-music"]')
    text = text.replace(
        'name = "random"\nrounds = 10',
        'name = "bandit"\nexploration = {name = "ucb", alpha.grid = [0.0, 0.5, 1.0]}',
    )
    spec = Spec.parse(text)
    assert [source["name"] for source in spec.sources()] == ["synthetic", "synthetic-music"]
    assert [label for label, _, _ in spec.lines()][-1] == "Bandit ucb standard (alpha=1.0)"
    cells = spec.cells(["one", "two"])
    assert len(cells) == 2 * 2 * 2 * 8
    assert {cell.fingerprint for cell in cells if cell.data["name"] == "synthetic"} == {"one"}


def test_a_spec_is_the_same_after_a_round_trip_through_plain_data() -> None:
    spec = Spec.parse(TINY.replace("checkpoints = 6", "checkpoints = [5, 20]"))
    again = Spec.of(json.loads(json.dumps(spec.document())))
    assert [c.key for c in again.cells("data")] == [c.key for c in spec.cells("data")]
    assert again.document() == spec.document()


def test_a_spec_is_the_same_after_a_round_trip_through_a_file() -> None:
    policy = 'name = "linucb"\nreranker = {name = "exposure-charge", eta = 1e-5}'
    spec = Spec.parse(TINY.replace('name = "linucb"', policy))
    assert Spec.parse(spec.to_toml()).document() == spec.document()
    unset = spec.changed(policies=[{"name": "ealinucb", "beta": None}])
    assert Spec.parse(unset.to_toml()).policies == ({"name": "ealinucb"},)


def test_a_cell_is_the_same_after_a_round_trip_through_plain_data() -> None:
    for cell in Spec.parse(TINY).cells("data"):
        again = Cell.of(json.loads(json.dumps(cell.document())))
        assert (again.key, again.environment_key, again.environment) == (
            cell.key,
            cell.environment_key,
            cell.environment,
        )


def test_files_are_looked_for_beside_the_spec(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("user,item,rating\n1,2,5\n")
    written = 'name = "synthetic"\nusers = 20\nitems = 60'
    (tmp_path / "spec.toml").write_text(TINY.replace(written, 'name = "mine.csv"'))
    assert Spec.load(tmp_path / "spec.toml").data == {"name": "mine.csv"}
    with pytest.raises(SpecError, match="no such spec file"):
        Spec.load(tmp_path / "other.toml")


def test_a_table_of_items_is_looked_for_beside_the_spec(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("user,item,plays\n1,2,5\n2,3,1\n")
    (tmp_path / "films.csv").write_text("id,genre\n2,a\n3,b\n")
    written = 'name = "synthetic"\nusers = 20\nitems = 60'
    data = 'name = "mine.csv"\nitems = "films.csv"'
    text = TINY.replace(written, data).replace("dim = 4", 'dim = 4\nthreshold.grid = [2, "q0.5"]')
    (tmp_path / "spec.toml").write_text(text)
    cell = Spec.load(tmp_path / "spec.toml").cells("data")[-1]
    assert cell.data["items"] == str(tmp_path / "films.csv")
    assert cell.environment["threshold"] == "q0.5"
    assert Sources().load(cell.data).item_groups["genre"].tolist() == ["a", "b"]


@given(st.integers(0, 40), st.integers(0, 3))
def test_a_line_is_found_whatever_stands_before_it(before: int, form: int) -> None:
    """Comments, blank lines and values over several lines do not mislead the count."""
    filler = ("# x = 1\n", "\n", "y{} = [\n  1, # [table]\n]\n", 'z{} = """\n[a]\nx=2\n"""\n')[form]
    text = "".join(filler.format(n) for n in range(before)) + "[a]\n\nx = 1\n"
    assert line_of(text, ("a", "x")) == text.count("\n")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"name = \xff")
    with pytest.raises(SpecError, match=r"bad\.toml: not a text"):
        Spec.load(tmp_path / "bad.toml")


def test_the_example_of_the_docs_is_a_spec() -> None:
    page = Path(__file__).parents[3] / "docs/how-to/experiments.md"
    text = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    spec = Spec.parse(text)
    assert [label for label, _, _ in spec.lines()][-1] == "FRMLinUCB merit-draws"
    assert len(spec.cells("data")) == 2 * 5 * 5


@pytest.mark.parametrize("change", ["\ufeff{}", "crlf"])
def test_files_of_other_editors_have_the_same_lines(change: str, tmp_path: Path) -> None:
    text = TINY.replace("dim = 4", "dimm = 4")
    written = text.replace("\n", "\r\n") if change == "crlf" else change.format(text)
    (tmp_path / "mine.toml").write_bytes(written.encode("utf-8"))
    with pytest.raises(SpecError, match=r"mine\.toml:11: "):
        Spec.load(tmp_path / "mine.toml")


def test_one_and_one_point_zero_are_the_same_cell() -> None:
    whole = Spec.parse(TINY.replace("[0.25, 1.0]", "[0.25, 1]"))
    keys = [cell.key for cell in Spec.parse(TINY).cells("data")]
    assert [cell.key for cell in whole.cells("data")] == keys
