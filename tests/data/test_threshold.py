"""From which rating on an item counts as liked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.data.base import Ratings
from faircascade.data.prepare import resolve_threshold
from faircascade.errors import ParameterError
from faircascade.experiment.environment_options import build_options


def ratings(values: list[float], **more: object) -> Ratings:
    n = len(values)
    return Ratings(
        name="toy",
        user_ids=np.arange(n),
        item_ids=np.array([7]),
        users=np.arange(n, dtype=np.int32),
        items=np.zeros(n, dtype=np.int32),
        ratings=np.array(values, dtype=np.float32),
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3, 4, 5], 4),
        ([0.5, 1, 3.5, 5], 4),
        ([3, 4, 5], 4),  # nobody gave 1 or 2
        ([1, 4.2, 4.3, 5], 4),
        (range(1, 11), 8),
        ([4, 7, 10], 8),
        ([1, 5], 4),
        ([4, 7, 8, 10], 8),
        (range(11), 8),
        (range(101), 75),
        ([0, 1], 1),
        ([-1, 1], 1),
        (range(-10, 11), 5),
        ([0, 0.25, 0.5, 0.75, 1], 0.75),
        ([3, 3], 3),
    ],
)
def test_liking_begins_three_quarters_up_the_scale(values: list[float], expected: float) -> None:
    found, notes = resolve_threshold(ratings([*values]), None)
    assert found == expected
    assert bool(notes) == (expected != 4)
    for note in notes:
        assert f"{found:g} or more counts as liked" in note


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), st.sampled_from([1, 2, 4, 10]))
def test_a_scale_has_likes_but_not_for_everything(whole: list[int], parts: int) -> None:
    values = [value / parts for value in whole]
    found, _ = resolve_threshold(ratings(values), None)
    if max(values) > 0 or min(values) < max(values):
        assert np.float32(found) <= np.float32(max(values))
    if min(values) < max(values) and max(values) not in (5, 10):
        assert np.float32(found) > np.float32(min(values))


def test_a_data_set_that_knows_its_scale_is_believed() -> None:
    data = ratings([5, 5, 5], bounds=(1.0, 5.0))
    assert resolve_threshold(data, None) == (4.0, ())
    assert str(data.scale) == "1 to 5"


def test_named_data_sets_know_their_scale() -> None:
    data = fc.load_dataset("synthetic", users=20, items=40)
    assert data.bounds == (1, 5)
    assert resolve_threshold(data, None) == (4, ())


@pytest.mark.parametrize(("share", "expected"), [("q0", 1), ("q0.5", 6), ("q0.75", 8), ("q1", 10)])
def test_a_quantile_is_a_rating_that_somebody_gave(share: str, expected: float) -> None:
    data = ratings([*range(1, 11)])
    found, (note,) = resolve_threshold(data, share)
    assert found == expected
    assert f"the quantile {share} of the ratings is {expected}" in note


@pytest.mark.parametrize("text", ["high", "q", "q2", "q-1", "0.7", "q70%", "qnan", ""])
def test_other_text_is_refused(text: str) -> None:
    for refuse in (
        lambda: resolve_threshold(ratings([1, 2]), text),
        lambda: build_options({"threshold": text}),
    ):
        with pytest.raises(ParameterError, match="a quantile of the ratings such as"):
            refuse()


def test_options_take_numbers_and_quantiles() -> None:
    assert build_options({"threshold": 3}) == {"threshold": 3.0}
    assert build_options({"threshold": "q0.7"}) == {"threshold": "q0.7"}
    with pytest.raises(ParameterError, match="must be finite"):
        build_options({"threshold": float("nan")})


def test_an_environment_says_which_threshold_it_took() -> None:
    data = fc.load_dataset("synthetic", users=60, items=60)
    by_default = fc.Environment.from_ratings(data, dim=3, k=3)
    given = fc.Environment.from_ratings(data, dim=3, k=3, threshold=4)
    assert by_default.info["threshold"] == given.info["threshold"] == 4.0
    assert by_default.fingerprint == given.fingerprint
    top = fc.Environment.from_ratings(data, dim=3, k=3, threshold="q0.95")
    assert top.info["threshold"] == 5
    assert any("quantile q0.95" in note for note in top.info["notes"])
