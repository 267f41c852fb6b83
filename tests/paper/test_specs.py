"""The experiments that ship with the package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.experiment.spec import Spec
from faircascade.paper.published import published, row_of
from faircascade.paper.specs import EXPERIMENTS, LARGE, adapt, find_specs
from faircascade.policies import EALinUCB
from tests.environments import small_environment

ROOT = Path(__file__).parents[2]


def lines(name: str) -> list:
    (spec,) = find_specs([name])
    return spec.lines()


def test_there_is_a_file_for_each_where_a_reader_looks_for_it() -> None:
    assert {path.stem for path in (ROOT / "experiments").glob("*.toml")} == {*EXPERIMENTS, *LARGE}
    for name in (*EXPERIMENTS, *LARGE):
        assert Spec.load(ROOT / "experiments" / f"{name}.toml").name == name


def test_rq2_has_every_published_movielens_row() -> None:
    (spec,) = find_specs(["rq2"])
    rows = {
        row_of(policy, "ml-1m", environment["dim"], environment["k"])
        for environment in spec.environments()
        for _, policy, _ in spec.lines()
    }
    assert rows == {row for row in published() if row.data == "movielens"}
    assert {(w["align"], w["zero_rows"]) for w in spec.environments()} == {("none", "keep")}
    assert {policy.reading for _, policy, _ in spec.lines()} == {"reference"}


def test_rq1_and_rq3_have_the_papers_grids() -> None:
    assert [policy.alpha for _, policy, _ in lines("rq1")] == [0.25, 0.75, 1, 2, 5]
    gammas = {}
    for _, policy, _ in lines("rq3"):
        if isinstance(policy, EALinUCB):
            gammas.setdefault(policy.weight, []).append(policy.gamma)
    wanted = [0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2]
    assert gammas == {"log": wanted, "rbp": wanted, "linear": wanted}
    (rq3,) = find_specs(["rq3"])
    assert [environment["zero_rows"] for environment in rq3.environments()] == ["keep", "exclude"]


def test_cells_that_several_experiments_ask_for_are_run_once() -> None:
    keys = {
        name: {cell.key for cell in find_specs([name])[0].cells("data")}
        for name in ("rq1", "rq2", "rq3", "readings", "environments")
    }
    for name in ("rq1", "rq3", "readings", "environments"):
        assert keys[name] & keys["rq2"], name


def test_the_grid_leaves_out_only_what_another_reading_gives() -> None:
    env, policies = small_environment(), [policy for _, policy, _ in lines("grid")]
    assert {policy.reading for policy in policies} == {"reference", "paper", "intended"}
    for policy in policies:
        intended = replace(policy, reading="intended")
        if policy.reading == "paper" and intended not in policies:
            one, other = (simulate(env, p, rounds=40, seed=1) for p in (policy, intended))
            np.testing.assert_array_equal(one.record.appearances, other.record.appearances)


def test_tuning_has_seeds_of_its_own() -> None:
    (frm,) = find_specs(["frm"])
    for seeds in (None, 1, 10):
        tuned = set(adapt(frm, seeds=seeds).seeds)
        for name in ("rq1", "rq2", "rq3"):
            assert not tuned & set(adapt(find_specs([name])[0], seeds=seeds).seeds)


def test_the_options_of_the_command_line() -> None:
    (rq2,) = find_specs(["rq2"])
    changed = adapt(rq2, data="yahoo-r2", rounds=100, seeds=2, reading="intended")
    assert changed.data == {"name": "yahoo-r2"}
    assert changed.seeds == (1, 2)
    assert {rounds for _, _, rounds in changed.lines()} == {100}
    assert {policy.reading for _, policy, _ in changed.lines()} == {"intended"}
    (readings,) = find_specs(["readings"])
    kept = {policy.reading for _, policy, _ in adapt(readings, reading="paper").lines()}
    assert kept == {"reference", "paper", "intended"}


def test_more_seeds_follow_on_those_of_the_spec() -> None:
    (frm,) = find_specs(["frm"])
    assert adapt(frm, seeds=3).seeds == (101, 102, 103)
    (rq2,) = find_specs(["rq2"])
    assert adapt(rq2, seeds=7).seeds == (1, 2, 3, 4, 5, 6, 7)
    assert adapt(rq2.changed(seeds=[3, 10, 20]), seeds=2).seeds == (3, 10)


def test_quick_is_small_and_options_win_over_it() -> None:
    for spec in find_specs(["all"]):
        quick = adapt(spec, quick=True)
        if spec.rounds:
            assert quick.data["name"] == "synthetic"
            assert quick.rounds < 1000
        else:
            assert quick.cells("data") == []
    (rq2,) = find_specs(["rq2"])
    assert adapt(rq2, quick=True, rounds=20, seeds=1).rounds == 20
    assert adapt(rq2, quick=True, data="ml-100k").data == {"name": "ml-100k"}


def test_specs_are_found_by_name_by_file_and_all_together(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    text = (ROOT / "experiments" / "rq1.toml").read_text()
    mine.write_text(text.replace('name = "rq1"', 'name = "mine"').replace("5.0]", "9.0]"))
    assert [spec.name for spec in find_specs([])] == list(EXPERIMENTS)
    found = find_specs([str(mine), "rq1"])
    assert [policy.alpha for _, policy, _ in found[0].lines()][-1] == 9.0
    with pytest.raises(ValueError, match=r"did you mean 'rq2'"):
        find_specs(["rq22"])
    with pytest.raises(ValueError, match="'rq1' twice"):
        find_specs(["all", "rq1"])
    with pytest.raises(ValueError, match="no such spec file"):
        find_specs([str(tmp_path / "no.toml")])
