"""Whatever is sent at the same time could have been sent in any order."""

from __future__ import annotations

import json
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.imports.events import FeedbackEvent, ItemChange, Record, read_event
from faircascade.service.imports.order import feedback_batches, item_runs, spans

NAMES = st.sampled_from("abcd")
FEEDBACK = st.builds(lambda name: {"type": "feedback", "impression_id": name}, NAMES)
CHANGES = st.one_of(
    st.builds(lambda name: {"type": "put_item", "item": name, "features": [0.5]}, NAMES),
    st.builds(lambda name: {"type": "remove_item", "item": name}, NAMES),
)
ERASURES = st.builds(lambda name: {"type": "erase_user", "user": name}, NAMES)
WRONG = st.just({"type": "nothing"})


def records(events: list[dict[str, object]]) -> list[Record]:
    return [Record(json.dumps(event).encode(), str(n)) for n, event in enumerate(events)]


def parsed(events: list[dict[str, object]]):
    return [(record, read_event(record)) for record in records(events)]


@given(st.lists(st.one_of(FEEDBACK, CHANGES, ERASURES, WRONG), max_size=30))
def test_spans_are_all_records_in_order_and_erasures_stand_alone(events) -> None:
    given_records = records(events)
    found = list(spans(given_records))
    assert [record for _, span in found for record, _ in span] == given_records
    for erasures, span in found:
        assert span
        kinds = {b"erase_user" in record.text for record, _ in span}
        assert kinds == {erasures}


@given(st.lists(FEEDBACK, max_size=40), st.integers(1, 5))
def test_answers_to_one_slate_are_in_one_batch_and_in_order(events, most: int) -> None:
    answers = parsed(events)
    batches = feedback_batches(answers, most)
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, batch in enumerate(batches):
        names = set()
        for record, event in batch:
            assert isinstance(event, FeedbackEvent)
            places[event.impression_id].append((number, int(record.at)))
            names.add(event.impression_id)
        assert len(names) <= most
    for found in places.values():
        assert len({number for number, _ in found}) == 1
        assert found == sorted(found)
    assert sum(map(len, batches)) == len(events)


@given(st.lists(CHANGES, max_size=40), st.integers(1, 5))
def test_runs_of_changes_are_of_one_kind_and_name_an_item_once(events, most: int) -> None:
    changes = parsed(events)
    runs = list(item_runs(changes, most))
    assert [one for run in runs for one in run] == changes
    for run in runs:
        assert 1 <= len(run) <= most
        assert len({isinstance(event, ItemChange) for _, event in run}) == 1
        assert len({event.item for _, event in run}) == len(run)  # type: ignore[union-attr]
