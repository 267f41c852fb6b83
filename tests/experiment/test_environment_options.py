"""Parts of an environment from specs and the command line, and the keys of cells they make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import pytest

import faircascade as fc
from faircascade import registry
from faircascade.clicks import Cascade
from faircascade.errors import ParameterError
from faircascade.experiment.cell import Cell, own_parts_of
from faircascade.experiment.environment_options import (
    build_options,
    canonical_options,
    environment_options,
    flat_options,
)
from faircascade.experiment.spec import Spec, SpecError
from faircascade.experiment.store.environments import EnvironmentStore, Sources
from tests.experiment.specs import TINY


@dataclass(frozen=True, slots=True, kw_only=True)
class Hasty(Cascade):
    """Users who leave sooner."""

    stop: float = 0.5
    """Probability of leaving after a look."""

    def __post_init__(self) -> None:
        if not 0 <= self.stop <= 1:
            raise ParameterError("stop", "must be between 0 and 1", self.stop)


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    registry.components("click_model")
    registry.register("hasty")(Hasty)
    yield
    registry.names.registered["click_model"].pop("hasty")


def cells(environment: str, **settings: str) -> list[Cell]:
    text = TINY.replace("k.grid = [3, 5]", f"k = 3\n{environment}")
    return Spec.parse(text, settings=[f"{n}={v}" for n, v in settings.items()]).cells("data")


def test_a_part_can_be_given_by_name_or_as_a_table_with_grids() -> None:
    assert build_options(cells('click_model = "hasty"')[0].environment)["click_model"] == Hasty()
    found = cells('[environment.click_model]\nname = "hasty"\nstop.grid = [0.1, 0.7]')
    stops = [build_options(cell.environment)["click_model"].stop for cell in found]
    assert set(stops) == {0.1, 0.7}
    assert len({cell.key for cell in found}) == len(found)
    assert "click_model=hasty(stop=0.7)" in found[-1].name


def test_the_key_does_not_depend_on_how_a_part_is_written() -> None:
    keys = {
        written: cells(written)[0].key
        for written in (
            'click_model = "hasty"',
            'click_model = {name = "hasty"}',
            'click_model = {name = "hasty", stop = 0.5}',
            'click_model = {name = "hasty", stop = 1}',
            'click_model = {name = "hasty", stop = 1.0}',
            "",
            'click_model = "cascade"',
            "threshold = 4",
            "threshold = 4.0",
        )
    }
    alike = list(keys.values())
    assert len(set(alike[:3])) == len(set(alike[3:5])) == 1
    assert len(set(alike[5:7])) == len(set(alike[7:])) == 1
    assert len(set(alike)) == 4


@pytest.mark.parametrize(
    ("written", "line", "message"),
    [
        ('click_model = "hasti"', 13, "click_model must be one of .*did you mean 'hasty'"),
        ('click_model = {name = "hasty", stpo = 1}', 13, "did you mean 'stop'"),
        ('[environment.click_model]\nname = "hasty"\nstop = 2', 15, "click_model.stop must be"),
        (
            '[environment.click_model]\nname = "hasty"\nstop = "x"',
            15,
            "click_model.stop must be a n",
        ),
        (
            "[environment.click_model]\nstop = 0.5",
            14,
            "click_model 'cascade' has no parameter 'stop'",
        ),
        ("click_model = 3", 13, "click_model must be"),
        ('click_model = {name = "dcm", stop = 1.2}', 13, r"click_model.stop must be in \[0, 1\]"),
        (
            '[environment.click_model]\nname = "pbm"\nkappa = [1, 0.5]',
            15,
            "click_model.kappa must be .* one for each of the 3 positions",
        ),
    ],
)
def test_a_mistake_in_a_part_is_told_with_its_line(written: str, line: int, message: str) -> None:
    with pytest.raises(SpecError, match=message) as error:
        cells(written)
    assert str(error.value).startswith(f"spec:{line}: ")


def test_settings_reach_the_parameters_of_a_part() -> None:
    text = TINY.replace("k.grid = [3, 5]", 'k = 3\nclick_model = {name = "hasty"}')
    spec = Spec.parse(text, settings=["environment.click_model.stop=0.7"])
    assert build_options(spec.environments()[0])["click_model"] == Hasty(stop=0.7)
    with pytest.raises(SpecError, match=r"--set environment.click_model.stop=7: click_model.stop"):
        Spec.parse(text, settings=["environment.click_model.stop=7"])


def test_cells_meet_the_part_that_their_spec_asks_for() -> None:
    cell = cells('click_model = {name = "hasty", stop = 0.7}')[0]
    sources = Sources()
    ratings = sources.load(cell.data)
    cell = Cell.of({**cell.document(), "fingerprint": ratings.fingerprint})
    assert EnvironmentStore(None, sources).of(cell).click_model == Hasty(stop=0.7)
    assert own_parts_of([cell]) == [Hasty]  # so that worker processes can import it


def test_every_part_of_an_environment_is_an_option() -> None:
    """A keyword of `from_ratings` that takes a component is found without naming it here."""
    parts = {name: option for name, option in environment_options().items() if option.kind}
    assert "click_model" in parts
    for name, option in parts.items():
        assert name in {f.name for f in fields(fc.Environment)}
        assert isinstance(option.default, registry.Component)
        assert canonical_options({name: option.default.name}) == canonical_options({})


def test_options_have_dotted_names_in_tables() -> None:
    flat = flat_options({"click_model": {"name": "hasty", "stop": 1}})
    assert (flat["click_model"], flat["click_model.stop"], flat["dim"]) == ("hasty", 1.0, 10)
