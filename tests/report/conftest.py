"""Small comparisons and studies to make pages of, each run once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from faircascade.environment import Environment
from faircascade.experiment import Comparison, compare
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from faircascade.policies import EALinUCB, LinUCB, MostPopular, Random
from faircascade.report import write_report, write_reproduction
from tests.report.runs import SPEC, study_of

HOSTILE = "<script>alert('x')</script> & $a$"
UNICODE = "Über 夜 _名"
SCRIPT_GROUP = '<img src="http://evil.test/x.png">'


def environment(
    seed: int = 0, *, users: int = 6, items: int = 24, name: str = "arrays"
) -> Environment:
    """Eight of the items attract nobody, and these are the most popular."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(0.1, 0.6, size=(items, 3))
    features[:8] = 0.0
    preferences = rng.uniform(0.1, 0.6, size=(users, 3))
    groups = np.array([SCRIPT_GROUP, "crime", "夜|crime", *(f"g{i:02d}" for i in range(13))])
    return Environment.from_arrays(
        features,
        preferences,
        k=4,
        merit=np.linspace(0.1, 1.0, items),
        popularity=np.arange(items, 0.0, -1),
        item_ids=[f"item-{seed}-{i}" if i > 20 else f"item-{i}" for i in range(items)],
        groups={"genre": groups[np.arange(items) % len(groups)], "one": np.full(items, "all")},
        name=name,
    )


@pytest.fixture(scope="session")
def several() -> Comparison:
    """Two seeds with an environment of their own each; the last policy never gets a click."""
    policies = [LinUCB(), EALinUCB(weight="log"), Random(), MostPopular()]
    return compare(environment, policies, rounds=30, seeds=2)


@pytest.fixture(scope="session")
def hostile() -> Comparison:
    """Labels, data, groups and notes that try to be markup; one seed."""
    env = environment(name=HOSTILE)
    env.info["notes"] = [HOSTILE]
    found = compare(env, [MostPopular(), LinUCB(), EALinUCB(weight="rbp")], rounds=12)
    labels = [HOSTILE, UNICODE, "_long " * 40]
    return Comparison(dict(zip(labels, found.results.values(), strict=True)))


@pytest.fixture
def single() -> Comparison:
    """One policy, one round; a fresh environment, which a test may change."""
    return compare(environment(), [Random()], rounds=1)


@pytest.fixture(scope="session")
def interrupted(several: Comparison) -> Comparison:
    """The second seed of the last policy was stopped in the middle."""
    *others, (label, (first, second)) = several.results.items()
    cut = replace(second, tally=second.tally.up_to(10), interrupted=True)
    return Comparison({**dict(others), label: (first, cut)}, interrupted=True)


@pytest.fixture(scope="session")
def several_page(several: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(several, tmp_path_factory.mktemp("several"), notes=["A first look."])


@pytest.fixture(scope="session")
def hostile_page(hostile: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(hostile, tmp_path_factory.mktemp("hostile"), notes=[HOSTILE])


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """All sections, finished; d and K are those of a published table."""
    return study_of(Spec.parse(SPEC), tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def half(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The first seed, but for the last two policies; of the second seed the baseline alone."""
    folder = tmp_path_factory.mktemp("half")
    seven = len(study.spec.lines())
    for place in (*range(seven - 2), seven):
        key = study.cells[place].key
        shutil.copytree(study.results.folder / "cells" / key, folder / "cells" / key)
    return Study(study.spec, study.cells, Results(folder))


@pytest.fixture(scope="session")
def study_page(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reproduction([study], tmp_path_factory.mktemp("study"), notes=["A note."])
