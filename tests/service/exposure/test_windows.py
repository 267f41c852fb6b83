"""Windows slide as if all events were kept, whatever comes late, early or out of order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.service.exposure.counters import ALL, Counters
from faircascade.service.exposure.counts import Counts, EventBatch
from faircascade.service.exposure.fairness import fairness
from faircascade.service.exposure.windows import SPANS, Span, Window
from tests.service.exposure.events import (
    NOW,
    Unshown,
    answered,
    catalogue,
    events_at,
    listed,
    pieces,
    plainly,
    slowly,
    told,
)

ITEMS = catalogue(8)
SHORT = Span(name="short", seconds=10, steps=5)
LENGTH = SHORT.seconds * SHORT.steps


@st.composite
def polls(draw, span: Span = SHORT):
    """Times of a clock that may be set back a little, and what was read at each."""
    now, found = NOW, []
    whole = span.seconds * span.steps
    steps = st.one_of(st.floats(0, 2 * span.seconds), st.floats(-span.seconds, 1.5 * whole))
    odd = st.sampled_from([NOW + 1e8, float("nan"), float("inf"), 0.0])
    for _ in range(draw(st.integers(1, 6))):
        now += draw(steps)
        near = st.floats(now - 1.2 * whole, now + span.seconds)
        found.append((now, draw(st.lists(events_at(near | odd), max_size=8))))
    return found


class Everything:
    """Keeps all events in a list, and looks through them."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.running = 0
        self.events = []

    def count(self, events, now: float) -> None:
        self.running = max(self.running, int(now // self.span.seconds))
        for event in [part for whole in events for part in pieces(whole)]:
            time = now if not event.time <= now else event.time
            self.events.append((int(time // self.span.seconds), event))

    def step(self, number: int):
        return [event for n, event in self.events if n == number]

    @property
    def numbers(self):
        return range(self.running - self.span.steps + 1, self.running + 1)

    @property
    def window(self):
        return [event for number in self.numbers for event in self.step(number)]


def all_steps(window: Window) -> dict[int, tuple]:
    """Counts of every step that is kept."""
    return {n: plainly(window.copied(n), 8) for n in {*window.open, *window.closed}}


def fairness_of(window: Window, number: int):
    """Fairness of a step that is over."""
    found = window.step(number)
    measured = found if isinstance(found, Counts) else found.measured
    return fairness(measured, ITEMS) if isinstance(measured, Counts) else measured


@given(polls())
def test_a_window_is_what_a_look_through_all_events_finds(found) -> None:
    window, slow = Window(span=SHORT), Everything(SHORT)
    for now, events in found:
        slow.count(events, now)
        window.rewind(now)
        window.count(EventBatch.of(events, now), ITEMS)
        window.advance(now, ITEMS)
        assert window.running == slow.running
        assert plainly(window.total, 8) == slowly(slow.window, 8)
        kept = {n: slowly(slow.step(n), 8) for n in slow.numbers if slow.step(n)}
        assert all_steps(window) == kept


@settings(max_examples=50)
@given(polls(SPANS["24h"]))
def test_an_account_has_all_windows_and_all_time_right(found) -> None:
    account, slow = Counters(), {name: Everything(span) for name, span in SPANS.items()}
    for now, events in found:
        account.count(events, now, ITEMS)
        account.advance(now, ITEMS)
        for name, everything in slow.items():
            # this clock may go back by more than the shortest window, which then starts afresh
            if int(now // everything.span.seconds) <= everything.running - everything.span.steps:
                everything.events, everything.running = [], 0
            everything.count(events, now)
            snapshot = account.snapshot(name, now)
            assert plainly(snapshot.counts, 8) == slowly(everything.window, 8)
    everything = [event for _, events in found for event in events]
    assert plainly(account.snapshot(ALL, now).counts, 8) == slowly(everything, 8)


@given(st.lists(events_at(st.floats(NOW - 2 * LENGTH, NOW)), max_size=20), st.randoms())
def test_order_and_pieces_of_reading_make_no_difference(events, random) -> None:
    at_once, scattered = Window(span=SHORT), Window(span=SHORT)
    at_once.count(EventBatch.of(events, NOW), ITEMS)
    for event in random.sample(events, len(events)):
        scattered.count(EventBatch.of([event], NOW), ITEMS)
    for window in (at_once, scattered):
        window.advance(NOW, ITEMS)
    assert all_steps(at_once) == all_steps(scattered)
    assert plainly(at_once.total, 8) == plainly(scattered.total, 8)
    for number in at_once.closed:
        np.testing.assert_array_equal(fairness_of(at_once, number), fairness_of(scattered, number))


@given(polls())
def test_the_fairness_of_a_step_that_is_over_is_that_of_its_counts(found) -> None:
    window = Window(span=SHORT)
    for now, events in found:
        window.count(EventBatch.of(events, now), ITEMS)
        window.advance(now, ITEMS)
    for number in {*window.closed, *window.open}:
        measured = fairness(window.copied(number), ITEMS)
        np.testing.assert_array_equal(fairness_of(window, number), measured)


def test_steps_begin_at_multiples_of_their_length() -> None:
    window = Window(span=SPANS["1h"])
    window.advance(3600.0 * 5 + 59.9, ITEMS)
    assert window.since == 3600.0 * 4 + 60
    assert window.until(3600.0 * 5 + 59.9) == 3600.0 * 5 + 59.9
    window.advance(3600.0 * 5 + 60, ITEMS)
    assert window.since == 3600.0 * 4 + 120


@pytest.mark.parametrize(("name", "seconds"), [("1h", 3600), ("24h", 86400), ("7d", 7 * 86400)])
def test_a_slate_is_gone_after_the_length_of_the_window(name: str, seconds: int) -> None:
    begin = 7 * 86400.0 * 100  # the begin of a step in each window
    account = Counters()
    account.count([listed(begin, 1)], begin, ITEMS)

    def slates(now: float) -> int:
        account.advance(now, ITEMS)
        return account.snapshot(name, now).counts.slates

    assert slates(begin + seconds - 0.01) == 1
    assert slates(begin + seconds) == 0
    assert account.snapshot(ALL, begin + seconds).counts.slates == 1


def test_a_late_answer_counts_where_it_belongs() -> None:
    window = Window(span=SHORT)
    window.count(EventBatch.of([listed(NOW - 30, 1)], NOW - 30), ITEMS)
    window.advance(NOW, ITEMS)
    before = window.step(int((NOW - 30) // 10))
    window.count(EventBatch.of([answered(NOW - 30, 1)], NOW), ITEMS)
    after = window.step(int((NOW - 30) // 10))
    assert before.totals.tolist() == [1, 0, 0, 0, 1, 0, 0]  # who read it before still has it
    assert after.totals.tolist() == [1, 1, 1, 1, 1, 0, 0]
    assert window.running == NOW // 10


def test_what_was_not_shown_is_taken_from_the_step_of_the_slate_as_long_as_it_is_kept() -> None:
    window = Window(span=SHORT)
    window.count(EventBatch.of([listed(NOW - 30, 1, 2)], NOW - 30), ITEMS)
    late = told(NOW, unshown=Unshown(NOW - 30, 1, [2]))
    window.count(EventBatch.of([late], NOW), ITEMS)
    step = int((NOW - 30) // 10)
    assert window.copied(step).of(np.array([1, 2]))[0].tolist() == [1, 0]
    assert window.copied(int(NOW // 10)).totals.tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert fairness_of(window, step)[4] == 1 / len(ITEMS)
    gone = told(NOW, unshown=Unshown(NOW - 2 * LENGTH, 1, [1]))
    window.count(EventBatch.of([gone], NOW), ITEMS)
    assert window.total.of(np.array([1, 2]))[0].tolist() == [1, 0]


def test_an_event_does_not_move_the_window_past_the_clock() -> None:
    window = Window(span=SHORT)
    window.count(EventBatch.of([listed(NOW + 1e6, 1)], NOW), ITEMS)
    assert window.running == NOW // 10
    assert window.open[window.running].slates == 1


def test_a_clock_that_was_years_ahead_does_not_empty_the_window_for_years() -> None:
    account = Counters()
    account.count([listed(NOW + 1e8, 1)], NOW + 1e8, ITEMS)
    account.count([listed(NOW, 2)], NOW, ITEMS)
    account.advance(NOW, ITEMS)
    snapshot = account.snapshot("7d", NOW)
    assert plainly(snapshot.counts, 8) == slowly([listed(NOW, 2)], 8)
    assert snapshot.since < NOW == snapshot.until


def test_a_clock_that_was_set_back_a_little_loses_nothing() -> None:
    window = Window(span=SHORT)
    window.count(EventBatch.of([listed(NOW, 1)], NOW), ITEMS)
    window.rewind(NOW - 25)
    window.count(EventBatch.of([listed(NOW - 25, 2)], NOW - 25), ITEMS)
    assert window.total.slates == 2
    assert window.until(NOW - 25) == NOW // 10 * 10


def test_fairness_is_over_the_catalogue_at_the_time_the_step_was_over() -> None:
    window = Window(span=SHORT)
    few, many = catalogue(2), catalogue(8)
    window.count(EventBatch.of([listed(NOW - 30, 0, 1)], NOW - 30), few)
    window.advance(NOW - 10, few)
    window.advance(NOW, many)
    (step,) = window.closed.values()
    assert step.fairness[0] == 1.0
    assert step.fairness[4] == 1.0


def test_the_first_slate_is_remembered_whatever_comes_before_it() -> None:
    account = Counters()
    account.count([answered(NOW - 9)], NOW, ITEMS)
    assert account.snapshot(ALL, NOW).since is None
    account.count([listed(NOW - 5, 1), listed(NOW - 3, 1)], NOW, ITEMS)
    account.count([listed(NOW - 7, 1), listed(NOW + 5, 1)], NOW, ITEMS)
    assert account.snapshot(ALL, NOW).since == NOW - 7


def test_an_unknown_window_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="window must be one of all, 1h, 24h, 7d, got '2h'"):
        Counters().snapshot("2h", NOW)
    with pytest.raises(ValueError, match="window must be one of 1h, 24h, 7d, got 'all'"):
        Counters().timeline(ALL, NOW)


def test_the_steps_of_a_window_add_up_to_it() -> None:
    account = Counters()
    times = np.random.default_rng(0).uniform(NOW - 4000, NOW, 200)
    account.count([listed(time, 1, 2) for time in times], NOW, ITEMS)
    account.advance(NOW, ITEMS)
    snapshot, timeline = account.snapshot("1h", NOW), account.timeline("1h", NOW)
    assert len(timeline.moments) == 60
    assert (
        sum(moment.totals for moment in timeline.moments).tolist()
        == snapshot.counts.totals.tolist()
    )
    assert (timeline.since, timeline.until) == (snapshot.since, snapshot.until)
    assert timeline.moments[0].since == timeline.since
    assert timeline.moments[-1].until == timeline.until == NOW
    ends = [moment.until for moment in timeline.moments]
    assert ends[:-1] == [moment.since for moment in timeline.moments[1:]]


def test_what_was_handed_out_to_be_read_does_not_change() -> None:
    account = Counters()
    account.count([listed(NOW, 1)], NOW, ITEMS)
    snapshots = [account.snapshot(name, NOW) for name in (ALL, *SPANS)]
    timeline = account.timeline("1h", NOW)
    account.count([listed(NOW, 1), answered(NOW, 1)], NOW, ITEMS)
    account.advance(NOW + 1e5, ITEMS)
    for snapshot in snapshots:
        assert plainly(snapshot.counts, 8) == slowly([listed(NOW, 1)], 8)
    assert timeline.moments[-1].totals.tolist() == [1, 0, 0, 0, 1, 0, 0]
    assert plainly(timeline.moments[-1].fairness, 8) == slowly([listed(NOW, 1)], 8)
