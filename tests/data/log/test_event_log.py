"""The event log of a service: what may be written, and that `Log` reads all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.data.base import DataError
from faircascade.data.log import EventLogWriter, LoggedImpression
from faircascade.data.log.event_log import event_table
from faircascade.errors import ParameterError
from faircascade.rerankers import LoggedRandomisation

BY_HAND = """\
{"impression": "1f-Zq3", "time": "2026-11-18T12:00:00Z", "user": "ann", "items": ["a", "b", "c"], "clicked_positions": [], "shown": 3, "answered": true, "policy": "LinUCB", "explored": false, "context": {"device": "phone"}}
{"impression": "2g-Kw1", "time": "2026-11-18T12:00:01.5Z", "user": "bob", "items": ["c", "a"], "clicked_positions": [2], "shown": 2, "answered": true, "policy": "LinUCB + logged-randomisation", "policy_version": "8f14e45f", "scores": [0.5, 0.25], "slate_propensity": 0.001, "cascade_propensity": [0.02, 0.001], "item_position_propensity": [0.02, 0.03], "explored": true, "context": {"device": 7}}
{"impression": "3h-Pq9", "time": "2026-11-18T12:00:02Z", "user": "ann", "items": ["b"], "clicked_positions": [], "shown": 1, "answered": false, "policy": "LinUCB", "explored": false}
"""  # noqa: E501


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(BY_HAND)
    return path


def test_a_log_written_by_hand_is_read_without_naming_a_column(by_hand: Path) -> None:
    log = fc.Log(by_hand)
    found = log.read()
    assert log.row_is == "impressions"
    assert log.item_ids[found.items[0]].tolist() == ["a", "b", "c"]
    assert log.user_ids[found.users].tolist() == ["ann", "bob", "ann"]
    assert found.clicks.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert found.shown.tolist() == [3, 2, 1]
    assert found.answered is not None
    assert found.answered.tolist() == [True, True, False]
    assert found.times is not None
    assert np.diff(found.times).tolist() == [1.5, 0.5]
    assert found.slate is not None
    assert np.isnan(found.slate).tolist() == [True, False, True]
    assert found.cascade is not None
    assert found.cascade[1, :2].tolist() == [0.02, 0.001]
    assert found.item_position is not None
    assert found.item_position[1, :2].tolist() == [0.02, 0.03]
    assert log.summary is not None
    assert (log.summary.impressions, log.summary.unanswered) == (3, 1)


def test_impressions_without_feedback_can_be_left_out(by_hand: Path) -> None:
    log = fc.Log(by_hand, unanswered="drop")
    assert len(log.read()) == 2
    assert log.summary is not None
    assert (log.summary.impressions, log.summary.unanswered) == (2, 1)
    with pytest.raises(ParameterError, match="unanswered must be"):
        fc.Log(by_hand, unanswered="no")  # type: ignore[arg-type]


def test_a_ranker_learns_no_feedback_that_never_came(by_hand: Path) -> None:
    ranker = fc.Ranker(fc.LinUCB(), items=np.eye(3), item_ids=["a", "b", "c"])
    report = ranker.learn(by_hand)
    assert (report.impressions, report.left_out) == (2, {"no feedback came": 1})


def test_a_row_for_each_position_can_say_that_it_was_not_answered() -> None:
    rows = {"slate_id": [1, 1, 2], "user": [7, 7, 7], "item": ["a", "b", "a"]}
    more = {"position": [1, 2, 1], "click": [0, 1, 0], "answered": ["true", "true", "false"]}
    found = fc.Log(pa.table(rows | more)).read()
    assert found.answered is not None
    assert found.answered.tolist() == [True, False]
    with pytest.raises(DataError, match="column 'answered' must be 1 where a click is"):
        fc.Log(pa.table(rows | more | {"answered": [1, 0, 0]})).read()
    with pytest.raises(DataError, match="column 'answered' must be 0 or 1, got 'maybe'"):
        fc.Log(pa.table(rows | more | {"answered": ["1", "maybe", "0"]})).read()


ids = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Z")), min_size=1)
names = ids.filter(lambda text: text.lower() not in ("nan", "null", "none"))


@st.composite
def impressions(draw: st.DrawFn) -> LoggedImpression:
    items = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    k = len(items)
    shown = draw(st.integers(0, k))
    answered = draw(st.booleans())
    chances = st.none() | st.lists(st.floats(1e-9, 1.0), min_size=k, max_size=k)
    return LoggedImpression(
        impression=draw(names),
        time=draw(st.floats(0, 2e9)),
        user=draw(names),
        items=items,
        clicked_positions=sorted(draw(st.sets(st.integers(1, shown))))
        if answered and shown
        else [],
        shown=shown,
        answered=answered,
        policy="LinUCB",
        slate_propensity=draw(st.none() | st.floats(1e-9, 1.0)),
        cascade_propensity=draw(chances),
        item_position_propensity=draw(chances),
        explored=draw(st.booleans()),
        context=draw(st.none() | st.dictionaries(names, st.integers() | names, max_size=2)),
    )


@given(rows=st.lists(impressions(), min_size=1, max_size=6))
def test_what_is_written_is_read_from_lines_and_from_parquet(
    tmp_path_factory: pytest.TempPathFactory, rows: list[LoggedImpression]
) -> None:
    folder = tmp_path_factory.mktemp("events")
    with EventLogWriter(folder / "events.jsonl") as writer:
        for row in rows:
            writer.write(row)
    pq.write_table(event_table(rows), folder / "events.parquet")
    for name in ("events.jsonl", "events.parquet"):
        log = fc.Log(folder / name)
        found = log.read()
        for place, row in enumerate(rows):
            k = len(row.items)
            assert log.item_ids[found.items[place, :k]].astype(str).tolist() == [
                item.strip() for item in row.items
            ]
            assert str(log.user_ids[found.users[place]]) == row.user
            assert (np.flatnonzero(found.clicks[place]) + 1).tolist() == [*row.clicked_positions]
            assert found.shown[place] == row.shown
            assert found.answered is not None
            assert found.answered[place] == row.answered
            for kind, given_ in (
                ("slate", row.slate_propensity),
                ("cascade", row.cascade_propensity),
                ("item_position", row.item_position_propensity),
            ):
                array = getattr(found, kind)
                if given_ is None:
                    assert array is None or np.isnan(array[place]).all()
                else:
                    read = array[place] if kind == "slate" else array[place, :k]
                    assert np.array_equal(read, np.array(given_))


def test_slates_of_a_ranker_become_rows(tmp_path: Path) -> None:
    policy = fc.LinUCB(reranker=LoggedRandomisation(share=0.5))
    ranker = fc.Ranker(policy, items=np.eye(5))
    path = tmp_path / "events.jsonl"
    for start in range(2):  # a second writer goes on where the first one ended
        with EventLogWriter(path) as writer:
            for second in range(start * 10, start * 10 + 10):
                slate = ranker.recommend("ann", k=3)
                writer.write(
                    LoggedImpression.of(
                        slate, time=second, policy=policy.label, clicked_positions=[1], context={}
                    )
                )
    found = fc.Log(path).read()
    assert len(found) == 20
    for chances in (found.slate, found.cascade, found.item_position):
        assert chances is not None
        assert ((chances > 0) & (chances <= 1)).all()
    first = json.loads(path.read_text().splitlines()[0])
    assert "policy_version" not in first
    plain = LoggedImpression.of(
        fc.Ranker(fc.LinUCB(), items=np.eye(5)).recommend("u", k=2), time=0, policy="LinUCB"
    ).plain()
    assert "slate_propensity" not in plain


GOOD: dict[str, Any] = {
    "impression": "1",
    "time": 1.0,
    "user": "u",
    "items": ["a", "b"],
    "policy": "LinUCB",
}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"items": []}, "items must be a list of at least one item"),
        ({"items": "ab"}, "items must be a list"),
        ({"items": ["a", "a"]}, "items must name each item once"),
        ({"items": ["a", None]}, "items must be text or a whole number"),
        ({"user": " "}, "user must not be empty"),
        ({"time": "yesterday"}, "time must be seconds since 1970, or as in"),
        ({"time": float("nan")}, "time must be"),
        ({"time": True}, "time must be"),
        ({"shown": 3}, "shown must be between 0 and 2, got 3"),
        ({"clicked_positions": [0]}, "clicked_positions must be between 1 and 2"),
        ({"clicked_positions": [2], "shown": 1}, "must be between 1 and 1, the positions shown"),
        ({"clicked_positions": [1, 1]}, "clicked_positions must name each once"),
        ({"clicked_positions": [1], "answered": False}, "answered must be true where"),
        ({"scores": [1.0]}, "scores must have 2 numbers"),
        ({"scores": [1.0, float("inf")]}, "scores must be a number"),
        ({"slate_propensity": 0.0}, "slate_propensity must be above 0 and at most 1"),
        ({"cascade_propensity": [0.5, 1.5]}, "cascade_propensity must be above 0"),
        ({"context": 3}, "context must be an object, got 3"),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        LoggedImpression(**(GOOD | wrong))


def test_a_field_that_is_read_must_keep_its_type(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    rows = ({"user": user, "items": ["a"], "clicked_positions": []} for user in ("u", ["u"]))
    path.write_text("\n".join(json.dumps(row) for row in rows))
    with pytest.raises(DataError, match="field 'user' changes its type"):
        fc.Log(path).read()
