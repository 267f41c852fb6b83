"""Comparisons: paired by seed, labelled, saved."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from faircascade.data.load import load_dataset
from faircascade.engine import loop, simulate
from faircascade.environment import Environment
from faircascade.experiment import compare, save_comparison
from faircascade.policies import EALinUCB, LinTS, LinUCB, Optimal, Random
from tests.environments import small_environment
from tests.metrics.test_over import environment


def test_every_policy_meets_every_seed_and_the_first_is_the_baseline() -> None:
    env = small_environment()
    found = compare(env, [LinUCB(), EALinUCB(weight="log")], rounds=15, seeds=3)
    assert found.labels == ("LinUCB", "EALinUCB log")
    assert found.baseline == "LinUCB"
    assert found.seeds == (1, 2, 3)
    alone = simulate(env, EALinUCB(weight="log"), rounds=15, seed=2)
    assert found.results["EALinUCB log"][1].metrics == alone.metrics


def test_one_policy_need_not_be_in_a_list() -> None:
    assert compare(small_environment(), LinUCB(), rounds=5).labels == ("LinUCB",)


def test_policies_may_be_names_with_parameters() -> None:
    env = small_environment()
    written = ["linucb", EALinUCB(), "ealinucb(weight=rbp, beta=0.8)"]
    found = compare(env, written, rounds=5)
    objects = [LinUCB(), EALinUCB(), EALinUCB(weight="rbp", beta=0.8)]
    assert [result[0].policy for result in found.results.values()] == objects
    assert compare(env, "random", rounds=5).labels == ("Random",)
    assert simulate(env, "lints(scale=0.1)", rounds=5).policy == LinTS(scale=0.1)


def test_without_policies_the_usual_ones_are_compared() -> None:
    found = compare(small_environment(), rounds=5)
    assert found.labels == (
        *("LinUCB (alpha=0.25)", "LinUCB (alpha=0.0625)", "EALinUCB log", "MostPopular"),
    )


def test_data_stands_for_an_environment_of_each_seed(tmp_path) -> None:
    rows = [(user, item, 5) for user in range(30) for item in range(user % 5, 40)]
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    frame.to_csv(tmp_path / "mine.csv", index=False)
    ratings = load_dataset(frame)
    expected = compare(
        lambda seed: Environment.from_ratings(ratings, seed=seed), "linucb", rounds=5, seeds=2
    )
    for data in (ratings, frame, tmp_path / "mine.csv", str(tmp_path / "mine.csv")):
        assert compare(data, "linucb", rounds=5, seeds=2).table() == expected.table()
    alone = Environment.from_ratings(tmp_path / "mine.csv", seed=1)
    assert alone.fingerprint == expected.env.fingerprint


def test_means_changes_and_best_values() -> None:
    found = compare(small_environment(), [Random(), Optimal()], rounds=30, seeds=[4, 9])
    values = found.values("Random", "clicks")
    assert found.mean("Random", "clicks") == pytest.approx(values.mean())
    expected = 100 * (found.mean("Optimal", "clicks") / values.mean() - 1)
    assert found.change("Optimal", "clicks") == pytest.approx(expected)
    assert found.change("Random", "clicks") == 0
    (environment,) = found.environments
    assert environment.best("clicks") == environment.best("regret") == ["Optimal"]
    assert environment.best("equality_b") == ["Random"]
    row = found.table()[1]
    assert row["policy"] == "Optimal"
    assert row["clicks_change"] == pytest.approx(expected)
    assert math.isnan(
        compare(small_environment(), [Optimal()], rounds=3).change("Optimal", "regret")
    )


def test_what_has_no_number_is_printed_as_a_dash() -> None:
    env = replace(small_environment(), click_model="dcm")
    *_, optimal, _ = str(compare(env, LinUCB(), rounds=2)).split("\n")
    assert optimal.split()[:4] == ["(optimal", "slates)", "–", "0.0000"]
    assert "nan" not in str(compare(env, LinUCB(), rounds=2))


def test_a_table_can_be_over_the_eligible_items_alone() -> None:
    env = environment()  # 20 of 30 items are eligible
    found = compare(env, [LinUCB(), Random()], rounds=20, seeds=2)
    for row, over in zip(found.table(), found.table(over="eligible"), strict=True):
        assert over["equality_b"] == pytest.approx(1.5 * row["equality_b"])
        assert over["equality_b_change"] == pytest.approx(row["equality_b_change"])
        assert over["clicks"] == row["clicks"]
    assert found.measured("eligible").table() == found.table(over="eligible")
    assert "(optimal slates)" in str(found)
    assert "(random slates)" not in str(found)
    for refused in (lambda over: found.table(over=over), found.measured):
        with pytest.raises(ValueError, match="over must be one of catalogue, eligible"):
            refused("all")  # type: ignore[arg-type]


def test_a_function_of_the_seed_varies_the_environment_too() -> None:
    found = compare(lambda seed: small_environment(seed=seed), [LinUCB()], rounds=5, seeds=[1, 2])
    environments = [result.env.fingerprint for result in found.results["LinUCB"]]
    assert environments[0] != environments[1]


def test_labels_tell_policies_apart_by_what_differs() -> None:
    policies = [LinUCB(), LinUCB(alpha=1.0), EALinUCB(weight="log")]
    found = compare(small_environment(), policies, rounds=3)
    assert found.labels == ("LinUCB (alpha=0.25)", "LinUCB (alpha=1.0)", "EALinUCB log")


@pytest.mark.parametrize(
    ("stopped", "kept", "length"),
    [
        ("Random", ["LinUCB"], 40),  # what was not finished is left out
        ("Optimal", ["LinUCB", "Random"], 40),
        ("LinUCB", ["LinUCB"], None),  # nothing was finished: as far as it went
    ],
)
def test_an_interrupted_comparison_compares_equally_long_runs(
    stopped: str, kept: list[str], length: int | None, monkeypatch
) -> None:
    monkeypatch.setattr(loop, "STEP", 6)  # one round of six users at a time

    def stop(label: str, share: float) -> None:
        if label == stopped:
            raise KeyboardInterrupt

    policies = [LinUCB(), Random(), Optimal()]
    found = compare(small_environment(), policies, rounds=40, progress=stop)
    assert found.interrupted
    assert list(found.labels) == kept
    again = compare(
        small_environment(), [p for p in policies if p.label in kept], rounds=found.rounds
    )
    assert found.rounds == (length or found.rounds) <= 40
    for label in kept:
        assert found.results[label][0].rounds == found.rounds
        assert found.change(label, "clicks") == again.change(label, "clicks")


def test_an_interrupted_comparison_keeps_the_seeds_that_all_policies_finished(monkeypatch) -> None:
    monkeypatch.setattr(loop, "STEP", 6)

    def stop(label: str, share: float) -> None:
        if share > 0.8:
            raise KeyboardInterrupt

    found = compare(small_environment(), [LinUCB(), Random()], rounds=20, seeds=3, progress=stop)
    assert found.interrupted
    assert found.seeds == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": []}, "policies must be at least one"),
        ({"seeds": 0}, "seeds must be at least one and distinct"),
        ({"seeds": [1, 1]}, "seeds must be at least one and distinct"),
        ({"policies": [LinUCB(), LinUCB()]}, "policies must be distinct, got 'LinUCB"),
    ],
)
def test_mistakes_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(small_environment(), **({"policies": [LinUCB()], "rounds": 2} | arguments))


def test_saved_tables_hold_what_was_measured(tmp_path) -> None:
    found = compare(small_environment(), [LinUCB(), Random()], rounds=12, seeds=2)
    paths = save_comparison(found, tmp_path / "run")
    save_comparison(found, tmp_path / "run")  # a second time replaces the first
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == sorted(p.name for p in paths)
    document = json.loads((tmp_path / "run/results.json").read_text())
    assert document["baseline"] == "LinUCB"
    assert len(document["runs"]) == 4
    results = pq.read_table(tmp_path / "run/results.parquet").to_pylist()
    last = {(r["policy"], r["seed"], r["metric"]): r for r in results if r["last"]}
    assert last["Random", 2, "equality_p"]["value"] == found.results["Random"][1].equality_p
    assert last["LinUCB", 1, "clicks"]["round"] == 12
    items = pq.read_table(tmp_path / "run/items.parquet")
    assert items.num_rows == 4 * 30
    shown = np.array(items["exposure_b"])[np.array(items["policy"]) == "Random"]
    assert shown.sum() == 2 * 6 * 12 * 3
