"""Environments from tables of attraction, and from files of fitted click models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import faircascade as fc
from faircascade.clicks import ClickModel
from faircascade.environment.instances import LAYOUTS
from faircascade.registry import components

YANDEX = Path(__file__).parents[2] / "shared/data/yandex-60q-click-models.json"
"""Kept beside the checkout, not in it."""

attractions = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(2, 6)), elements=st.floats(0, 1)
)


@given(attractions)
def test_attraction_is_the_table_to_the_last_bit(table) -> None:
    env = fc.Environment.from_attraction(table, k=2)
    every = np.tile(np.arange(table.shape[1]), (len(table), 1))
    assert np.array_equal(env.attraction(every), table)
    best = np.sort(table, axis=1)[:, -2:]
    assert np.allclose(env.optimum(1).values, 1 - (1 - best).prod(axis=1))


def test_a_vector_is_one_context() -> None:
    env = fc.Environment.from_attraction([0.1, 0.7, 0.4], k=1, item_ids=["a", "b", "c"])
    assert len(env.users) == 1
    assert env.items.ids[env.optimum(1).slates[0]].tolist() == ["b"]


def test_merit_is_mean_attraction_unless_it_is_given() -> None:
    table = np.array([[0.2, 0.0, 1.0], [0.4, 0.0, 0.0]])
    assert np.allclose(fc.Environment.from_attraction(table, k=1).items.merit, [0.3, 0.001, 0.5])
    env = fc.Environment.from_attraction(
        table,
        k=1,
        merit=[1, 2, 3],
        user_ids=["ann", "bob"],
        groups={"kind": ["x", "y", "x"]},
        click_model="cascade",
        name="mine",
    )
    assert env.items.merit.tolist() == [1, 2, 3]
    assert env.users.ids.tolist() == ["ann", "bob"]
    assert env.items.groups["kind"].tolist() == ["x", "y", "x"]
    assert env.info["data"] == "mine"


@pytest.mark.parametrize("policy", ["linucb", "ealinucb"])
def test_engines_agree_on_a_table(policy: str) -> None:
    table = np.random.default_rng(1).uniform(size=(3, 8))
    env = fc.Environment.from_attraction(table, k=3)
    loop, cpu = (fc.simulate(env, policy, rounds=40, engine=e) for e in ("loop", "cpu"))
    assert (loop.clicks, loop.regret) == (cpu.clicks, cpu.regret)


def test_features_are_taken_where_they_reproduce_the_table() -> None:
    rng = np.random.default_rng(0)
    features, preferences = rng.uniform(size=(6, 2)) / 2, rng.uniform(size=(3, 2))
    table = preferences @ features.T
    env = fc.Environment.from_attraction(table, k=2, features=features)
    assert env.items.dim == 2
    assert np.allclose(env.preferences, preferences)
    with pytest.raises(ValueError, match=r"features must reproduce the table .* off by"):
        fc.Environment.from_attraction(np.eye(6), k=2, features=features)


# files


def entry(*others: Any, documents: int = 4) -> dict[str, Any]:
    return {"params": [[0.1 * n for n in range(1, documents + 1)], *others]}


BY_RANK = [0.9, 0.6, 0.4, 0.3]
BY_LAST_CLICK = [  # 0 does not occur: the last click is above, or there is none (last column)
    [0, 0, 0, 0.91],
    [0.21, 0, 0, 0.92],
    [0.31, 0.32, 0, 0.93],
    [0.41, 0.42, 0.43, 0.94],
]
FILE = {
    "CM": {"7": entry(), "8": entry(documents=5)},
    "DCM": {"7": entry(BY_RANK)},
    "DBN": {"7": entry([0.5, 0.6, 0.7, 0.8], 0.25)},
    "PBM": {"7": entry(BY_RANK)},
    "UBM": {"7": entry(BY_LAST_CLICK)},
    "CCM": {"7": entry(0.9, 0.8, 0.1)},
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    def written(document: Any) -> Path:
        file = tmp_path / "models.json"
        file.write_text(json.dumps(document))
        return file

    return written


def test_a_file_is_an_environment_for_each_model_and_query(write) -> None:
    found = fc.load_instances(write({"CM": FILE["CM"]}), k=3)
    assert list(found) == [("cascade", "7"), ("cascade", "8")]
    env = found["cascade", "8"]
    assert (env.k, len(env.items), env.users.ids.tolist()) == (3, 5, ["8"])
    assert np.array_equal(env.attraction(np.arange(5)[None])[0], entry(documents=5)["params"][0])
    assert env.info["data"] == "cascade 8"


def test_parameters_are_those_of_the_click_model() -> None:
    """Of slates of three; examination of `ubm` is (position, distance to the last click)."""

    def parameters(model: str) -> dict[str, Any]:
        others = [np.array(value) for value in FILE[model]["7"]["params"][1:]]
        return LAYOUTS[model].parameters(3, *others)

    assert parameters("CM") == {}
    assert parameters("DCM") == {"stop": (0.9, 0.6, 0.4)}
    assert parameters("DBN") == {"satisfaction": (0.5, 0.6, 0.7, 0.8), "continuation": 0.75}
    assert parameters("PBM") == {"kappa": (0.9, 0.6, 0.4)}
    assert parameters("UBM") == {"kappa": ((0.91,), (0.21, 0.92), (0.32, 0.31, 0.93))}
    assert parameters("CCM") == {"t1": 0.9, "t2": 0.8, "t3": 0.1}


def models() -> list[Any]:
    """Return the models of files, those whose click model is not there marked."""
    known = components(ClickModel.kind)
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                layout.click_model not in known,
                reason=f"there is no click model {layout.click_model!r}",
            ),
        )
        for name, layout in LAYOUTS.items()
    ]


@pytest.mark.parametrize("model", models())
def test_instances_are_simulated(model: str, write) -> None:
    (env,) = fc.load_instances(write({model: {"7": FILE[model]["7"]}}), k=3).values()
    assert env.click_model.name == LAYOUTS[model].click_model
    result = fc.simulate(env, "linucb", rounds=20, engine="loop")
    assert 0 < result.clicks < 3


@pytest.mark.parametrize("model", models())
@pytest.mark.skipif(not YANDEX.exists(), reason="there is no shared/data beside the checkout")
def test_published_instances_are_read(model: str, write) -> None:
    part = json.loads(YANDEX.read_text())[model]
    found = fc.load_instances(write({model: part}), k=5)
    assert len(found) == 60
    for (_, query), env in found.items():
        assert np.array_equal(env.preferences[0], part[query]["relevances"])


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "models.json: must be a table by model, got []"),
        ({"CN": {}}, "models.json: models must be among CM, DCM, DBN, PBM, UBM, CCM, got 'CN'"),
        ({"CM": {}}, "models.json: CM must be a table by query, got {}"),
        ({"CM": {"7": 5}}, "CM, query '7': params must be a list of 1: attraction, got None"),
        (
            {"CM": {"7": {"params": [[]]}}},
            "CM, query '7': attraction must be a list of numbers, got []",
        ),
        ({"CM": {"7": {"params": [["a"]]}}}, "attraction must be a list of numbers, got ['a']"),
        ({"CM": {"7": {"params": [0.5]}}}, "attraction must be a list of numbers, got 0.5"),
        ({"CM": {"7": {"params": [[1.5]]}}}, "attraction must be between 0 and 1, got 1.5"),
        ({"CM": {"7": {"params": [[None]]}}}, "attraction must be between 0 and 1, got nan"),
        ({"CM": {"7": entry(documents=2)}}, "k must be between 1 and 2 (the documents of query"),
        ({"DCM": {"7": entry([0.5])}}, "DCM, query '7': stop must be 4 numbers, got [0.5]"),
        ({"DBN": {"7": entry(BY_RANK)}}, "must be a list of 3: attraction, satisfaction, abandonm"),
        ({"UBM": {"7": entry(BY_RANK)}}, "UBM, query '7': examination must be 4 x 4 numbers"),
        ({"CCM": {"7": entry(0.1, [0.1], 0.1)}}, "CCM, query '7': t2 must be a number, got [0.1]"),
    ],
)
def test_another_layout_is_named_with_its_place(document, said: str, write) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        fc.load_instances(write(document), k=4)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_of_click_models_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.json"
    text.write_text("not JSON")
    with pytest.raises(fc.DataError, match=r"text.json: must be a JSON file, got .*line 1"):
        fc.load_instances(text)
    with pytest.raises(fc.DataError, match=r"no.json: there is no such file"):
        fc.load_instances(tmp_path / "no.json")
