"""Simulators of the traffic of a policy that learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import faircascade as fc
from faircascade.clicks import DBN, PBM, ClickModel
from faircascade.environment.calibration import _interval
from faircascade.errors import ParameterError
from faircascade.fitting.log_sample import sample_users

USERS, ITEMS, DIM, K, ROUNDS = 200, 20, 3, 4, 80
SATISFACTION = tuple(np.random.default_rng(8).uniform(0.2, 0.9, ITEMS).tolist())
CLICKS = {
    "cascade": fc.clicks.Cascade(),
    "pbm": PBM(kappa=(1.0, 0.7, 0.5, 0.35)),
    "dbn": DBN(satisfaction=SATISFACTION, continuation=0.8),
}


def shop_of(click_model: ClickModel) -> fc.Environment:
    luck = np.random.default_rng(4)
    features, tastes = luck.normal(size=(ITEMS, DIM)) / 4, luck.normal(size=(USERS, DIM)) / 3 + 0.4
    return fc.Environment.from_arrays(features, tastes, k=K, click_model=click_model)


def items_of(shop: fc.Environment) -> pa.Table:
    columns = {f"x{n}": shop.items.features[:, n] for n in range(DIM)}
    return pa.table({"item_id": shop.items.ids, **columns})


@pytest.fixture(scope="module", params=CLICKS)
def place(request, tmp_path_factory):
    """A shop, the log of its LinUCB, and the name of its click model."""
    shop = shop_of(CLICKS[request.param])
    log = tmp_path_factory.mktemp("logs") / "log.parquet"
    fc.simulate(shop, fc.LinUCB(), rounds=ROUNDS, seed=2, trace=log)
    return shop, log, request.param


def random_clicks(world: fc.Environment) -> float:
    return fc.simulate(world, fc.Random(), rounds=40, seed=3, engine="loop").clicks


def test_what_users_do_and_what_was_never_shown_are_found(place) -> None:
    shop, log, name = place
    asked = "dbn" if name == "dbn" else "auto"  # on so few clicks, ccm does as well with less
    traffic = fc.fit_traffic(log, features=items_of(shop), click_model=asked)
    assert traffic.name == name
    truth = random_clicks(shop)
    worlds = [random_clicks(traffic.environment(seed=seed)) for seed in range(3)]
    assert np.mean(worlds) == pytest.approx(truth, rel=0.08)
    chances = fc.Log(log).read()
    naive = chances.clicks.any(axis=1).mean()
    assert naive > 1.5 * truth  # what the log shows is not what it is asked for
    if name == "pbm":
        assert np.abs(np.array(traffic.click_model.kappa) - CLICKS["pbm"].kappa).max() < 0.06
    if name == "dbn":
        clicked = traffic.preferences.clicks > 300
        true = np.array(SATISFACTION)[traffic.item_ids.astype(int)]
        found = np.array(traffic.click_model.satisfaction)
        assert np.corrcoef(found[clicked], true[clicked])[0, 1] > 0.9
    found = traffic.calibration
    assert (np.abs(found.predicted - found.observed) < found.high - found.observed + 0.02).all()
    assert found.gain_over_item_means.low > 0


@pytest.fixture(scope="module")
def cascade(tmp_path_factory):
    shop = shop_of(CLICKS["cascade"])
    log = tmp_path_factory.mktemp("logs") / "log.parquet"
    fc.simulate(shop, fc.LinUCB(), rounds=30, seed=2, trace=log)
    return shop, log


def test_worlds_differ_in_what_the_log_leaves_open(cascade) -> None:
    shop, log = cascade
    traffic = fc.fit_traffic(log, features=items_of(shop), click_model="cascade")
    one, again, other = (traffic.environment(seed=seed) for seed in (0, 0, 1))
    mean = traffic.environment(users="mean")
    assert one.fingerprint == again.fingerprint != other.fingerprint
    assert mean.preferences.var(axis=0).sum() < one.preferences.var(axis=0).sum()
    assert np.array_equal(one.items.features, other.items.features)
    assert one.info["choice"]
    with pytest.raises(ParameterError, match="users must be one of drawn, mean"):
        fc.Environment.from_log(log, users="median")


def test_features_that_lack_what_the_policy_knows_are_noted(cascade) -> None:
    shop, log = cascade
    full, half = (
        fc.fit_traffic(log, features=items_of(shop).select(columns), click_model="cascade")
        for columns in (["item_id", "x0", "x1", "x2"], ["item_id", "x0"])
    )
    assert not full.notes
    assert any("the last clicks are not foreseen" in note for note in half.notes)
    assert (half.calibration.predicted < half.calibration.observed).all()


def test_a_click_model_that_is_given_is_left_as_it_is(cascade) -> None:
    shop, log = cascade
    fitted = fc.fit_click_model(log, "pbm")
    traffic = fc.fit_traffic(log, features=items_of(shop), click_model=fitted)
    assert traffic.click_model == fitted.click_model


def test_a_ranker_that_learned_from_the_log_goes_on_in_a_world_made_of_it(cascade) -> None:
    shop, log = cascade
    ranker = fc.Ranker(fc.LinUCB(), items=shop.items)
    ranker.learn(log)
    world = fc.fit_traffic(log, features=items_of(shop), click_model="cascade").environment()
    taught, fresh = (fc.simulate(world, p, rounds=10, seed=1) for p in (ranker, fc.LinUCB()))
    there = fc.simulate(shop, ranker, rounds=10, seed=1)
    assert taught.clicks > 1.1 * fresh.clicks
    assert taught.clicks == pytest.approx(there.clicks, rel=0.1)


def test_a_sample_has_users_whole(cascade) -> None:
    _, path = cascade
    log = fc.Log(path)
    sample = sample_users(log, most=2000, seed=1)
    everything = log.read()
    assert 0 < len(sample) <= 2000
    assert sample.of == len(everything)
    assert sample.k == K
    users = np.concatenate([block.users for block in sample.blocks()])
    names, counts = np.unique(sample.user_ids[users], return_counts=True)
    of = dict(zip(*np.unique(log.user_ids[everything.users], return_counts=True), strict=True))
    assert counts.tolist() == [of[name] for name in names.tolist()]
    firsts = [block.first for block in sample.blocks()]
    assert firsts == np.cumsum([0, *(len(block) for block in sample.blocks())])[:-1].tolist()
    whole = sample_users(log, most=10**6, seed=1)
    assert len(whole) == whole.of


def test_models_that_cannot_be_fitted_say_why(cascade) -> None:
    log = fc.Log(cascade[1]).read()
    several = replace(log, clicks=np.ones_like(log.clicks))
    rows = {"user": several.users, "items": list(several.items), "clicks": list(several.clicks)}
    table = pa.table({name: pa.array(values) for name, values in rows.items()})
    with pytest.raises(fc.DataError, match="cascade has at most one click a slate"):
        fc.fit_traffic(table, click_model="cascade")


def test_clicks_that_contradict_the_cascade_count_wherever_they_are(cascade, monkeypatch) -> None:
    """Models are chosen by a sample; the one slate with two clicks is not in it."""
    log = fc.Log(cascade[1]).read()
    monkeypatch.setattr("faircascade.environment.traffic.MOST_TO_CHOOSE", 3000)
    sample = sample_users(fc.Log(cascade[1]), most=3000, seed=0)
    kept = set(sample.user_ids.tolist())
    ids = fc.Log(cascade[1])
    list(ids.blocks())
    row = next(n for n, user in enumerate(log.users) if ids.user_ids[user] not in kept)
    clicks = log.clicks.copy()
    clicks[row, :2] = True
    rows = {"user": ids.user_ids[log.users], "items": list(log.items), "clicks": list(clicks)}
    found = fc.fit_traffic(pa.table({name: pa.array(v) for name, v in rows.items()}), dim=2)
    assert found.name != "cascade"


def test_a_position_without_clicks_is_no_proof_that_there_are_none() -> None:
    rate, error, shown = np.array([0.0, 1.0, 0.5, 0.0]), np.zeros(4), np.array([3, 3, 100, 10**6])
    low, high = _interval(rate, error, shown)
    assert high[[0, 2]] == pytest.approx([1 - 0.025 ** (1 / 3), 0.5])
    assert low[:3] == pytest.approx([0.0, 0.025 ** (1 / 3), 0.5])
    assert high[3] < 1e-5
