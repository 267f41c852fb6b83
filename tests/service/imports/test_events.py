"""Which texts are events, and what is said about the others."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from faircascade.service.imports.events import (
    TAGS,
    Event,
    FeedbackEvent,
    ItemChange,
    Malformed,
    Record,
    read_event,
)


def read(text: str | bytes) -> Event:
    return read_event(Record(text.encode() if isinstance(text, str) else text, "here"))


@pytest.mark.parametrize("kind", get_args(Event), ids=TAGS)
def test_the_examples_of_every_kind_are_events_of_that_kind(kind) -> None:
    for example in kind.model_config["json_schema_extra"]["examples"]:
        assert type(read(json.dumps(example))) is kind


def test_events_have_the_fields_of_the_api() -> None:
    from faircascade.service.http.schemas import FeedbackRequest, NewItem

    for event, request in ((FeedbackEvent, FeedbackRequest), (ItemChange, NewItem)):
        assert set(event.model_fields) == {"type", *request.model_fields}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense", "it must be JSON: expected ident at line 1 column 2"),
        (b"\xff\xfe", "it must be JSON: expected value at line 1 column 1"),
        ("[]", "it must be a JSON object"),
        ("7", "it must be a JSON object"),
        ("{}", "type must be one of feedback, put_item, remove_item, erase_user"),
        (
            '{"type": "click"}',
            "type must be one of feedback, put_item, remove_item, erase_user, got 'click'",
        ),
        ('{"type": "erase_user"}', "user is missing"),
        ('{"type": "erase_user", "user": 7}', "user must be text, got 7"),
        (
            '{"type": "erase_user", "user": "ada", "at": 1}',
            "at is not a field; there are: type, user",
        ),
        ('{"type": "put_item", "item": "", "features": []}', "item must not be empty"),
        (
            '{"type": "feedback", "clicked_position": 0}',
            "impression_id is missing; clicked_position must be at least 1, got 0",
        ),
        (
            '{"type": "feedback", "impression_id": "a", "clicked_positions": [2, 2]}',
            "clicked_positions must name each position once, got 2 twice",
        ),
    ],
)
def test_what_is_no_event_is_told_in_words_of_the_api(text: str | bytes, reason: str) -> None:
    with pytest.raises(Malformed) as found:
        read(text)
    assert str(found.value) == reason


def test_a_fault_that_the_source_found_is_the_reason() -> None:
    with pytest.raises(Malformed, match="it was deleted"):
        read_event(Record(b'{"type": "erase_user", "user": "a"}', "1-0", fault="it was deleted"))
