"""Ids become codes in the order in which they appear, whatever columns they come in."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.data.log.vocabulary import Vocabulary
from faircascade.data.log.whole_ids import WholeIds

whole = st.lists(
    st.one_of(st.none(), st.integers(0, 9), st.integers(-(2**63), 2**63 - 1)), max_size=12
)
text = st.lists(
    st.one_of(st.none(), st.sampled_from(["7", "x", " 7", "07", "", "y "])), max_size=12
)
columns = st.one_of(
    whole.map(lambda values: pa.array(values, pa.int64())),
    text.map(lambda values: pa.array(values, pa.string())),
    text.map(lambda values: pa.array(values, pa.string()).dictionary_encode()),
)


@given(st.lists(columns, max_size=5))
def test_codes_are_places_in_the_order_of_appearance(blocks: list[Any]) -> None:
    ids, expected = Vocabulary(), dict[str, int]()
    for block in blocks:
        names = [str(v).strip() if v is not None else "" for v in block.to_pylist()]
        codes = [expected.setdefault(n, len(expected)) if n else -1 for n in names]
        assert ids.codes(block).tolist() == codes
    assert [str(value) for value in ids.ids.tolist()] == list(expected)
    assert [str(value) for value in ids.ids_from(1)] == list(expected)[1:]
    assert ids.find([*expected, "none of them"]).tolist() == [*expected.values(), -1]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interruption_loses_no_id_and_gives_no_code_twice(
    monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    ids, append = Vocabulary(), WholeIds._append

    def interrupted(self: WholeIds, values: Any) -> None:
        if when == "after":
            append(self, values)
        raise KeyboardInterrupt

    ids.codes(pa.array([4]))
    for column in ([5, 6], [-1, 7]):
        monkeypatch.setattr(WholeIds, "_append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ids.codes(pa.array(column))
        monkeypatch.setattr(WholeIds, "_append", append)
    for column in ([4], [7, 5], [-1], [6, 4, -1]):
        codes = ids.codes(pa.array(column))
        assert ids.ids[codes].tolist() == column
        assert ids.find(column).tolist() == codes.tolist()
    assert sorted(ids.ids.tolist()) == [-1, 4, 5, 6, 7]
