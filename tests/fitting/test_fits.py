"""Fits to impressions: what comes back, and that EM climbs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircascade as fc
from faircascade.errors import ParameterError
from faircascade.fitting.entries import Entries
from faircascade.fitting.expectation import Going, expect, expect_slowly
from faircascade.fitting.fitters import FITTERS
from faircascade.fitting.likelihood import log_likelihoods, predict
from faircascade.fitting.statistics import sample_of, statistics_of
from faircascade.fitting.tails import Tails
from tests.fitting.generated_logs import (
    ATTRACTION,
    ITEMS,
    MODELS,
    K,
    log_of,
    parameters,
    slates_and_clicks,
    table,
)


def _off(name: str, n: int, seed: int) -> tuple[float, float]:
    """Return how far attraction and the other parameters are from the truth (root mean square)."""
    found = fc.fit_click_model(log_of(name, n, seed), name, held_out=0)
    assert found.converged
    order = np.argsort(found.item_ids)
    w = found.attraction[order] - ATTRACTION
    others = parameters(found.click_model, order) - parameters(MODELS[name], np.arange(ITEMS))
    return np.sqrt(np.mean(w**2)), np.sqrt(np.mean(others**2)) if others.size else 0.0


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_recovered(name) -> None:
    attraction, others = _off(name, 20_000, seed=1)
    assert attraction < 0.02
    assert others < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_errors_fall_with_the_root_of_the_impressions(name) -> None:
    """Sixteen times the impressions: a quarter of the error, give or take what ten logs allow.

    The root mean square over ten logs of twelve items and their parameters is known to about 10%,
    a ratio of two of them to 15%.
    """
    few = np.sqrt(np.mean([np.square(_off(name, 5_000, seed)) for seed in range(10)], axis=0))
    many = np.sqrt(np.mean([np.square(_off(name, 80_000, seed)) for seed in range(10)], axis=0))
    assert 2.5 < few[0] / many[0] < 6
    if few[1]:
        assert 2.3 < few[1] / many[1] < 6.5


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(15, 80), smoothing=st.sampled_from([0.0, 1.0]))
def test_the_log_likelihood_never_falls(name, seed, n, smoothing) -> None:
    log = log_of(name, n, seed)
    found = fc.fit_click_model(log, name, held_out=0, smoothing=smoothing, tolerance=1e-6)
    steps = np.diff(found.objectives)
    assert (steps >= -1e-9 * max(1.0, np.abs(found.objectives).max(initial=0.0))).all()
    assert ((found.attraction >= 0) & (found.attraction <= 1)).all()


def _log_likelihood(model, attraction, slates, clicks) -> float:
    found = predict(model, attraction[slates], slates, clicks)
    return float(log_likelihoods(found.conditional, clicks, np.ones_like(clicks)).sum())


@pytest.mark.parametrize("name", MODELS)
def test_the_objective_is_the_log_likelihood_and_no_neighbour_is_better(name) -> None:
    slates, clicks = slates_and_clicks(MODELS[name], 400, seed=5)
    found = fc.fit_click_model(
        table(slates, clicks), name, held_out=0, smoothing=0, tolerance=1e-8, iterations=20_000
    )
    rows = np.argsort(found.item_ids)
    model = found.click_model
    if found.entry_parameters:
        satisfaction = tuple(np.array(model.satisfaction)[rows].tolist())
        model = type(model)(satisfaction=satisfaction, continuation=model.continuation)
    w = found.attraction[rows]
    best = _log_likelihood(model, w, slates, clicks)
    if found.objectives:
        assert np.isclose(found.objectives[-1], best)
    truth = _log_likelihood(MODELS[name], ATTRACTION, slates, clicks)
    assert best > truth
    luck = np.random.default_rng(0)
    for _ in range(30):
        near = np.clip(w + luck.normal(0, 0.01, ITEMS), 1e-9, 1 - 1e-9)
        assert _log_likelihood(model, near, slates, clicks) < best + 1e-6


def test_counting_takes_users_to_stop_at_their_last_click() -> None:
    """Two slates: [a, b] with a click on a, [a, b] with a click on b. By counting, a was seen twice
    and b once; both clicks were the last, and only that on a could be followed by another."""
    slates = np.array([[0, 1], [0, 1]])
    clicks = np.array([[True, False], [False, True]])
    found = fc.fit_click_model(
        table(slates, clicks), "dcm", method="counting", held_out=0, smoothing=0
    )
    assert found.by_item() == {0: 0.5, 1: 1.0}
    assert found.click_model.stop[0] == 1.0
    with pytest.raises(ParameterError, match="must be 'em', except for cascade, dcm, sdbn"):
        fc.fit_click_model(table(slates, clicks), "ubm", method="counting", held_out=0)


def test_counting_overestimates_stops_and_em_does_not() -> None:
    log = log_of("dcm", 20_000, seed=2)
    counted, fitted = (
        np.array(fc.fit_click_model(log, "dcm", held_out=0, method=method).click_model.stop[:-1])
        for method in ("counting", "em")
    )
    truth = np.array(MODELS["dcm"].stop[:-1])
    assert (counted > truth + 0.03).any()
    assert np.abs(fitted - truth).max() < 0.03


def test_the_compiled_e_step_is_the_plain_one() -> None:
    slates, clicks = slates_and_clicks(MODELS["dbn"], 500)
    tails = Tails()
    tails.add(slates, slates, clicks, np.random.default_rng(0).integers(0, K + 1, 500))
    for ignored in (0.8, 1.0):
        going = Going(ignored, np.append(np.full(ITEMS, 0.4), 1.0), np.append(np.ones(K), 1.0))
        slow = expect_slowly(tails, ATTRACTION, going)
        tails.cells = 1 << 30  # as if there were many
        fast = expect(tails, ATTRACTION, going)
        for one, other in zip(slow, fast, strict=True):
            assert np.allclose(one, other, rtol=1e-9)


def test_equal_tails_are_put_together_and_mean_the_same() -> None:
    slates, clicks = slates_and_clicks(MODELS["dbn"], 200)
    tails = Tails()
    for _ in range(3):
        tails.add(slates, slates, clicks, np.full(200, K))
    compact = tails.compact()
    assert compact.cells * 2 < tails.cells
    going = Going(0.8, np.append(np.full(ITEMS, 0.4), 1.0), np.ones(K + 1))
    for one, other in zip(
        expect_slowly(tails, ATTRACTION, going),
        expect_slowly(compact, ATTRACTION, going),
        strict=True,
    ):
        assert np.allclose(one, other)


def test_standard_errors_of_examination_cover_the_truth() -> None:
    inside = []
    for seed in range(12):
        found = fc.fit_click_model(log_of("pbm", 3_000, seed), "pbm", held_out=0, smoothing=0)
        off = np.array(found.click_model.kappa) - np.array(MODELS["pbm"].kappa)
        inside += (np.abs(off[1:]) < 2 * found.errors["kappa"][1:]).tolist()
    assert np.mean(inside) > 0.8  # 36 draws of about 95%


@pytest.mark.parametrize("name", [name for name in MODELS if name != "sdbn"])
def test_auto_finds_the_model_behind_a_log(name) -> None:
    found = fc.fit_click_model(log_of(name, 30_000, seed=3))
    best = [c.name for c in found.candidates if c.behind is None or not c.behind.is_clear]
    assert name in best, found.best
    assert {c.name for c in found.candidates} == set(FITTERS)
    assert found.scores is not None
    assert 5_000 < found.scores.impressions < 7_000
    assert found.total == 30_000


def test_held_out_users_are_held_out_with_all_of_their_impressions(monkeypatch) -> None:
    from faircascade.fitting import statistics

    monkeypatch.setattr(statistics, "MOST_HELD_OUT", 300)
    slates, clicks = slates_and_clicks(MODELS["pbm"], 4000)
    users = np.random.default_rng(0).integers(0, 200, 4000)
    log = fc.Log(table(slates, clicks).set_column(0, "user_id", [pa.array(users)]))
    sample = statistics.sample_of(log, Entries(by_context=False), held_out=0.5, seed=0)
    held = sample.held_out
    assert 0 < len(held) <= 300
    found, counts = np.unique(log.user_ids[held.users], return_counts=True)
    assert (counts == np.bincount(users)[found]).all()
    rest = statistics_of(held, sample.coding)
    assert sample.train.impressions + rest.impressions == 4000
    everything = sample.train.joined(rest)
    assert everything.table.totals[1].sum() == clicks.sum()


def test_attraction_by_context() -> None:
    slates, clicks = slates_and_clicks(MODELS["dbn"], 6000)
    log = table(slates, clicks, query=np.where(np.arange(6000) % 2, "x", "y"))
    found = fc.fit_click_model(log, "dbn", context="query", held_out=0)
    assert sorted(found.contexts) == ["x", "y"]
    assert len(found.attraction) == 2 * ITEMS
    part = found.for_context("x")
    assert part.context_ids is None
    assert len(part.click_model.satisfaction) == ITEMS
    assert part.by_item() == found.by_item("x")
    assert found.attraction_of(3, "x") == found.by_item("x")[3]
    env = fc.Environment.from_attraction(
        part.attraction, k=K, item_ids=part.item_ids, click_model=part.click_model
    )
    assert len(env.items) == ITEMS
    with pytest.raises(ParameterError, match="context must be one of"):
        found.for_context("z")
    with pytest.raises(ParameterError, match="by must be 'item', or the log must be opened"):
        fc.fit_click_model(table(slates, clicks), "pbm", by="context")


def test_a_saved_model_is_read_back(tmp_path) -> None:
    found = fc.fit_click_model(log_of("ubm", 2000))
    found.save(tmp_path / "model.json")
    again = fc.FittedClickModel.load(tmp_path / "model.json")
    assert again.click_model == found.click_model
    assert again.by_item() == found.by_item()
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(fc.DataError, match="must be a saved click model"):
        fc.FittedClickModel.load(tmp_path / "other.json")


def test_what_cannot_be_told_apart_is_refused() -> None:
    slates = np.tile(np.arange(3), (50, 1))
    clicks = np.random.default_rng(0).random((50, 3)) < 0.3
    with pytest.raises(
        fc.DataError, match="no item stood both at position 1 and at positions 2, 3"
    ):
        fc.fit_click_model(table(slates, clicks), "pbm")
    found = fc.fit_click_model(table(slates, clicks))
    refused = {c.name for c in found.candidates if c.refused}
    assert {"pbm", "ubm", "cascade"} <= refused
    with pytest.raises(fc.DataError, match="cascade has at most one click a slate"):
        fc.fit_click_model(table(slates, clicks), "cascade")


def test_single_positions_are_enough_for_pbm_alone() -> None:
    slates, clicks = slates_and_clicks(MODELS["pbm"], 20_000)
    seen = np.arange(20_000) % K
    rows = np.arange(20_000)
    log = pa.table(
        {"impression_id": rows, "item": slates[rows, seen], "position": seen + 1,
         "click": clicks[rows, seen].astype(np.int8)}
    )  # fmt: skip
    found = fc.fit_click_model(log)
    assert found.name == "pbm"
    assert np.abs(np.array(found.click_model.kappa) - MODELS["pbm"].kappa).max() < 0.15
    with pytest.raises(fc.DataError, match="dbn needs whole slates"):
        fc.fit_click_model(log, "dbn")


def test_slates_of_several_lengths() -> None:
    slates, clicks = slates_and_clicks(MODELS["dcm"], 20_000)
    lengths = np.random.default_rng(0).integers(1, K + 1, 20_000)
    clicks &= np.arange(K) < lengths[:, None]
    log = table(slates, clicks, shown=lengths)
    found = fc.fit_click_model(log, "dcm", held_out=0)
    order = np.argsort(found.item_ids)
    assert np.abs(found.attraction[order] - ATTRACTION).max() < 0.05
    assert int(found.impressions.sum()) == lengths.sum()


def test_wrong_parameters_are_refused() -> None:
    log = log_of("pbm", 100)
    for options, message in (
        ({"model": "pbn"}, r"model must be one of .*did you mean 'pbm'"),
        ({"held_out": 1.0}, "held_out must be at least 0 and below 1, got 1.0"),
        ({"smoothing": -1.0}, "smoothing must be at least 0, got -1.0"),
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"tolerance": 0.0}, "tolerance must be above 0, got 0.0"),
        ({"user": "u"}, "user must be left out: the log is open already"),
    ):
        with pytest.raises(ParameterError, match=message):
            fc.fit_click_model(log, **options)


def _few_users(users: int, n: int = 300) -> pa.Table:
    slates, clicks = slates_and_clicks(MODELS["dcm"], n)
    rows = table(slates, clicks)
    return rows.set_column(0, "user_id", [pa.array(np.arange(n) % users)])


def test_without_held_out_users_no_model_is_called_the_best() -> None:
    with pytest.raises(fc.DataError, match="no user was held out to compare models by"):
        fc.fit_click_model(_few_users(5))
    assert fc.fit_click_model(_few_users(5), "dcm").scores is None
    assert fc.fit_click_model(_few_users(5), seed=1).scores is not None
    with pytest.raises(ParameterError, match="held_out must be above 0, or model must name one"):
        fc.fit_click_model(_few_users(50), held_out=0)
    with pytest.raises(fc.DataError, match="all users are held out"):
        fc.fit_click_model(_few_users(5), "dcm", held_out=0.99)


def test_a_log_without_clicks_is_refused() -> None:
    slates, clicks = slates_and_clicks(MODELS["dcm"], 100)
    with pytest.raises(fc.DataError, match="there are no clicks in it"):
        fc.fit_click_model(table(slates, clicks & False), "dcm")


@pytest.mark.filterwarnings("error")
def test_a_model_that_takes_what_happened_for_impossible_is_clearly_worse() -> None:
    """A single slate with two clicks is held out: the cascade can be fitted, and is impossible."""
    slates, clicks = slates_and_clicks(MODELS["cascade"], 500)
    sample = sample_of(
        fc.Log(table(slates, clicks)), Entries(by_context=False), held_out=0.2, seed=0
    )
    clicks[sample.held_out.users[0], :2] = True
    found = fc.fit_click_model(table(slates, clicks))
    behind = {c.name: c.behind for c in found.candidates}["cascade"]
    assert behind.mean == -np.inf
    assert behind.is_clear
    assert "cascade" not in found.best


@pytest.mark.filterwarnings("error")
def test_no_model_is_the_best_if_it_takes_what_happened_for_impossible() -> None:
    """Without a prior, an item that was clicked by held-out users alone is never clicked."""
    slates, clicks = slates_and_clicks(MODELS["pbm"], 500)
    log = fc.Log(table(slates, clicks))
    sample = sample_of(log, Entries(by_context=False), held_out=0.2, seed=0)
    first = slates == slates[0, 0]
    clicks[first] = False
    clicks[sample.held_out.users] |= first[sample.held_out.users]
    found = fc.fit_click_model(table(slates, clicks), "dcm", smoothing=0)
    assert found.best.startswith("No model can be called the best")
