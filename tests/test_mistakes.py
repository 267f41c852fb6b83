"""What people get wrong in Python, and that they are told in one line what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

import faircascade as fc
from faircascade.clicks import DCM, PBM
from faircascade.observations import Examination
from faircascade.registry import as_component
from faircascade.rewards import Custom
from faircascade.types import Items
from tests.environments import small_environment

LONGEST = 220
"""Characters of a message: two lines of a terminal."""


class Desk(NamedTuple):
    """What a mistake is made with."""

    env: fc.Environment
    frame: pd.DataFrame
    result: fc.Result
    comparison: fc.Comparison
    ranker: fc.Ranker
    slate: fc.Slate


@pytest.fixture(scope="module")
def desk() -> Desk:
    env = small_environment()
    rows = [(user, item, 5 - (user + item) % 3) for user in range(12) for item in range(20)]
    ranker = fc.Ranker("linucb", items=np.eye(4))
    return Desk(
        env,
        pd.DataFrame(rows, columns=["user", "item", "rating"]),
        fc.simulate(env, "linucb", rounds=3),
        fc.compare(env, ["linucb", "random"], rounds=3),
        ranker,
        ranker.recommend("somebody", k=2),
    )


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").write_text("person,thing,score\n1,2,3\n")
    Path("empty.csv").write_text("")
    Path("text").write_text("not what was saved")


def of(frame: pd.DataFrame, **options: Any) -> fc.Environment:
    return fc.Environment.from_ratings(frame, **({"dim": 3, "k": 4} | options))


Mistake = tuple[str, Callable[[Desk], Any], tuple[str, ...]]

POLICIES: list[Mistake] = [
    ("text for a number", lambda d: fc.LinUCB(alpha="0.5"), ("alpha", "a number", "'0.5'")),
    ("below its range", lambda d: fc.LinUCB(alpha=-1), ("alpha", ">= 0", "-1")),
    ("not finite", lambda d: fc.LinUCB(alpha=float("nan")), ("alpha", "finite")),
    ("a list for a number", lambda d: fc.LinUCB(alpha=[1, 2]), ("alpha", "a number")),
    ("a keyword misspelt", lambda d: fc.LinUCB(alhpa=1), ("'alhpa'", "did you mean 'alpha'")),
    ("a keyword of another", lambda d: fc.LinUCB(gamma=1), ("'gamma'", "it has", "ridge")),
    ("a reward of pbm-ucb", lambda d: fc.PBMUCB(reward="log"), ("'reward'", "positions", "twice")),
    ("a reward of pbm-ts", lambda d: as_component("policy", "pbm-ts(reward=log)"), ("twice",)),
    ("a reward of toprank", lambda d: fc.TopRank(reward="log"), ("'reward'", "shuffled")),
    ("a keyword of none", lambda d: fc.Random(seed=1), ("'seed'", "it has: none")),
    ("without names", lambda d: fc.LinUCB(0.5), ("LinUCB", "by name", "alpha=")),
    ("a choice misspelt", lambda d: fc.LinUCB(reading="papr"), ("reading", "mean 'paper'")),
    ("a part misspelt", lambda d: fc.LinUCB(reranker="earz"), ("reranker", "mean 'ears'")),
    ("a weight misspelt", lambda d: fc.EALinUCB(weight="lgo"), ("weight", "mean 'log'")),
    ("a number for a weight", lambda d: fc.EALinUCB(weight=5), ("weight", "got 5")),
    ("a negative weight", lambda d: fc.EALinUCB(weight=[1, -1]), ("weight", "position 2")),
    ("a beta too many", lambda d: fc.EALinUCB(weight="log", beta=1), ("'log'", "'beta'")),
    ("inline misspelt", lambda d: fc.EALinUCB(weight="rbp(bta=1)"), ("'bta'", "mean 'beta'")),
    ("inline unnamed", lambda d: fc.EALinUCB(weight="rbp(1)"), ("name=value", "'rbp(1)'")),
    ("inline unfinished", lambda d: fc.EALinUCB(weight="rbp(beta=1"), ("end with ')'",)),
    ("inline another", lambda d: fc.LinUCB(reranker="earz(a=1)"), ("reranker must", "'ears'")),
    (
        "a table misspelt",
        lambda d: as_component("policy", {"name": "linucd"}),
        ("policy must be", "mean 'linucb'"),
    ),
    (
        "a table without a name",
        lambda d: as_component("policy", {"alpha": 1}),
        ("policy must have a name", "{'alpha': 1}"),
    ),
    ("another kind", lambda d: fc.Bandit(exploration=fc.LinUCB()), ("exploration", "LinUCB(")),
    ("what it needs", lambda d: Custom(), ("weights",)),
    ("a scope misspelt", lambda d: fc.CascadeHybrid(scope="sharde"), ("scope", "user, shared")),
    ("seen above 1", lambda d: Examination(kappa=[1, 1.5]), ("kappa", "[0, 1]", "place 2")),
    (
        "nothing seen",
        lambda d: fc.LinUCB(observation="examination(kappa=0)"),
        ("observation.kappa", "above 0 at one position"),
    ),
    (
        "topics and a re-ranker",
        lambda d: fc.Bandit(estimator="topical", reranker="ears"),
        ("'ears'", "'topical'", "the items above"),
    ),
]

ENVIRONMENTS: list[Mistake] = [
    ("no data", lambda d: fc.Environment.from_ratings(None), ("data set", "DataFrame", "NoneType")),
    ("an array", lambda d: fc.Environment.from_ratings(np.eye(3)), ("DataFrame", "ndarray")),
    ("no file", lambda d: fc.Environment.from_ratings("no.csv"), ("'no.csv'", "nor a file")),
    ("k too large", lambda d: of(d.frame, k=100), ("k", "at most 20", "got 100")),
    ("no positions", lambda d: of(d.frame, k=0), ("k", "between 1 and", "got 0")),
    ("k as text", lambda d: of(d.frame, k="3"), ("k", "a whole number", "'3'")),
    ("half a feature", lambda d: of(d.frame, dim=1.5), ("dim", "a whole number", "1.5")),
    ("too many features", lambda d: of(d.frame, dim=100), ("dim", "between 1 and", "12 users")),
    ("no users", lambda d: of(d.frame, users=0), ("users", "at least 1", "got 0")),
    ("users in words", lambda d: of(d.frame, users="all"), ("users", "'all'")),
    ("sampling misspelt", lambda d: of(d.frame, sampling="activ"), ("sampling", "mean 'active'")),
    ("text as a share", lambda d: of(d.frame, train_share="half"), ("train_share", "a number")),
    ("all for training", lambda d: of(d.frame, train_share=1), ("train_share", "between 0 and 1")),
    ("no floor", lambda d: of(d.frame, merit_floor=0), ("merit_floor", "positive")),
    ("text as a number", lambda d: of(d.frame, click_rate="x"), ("click_rate", "number")),
    ("stops above 1", lambda d: of(d.frame, click_model=DCM(stop=1.5)), ("stop", "[0, 1]", "1.5")),
    (
        "positions of other slates",
        lambda d: of(d.frame, click_model=PBM(kappa=[1, 0.5])),
        ("kappa", "the 4 positions", "[1.0, 0.5]"),
    ),
    ("topics misspelt", lambda d: of(d.frame, topics="factrs"), ("topics", "factors", "'factrs'")),
    ("merit misspelt", lambda d: of(d.frame, merit="svdd"), ("merit", "'svd'", "'svdd'")),
    ("merit of others", lambda d: of(d.frame, merit=[1.0]), ("merit", "20 items")),
    ("clicks misspelt", lambda d: of(d.frame, click_model="cascad"), ("click_model", "'cascade'")),
    (
        "an option misspelt",
        lambda d: of(d.frame, sample="active"),
        ("Environment.from_ratings()", "'sample'", "'sampling'"),
    ),
    (
        "without names",
        lambda d: fc.Environment.from_ratings(d.frame, 10),
        ("Environment.from_ratings()", "name", "dim="),
    ),
    (
        "features that are text",
        lambda d: fc.Environment.from_arrays([["a"]], np.ones((2, 1))),
        ("features", "numbers"),
    ),
    (
        "features of two lengths",
        lambda d: fc.Environment.from_arrays([[1], [1, 2]], np.ones((2, 1))),
        ("features", "numbers"),
    ),
    (
        "preferences of other features",
        lambda d: fc.Environment.from_arrays(np.ones((3, 2)), np.ones((2, 3))),
        ("preferences", "users x 2", "(2, 3)"),
    ),
    (
        "half a position",
        lambda d: fc.Environment.from_arrays(np.ones((3, 2)), np.ones((2, 2)), k=1.5),
        ("k", "a whole number", "1.5"),
    ),
    (
        "an id twice",
        lambda d: fc.Environment.from_arrays(np.eye(2), np.eye(2), k=1, item_ids=[7, 7]),
        ("item ids", "distinct", "7 twice"),
    ),
    ("attraction above 1", lambda d: table([0.5, 1.5]), ("table", "between 0 and 1", "1.5")),
    ("attraction below 0", lambda d: table([[0.5], [-1]]), ("table", "row 1, column 0", "-1")),
    ("attraction unknown", lambda d: table([0.5, np.nan]), ("table", "finite", "nan")),
    ("no attraction", lambda d: table(None), ("table", "an array of numbers", "None")),
    ("complex attraction", lambda d: table(np.array([1j, 0])), ("table", "an array of numbers")),
    (
        "attraction in slates of no length",
        lambda d: fc.Environment.from_attraction([0.5]),
        ("Environment.from_attraction()", "needs", "'k'"),
    ),
    (
        "attraction of nothing",
        lambda d: fc.Environment.from_attraction(k=1),
        ("Environment.from_attraction()", "needs", "'table'"),
    ),
    ("attraction in words", lambda d: table(["high"]), ("table", "numbers")),
    ("one attraction", lambda d: table(0.5), ("table", "contexts x items", "()")),
    ("attraction by three", lambda d: table(np.ones((2, 2, 2))), ("table", "contexts x items")),
    ("attraction of none", lambda d: table([]), ("table", "contexts x items", "(0,)")),
    ("a table too wide", lambda d: table(np.ones(5000)), ("table", "4,096", "features", "5000")),
    ("too few items", lambda d: table([0.5], k=2), ("k", "between 1 and 1", "got 2")),
    (
        "features of other items",
        lambda d: table([0.5, 0.5], features=np.eye(3)),
        ("features", "2 (the items)", "(3, 3)"),
    ),
    ("no such instances", lambda d: fc.load_instances("no.json"), ("no.json", "no such file")),
    ("instances of nothing", lambda d: fc.load_instances(None), ("path", "a path", "None")),
    ("no instances", lambda d: fc.load_instances("text"), ("text", "JSON")),
]

RUNS: list[Mistake] = [
    ("a class", lambda d: fc.compare(d.env, fc.LinUCB), ("policy", "not its class", "LinUCB()")),
    ("a class in a list", lambda d: fc.compare(d.env, [fc.LinUCB]), ("policy", "LinUCB()")),
    ("a name misspelt", lambda d: fc.compare(d.env, "linucd"), ("policy", "mean 'linucb'")),
    ("a number", lambda d: fc.compare(d.env, 5), ("policy", "got 5")),
    ("none at all", lambda d: fc.compare(d.env, []), ("policies", "at least one")),
    ("inline", lambda d: fc.compare(d.env, "linucb(alpha=wide)"), ("alpha", "a number", "'wide'")),
    ("twice", lambda d: fc.compare(d.env, ["linucb", fc.LinUCB()]), ("policies", "distinct")),
    ("swapped", lambda d: fc.compare(fc.LinUCB(), "linucb"), ("env", "Environment", "LinUCB(")),
    ("a class to compare in", lambda d: fc.compare(fc.Environment), ("env", "Environment")),
    ("data misspelt", lambda d: fc.compare("sinthetic"), ("'sinthetic'", "mean 'synthetic'")),
    ("a function of nothing", lambda d: fc.compare(lambda: d.env), ("env", "the seed")),
    ("a function of no use", lambda d: fc.compare(lambda seed: 3), ("env", "return", "got 3")),
    ("negative rounds", lambda d: fc.compare(d.env, rounds=-1), ("rounds", "at least 1", "-1")),
    ("half a round", lambda d: fc.compare(d.env, rounds=2.5), ("rounds", "a whole number", "2.5")),
    ("rounds as text", lambda d: fc.compare(d.env, rounds="10"), ("rounds", "'10'")),
    ("without names", lambda d: fc.compare(d.env, "linucb", 100), ("by name", "rounds=")),
    ("seeds as text", lambda d: fc.compare(d.env, seeds="3"), ("seeds", "list of seeds", "'3'")),
    ("half a seed", lambda d: fc.compare(d.env, seeds=2.0), ("seeds", "a whole number", "2.0")),
    ("no seeds", lambda d: fc.compare(d.env, seeds=0), ("seeds", "at least one")),
    ("a seed twice", lambda d: fc.compare(d.env, seeds=[1, 1]), ("seeds", "distinct", "[1, 1]")),
    ("a negative seed", lambda d: fc.compare(d.env, seeds=[-1]), ("seeds", "at least 0")),
    ("seed for seeds", lambda d: fc.compare(d.env, seed=1), ("'seed'", "mean 'seeds'")),
    ("one trace for all", lambda d: fc.compare(d.env, trace="x"), ("'trace'", "compare()")),
    ("progress in words", lambda d: fc.compare(d.env, progress="yes"), ("progress", "True")),
    ("no such engine", lambda d: fc.compare(d.env, engine="cuda"), ("engine", "gpu", "'cuda'")),
    ("a frame to run in", lambda d: fc.simulate(d.frame, "linucb", rounds=2), ("env", "from_rat")),
    ("several", lambda d: fc.simulate(d.env, ["linucb"], rounds=2), ("policy", "['linucb']")),
    ("one's class", lambda d: fc.simulate(d.env, fc.LinUCB, rounds=2), ("policy", "LinUCB()")),
    ("no topics", lambda d: fc.simulate(bare(d), "cascade-lsb", rounds=2), ("topics", "none")),
    (
        "topics of all, apart",
        lambda d: fc.simulate(d.env, fc.CascadeHybrid(scope="shared"), rounds=2, engine="cpu"),
        ("'cpu'", "'shared-topical'", "'loop'"),
    ),
    (
        "seen in other slates",
        lambda d: fc.simulate(d.env, examined([1, 0.5]), rounds=2),
        ("kappa", "positions", "[1.0, 0.5]"),
    ),
    (
        "nothing seen in these slates",
        lambda d: fc.simulate(d.env, examined([0] * d.env.k + [1]), rounds=2),
        ("kappa", "above 0 at one position", "0.0]"),
    ),
    ("no rounds", lambda d: fc.simulate(d.env, "linucb"), ("simulate()", "'rounds'")),
    ("seeds for seed", lambda d: fc.simulate(d.env, "linucb", seeds=2), ("'seeds'", "'seed'")),
    ("threads in words", lambda d: run(d, threads="two"), ("threads", "a whole number", "'two'")),
    (
        "activity of another number of users",
        lambda d: fc.Environment.from_arrays(np.eye(2), np.eye(2), k=1, activity=[0.5]),
        ("activity", "2 numbers in (0, 1]"),
    ),
    (
        "a user who never comes",
        lambda d: fc.Environment.from_arrays(np.eye(2), np.eye(2), k=1, activity=[0.5, 0.0]),
        ("activity", "2 numbers in (0, 1]"),
    ),
    ("too active", lambda d: run(d, activity=2), ("activity", "(0, 1]")),
    ("activity in words", lambda d: run(d, activity="x"), ("activity", "a number")),
    ("checkpoints in words", lambda d: run(d, checkpoints="all"), ("checkpoints", "'all'")),
    ("half a checkpoint", lambda d: run(d, checkpoints=2.5), ("checkpoints", "2.5")),
    ("progress as a flag", lambda d: run(d, progress=True), ("progress", "a function")),
    ("a folder for a trace", lambda d: run(d, trace="."), ("trace", "a file")),
    ("no path", lambda d: run(d, trace=5), ("trace", "a path", "got 5")),
    ("a keyword misspelt", lambda d: run(d, enginge="cpu"), ("'enginge'", "mean 'engine'")),
]

DATA: list[Mistake] = [
    ("no file", lambda d: fc.load_dataset("no.csv"), ("'no.csv'", "nor a file")),
    ("no such path", lambda d: fc.load_dataset(Path("no.csv")), ("'no.csv'", "nor a file")),
    ("a name misspelt", lambda d: fc.load_dataset("ml-1n"), ("'ml-1n'", "mean 'ml-1m'")),
    ("a folder", lambda d: fc.load_dataset("."), ("a folder", "path=")),
    ("nothing in it", lambda d: fc.load_dataset("empty.csv"), ("empty.csv", "empty")),
    ("other columns", lambda d: fc.load_dataset("scores.csv"), ("user=", "'person'")),
    ("a column misspelt", lambda d: columns(user="persn"), ("'persn'", "mean 'person'")),
    ("an option misspelt", lambda d: columns(usr="person"), ("'usr'", "mean 'user'")),
    (
        "a frame's columns",
        lambda d: fc.load_dataset(pl.DataFrame({"who": [1]})),
        ("user=", "'who'"),
    ),
    ("a dict", lambda d: fc.load_dataset({"user": [1]}), ("DataFrame", "dict")),
    ("text for a number", lambda d: fc.load_dataset("synthetic", users="5"), ("users", "'5'")),
    (
        "a path too many",
        lambda d: fc.load_dataset("scores.csv", path="x"),
        ("path=", "'scores.csv'"),
    ),
    (
        "ratings in words",
        lambda d: fc.load_dataset(d.frame.assign(rating="good")),
        ("'rating'", "a number", "'good'"),
    ),
]

OUTCOMES: list[Mistake] = [
    ("a metric misspelt", lambda d: d.comparison.table(["clikcs"]), ("metric", "mean 'clicks'")),
    ("the same, alone", lambda d: d.comparison.table("clikcs"), ("metric", "mean 'clicks'")),
    ("no metric", lambda d: d.comparison.table(5), ("metric", "got 5")),
    ("a name for a label", lambda d: d.comparison.mean("linucb", "clicks"), ("label", "'LinUCB'")),
    ("a metric of one", lambda d: d.comparison.change("Random", "regrt"), ("mean 'regret'",)),
    ("an attribute", lambda d: d.result.clikcs, ("'clikcs'", "mean 'clicks'")),
    ("to measure", lambda d: d.result.measure("clikcs"), ("metric", "mean 'clicks'")),
    ("a number to measure", lambda d: d.result.measure(5), ("metric", "got 5")),
    (
        "all of it a tail",
        lambda d: d.result.measure("tail_share", tail=1),
        ("tail", "above 0 and below 1", "1"),
    ),
    ("its parameter", lambda d: d.result.measure("tail_share", tale=1), ("'tale'", "'tail'")),
    ("no groups", lambda d: d.result.measure("clicks", group="genre"), ("group", "no groups")),
    ("nothing to report", lambda d: fc.write_report(None), ("results", "compare", "None")),
    ("an empty list", lambda d: fc.write_report([]), ("results", "at least one")),
    ("a folder to report", lambda d: fc.write_report("runs/x"), ("results", "'runs/x'")),
    ("onto a file", lambda d: fc.write_report(d.result, "text"), ("text", "folder")),
    ("nowhere", lambda d: fc.write_report(d.result, 5), ("folder", "a path", "got 5")),
    ("no such test", lambda d: fc.write_report(d.result, test="welch"), ("test", "wilcoxon")),
    ("a keyword misspelt", lambda d: fc.write_report(d.result, titel="x"), ("'titel'", "'title'")),
    ("no such run", lambda d: fc.load_results("nowhere"), ("nowhere", "folder of a run")),
    ("no such frame", lambda d: fc.load_results("x", backend="panda"), ("backend", "'pandas'")),
    ("no such name", lambda d: fc.Linucb, ("'Linucb'", "mean 'LinUCB'")),
]

RANKERS: list[Mistake] = [
    ("a class", lambda d: fc.Ranker(fc.LinUCB, items=np.eye(3)), ("policy", "LinUCB()")),
    ("a name misspelt", lambda d: fc.Ranker("linucd", items=np.eye(3)), ("mean 'linucb'",)),
    ("a simulator's", lambda d: fc.Ranker("optimal", items=np.eye(3)), ("policy", "simulator")),
    ("no items", lambda d: fc.Ranker("linucb"), ("items",)),
    ("without names", lambda d: fc.Ranker("linucb", np.eye(3)), ("by name", "items=")),
    ("a row", lambda d: fc.Ranker("linucb", items=np.ones(3)), ("features", "items x dimensions")),
    ("names of items", lambda d: fc.Ranker("linucb", items=["a", "b"]), ("features", "numbers")),
    ("an environment", lambda d: fc.Ranker("linucb", items=d.env), ("features", "numbers")),
    ("too few ids", lambda d: fc.Ranker("linucb", items=np.eye(3), item_ids="a"), ("ids", "3")),
    ("misspelt", lambda d: fc.Ranker("linucb", items=np.eye(3), item_id="a"), ("'item_ids'",)),
    ("none open", lambda d: fc.Ranker("linucb", items=np.eye(3), max_open=0), ("max_open", "1")),
    ("no positions", lambda d: d.ranker.recommend("u", k=0), ("k", "at least 1")),
    ("k as text", lambda d: d.ranker.recommend("u", k="3"), ("k", "a whole number", "'3'")),
    (
        "strange items",
        lambda d: d.ranker.recommend("u", candidates=["z"]),
        ("candidates", "no item"),
    ),
    ("one id as a list", lambda d: d.ranker.recommend("u", candidates="abc"), ("a list of ids",)),
    ("a number as a list", lambda d: d.ranker.recommend("u", exclude=5), ("exclude", "a list")),
    ("nothing left", lambda d: d.ranker.recommend("u", exclude=range(4)), ("leave no item",)),
    ("a click beyond", lambda d: d.ranker.update(d.slate, clicked=9), ("clicked", "from 1 to 2")),
    ("a click twice", lambda d: d.ranker.update(d.slate, [1, 1]), ("clicked", "once", "[1, 1]")),
    (
        "one of several beyond",
        lambda d: d.ranker.update(d.slate, [1, 3]),
        ("clicked", "from 1 to 2", "3"),
    ),
    (
        "a click that was not shown",
        lambda d: d.ranker.update(d.slate, 2, shown=1),
        ("shown", "at least 2", "got 1"),
    ),
    ("no topics", lambda d: fc.Ranker("cascade-lsb", items=np.eye(3)), ("topics", "none")),
    (
        "topics of all",
        lambda d: fc.Ranker(fc.CascadeHybrid(scope="shared"), items=d.env.items),
        ("policy", "users apart"),
    ),
    (
        "topics above 1",
        lambda d: Items.of(np.eye(3), topics=2 * np.eye(3)),
        ("topics", "between 0 and 1", "got 2.0"),
    ),
    (
        "new items without topics",
        lambda d: fc.Ranker("cascade-lsb", items=d.env.items).add_items(
            np.ones((1, d.env.items.dim)), ["new"]
        ),
        ("'topical'", "topics", "none"),
    ),
    (
        "items that toprank cannot take",
        lambda d: fc.Ranker("toprank", items=np.ones((300, 2))),
        ("'toprank'", "256", "got 300"),
    ),
    (
        "items that toprank cannot take any more",
        lambda d: fc.Ranker("toprank", items=np.eye(256)).add_items(np.ones((1, 256)), ["new"]),
        ("'toprank'", "256", "got 257"),
    ),
    (
        "other topics",
        lambda d: fc.Ranker("linucb", items=d.env.items).add_items(
            np.ones((1, d.env.items.dim)), ["new"], topics=np.ones((1, 1))
        ),
        ("topics", "columns", "(1, 1)"),
    ),
    (
        "a click in two forms",
        lambda d: d.ranker.update(d.slate, 1, clicked_item="0"),
        ("clicked_item", "left out", "'0'"),
    ),
    ("a click on text", lambda d: d.ranker.update(d.slate, clicked="a"), ("clicked", "'a'")),
    ("shown beyond", lambda d: d.ranker.update(d.slate, shown=9), ("shown", "between 1 and 2")),
    ("an empty slate", lambda d: fc.Slate.from_dict({}), ("slate", "to_dict", "{}")),
    ("no slate to read", lambda d: fc.Slate.from_dict(None), ("slate", "to_dict", "None")),
    (
        "a slate without topics",
        lambda d: fc.Slate.from_dict({k: v for k, v in d.slate.to_dict().items() if k != "topics"}),
        ("slate", "to_dict"),
    ),
    ("a user, no slate", lambda d: d.ranker.update("u", clicked=1), ("slate", "recommend")),
    ("a comparison", lambda d: fc.Ranker.from_result(d.comparison), ("result", "simulate")),
    ("no file", lambda d: fc.Ranker.load("no.npz"), ("no.npz",)),
    ("another file", lambda d: fc.Ranker.load("text"), ("text", "faircascade saved")),
    ("other features", lambda d: d.ranker.add_items(np.ones((1, 3)), ["x"]), ("features", "4")),
    ("unknown items", lambda d: d.ranker.remove_items(["z"]), ("item_ids", "'z'")),
]


def bare(desk: Desk) -> fc.Environment:
    """Return the environment without the topics of its items."""
    items = replace(desk.env.items, topics=np.zeros((len(desk.env.items), 0)))
    return replace(desk.env, items=items)


def examined(kappa: list[float]) -> fc.LinUCB:
    return fc.LinUCB(observation=Examination(kappa=kappa))


def table(attraction: Any, **options: Any) -> fc.Environment:
    return fc.Environment.from_attraction(attraction, **({"k": 1} | options))


def run(desk: Desk, **options: Any) -> fc.Result:
    return fc.simulate(desk.env, "linucb", **({"rounds": 2} | options))


def columns(**options: Any) -> fc.Ratings:
    return fc.load_dataset("scores.csv", item="thing", rating="score", **options)


TABLES = {
    "policies": POLICIES,
    "environments": ENVIRONMENTS,
    "runs": RUNS,
    "data": DATA,
    "outcomes": OUTCOMES,
    "rankers": RANKERS,
}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(call, said, id=f"{table}: {name}")
        for table, mistakes in TABLES.items()
        for name, call, said in mistakes
    ],
)
def test_a_mistake_is_answered_in_one_line(desk: Desk, call, said: tuple[str, ...]) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError, OSError)) as caught:
        call(desk)
    error = caught.value
    message = str(error)
    assert error.__cause__ is None, "a traceback would show another error first"
    assert error.__context__ is None or error.__suppress_context__
    assert "\n" not in message
    assert len(message) <= LONGEST
    for words in said:
        assert words in message
