"""An audit counts what is there, whatever the order, the files and the names."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faircascade as fc
from faircascade.data.log import row_streams
from faircascade.evaluation.audit import counts as counting
from faircascade.metrics.exposure import evenness
from faircascade.registry import build, components
from tests.evaluation.audit.logs import random_slates, table

ITEMS = pa.table(
    {
        "item": [f"i{i}" for i in range(10)],
        "genre": ["a", "b", "a|b", "b", "a", "b", "a", "c", "c", "a"],
        "brand": list("xxyyzzxyzx"),
        "worth": [1.0, 2, 3, 1, 2, 3, 1, 2, 3, 1],
        "fame": [10.0, 9, 8, 7, 6, 5, 4, 3, 2, 1],
    }
)
COLUMNS: dict[str, Any] = {
    "items": ITEMS,
    "groups": ["genre"],
    "supplier": "brand",
    "merit": "worth",
    "popularity": "fame",
}


def plain(found: fc.Audit) -> dict[str, Any]:
    """Return an audit as a document whose lists of items do not depend on ties."""
    document = found.to_dict(items=0)
    order = np.argsort([str(each) for each in found.items.ids])
    return document | {"items": [found.items.row(int(i)) for i in order]}


def close(a: Any, b: Any) -> None:
    """Compare documents; numbers may differ by rounding."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            close(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            close(one, other)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-7, abs=1e-9)
    else:
        assert a == b


def test_exposure_is_counted_as_by_hand() -> None:
    slates = random_slates(1)
    found = fc.audit(table(slates), **COLUMNS)
    shown, weighed, clicks = Counter[str](), Counter[str](), Counter[str]()
    for _, items, hits in slates:
        for at, item in enumerate(items, 1):
            shown[item] += 1
            weighed[item] += 1 / math.log2(1 + at)
            clicks[item] += at in hits
    ids = found.items.ids.tolist()
    assert sorted(ids) == sorted(ITEMS["item"].to_pylist())
    assert found.items.appearances.tolist() == [shown[i] for i in ids]
    assert found.items.exposure == pytest.approx([weighed[i] for i in ids])
    assert found.items.clicks.tolist() == [clicks[i] for i in ids]
    worth = dict(zip(ITEMS["item"].to_pylist(), ITEMS["worth"].to_pylist(), strict=True))
    assert found.items.merit.tolist() == [worth[i] for i in ids]
    assert found.metrics["equality_b"].value == pytest.approx(
        evenness(np.array([float(shown[i]) for i in ids]))
    )
    assert found.metrics["clicks"].value == pytest.approx(clicks.total() / len(slates))
    assert found.metrics["coverage"].value == pytest.approx(len(shown) / 10)


def test_groups_add_up_the_exposure_of_their_items() -> None:
    found = fc.audit(table(random_slates(2)), **COLUMNS)
    of_item = dict(zip(found.items.ids.tolist(), found.items.exposure.tolist(), strict=True))
    genres = found.groups["genre"]
    total = sum(
        of_item[item] * len(genre.split("|"))
        for item, genre in zip(ITEMS["item"].to_pylist(), ITEMS["genre"].to_pylist(), strict=True)
    )
    for g, name in enumerate(genres.groups):
        mine = [
            item
            for item, genre in zip(
                ITEMS["item"].to_pylist(), ITEMS["genre"].to_pylist(), strict=True
            )
            if name in genre.split("|")
        ]
        assert genres.sizes[g] == len(mine)
        assert genres.share.value[g] == pytest.approx(sum(of_item[i] for i in mine) / total)
    assert found.groups["supplier"].groups == ("x", "y", "z")


def test_every_metric_that_needs_no_simulation_is_there() -> None:
    found = fc.audit(table(random_slates(3)))
    wanted = {n for n in components("metric") if not build("metric", n).simulated}
    assert set(found.metrics) == wanted | {"top_items"}
    assert not {"regret", "fairness_regret"} & set(found.metrics)


def test_the_order_of_impressions_changes_nothing() -> None:
    slates, times = random_slates(4), np.random.default_rng(4).uniform(0, 50, 200)
    order = np.random.default_rng(0).permutation(len(slates))
    one = fc.audit(table(slates, times.tolist()), **COLUMNS)
    other = fc.audit(table([slates[i] for i in order], times[order].tolist()), **COLUMNS)
    close(plain(one), plain(other))


def test_files_and_blocks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = table(random_slates(5), list(range(200)))
    (tmp_path / "log").mkdir()
    pq.write_table(log, tmp_path / "one.parquet")
    for part in range(4):
        pq.write_table(log.slice(50 * part, 50), tmp_path / "log" / f"{part}.parquet")
    one = plain(fc.audit(fc.Log(tmp_path / "one.parquet", name="x"), **COLUMNS))
    close(one, plain(fc.audit(fc.Log(tmp_path / "log", name="x"), **COLUMNS)))
    monkeypatch.setattr(row_streams, "BLOCK_ROWS", 7)
    close(one, plain(fc.audit(fc.Log(tmp_path / "one.parquet", name="x"), **COLUMNS)))


def test_relabelling_items_relabels() -> None:
    slates = random_slates(6)
    new = {f"i{i}": f"j{(3 * i) % 10}" for i in range(10)}
    renamed = [(user, [new[i] for i in items], hits) for user, items, hits in slates]
    names = pa.array([new[i] for i in ITEMS["item"].to_pylist()])
    table_of_new = ITEMS.set_column(0, "item", names)
    one = fc.audit(table(slates), **COLUMNS)
    other = fc.audit(table(renamed), **(COLUMNS | {"items": table_of_new}))
    for name, found in one.metrics.items():
        close(found.to_dict(), other.metrics[name].to_dict())
    of_new = {str(i): row for row, i in enumerate(other.items.ids.tolist())}
    for row, item in enumerate(one.items.ids.tolist()):
        ours, theirs = one.items.row(row), other.items.row(of_new[new[item]])
        close(ours | {"item": ""}, theirs | {"item": ""})


def test_equal_exposure_is_equal() -> None:
    slates = [(f"u{i}", ["a", "b", "c"][i % 3 :] + ["a", "b", "c"][: i % 3], []) for i in range(60)]
    found = fc.audit(table(slates), merit="equal")
    for name in ("equality_b", "equality_p", "equity_b", "equity_p", "entropy"):
        assert found.metrics[name].value == pytest.approx(1)
    assert found.metrics["ee_l"].value == pytest.approx(0, abs=1e-12)
    assert not len(found.items.most_over(5)) or abs(found.items.excess).max() < 1e-9


def test_what_is_below_the_screen_is_no_exposure() -> None:
    log = table([("u", ["a", "b"], []), ("v", ["b", "a"], [])]).append_column("shown", [[1, 2]])
    found = fc.audit(log, merit="equal")
    assert dict(zip(found.items.ids, found.items.appearances, strict=True)) == {"a": 2, "b": 1}


def test_items_that_were_never_shown_count() -> None:
    slates = [("u", ["a"], []), ("v", ["b"], [])]
    some = pa.table({"item": ["a", "b", "c", "d"]})
    found = fc.audit(table(slates), items=some, merit="equal")
    assert found.metrics["coverage"].value == 0.5
    assert found.metrics["equality_b"].value == pytest.approx(0.5)
    assert "2 items were never shown" in found.headline


def test_without_users_every_impression_is_one() -> None:
    log = table(random_slates(7)).drop_columns(["user"])
    found = fc.audit(log)
    assert found.log.users == 200
    assert any("no column looks like users" in note for note in found.notes)
    assert not math.isnan(found.metrics["clicks"].low)


def test_few_users_have_no_intervals() -> None:
    found = fc.audit(table([("u", ["a"], [1]), ("v", ["b"], [])]))
    assert math.isnan(found.metrics["clicks"].low)
    assert found.metrics["clicks"].value == 0.5
    assert any("there are no intervals" in note for note in found.notes)
    assert "null" not in str(found)


def test_nothing_clicked_is_no_reason_to_stop() -> None:
    found = fc.audit(table([(f"u{i}", ["a", "b"], []) for i in range(50)]), merit="estimated")
    assert found.items.merit.tolist() == [1.0, 1.0]
    assert found.metrics["clicks"].value == 0


def test_merit_of_nothing_is_floored_and_told() -> None:
    worth = pa.table({"item": ["a", "b"], "worth": [0.0, 1.0]})
    found = fc.audit(table([("u", ["a", "b"], [])]), items=worth, merit="worth")
    assert any("the merit of 1 item was below" in note for note in found.notes)
    assert np.isfinite(found.metrics["equity_b"].value)


def test_too_many_items_are_not_followed_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_CELLS", 5)
    found = fc.audit(table(random_slates(8)))
    assert found.periods is not None
    assert set(found.periods.metrics) == {"clicks"}
    assert any("too many items" in note for note in found.notes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": ["genre"]}, "groups must come with a table of items, got"),
        ({"supplier": "x"}, "supplier must come with a table of items, got 'x'"),
        ({"merit": "worth"}, "merit must be 'estimated', 'equal', or a column of a table of items"),
        ({"items": ITEMS, "merit": "wort"}, "no column 'wort'"),
        ({"items": ITEMS, "groups": "gender"}, "no column 'gender'"),
        ({"items": pa.table({"item": ["zzz"]})}, "there are none of the items of the log in it"),
        ({"items": ITEMS.slice(0, 2), "merit": "worth"}, "has no merit: it is not in the table"),
        ({"items": ITEMS.slice(0, 2), "popularity": "fame"}, "has no popularity"),
        ({"periods": -1}, "periods must be at least 0, got -1"),
        ({"periods": 1}, "periods must be 0 or at least 2, got 1"),
        ({"periods": "many"}, "periods must be a whole number"),
    ],
)
def test_a_mistake_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        fc.audit(table(random_slates(9)), **given)
    assert "\n" not in str(error.value)


def test_groups_with_blanks_around_the_bar_are_the_same_groups() -> None:
    genres = pa.table({"item": ["a", "b"], "genre": ["drama | crime", "crime|drama"]})
    found = fc.audit(table([("u", ["a", "b"], [1])]), items=genres, groups="genre")
    assert found.groups["genre"].groups == ("crime", "drama")


def test_missing_intervals_of_groups_have_a_note() -> None:
    """Of so few users some halves have none at all."""
    genres = pa.table({"item": ["a", "b"], "genre": ["x", "y"]})
    told = []
    for start in range(0, 200, 10):
        users = [f"user {start + n}" for n in range(10)]
        log = table([(user, ["a", "b"], [1]) for user in users for _ in range(3)])
        found = fc.audit(log, items=genres, groups="genre")
        missing = np.isnan(found.groups["genre"].metrics["awrf"].low) and found.blocks >= 8
        assert missing == any("too few for intervals of coverage" in n for n in found.notes)
        told.append(missing)
    assert any(told)
    assert not all(told)


def test_the_most_shown_items_cannot_have_less_than_an_even_share() -> None:
    """Twenty users who see one of five items each: leaving some out says that chance did it all."""
    slates = [(f"u{n}", [f"i{n % 5}"], []) for n in range(20)]
    found = fc.audit(table(slates)).metrics["top_items"]
    assert found.value == pytest.approx(0.2)
    assert 0.2 <= found.low <= found.high
