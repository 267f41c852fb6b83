"""Fits to aggregated counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import faircascade as fc
from faircascade.errors import ParameterError
from faircascade.fitting.mean_field import CountData, MeanFieldLikelihood
from faircascade.fitting.mean_field_models import FIELDS
from faircascade.fitting.priors import Priors
from tests.fitting.generated_logs import ATTRACTION, ITEMS, MODELS, K, slates_and_clicks, table


def _counts(slates, clicks, **columns) -> pa.Table:
    """Return impressions and clicks by item and position."""
    cell, of = np.unique(slates * K + np.arange(K), return_inverse=True)
    rows = {
        "item": cell // K,
        "position": cell % K + 1,
        "impressions": np.bincount(of.reshape(-1)),
        "clicks": np.bincount(of.reshape(-1), clicks.reshape(-1)).astype(int),
    }
    return pa.table(rows | columns)


def test_pbm_from_counts_is_pbm_from_impressions() -> None:
    slates, clicks = slates_and_clicks(MODELS["pbm"], 5000)
    counted = fc.fit_click_model(fc.ClickCounts(_counts(slates, clicks)), "pbm", held_out=0)
    fitted = fc.fit_click_model(table(slates, clicks), "pbm", held_out=0)
    assert np.allclose(counted.click_model.kappa, fitted.click_model.kappa, atol=1e-3)
    assert counted.by_item() == pytest.approx(fitted.by_item(), abs=1e-3)


@pytest.mark.parametrize("name", ["cascade", "dcm", "dbn", "ccm"])
def test_sequential_models_are_found_where_slates_are_random(name) -> None:
    """Items at different positions are nearly independent here, as the approximation has it; what
    is left is that an item stands once in a slate of four out of twelve."""
    slates, clicks = slates_and_clicks(MODELS[name], 200_000)
    found = fc.fit_click_model(fc.ClickCounts(_counts(slates, clicks)), name, held_out=0)
    order = np.argsort(found.item_ids)
    assert found.converged
    assert np.abs(found.attraction[order] - ATTRACTION).max() < 0.05
    predicted = np.array(found.attraction[order])
    assert np.corrcoef(predicted, ATTRACTION)[0, 1] > 0.98


@pytest.mark.parametrize("name", FIELDS)
def test_gradients_are_those_of_finite_differences(name) -> None:
    luck = np.random.default_rng(3)
    slates, clicks = slates_and_clicks(MODELS["dbn"], 500)
    counts = fc.ClickCounts(_counts(slates, clicks))
    contexts = np.arange(ITEMS) % 3
    data = CountData(counts.cells, contexts, ITEMS, K)
    likelihood = MeanFieldLikelihood(FIELDS[name], data, Priors.of(1.0, 0.2))
    start = FIELDS[name].start(K)
    theta = np.concatenate([luck.uniform(0.1, 0.6, ITEMS), luck.uniform(0.3, 0.8, len(start))])
    value, gradient = likelihood(theta)
    for place in range(len(theta)):
        step = np.zeros(len(theta))
        step[place] = 1e-6
        slope = (likelihood(theta + step)[0] - likelihood(theta - step)[0]) / 2e-6
        assert np.isclose(slope, gradient[place], rtol=1e-4, atol=1e-2 * abs(value) * 1e-4)


def test_auto_compares_what_can_be_fitted_and_says_what_cannot() -> None:
    slates, clicks = slates_and_clicks(MODELS["pbm"], 20_000)
    found = fc.fit_click_model(fc.ClickCounts(_counts(slates, clicks)))
    assert {c.name for c in found.candidates if c.refused} == {"ubm"}
    assert found.scores is not None
    assert found.scores.perplexity_by_position.shape == (K,)
    assert any("not a whole slate" in note for note in found.notes)
    with pytest.raises(fc.DataError, match="ubm cannot be fitted: counts by position do not say"):
        fc.fit_click_model(fc.ClickCounts(_counts(slates, clicks)), "ubm")


def test_counts_of_contexts_positions_from_0_and_repeated_rows() -> None:
    rows = {
        "Query": ["x", "x", "y", "x"],
        "url": ["a", "b", "a", "a"],
        "pos": [0, 1, 0, 0],
        "Impression": [10, 10, 5, 2],
        "Click": [3, 1, 2, 1],
    }
    counts = fc.ClickCounts(pa.table(rows))
    assert repr(counts) == (
        "ClickCounts(2 items in 2 contexts, 2 positions, 27 impressions, 7 clicks)"
    )
    assert counts.cells.impressions.tolist() == [12, 10, 5]
    assert counts.context_ids.tolist() == ["x", "x", "y"]
    found = fc.fit_click_model(counts, "cascade", held_out=0)
    assert found.by_item("y").keys() == {"a"}


def test_bad_counts_are_refused_and_excess_clicks_can_be_capped() -> None:
    rows = {"item": ["a", "b"], "position": [1, 2], "impressions": [3, 3], "clicks": [4, 1]}
    with pytest.raises(fc.DataError, match=r"row 0: column 'clicks' must be from 0 to .* got 4"):
        fc.ClickCounts(pa.table(rows))
    capped = fc.ClickCounts(pa.table(rows), excess="cap")
    assert capped.cells.clicks.tolist() == [3, 1]
    assert capped.notes == ("1 rows have more clicks than impressions: 1 left out",)
    with pytest.raises(fc.DataError, match=r"no column looks like the clicks"):
        fc.ClickCounts(pa.table({n: rows[n] for n in ("item", "position", "impressions")}))
    with pytest.raises(fc.DataError, match=r"no column 'views' \(impressions=\)"):
        fc.ClickCounts(pa.table(rows), impressions="views")
    with pytest.raises(fc.DataError, match="column 'position' must be a position"):
        fc.ClickCounts(pa.table(rows | {"clicks": [1, 1], "position": [1, -2]}))


def test_items_that_never_change_their_position_are_refused_for_pbm() -> None:
    rows = {"item": ["a", "b"], "position": [1, 2], "impressions": [30, 30], "clicks": [4, 1]}
    with pytest.raises(fc.DataError, match="pbm cannot tell attraction from examination"):
        fc.fit_click_model(fc.ClickCounts(pa.table(rows)), "pbm")


def test_wrong_parameters_of_counts_are_refused() -> None:
    slates, clicks = slates_and_clicks(MODELS["pbm"], 500)
    counts = fc.ClickCounts(_counts(slates, clicks))
    for options, message in (
        ({"held_out": 1.0}, "held_out must be at least 0 and below 1, got 1.0"),
        ({"held_out": -0.5}, "held_out must be at least 0 and below 1, got -0.5"),
        ({"seed": -1}, r"seed must be between 0 and 2\^128 - 1, got -1"),
        ({"method": "counting"}, "method must be 'em' for counts, got 'counting'"),
        ({"by": "item"}, "by must be left out"),
        ({"user": "u"}, "user must be left out: the counts are open already, got 'u'"),
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
    ):
        with pytest.raises(ParameterError, match=message):
            fc.fit_click_model(counts, "pbm", **options)


@pytest.mark.filterwarnings("error")
def test_counts_of_nothing_and_of_hardly_anything_are_refused() -> None:
    rows = {"item": ["a", "b", "a"], "position": [1, 1, 2], "impressions": [1, 1, 1]}
    with pytest.raises(fc.DataError, match="there are no clicks in it"):
        fc.fit_click_model(fc.ClickCounts(pa.table(rows | {"clicks": [0, 0, 0]})))
    few = fc.ClickCounts(pa.table(rows | {"clicks": [1, 0, 0]}))
    with pytest.raises(fc.DataError, match="no impression was held out"):
        fc.fit_click_model(few, held_out=0.001)
    with pytest.raises(fc.DataError, match="everything is held out"):
        fc.fit_click_model(few, held_out=0.999)
    assert fc.fit_click_model(few, "dcm", held_out=0.001).scores is None


def test_billions_of_impressions_are_split() -> None:
    rows = {
        "item": ["a", "b", "a", "b"],
        "position": [1, 1, 2, 2],
        "impressions": [3_000_000_000] * 4,
        "clicks": [1_500_000_000, 600_000_000, 750_000_000, 300_000_000],
    }
    found = fc.fit_click_model(fc.ClickCounts(pa.table(rows)), "pbm")
    assert np.allclose(found.click_model.kappa, (1.0, 0.5), atol=1e-4)
    assert found.scores.impressions == pytest.approx(0.2 * 12e9, rel=1e-3)


def test_a_log_is_not_taken_for_counts() -> None:
    rows = {"impression": [1, 1, 2], "user": [7, 7, 8], "item": ["a", "b", "a"]}
    log = pa.table(rows | {"position": [1, 2, 1], "click": [1, 0, 0]})
    with pytest.raises(fc.DataError, match="looks like a log, as it has a column of users"):
        fc.ClickCounts(log)
    assert fc.ClickCounts(log, impressions="impression").impressions == 4
