"""Environments calibrated on a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import faircascade as fc
from faircascade.clicks import PBM
from faircascade.environment.item_features import item_features
from faircascade.errors import ParameterError
from tests.fitting.generated_logs import MODELS, log_of, slates_and_clicks, table

USERS, ITEMS, K = 60, 30, 5


@pytest.fixture(scope="module")
def truth() -> fc.Environment:
    luck = np.random.default_rng(2)
    features = np.c_[luck.uniform(0.2, 0.5, ITEMS), luck.normal(0, 0.15, (ITEMS, 2))]
    preferences = np.c_[luck.uniform(0.7, 1.2, USERS), luck.normal(0, 1, (USERS, 2))]
    click_model = PBM(kappa=(1.0, 0.8, 0.6, 0.5, 0.4))
    return fc.Environment.from_arrays(features, preferences, k=K, click_model=click_model)


@pytest.fixture(scope="module")
def trace(truth, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "trace.parquet"
    fc.simulate(truth, fc.Random(), rounds=300, seed=4, trace=path, engine="loop")
    return path


def _table(env: fc.Environment, items, users) -> np.ndarray:
    """Return the attraction of items for users, by their ids."""
    rows = [env.users.ids.tolist().index(user) for user in users]
    columns = [env.items.ids.tolist().index(item) for item in items]
    return np.clip(env.preferences[rows] @ env.items.features[columns].T, 0, 1)


def test_attraction_and_clicks_of_the_traffic_are_found(truth, trace) -> None:
    env = fc.Environment.from_log(trace, dim=4)
    assert env.k == K
    assert env.click_model.name in ("pbm", "ubm")
    true = _table(truth, truth.items.ids, truth.users.ids)
    ours = _table(env, truth.items.ids, truth.users.ids)
    scale = (ours * true).sum() / (ours**2).sum()  # pbm knows attraction up to a factor
    assert 0.85 < scale < 1.15
    same_for_all = true - true.mean(axis=0)
    assert np.mean((scale * ours - true) ** 2) < 0.4 * np.mean(same_for_all**2)
    found = env.info["calibration"]
    assert found["gain_over_constant"]["low"] > 0
    assert found["gain_over_item_means"]["low"] > 0
    off = np.abs(np.array(found["predicted"]) - np.array(found["observed"]))
    half = (np.array(found["high"]) - np.array(found["low"])) / 2
    assert (off < 2 * half).all()
    assert env.info["impressions_per_user"]["most"] == 300


def test_it_can_be_simulated_saved_and_loaded(trace, tmp_path) -> None:
    env = fc.Environment.from_log(trace, dim=3, click_model="pbm")
    env.save(tmp_path / "env.npz")
    again = fc.Environment.load(tmp_path / "env.npz")
    assert again.fingerprint == env.fingerprint
    assert fc.simulate(again, fc.LinUCB(), rounds=3, engine="loop").clicks > 0


def test_users_come_as_often_as_in_the_log(truth, tmp_path) -> None:
    often = np.linspace(0.05, 1.0, USERS)
    theirs = replace(truth, users=replace(truth.users, activity=often))
    fc.simulate(theirs, fc.Random(), rounds=300, seed=4, trace=tmp_path / "log.parquet")
    env = fc.Environment.from_log(tmp_path / "log.parquet", dim=3, click_model="pbm")
    assert env.users.activity.max() == 1.0
    rows = [env.users.ids.tolist().index(user) for user in truth.users.ids]
    assert np.corrcoef(env.users.activity[rows], often)[0, 1] > 0.98
    of_log = env.info["impressions_per_user"]
    again = fc.simulate(env, fc.Random(), rounds=of_log["most"], seed=4)
    wanted = of_log["mean"] * USERS
    assert abs(again.recommendations - wanted) < 5 * np.sqrt(wanted)
    even = fc.Environment.from_log(
        tmp_path / "log.parquet", dim=3, click_model="pbm", activity="equal"
    )
    assert even.users.activity is None


def test_users_without_clicks_are_like_everybody() -> None:
    slates, clicks = slates_and_clicks(MODELS["pbm"], 3000)
    users = np.arange(3000) % 50
    clicks[users == 7] = False
    shy = (users == 8) & (np.arange(3000) > 60)  # one impression is all there is of user 8
    log = table(slates, clicks).set_column(0, "user_id", [pa.array(users)]).filter(pa.array(~shy))
    env = fc.Environment.from_log(log, dim=4, click_model="pbm")
    assert np.isfinite(env.preferences).all()
    every = _table(env, env.items.ids, env.users.ids)
    mean = np.median(every, axis=0)
    lonely = _table(env, env.items.ids, [8])[0]
    assert np.abs(lonely - mean).max() < 0.15


def test_features_can_be_given(truth, trace) -> None:
    columns = {f"x{n}": truth.items.features[:, n] for n in range(3)}
    items = pa.table({"item_id": truth.items.ids, **columns})
    env = fc.Environment.from_log(trace, features=items, click_model="pbm")
    assert env.items.dim == 3
    row = env.items.ids.tolist().index(5)
    assert np.allclose(env.items.features[row], truth.items.features[5])
    assert env.info["calibration"]["gain_over_item_means"]["low"] > 0
    with pytest.raises(fc.DataError, match=r"item '\d+' of the log is not in column 'item_id'"):
        fc.Environment.from_log(trace, features=items.slice(0, 3), click_model="pbm")


def test_a_log_without_users_is_of_one_user() -> None:
    log = table(*slates_and_clicks(MODELS["dcm"], 2000)).drop_columns("user_id")
    env = fc.Environment.from_log(log, click_model="dcm")
    assert env.users.ids.tolist() == ["everyone"]
    assert len(env.items) == 12


def test_a_fit_to_the_same_log_can_be_used_again() -> None:
    log = log_of("dbn", 2000)
    fitted = fc.fit_click_model(log, "dbn")
    env = fc.Environment.from_log(log, click_model=fitted, dim=2)
    assert env.click_model == fitted.click_model
    other = fc.fit_click_model(log_of("dbn", 2000, seed=5), "dbn")
    with pytest.raises(ParameterError, match="must be fitted to this log, by item, or be a name"):
        fc.Environment.from_log(log, click_model=other)


def test_wrong_parameters_are_refused(trace) -> None:
    for options, message in (
        ({"k": 9, "click_model": "pbm"}, "k must be at most 5, the longest slate of the log"),
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"held_out": 0.0}, "held_out must be between 0 and 1"),
        ({"activity": "as logged"}, "activity must be one of logged, equal"),
        ({"click_model": "pbn"}, "must be one of auto, cascade"),
        ({"click_model": PBM()}, "click_model must be a name, or what fit_click_model returned"),
    ):
        with pytest.raises(ParameterError, match=message):
            fc.Environment.from_log(trace, **options)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item_id": [0, 1, 2, 1]}, "row 3: column 'item_id' must have each item once, got '1'"),
        ({"item_id": [0, 1, 2, None]}, "row 3: column 'item_id' must be text or a whole number"),
        ({"x": [1.0, np.nan, 0.0, 1.0]}, "row 1: column 'x' must be a number, .* got nan"),
        ({"x": ["1", "2", "red", "4"]}, "row 2: column 'x' must be a number, .* got 'red'"),
        ({"item_id": [], "x": []}, "there are no rows in it"),
    ],
)
def test_mistakes_in_a_table_of_features_name_the_place(columns, message) -> None:
    rows = {"item_id": [0, 1, 2, 3], "x": [1.0, 2.0, 3.0, 4.0]} | columns
    log = fc.Log(pa.table({"user": [1, 2], "items": [[0, 1], [1, 2]], "click": [[1, 0], [0, 1]]}))
    list(log.blocks())
    with pytest.raises(fc.DataError, match=message):
        item_features(pa.table(rows), log)


def test_ids_of_a_table_of_features_are_read_as_those_of_a_log() -> None:
    """Whole numbers that pandas has made floats, and items of the table that have names."""
    log = fc.Log(pa.table({"user": [1, 2], "items": [[0, 1], [1, 2]], "click": [[1, 0], [0, 1]]}))
    list(log.blocks())
    found = item_features(pa.table({"item_id": [2.0, 1.0, 0.0], "x": [5, 4, 3]}), log)
    assert found.logged[:, 0].tolist() == [3, 4, 5]
    found = item_features(pa.table({"item_id": ["2", "1", "0", "new"], "x": [5, 4, 3, 2]}), log)
    assert found.other_ids.tolist() == ["new"]
    assert found.others.tolist() == [[2.0]]


def test_a_log_of_too_few_users_or_without_clicks_is_refused() -> None:
    slates, clicks = slates_and_clicks(MODELS["dcm"], 200)
    users = [pa.array(np.arange(200) % 5)]
    few = table(slates, clicks).set_column(0, "user_id", users)
    with pytest.raises(fc.DataError, match="no user was held out to compare models by"):
        fc.fit_traffic(few, dim=2)
    assert fc.fit_traffic(few, dim=2, click_model="dcm").name == "dcm"
    with pytest.raises(fc.DataError, match="there are no clicks in it"):
        fc.fit_traffic(table(slates, clicks & False), dim=2, click_model="dcm")
