"""Spec files that the library writes: what is written is what is read."""

from __future__ import annotations

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.experiment.spec import Spec
from faircascade.experiment.spec.toml import to_toml
from tests.experiment.specs import TINY

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.one_of(TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_what_is_written_is_what_is_read(document: dict[str, object]) -> None:
    assert tomllib.loads(to_toml(document)) == document


def test_a_spec_is_the_same_after_a_round_trip_through_a_file() -> None:
    spec = Spec.parse(TINY)
    again = Spec.parse(to_toml(spec.document()))
    assert again.document() == spec.document()


def test_none_is_left_out_and_nan_stays() -> None:
    found = tomllib.loads(to_toml({"a": None, "b": {"c": None, "d": math.nan}}))
    assert list(found) == ["b"]
    assert list(found["b"]) == ["d"]
    assert math.isnan(found["b"]["d"])


def test_what_toml_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="must be plain data"):
        to_toml({"a": [None]})
