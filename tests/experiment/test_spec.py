"""Spec files: grids, labels, keys, and mistakes told before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from faircascade.experiment.spec import Spec, SpecError
from tests.experiment.specs import TINY


def test_grids_give_every_combination_world_by_world_and_seed_by_seed() -> None:
    cells = Spec.parse(TINY).cells("data")
    assert len(cells) == 2 * 2 * 6  # worlds, seeds, policies
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
    ("old", "new", "message"),
    [
        ("[environment]", "[enviroment]", "did you mean 'environment'"),
        ("dim = 4", "dimm = 4", "did you mean 'dim'"),
        ("dim = 4", 'dim = "four"', "dim must be a whole number"),
        ("seeds = 2", "sedes = 2", "did you mean 'seeds'"),
        ("seeds = 2", "seeds = [1, 1]", "seeds must be at least one and distinct"),
        ("seeds = 2", "seeds = 0", "seeds must be at least one"),
        ("rounds = 30", "rounds = -1", "rounds must be at least 0"),
        ('name = "linucb"', 'name = "linucbb"', "did you mean 'linucb'"),
        ("alpha.grid", "alhpa.grid", "did you mean 'alpha'"),
        ("[0.25, 1.0]", "[0.25, -1.0]", "alpha must be >= 0"),
        ("[0.25, 1.0]", "[0.25, 0.25]", "policies must be distinct"),
        ("rounds = 30", "", "must say its rounds"),
        ('name = "tiny"', "", "must say its name"),
        ("dim = 4", "dim = ", "not TOML"),
        ("dim = 4", 'dim = 4\nalign = "sgin"', "did you mean 'sign'"),
        ("dim = 4", "dim = 4\nthreshold = nan", "threshold must be finite"),
        ("k.grid = [3, 5]", "k.grid = [3, 3]", "the same world twice"),
        ("k.grid = [3, 5]", "k.grid = []", "k.grid must have at least one value"),
        ("k.grid = [3, 5]", "k.grid = 3", "k.grid must be a list"),
        ("k.grid = [3, 5]", "k = {grid = [3], more = 1}", "a grid or a table"),
        ("k.grid = [3, 5]", "k = 7", "custom weights must cover all 7 positions"),
        ("gamma = 0.01", "gama = 0.01", "did you mean 'gamma'"),
        ("rounds = 10", "rounds = 0", "rounds of a policy must be at least 1"),
        ('name = "random"', 'name = "lints"\nreranker = {eta = 1}', "must say its name"),
        ('title = "A small experiment"', 'show = "table"', "show must be a list"),
    ],
)
def test_a_mistake_is_told_with_the_file_and_what_was_meant(
    old: str, new: str, message: str
) -> None:
    assert old in TINY
    with pytest.raises(SpecError, match=message) as error:
        Spec.parse(TINY.replace(old, new, 1), where="mine.toml")
    assert str(error.value).startswith("mine.toml: ")


def test_a_spec_that_names_no_exhibit_shows_a_table() -> None:
    assert Spec.parse(TINY).show == ("table",)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"name = \xff")
    with pytest.raises(SpecError, match=r"bad\.toml: not a text"):
        Spec.load(tmp_path / "bad.toml")


def test_the_example_of_the_docs_is_a_spec() -> None:
    page = Path(__file__).parents[2] / "docs/how-to/experiments.md"
    text = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    spec = Spec.parse(text)
    assert [label for label, _, _ in spec.lines()][-1] == "FRMLinUCB fairx"
    assert len(spec.cells("data")) == 2 * 5 * 5
