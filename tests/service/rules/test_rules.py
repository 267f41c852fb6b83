"""Rules of the house, and pins and quotas of requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faircascade.service.bootstrap import start_service
from faircascade.service.messages import Refused
from faircascade.service.rules.rules import Rules
from faircascade.service.settings import ServiceSettings
from tests.service.in_process import learn, recommend, serving
from tests.service.rules.asynchronous import asynchronous

TOML = """
at_most = {supplier = 2}
pinned = [{item = "a", position = 1}]
[where]
group = "jazz"
popularity = {at_least = 0}
"""
JSON = """{"at_most": {"supplier": 2}, "pinned": [{"item": "a", "position": 1}],
"where": {"group": "jazz", "popularity": {"at_least": 0}}}"""


def house(**rules: Any) -> ServiceSettings:
    return ServiceSettings(rules=Rules.model_validate(rules))


@pytest.mark.parametrize(("name", "text"), [("rules.toml", TOML), ("rules.json", JSON)])
def test_rules_are_read_from_a_file(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    rules = Rules.load(tmp_path / name)
    assert rules.at_most == {"supplier": 2}
    assert [(pin.item, pin.position) for pin in rules.pinned] == [("a", 1)]
    assert {n: c.given for n, c in (rules.where or {}).items()} == {
        "group": {"is": "jazz"},
        "popularity": {"at_least": 0.0},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("at_most = ", "is not TOML"),
        ("atmost = {}", "atmost is not a field; there are: where, at_most, pinned"),
        ("[at_most]\nbrand = 2", r"at_most.brand must be one of 'group' or 'supplier'"),
        ("[at_most]\ngroup = 0", "at_most.group must be at least 1, got 0"),
        (
            'pinned = [{item = "a", position = 1}, {item = "b", position = 1}]',
            "pinned must name each position once, got 1 twice",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(ValueError, match=rf"rules\.toml: {message}"):
        Rules.load(tmp_path / "rules.toml")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        Rules.load(tmp_path / "rules.toml")


@asynchronous
async def test_a_service_does_not_start_with_rules_about_what_no_item_has(tmp_path: Path) -> None:
    async with serving(tmp_path):
        pass
    settings = house(where={"colour": "red"})
    with pytest.raises(ValueError, match=r"rules: where.colour is not an attribute of any item"):
        await start_service(f"sqlite:{tmp_path}/store.db", settings=settings)


@asynchronous
async def test_a_request_cannot_loosen_the_rules_of_the_house(tmp_path: Path) -> None:
    settings = house(where={"group": "jazz"}, at_most={"supplier": 1})
    async with serving(tmp_path, settings=settings) as service:
        shown = await recommend(
            service, k=6, where={"merit": {"known": True}}, at_most={"supplier": 5}
        )
        at = service.catalogue.at
        suppliers = [at(name).groups["supplier"] for name in shown.items]
        assert sorted(suppliers) == ["blue", "green", "red"]
        assert {at(name).groups["group"] for name in shown.items} == {"jazz"}
        tighter = await recommend(service, k=6, at_most={"group": 1})
        assert len(tighter.items) == 1


@asynchronous
async def test_pins_of_a_request_go_before_those_of_the_house(tmp_path: Path) -> None:
    settings = house(
        pinned=[
            {"item": "a", "position": 1},
            {"item": "b", "position": 2},
            {"item": "c", "position": 9},
        ]
    )
    async with serving(tmp_path, settings=settings) as service:
        assert (await recommend(service, k=3)).items[:2] == ["a", "b"]
        mine = await recommend(service, k=3, pinned=[{"item": "d", "position": 1}])
        assert mine.items[:2] == ["d", "b"]
        moved = await recommend(service, k=3, pinned=[{"item": "b", "position": 3}])
        assert moved.items[0] == "a"
        assert moved.items[2] == "b"
        assert "c" not in (await recommend(service, k=3, exclude=["c"])).items


@asynchronous
async def test_pins_that_may_not_be_shown_leave_their_place_to_others(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        pinned = [{"item": "a", "position": 1}, {"item": "gone", "position": 2}]
        assert (await recommend(service, k=12, pinned=pinned[1:])).items[0] != "gone"
        assert "a" not in (await recommend(service, k=3, pinned=pinned, exclude=["a"])).items
        others = await recommend(service, k=3, pinned=pinned, where={"group": "pop"})
        assert "a" not in others.items  # it is jazz
        only = await recommend(service, k=3, pinned=pinned, candidates=["b"])
        assert only.items == ["a", "b"]
        assert next(iter(only.scores)) is None


@asynchronous
async def test_a_slate_has_no_holes(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        pinned = [{"item": "c", "position": 4}, {"item": "a", "position": 5}]
        shown = await recommend(service, k=5, pinned=pinned, candidates=["b"])
        assert shown.items == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("pinned", "message"),
    [
        ([{"item": "a", "position": 4}], "must have positions up to k = 3, got 4"),
        (
            [{"item": "a", "position": 1}, {"item": "a", "position": 2}],
            "must name each item once, got 'a' twice",
        ),
        (
            [{"item": "a", "position": 1}, {"item": "b", "position": 1}],
            "must name each position once, got 1 twice",
        ),
    ],
)
@asynchronous
async def test_pins_that_contradict_each_other_are_refused(
    pinned: Any, message: str, tmp_path: Path
) -> None:
    async with serving(tmp_path) as service:
        with pytest.raises(Refused, match=message):
            await recommend(service, k=3, pinned=pinned)


@asynchronous
async def test_clicks_on_pinned_items_are_learned_like_others_and_count_as_exposure(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        pinned = [{"item": "l", "position": 1}]
        shown = await recommend(service, k=3, pinned=pinned)
        receipt = await learn(service, shown, clicked_position=1)
        assert receipt.clicked_items == ["l"]
        user = await service.user("ann")
        assert user.sums.any()
        assert user.impressions[0].note["pinned"] == [1]
        await service.exposure.catch_up(service.store)
        row = service.catalogue.rows["l"]
        assert service.exposure.units_of(service.catalogue.slots)[row] > 0
