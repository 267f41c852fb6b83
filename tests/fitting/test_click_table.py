"""The table of clicks counts like a loop, and takes the room of what occurs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.data.base import DataError
from faircascade.fitting import click_table
from faircascade.fitting.click_table import ClickTable

K = 5
blocks = st.lists(
    st.lists(st.lists(st.integers(-1, 8), min_size=1, max_size=K), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


def arrays(slates: list[list[int]], seed: int):
    """Return entries, clicks and what is present of slates."""
    k = max(map(len, slates))
    entries = np.array([slate + [-1] * (k - len(slate)) for slate in slates])
    present = entries >= 0
    clicks = present & (np.random.default_rng(seed).random(entries.shape) < 0.4)
    return entries, clicks, present


def plain(cells: click_table.Cells) -> dict[tuple[int, int], tuple[float, float]]:
    """Return cells as a dictionary."""
    rows = zip(*(column.tolist() for column in cells), strict=True)
    return {(entry, place): (shown, clicks) for entry, place, shown, clicks in rows}


@given(blocks, st.booleans())
def test_cells_are_those_of_a_loop(parts, sorting) -> None:
    by_place, by_position, unclicked = (Counter[tuple[int, int]]() for _ in range(3))
    hits: Counter[tuple[str, int, int]] = Counter()
    tables = [ClickTable(), ClickTable()]
    with pytest.MonkeyPatch.context() as patch:
        if sorting:
            patch.setattr(click_table, "_SPARSE", 0)
            patch.setattr(click_table, "_SMALL", 0)
        for seed, slates in enumerate(parts):
            entries, clicks, present = arrays(slates, seed)
            tables[seed % 2].add(entries, clicks, present, 9)
            for row, at in np.argwhere(present):
                above = np.flatnonzero(clicks[row, :at])
                distance = at - above[-1] if len(above) else at + 1
                entry, place = int(entries[row, at]), int(at * (at + 1) // 2 + distance - 1)
                clicked = bool(clicks[row, at])
                by_place[entry, place] += 1
                by_position[entry, int(at)] += 1
                hits["place", entry, place] += clicked
                hits["position", entry, int(at)] += clicked
                if not len(above):
                    unclicked[entry, int(at)] += 1
                    hits["first", entry, int(at)] += clicked
    table = tables[0].joined(tables[1])
    for name, cells, counts in (
        ("place", table.by_place(), by_place),
        ("position", table.by_position(), by_position),
        ("first", table.before_a_click(), unclicked),
    ):
        assert plain(cells) == {at: (n, hits[name, *at]) for at, n in counts.items()}
    assert table.totals.sum() == by_place.total() + sum(
        n for (name, *_), n in hits.items() if name == "place"
    )
    assert table.totals.shape == (2, 9)


def test_positions_of_places_are_right_far_down() -> None:
    k = np.array([0, 1, 999, 1000, 99_999])
    first = k * (k + 1) // 2
    assert click_table.positions_of(first).tolist() == k.tolist()
    assert click_table.positions_of(first + k).tolist() == k.tolist()


def test_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_table, "MOST_CELLS", 5)
    entries, clicks, present = arrays([[0, 1, 2, 3, 4]] * 2, 0)
    table = ClickTable()
    table.add(entries, clicks & False, present, 5)
    with pytest.raises(DataError, match="at most 5 different items"):
        table.add(entries[:, ::-1], clicks & False, present, 5)


@pytest.mark.parametrize("model", ["pbm", "ubm"])
def test_one_long_slate_does_not_hinder_a_fit(model: str) -> None:
    """300 items and a slate of 200 would be 300 x 20,100 cells for a few that occur."""
    rng = np.random.default_rng(3)
    slates = [rng.permutation(300)[:4].tolist() for _ in range(4000)]
    clicks = [(rng.random(4) < [0.4, 0.3, 0.2, 0.1]).astype(int).tolist() for _ in slates]
    usual = {"user": list(range(4000)), "items": slates, "click": clicks}
    longer = {name: [*values] for name, values in usual.items()}
    for name, value in (("user", 0), ("items", list(range(200))), ("click", [0] * 200)):
        longer[name].append(value)
    one = fc.fit_click_model(pa.table(usual), model)
    other = fc.fit_click_model(pa.table(longer), model)
    kappa, of_longer = (each.click_model.kappa for each in (one, other))
    assert len(of_longer) == 200
    for row, same in zip(kappa, of_longer, strict=False):
        assert np.allclose(row, same, atol=0.05)


def test_scores_do_not_depend_on_how_slates_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from faircascade.fitting import scores, statistics

    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 30, 300)
    log = pa.table(
        {
            "user": [i // 3 for i in range(300)],
            "items": [rng.permutation(40)[:n].tolist() for n in lengths],
            "click": [(rng.random(n) < 0.2).astype(int).tolist() for n in lengths],
        }
    )
    one = fc.fit_click_model(log, "auto")
    monkeypatch.setattr(scores, "_LONG", 4)
    monkeypatch.setattr(scores, "_AT_ONCE", 20)
    monkeypatch.setattr(statistics, "_AT_ONCE", 500)
    other = fc.fit_click_model(log, "auto")
    for mine, same in zip(one.candidates, other.candidates, strict=True):
        assert mine.name == same.name
        if mine.scores is None or same.scores is None:
            continue
        for name, value in vars(mine.scores).items():
            assert vars(same.scores)[name] == pytest.approx(value, rel=1e-6, nan_ok=True)
