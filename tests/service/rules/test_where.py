"""Filters: what is refused, what is remembered, and for how long."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from faircascade.service import precedence
from faircascade.service.catalogue import segment
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.labels import Labels
from faircascade.service.choices import MOST_FILTERS
from faircascade.service.messages import ItemChange, RecommendationRequest, Refused
from faircascade.service.rules.rules import Rules
from faircascade.service.rules.selections import Filters, Selections, check_where
from faircascade.service.rules.where import key_of
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import StoredItem
from faircascade.service.stores.item_columns import ItemColumns
from tests.service.in_process import DIM, features_of, recommend, serving
from tests.service.rules.asynchronous import asynchronous

ATTRIBUTES = [
    {"price": 3.0, "tags": ["sale", "new"], "language": "de", "sold": False},
    {"price": 9.0, "tags": ["new"], "sold": True},
    {"language": "en"},
]


def where_of(where: Any) -> Any:
    return RecommendationRequest(user="ann", where=where).where


def stored(slot: int, **values: Any) -> StoredItem:
    row = np.array([1.0, slot / 10.0])
    return StoredItem(id=f"i{slot}", features=row, slot=slot, **values)


def catalogue_of(count: int) -> Catalogue:
    items = [stored(n, attributes={"price": float(n)}) for n in range(count)]
    return Catalogue.empty(2).changed(ItemColumns.of(items, 2))


async def with_attributes(service: Service) -> None:
    rows = features_of(3, DIM)
    names = ("a", "b", "c")
    await service.put_items(
        [
            ItemChange(item=name, features=row, attributes=values)
            for name, row, values in zip(names, rows, ATTRIBUTES, strict=True)
        ]
    )


REFUSED = [
    ({"prize": 3}, "where.prize", "is not an attribute of any item (did you mean 'price'?)"),
    ({"prize": 3}, "where.prize", "group (text, or several), language (text), merit (number)"),
    ({"price": "3"}, "where.price", "is number: 'is' must be a number, got '3'"),
    ({"price": {"all": [3]}}, "where.price", "is number, which 'all' cannot compare; use is, any"),
    ({"language": {"at_most": 3}}, "where.language", "is text, which 'at_most' cannot compare"),
    ({"sold": 1}, "where.sold", "is true or false: 'is' must be true or false"),
    ({"tags": {"any": ["new", 3]}}, "where.tags", "'any' must be text, got 3"),
    ({"merit": True}, "where.merit", "'is' must be a number"),
]


@pytest.mark.parametrize(("where", "field", "message"), REFUSED)
@asynchronous
async def test_what_cannot_be_compared_is_refused_with_what_exists(
    where: Any, field: str, message: str, tmp_path: Path
) -> None:
    async with serving(tmp_path) as service:
        await with_attributes(service)
        with pytest.raises(Refused) as refused:
            await recommend(service, where=where)
        assert refused.value.field == field
        assert message in refused.value.message


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"price": {"atmost": 3}}, "Extra inputs"),
        ({"price": [3]}, "must be text of at most 256 characters, a number, true or false"),
        ({"price": {"at_most": float("nan")}}, "finite"),
        ({"price": 10**400}, "must be text of at most 256 characters, a number, true or false"),
        ({"price": {"any": []}}, "at least 1"),
        ({"": 3}, "at least 1 character"),
        ({f"p{n}": 3 for n in range(21)}, "at most 20"),
    ],
)
def test_what_is_no_filter_is_refused(where: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        where_of(where)


def test_filters_that_say_the_same_are_one() -> None:
    said = [
        {"price": {"at_most": 3}, "tags": {"any": ["a", "b"]}},
        {"tags": {"any": ["b", "a", "a"]}, "price": {"at_most": 3.0}},
    ]
    assert len({Filters.of(where_of(one)).key for one in said}) == 1
    values = [True, 1, "1", "True", ["1", 1.0], [True, "1"], ["1, 1.0"]]
    several = [{"any": value} if isinstance(value, list) else value for value in values]
    keys = {Filters.of(where_of({"x": value})).key for value in several}
    assert len(keys) == len(values)
    assert len(Filters.of(where_of({"x": {"any": ["x" * 256] * 1_000}})).key) == 32


@asynchronous
async def test_nothing_that_satisfies_a_filter_is_a_conflict(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await with_attributes(service)
        with pytest.raises(Refused, match="where leaves no item to recommend"):
            await recommend(service, where={"price": {"above": 9}})


@pytest.mark.parametrize(
    ("house", "given", "message"),
    [
        (None, {"where": {"price": {"above": 9}}}, "where leaves no item to recommend"),
        (None, {"exclude": list("abcdefghijkl")}, "exclude leaves no item to recommend"),
        (None, {"candidates": ["z"]}, "candidates leave no item to recommend"),
        ({"price": {"above": 9}}, {}, "rules of this service leave no item to recommend"),
        (
            {"price": {"below": 9}},
            {"where": {"price": 9}, "candidates": ["b"], "exclude": ["c"]},
            "where leaves no item to recommend, with candidates, exclude and rules of this service",
        ),
    ],
)
@asynchronous
async def test_what_leaves_no_item_is_named_and_nothing_else(
    house: Any, given: Any, message: str, tmp_path: Path
) -> None:
    rules = Rules.model_validate({"where": house})
    async with serving(tmp_path, settings=ServiceSettings(rules=rules)) as service:
        await with_attributes(service)
        with pytest.raises(Refused) as refused:
            await recommend(service, **given)
        assert f"{refused.value.field} {refused.value.message}".endswith(message)


@asynchronous
async def test_all_of_many_are_found_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []
    lookup = Labels.lookup
    monkeypatch.setattr(Labels, "lookup", lambda *given: (passes.append(given), lookup(*given))[1])
    async with serving(tmp_path) as service:
        await with_attributes(service)
        assert (await recommend(service, where={"tags": {"all": ["new", "sale"]}})).items == ["a"]
        for name in ("tags", "supplier"):
            for many in (["new"], []):
                passes.clear()
                wanted = [*many, *(f"t{n}" for n in range(1_000 - len(many)))]
                with pytest.raises(Refused, match="where leaves no item"):
                    await recommend(service, where={name: {"all": wanted}})
                assert len(passes) == 1


@asynchronous
async def test_many_filters_do_not_hold_up_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, threads = threading.get_ident(), []
    select = Selections.select

    def noted(*given: Any) -> Any:
        threads.append(threading.get_ident())
        return select(*given)

    monkeypatch.setattr(Selections, "select", noted)
    async with serving(tmp_path) as service:
        await with_attributes(service)
        requests = [
            RecommendationRequest(user="ann", where=where_of({"price": {"at_most": 9 + n}}))
            for n in range(3)
        ]
        found = await service.recommend(requests)
        assert [sorted(one.items) for one in found] == [["a", "b"]] * 3
    assert [thread == here for thread in threads] == [True, False, False]


@asynchronous
async def test_a_change_of_an_item_is_followed(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await with_attributes(service)
        assert sorted((await recommend(service, where={"tags": "new"})).items) == ["a", "b"]
        rows = features_of(3, DIM)
        change = ItemChange(item="b", features=rows[1], attributes={"tags": ["old"]})
        await service.put_items([change])
        assert (await recommend(service, where={"tags": "new"})).items == ["a"]
        assert service.catalogue.at("b").attributes == {"price": 9.0, "tags": ["old"], "sold": True}


@asynchronous
async def test_an_attribute_has_one_kind(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await with_attributes(service)
        row = features_of(3, DIM)[0]
        mixed = ItemChange(item="c", features=row, attributes={"price": "cheap"})
        with pytest.raises(Refused, match=r"attributes.price is number for other items, got text"):
            await service.put_items([mixed])
        twice = [
            ItemChange(item=name, features=row, attributes={"new": value})
            for name, value in (("a", 1.0), ("b", "x"))
        ]
        with pytest.raises(Refused, match=r"attributes.new is number"):
            await service.put_items(twice)
        named = ItemChange(item="c", features=row, attributes={"group": "jazz"})
        with pytest.raises(Refused, match=r"attributes.group is the name of a field"):
            await service.put_items([named])


def test_of_a_changed_catalogue_only_changed_segments_are_filtered_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segment, "SIZE", 8)
    before, filters = catalogue_of(32), Filters.of(where_of({"price": {"below": 3}}))
    selections = Selections()
    first = selections.select(before, filters)
    changed = [stored(30, attributes={"price": 0.0})]
    after = before.changed(ItemColumns.of(changed, 2))
    second = selections.select(after, filters)
    assert first.rows.tolist() == [0, 1, 2]
    assert second.rows.tolist() == [0, 1, 2, 30]
    assert first.make()[0].segment is second.make()[0].segment
    assert selections.select(after, filters) is second


def test_filters_used_last_are_remembered_while_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segment, "SIZE", 64)
    catalogue = catalogue_of(512)
    filters = [Filters.of(where_of({"price": {"at_least": n, "below": n + 30}})) for n in range(20)]
    selections = Selections(memory=700)
    for one in filters:
        selections.select(catalogue, one).make()
    known = [selections.known(catalogue, one) is not None for one in filters]
    assert known[-1]
    assert 0 < sum(known) < 20
    assert known == sorted(known)


def test_a_filter_takes_a_bit_for_each_item_and_copies_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segment, "SIZE", 64)
    catalogue = catalogue_of(512)
    filters = [Filters.of(where_of({"price": {"at_least": n, "below": n + 5}})) for n in range(20)]
    selections = Selections(memory=20 * 512 // 8 + 2_000)
    for one in filters:
        selections.select(catalogue, one).make()
    assert all(selections.known(catalogue, one) is not None for one in filters)
    kept = list(selections._filters.values())
    copied = [one.copied > 0 for one in kept]
    assert 0 < sum(copied) < 20
    assert copied == sorted(copied)
    assert kept[0].nbytes == 512 // 8


@pytest.mark.parametrize("size", [1, 7, 8, 13, 64])
def test_bits_say_which_rows_are_meant(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "SIZE", size)
    catalogue, filters = (
        catalogue_of(60),
        Filters.of(where_of({"price": {"at_least": 3, "below": 29}})),
    )
    selection = Selections().select(catalogue, filters)
    rows = np.array([59, 0, 3, 28, 29, 2, 28])
    assert selection.rows.tolist() == list(range(3, 29))
    assert selection.has(rows).tolist() == [False, False, True, True, False, False, True]
    assert selection.of(rows).tolist() == [3, 28, 28]
    assert selection.of(rows[:0]).tolist() == []


def test_filters_do_not_keep_old_catalogues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "SIZE", 8)
    catalogue, filters = catalogue_of(32), Filters.of(where_of({"price": {"below": 30}}))
    selections = Selections()
    selections.select(catalogue, filters).make()
    for n in range(5):
        items = ItemColumns.of([stored(n, attributes={"price": 1.0})], 2)
        catalogue = catalogue.changed(items)
        selections.follow(catalogue)
    del items
    gc.collect()
    alive = [one for one in gc.get_objects() if isinstance(one, segment.Segment)]
    assert {id(part) for part in catalogue.segments} >= {
        id(one) for one in alive if len(one) == 8 and one.attributes.columns
    }


@pytest.mark.parametrize("piece", [32, 200])
@asynchronous
async def test_a_batch_may_have_so_many_different_filters(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as service:
        await with_attributes(service)
        requests = [
            RecommendationRequest(user="ann", k=1, where={"price": {"at_most": 9 + n}})
            for n in range(MOST_FILTERS + 2)
        ]
        monkeypatch.setattr(precedence, "LARGE_PIECE", piece)
        answers = await service.recommend(requests)
        refused = [one for one in answers if isinstance(one, Refused)]
        assert len(refused) == 2
        assert refused[0].message == "is one too many: a batch may have 100 different filters"
        again = await service.recommend(requests[:1] * 200)
        assert not any(isinstance(one, Refused) for one in again)


@asynchronous
async def test_a_filter_is_read_once_a_request_and_checked_while_it_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def count(place: str, function: Callable[..., Any]) -> None:
        def counted(*given: Any) -> Any:
            calls.append(function.__name__)
            return function(*given)

        monkeypatch.setattr(f"faircascade.service.{place}.{function.__name__}", counted)

    count("rules.selections", key_of)
    count("choices", check_where)
    async with serving(tmp_path) as service:
        await with_attributes(service)
        for _ in range(3):
            await recommend(service, where={"price": {"at_most": 9}})
    assert calls == ["key_of", "check_where", "key_of", "key_of"]


@asynchronous
async def test_new_users_get_what_their_own_filter_lets_through(tmp_path: Path) -> None:
    """Their scores are remembered, and so is which items come first."""
    async with serving(tmp_path) as service:
        await with_attributes(service)
        for user in ("ann", "bob"):
            for group in ("jazz", "pop"):
                shown = await recommend(service, user, where={"group": group})
                groups = {service.catalogue.at(name).groups["group"] for name in shown.items}
                assert groups == {group}
