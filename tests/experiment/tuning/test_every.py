"""Tuning every policy of a spec: each at the same cost, on seeds and in users of their own."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from faircascade.data.load import load_dataset
from faircascade.experiment.running import runner
from faircascade.experiment.spec import Spec, SpecError
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.results import Results
from faircascade.experiment.tuning.every import (
    TunedPolicies,
    fairest_within,
    tune_every,
    tuned_before,
    write_tuned,
)

RATINGS = load_dataset("synthetic", users=20, items=60)
SOURCES = Sources({RATINGS.fingerprint: RATINGS})
SPEC = """name = "fair"

[data]
name = "synthetic"
users = 20
items = 60

[environment]
k = 3
dim = 4
click_model = "pbm"

[run]
rounds = 30
seeds = 2
checkpoints = 3

[every_policy]
observation = "examination"

[[policies]]
name = "linucb"

[[policies]]
name = "linucb"
reranker.grid = ["fairco", "min-share"]

[[policies]]
name = "linucb"
alpha = 0.5

[policies.search]
alpha = {choices = [0.1, 0.5]}

[[policies]]
name = "fairx-ts"
rounds = 10

[[policies]]
name = "random"

[tune]
policy = "all"
fairest_within = "20%"
trials = 4
seeds = [101]
environment = {click_model = "cascade"}
every_policy = {observation = "first-click"}
"""


def tuned(folder: Path, text: str = SPEC, **options: Any) -> TunedPolicies:
    return tune_every(Spec.parse(text), RATINGS.fingerprint, SOURCES, Results(folder), **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("optuna")
    return tmp_path_factory.mktemp("every")


@pytest.fixture(scope="module")
def found(folder: Path) -> TunedPolicies:
    return tuned(folder)


def test_each_policy_with_a_strength_or_a_search_is_tuned_and_the_others_stay(
    found: TunedPolicies,
) -> None:
    names = [found.label(number) for number in found.found]
    assert names == ["LinUCB + fairco", "LinUCB + min-share", "LinUCB (alpha=0.5)", "FairXTS"]
    entries = found.comparison.policies
    assert [entry["name"] for entry in entries] == [*["linucb"] * 4, "fairx-ts", "random"]
    assert [entry.get("rounds") for entry in entries] == [*[None] * 4, 10, None]
    assert entries[0] == {"name": "linucb"}
    assert found.comparison.tune == {}
    assert all("search" not in entry for entry in entries)


def test_trials_meet_the_users_of_the_search_and_the_comparison_meets_its_own(
    found: TunedPolicies, folder: Path
) -> None:
    cells = {run.name: run for run in (folder / "cells").iterdir()}
    keys = [key for of in found.found.values() for trial in of.trials for key in trial.cells]
    assert set(keys) < set(cells)
    search = found.found[1].search
    (cell,) = search.cells(search.candidates.entry(search.candidates.start), RATINGS.fingerprint)
    assert cell.settings["environment"]["click_model"]["name"] == "cascade"
    assert cell.policy.observation.name == "first-click"
    assert {policy.observation.name for _, policy, _ in found.comparison.lines()[:-1]} == {
        "examination"
    }
    assert found.comparison.environments()[0]["click_model"] == "pbm"


def test_a_second_search_finds_all_trials_in_the_store(
    found: TunedPolicies, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "Local", None)  # nothing is run
    again = tuned(folder)
    assert [again.chosen(n) for n in again.found] == [found.chosen(n) for n in found.found]
    assert again.comparison == found.comparison


def test_the_tuned_spec_is_read_back_and_lies_beside_a_table_of_the_trials(
    found: TunedPolicies, tmp_path: Path
) -> None:
    path = write_tuned(found, tmp_path)
    asked = Spec.parse(SPEC)
    assert tuned_before(asked, tmp_path).lines() == found.comparison.lines()
    assert tuned_before(asked, tmp_path / "elsewhere") is asked
    assert Spec.load(path).name == "fair"
    with (tmp_path / "fair-trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows if row["chosen"] == "True"] == [
        found.label(number) for number in found.found
    ]


def test_any_spec_can_be_asked_for_the_fairest_within_a_share() -> None:
    spec = Spec.parse(SPEC[: SPEC.index("[tune]")] + "[tune]\ntrials = 3\npolicy = 1\n")
    asked = fairest_within(spec, "5%")
    assert asked.tune == {"policy": "all", "fairest_within": "5%", "trials": 3}
    with pytest.raises(ValueError, match="share of the clicks"):
        fairest_within(spec, "much")


def test_a_spec_without_anything_to_tune_is_refused(tmp_path: Path) -> None:
    text = SPEC[: SPEC.index('[[policies]]\nname = "linucb"\nreranker')]
    text += '[tune]\npolicy = "all"\nfairest_within = "2%"\n'
    with pytest.raises(SpecError, match="none of the policies can be tuned"):
        tuned(tmp_path, text)
