"""A part in one file is picked up everywhere, and no engine runs it as something else."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import faircascade as fc
from faircascade import registry, testing
from faircascade.cli.main import app, main
from faircascade.clicks import Cascade, ClickDraws, ClickModel
from faircascade.engine import simulation
from faircascade.environment import Delay, Dynamics, Environment, NoDelay, Still
from faircascade.errors import ParameterError
from faircascade.estimators import Estimator, Ridge
from faircascade.experiment.cell import Cell
from faircascade.experiment.running.executors.local import Local
from faircascade.experiment.spec import Spec
from faircascade.exploration import UCB, Epsilon, Exploration
from faircascade.observations import FirstClick, Observation
from faircascade.policies import Policy, Random
from faircascade.registry.own_parts import own_code
from faircascade.rerankers import Identity, Reranker
from faircascade.rewards import RewardModel, RewardTable, Standard
from faircascade.rewards.weights import Weight
from faircascade.types import Slates
from tests.environments import small_environment
from tests.own_parts import parts_of_the_contributing_guide


@pytest.fixture(scope="module")
def own() -> Iterator[ModuleType]:
    with parts_of_the_contributing_guide() as module:
        yield module


def test_the_checks_of_the_library_pass(own: ModuleType) -> None:
    testing.check_click_model(own.Skimmer())
    testing.check_estimator(own.ItemMean())
    testing.check_dynamics(own.Rotation())
    testing.check_reward_model(own.TopHeavy())
    testing.check_metric(own.TopItem())
    testing.check_dataset(own.CoinFlips())
    testing.check_policy(own.MostClicked())


@pytest.mark.parametrize("engine", ["auto", "loop"])
def test_several_clicks_are_counted_learned_and_traced(
    own: ModuleType, engine: str, tmp_path: Path
) -> None:
    env = small_environment(users=40, k=5, click_model=own.Skimmer(patience=0.95))
    trace = tmp_path / "trace.parquet"
    result = fc.simulate(env, fc.LinUCB(), rounds=60, seed=1, engine=engine, trace=trace)
    assert result.engine == "loop"
    assert result.clicks > result.clicked > 0
    assert result.record.item_clicks.sum() == result.record.clicks
    rows = pq.read_table(trace)
    clicks = rows["reward"].to_numpy().reshape(-1, 5)
    seen = rows["seen"].to_numpy().reshape(-1, 5)
    assert clicks.sum() == result.record.clicks
    assert (clicks.sum(axis=1) > 1).any()
    first = np.where(clicks.any(axis=1), clicks.argmax(axis=1) + 1, 5)
    assert np.array_equal(seen.sum(axis=1), first)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--click-model", "skimmer", "--set", "click_model.patience=0.8"], None),
        (["--policy", "bandit", "--set", "estimator=item_mean"], None),
        (["--dynamics", "rotation", "--set", "dynamics.period=20"], None),
        (["--policy", "most-clicked"], None),
        (["--click-model", "skimmer", "--set", "click_model.patience=2"], "patience"),
        (["--click-model", "skimer"], "did you mean 'skimmer'"),
        (["--dynamics", "rotation", "--engine", "cpu"], "does not support dynamics 'rotation'"),
    ],
)
def test_the_command_line_takes_them(own: ModuleType, arguments: list[str], said: str) -> None:
    small = ["--users", "20", "--set", "data.users=20", "--set", "data.items=60", "--rounds", "10"]
    run = CliRunner().invoke(app, ["simulate", *small, "--k", "4", "--json", *arguments])
    if said is None:
        assert run.exit_code == 0, run.output
        assert json.loads(run.stdout)["rounds"] == 10
    else:
        assert said in str(run.exception) + run.output


def test_a_spec_file_takes_them_with_grids_and_all(own: ModuleType, tmp_path: Path) -> None:
    spec = {
        "name": "own",
        "data": {"name": "coin-flips"},
        "environment": {
            "k": 3,
            "dim": 4,
            "click_model": {"name": "skimmer", "patience": {"grid": [0.5, 1]}},
            "dynamics": "rotation",
        },
        "run": {"rounds": 20, "seeds": 1},
        "policies": [{"name": "linucb"}, {"name": "bandit", "estimator": "item_mean"}],
    }
    cells = Spec.of(spec).cells("ratings")
    assert len({cell.key for cell in cells}) == len(cells) == 4
    found = fc.run_experiment(spec, tmp_path / "own", executor=Local(workers=1))
    assert len(found) > 0


def test_a_tabular_estimator_learns_which_items_are_clicked(own: ModuleType) -> None:
    env = small_environment(users=20, items=12, k=3)
    run = {"rounds": 400, "seed": 1}
    bandit = fc.Bandit(estimator=own.ItemMean(), exploration=UCB(alpha=0.5))
    learned, drawn = (fc.simulate(env, p, **run) for p in (bandit, fc.Random()))
    assert learned.clicks > 1.2 * drawn.clicks
    weighed = replace(bandit, reward=registry.build("reward", "exposure-aware", {"gamma": 0.1}))
    assert fc.simulate(env, weighed, **run).clicks > drawn.clicks


def test_a_tabular_estimator_works_online_while_items_come_and_go(own: ModuleType) -> None:
    ranker = fc.Ranker(fc.Bandit(estimator=own.ItemMean()), items=np.eye(4), item_ids=list("abcd"))
    slate = ranker.recommend("u", k=4)
    ranker.remove_items(["b"])
    ranker.add_items(np.ones((1, 4)), ["e"])
    ranker.update(slate, clicked=[slate.items.index("c") + 1])
    assert set(ranker.recommend("u", k=4).items) == set("acde")
    assert ranker._states["u"].learned.ids.tolist()[-1] in "abcd"


def test_a_policy_without_parts_learns_offline_and_online(own: ModuleType, tmp_path: Path) -> None:
    env = small_environment(users=20, items=12, k=3)
    learned, drawn = (
        fc.simulate(env, policy, rounds=300, seed=1) for policy in (own.MostClicked(), fc.Random())
    )
    assert learned.clicks > 1.2 * drawn.clicks
    ranker = fc.Ranker(own.MostClicked(), items=np.eye(6), item_ids=list("abcdef"))
    for _ in range(3):
        slate = ranker.recommend("u", k=6)
        ranker.update(slate, clicked=slate.items.index("e") + 1)
    ranker.save(tmp_path / "ranker.npz")
    assert fc.Ranker.load(tmp_path / "ranker.npz").recommend("u", k=2).items[0] == "e"


def test_parts_that_do_not_fit_are_refused(own: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"'thompson' needs the sample .* 'item_mean'"):
        fc.Bandit(estimator=own.ItemMean(), exploration="thompson")


def test_regret_follows_an_environment_that_changes(own: ModuleType) -> None:
    still = small_environment(users=10, k=3)
    turning = replace(still, dynamics=own.Rotation(period=100))
    run = {"rounds": 300, "seed": 1}
    assert fc.simulate(turning, fc.Optimal(), **run).regret == 0
    assert fc.simulate(still, fc.Optimal(), **run).regret == 0
    assert (
        fc.simulate(turning, fc.LinUCB(), **run).regret
        > fc.simulate(still, fc.LinUCB(), **run).regret
    )


class Boom(Exception):  # noqa: N818
    """The part was asked."""


def boom(*_: Any, **__: Any) -> Any:
    raise Boom


BASES: dict[str, tuple[type, tuple[str, ...]]] = {
    "click model": (Cascade, ("click",)),
    "click model's value": (Cascade, ("value",)),
    "dynamics": (Still, ("preferences", "present")),
    "delay": (NoDelay, ("rounds",)),
    "environment": (Environment, ("respond",)),
    "observation": (FirstClick, ("seen",)),
    "estimator": (Ridge, ("update",)),
    "estimator's beliefs": (Ridge, ("beliefs",)),
    "exploration": (UCB, ("scores",)),
    "reward": (Standard, ("table",)),
    "re-ranker": (Identity, ("arrange",)),
    "recipe": (fc.LinUCB, ("recommend",)),
    "yardstick": (fc.Random, ("recommend",)),
}


def raising(kind: str) -> Any:
    """A subclass of a part that the compiled engines know, with some of its methods raising."""
    base, methods = BASES[kind]
    body = dict.fromkeys(methods, boom)
    if base is Still:
        body["changes"] = True
    made = type(f"My{base.__name__}", (base,), body)
    return dataclass(frozen=True, kw_only=True)(made)


def job_with(kind: str) -> tuple[Environment, Policy]:
    cls = raising(kind)
    env, policy = small_environment(users=4), fc.LinUCB()
    if cls.__mro__[1] is Environment:
        return cls(**{f: getattr(env, f) for f in ("items", "users", "k")}), policy
    part = cls()
    place = getattr(part, "kind", "")
    if place == "policy":
        return env, part
    if place in ("click_model", "dynamics", "delay"):
        return replace(env, **{place: part}), policy
    return env, fc.Bandit(**{place: part})


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("engine", ["auto", "cpu", "loop"])
def test_a_part_that_no_engine_knows_is_asked_or_refused_and_never_replaced(
    kind: str, engine: str, monkeypatch
) -> None:
    monkeypatch.setattr(simulation, "SHORT", 0)
    env, policy = job_with(kind)
    if engine == "cpu" and kind != "reward":  # a table by then, which is asked for
        with pytest.raises(ValueError, match=r"engine 'cpu' does not support .*'My"):
            fc.simulate(env, policy, rounds=3, engine=engine)
    else:
        with pytest.raises(Boom):
            fc.simulate(env, policy, rounds=3, engine=engine)


def test_the_bases_are_of_every_kind_that_a_simulation_has() -> None:
    contracts = {
        ClickModel, Delay, Dynamics, Estimator, Exploration, Observation, Policy, Reranker,
        RewardModel, Environment,
    }  # fmt: skip
    assert {c for c in contracts if any(issubclass(b, c) for b, _ in BASES.values())} == contracts


@dataclass(frozen=True, kw_only=True)
class Unregistered(Cascade):
    """A subclass that changes nothing, and cannot be known for that."""

    note: str = field(default="")


def test_a_subclass_runs_with_the_same_numbers_in_loop() -> None:
    env = small_environment(users=4)
    same = replace(env, click_model=Unregistered())
    assert fc.simulate(same, fc.LinUCB(), rounds=20).metrics == (
        fc.simulate(env, fc.LinUCB(), rounds=20).metrics
    )


@dataclass(frozen=True, kw_only=True)
class Drift(Still):
    """Says nothing of `changes`, and changes."""

    def preferences(self, users, round):
        return -users.preferences


@dataclass(frozen=True, kw_only=True)
class ByMerit(fc.Random):
    """The documented way to a policy with fixed scores."""

    def scores(self, pool):
        return pool.items.merit[pool.rows]


@dataclass(frozen=True, kw_only=True)
class Clumsy(fc.Optimal):
    """Does not show the optimum, whatever its parent is."""

    def recommend(self, state, users, pool, k, *, round, seed):
        slates = np.tile(pool.rows[:k], (len(state.keys[users]), 1))
        return Slates(items=slates, scores=np.zeros(slates.shape))


class Moody(Environment):
    """Attraction that is no inner product."""

    def attraction(self, slates, rows=slice(None), *, round=1):
        return 0.5 * (1 - super().attraction(slates, rows, round=round))


def test_what_a_parent_class_promises_does_not_bind_its_subclass() -> None:
    env = small_environment(users=5)
    run = {"rounds": 20, "seed": 1}
    turned = fc.simulate(replace(env, dynamics=Drift()), fc.LinUCB(), **run)
    assert turned.metrics != fc.simulate(env, fc.LinUCB(), **run).metrics
    assert fc.simulate(env, ByMerit(), **run).coverage == env.k / len(env.items)
    assert fc.simulate(env, Clumsy(), **run).regret > 0
    moody = Moody(items=env.items, users=env.users, k=env.k)
    assert fc.simulate(moody, fc.Optimal(), **run).regret == 0
    assert fc.simulate(moody, fc.Random(), **run).regret > 0
    assert moody.fingerprint != env.fingerprint


def test_what_is_not_registered_is_never_stored_as_its_parent(tmp_path: Path) -> None:
    env = replace(small_environment(users=4), click_model=Unregistered())
    assert env.fingerprint != small_environment(users=4).fingerprint
    with pytest.raises(TypeError, match="not registered"):
        env.save(tmp_path / "env.npz")
    with pytest.raises(TypeError, match="Moody"):
        Moody(items=env.items, users=env.users, k=env.k).save(tmp_path / "env.npz")
    with pytest.raises(TypeError, match="not registered"):
        fc.Ranker(ByMerit(), items=np.eye(4)).save(tmp_path / "ranker.npz")


ONE_ITEM_THREE_TIMES = Slates(items=np.zeros((6, 3), dtype=np.int64), scores=np.zeros((6, 3)))


def part_returning(base: type, method: str, value: Any) -> Any:
    made = type(f"Wrong{base.__name__}", (base,), {method: lambda *_, **__: value})
    return dataclass(frozen=True, kw_only=True)(made)()


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (part_returning(NoDelay, "rounds", np.full(6, -1)), "delay"),
        (part_returning(NoDelay, "rounds", np.full(6, 0.5)), "delay"),
        (part_returning(Still, "present", np.arange(30)), "dynamics"),
        (part_returning(Still, "preferences", np.zeros((1, 4))), "dynamics"),
        (part_returning(Cascade, "click", np.zeros(6, dtype=bool)), "click model"),
        (part_returning(Cascade, "click", np.zeros((6, 3), dtype=int)), "click model"),
        (part_returning(FirstClick, "seen", np.full((6, 3), 2.0)), "observation"),
        (part_returning(fc.Random, "recommend", ONE_ITEM_THREE_TIMES), "policy"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_what_a_part_returns_is_held_against_its_contract(part: Any, said: str) -> None:
    env, policy = small_environment(users=6), fc.LinUCB()
    if said == "policy":
        policy = part
    elif said == "observation":
        policy = fc.LinUCB(observation=part)
    else:
        env = replace(env, **{part.kind: part})
    with pytest.raises(ValueError, match=f"^{said} .* must"):
        fc.simulate(env, policy, rounds=3, engine="loop")


def test_a_tabular_estimator_goes_online_with_what_it_learned_of_numbered_items(own) -> None:
    env = small_environment(users=4, items=12, item_ids=np.arange(12), user_ids=np.arange(4))
    ranker = fc.Ranker.from_result(
        fc.simulate(env, fc.Bandit(estimator=own.ItemMean()), rounds=30, seed=1)
    )
    for _ in range(20):
        slate = ranker.recommend("0", 3)
        before = ranker._states["0"].learned.of(slice(None), np.array(slate.items))[1]
        ranker.update(slate)
        after = ranker._states["0"].learned.of(slice(None), np.array(slate.items))[1]
        assert (after - before == 1).all()


WRONG_CLICKS = {
    "not keyed by round": lambda a, d: (
        ClickDraws(seed=d.seed, round=1, users=d.users, items=d.items).by_item("attraction") < a
    ),
    "depends on others": lambda a, d: d.by_item("attraction") < a.mean(axis=0),
    "clicks what attracts nobody": lambda a, d: d.by_item("attraction") < 0.5 + a / 2,
    "as numbers": lambda a, d: (d.by_item("attraction") < a).astype(int),
}


@pytest.mark.parametrize("wrong", WRONG_CLICKS)
def test_a_click_model_that_breaks_its_contract_is_found(wrong: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wrong(ClickModel):
        """Clicks in some wrong way."""

        def click(self, attraction, slates, draws):
            return WRONG_CLICKS[wrong](attraction, draws)

        def value(self, attraction, slates):
            return attraction.sum(axis=1)

    registry.register(f"wrong {wrong}")(Wrong)
    try:
        with pytest.raises(AssertionError):
            testing.check_click_model(Wrong())
    finally:
        del registry.names.registered["click_model"][f"wrong {wrong}"]


def test_a_click_model_knows_which_items_are_shown() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Bait(Cascade):
        """Only items of even catalogue rows are clicked."""

        def click(self, attraction, slates, draws):
            return super().click(np.where(slates % 2, 0.0, attraction), slates, draws)

        def value(self, attraction, slates):
            return super().value(np.where(slates % 2, 0.0, attraction), slates)

    env = small_environment(click_model=Bait())
    clicks = fc.simulate(env, fc.LinUCB(), rounds=30).record.item_clicks.sum(axis=1)
    assert clicks[0::2].any()
    assert not clicks[1::2].any()


def test_a_value_that_is_not_clicks_is_not_taken_for_clicks() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Satisfied(Cascade):
        """Half of those who click are satisfied."""

        value_is_clicks = False

        def value(self, attraction, slates):
            return super().value(attraction, slates) / 2

    env = small_environment(click_model=Satisfied())
    found = fc.compare(env, fc.LinUCB(), rounds=5)
    assert found.mean("LinUCB", "regret") >= 0
    (kept,) = found.environments[0].runs["LinUCB"]
    assert kept.about["most_clicks"] is None  # no figure shows the value as a number of clicks
    with pytest.raises(ParameterError) as refused:
        fc.simulate(env, fc.LinUCB(), rounds=5, realised=True)
    assert refused.value.name == "realised"


def test_regret_against_slates_that_are_not_the_best_is_announced(caplog) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Guess(Cascade):
        """Does not look for the best slate."""

        best_is_optimal = False

    simulation._warn_once.cache_clear()  # a part of this name may have been announced before
    fc.simulate(small_environment(click_model=Guess()), fc.LinUCB(), rounds=1)
    assert "regret" in caplog.text


def test_an_error_in_somebodys_own_part_is_found_there() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Divides(Cascade):
        """Divides by zero."""

        def click(self, attraction, slates, draws):
            return super().click(attraction / np.zeros_like(attraction), slates, draws)

    with pytest.raises(FloatingPointError, match=rf"Divides.click of {__name__}"):
        fc.simulate(small_environment(click_model=Divides()), fc.LinUCB(), rounds=1)


def test_a_policy_of_ones_own_goes_online_whatever_its_state_is() -> None:
    @dataclass(frozen=True, kw_only=True)
    class First(Policy):
        """Shows the first items; its state is how many users there are."""

        def start(self, users, dim):
            return len(users)

        def recommend(self, state, users, pool, k, *, round, seed):
            n = len(range(state)[users])
            return Slates(items=np.tile(pool.rows[:k], (n, 1)), scores=np.zeros((n, k)))

        def take(self, state, users):
            return len(range(state)[users])

        def join(self, states):
            return sum(states)

        def arrays(self, state):
            return {"users": np.array(state)}

        def restore(self, users, arrays):
            return int(arrays["users"])

    env = small_environment(users=4)
    ranker = fc.Ranker.from_result(fc.simulate(env, First(), rounds=3, engine="loop"))
    assert len(ranker.users) == 4
    assert ranker.recommend(ranker.users[2], 3).round == 4


BOLD = """
from dataclasses import dataclass
from bold_helper import ALPHA
from faircascade import LinUCB
from faircascade.registry import register

@register("bold")
@dataclass(frozen=True, kw_only=True)
class Bold(LinUCB):
    'Explores more.'
    alpha: float = ALPHA
"""


def test_results_of_a_part_hold_for_its_source_alone(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "bold_bandit.py"
    file.write_text(BOLD, encoding="utf-8")
    helper = tmp_path / "bold_helper.py"
    helper.write_text("ALPHA = 5.0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(registry.components("policy"))
    try:
        module = importlib.import_module("bold_bandit")
        policies = [{"name": "bold"}, {"name": "linucb"}]
        spec = {
            "name": "own",
            "data": {"name": "synthetic"},
            "run": {"rounds": 5},
            "policies": policies,
        }
        keys = {cell.label: cell.key for cell in Spec.of(spec).cells("ratings")}
        file.write_text(BOLD + "# changed\n", encoding="utf-8")
        still = {cell.label: cell.key for cell in Spec.of(spec).cells("ratings")}
        importlib.reload(module)
        later = {cell.label: cell.key for cell in Spec.of(spec).cells("ratings")}
        helper.write_text("ALPHA = 4.0\n", encoding="utf-8")
        importlib.reload(module)
        helped = {cell.label: cell.key for cell in Spec.of(spec).cells("ratings")}
    finally:
        registry.names.registered["policy"] = before
        sys.modules.pop("bold_bandit", None)
        sys.modules.pop("bold_helper", None)
    assert still == keys, "the code that runs is still that of before"
    assert len({keys["Bold"], later["Bold"], helped["Bold"]}) == 3
    assert keys["LinUCB"] == later["LinUCB"] == helped["LinUCB"]


def test_what_has_no_source_is_never_taken_from_the_store(own: ModuleType) -> None:
    once = own_code(own.Skimmer())
    assert once == own_code(own.Skimmer(patience=0.5))
    again = registry.register("skimmer")(own.Skimmer)  # as when a cell of a notebook runs again
    assert own_code(again()) != once


def test_a_weight_by_name_belongs_to_the_key() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Steep(Weight):
        """Grows fast."""

        def values(self, k: int) -> Any:
            return np.arange(1.0, k + 1) ** 2

    registry.register("steep")(Steep)
    try:
        policy = fc.EALinUCB(weight="steep")
        assert __name__ in {type(part).__module__ for part in cell_of(policy).parts}
        assert __name__ in cell_of(policy).settings["own_code"]
    finally:
        del registry.names.registered["weight"]["steep"]


def cell_of(policy: Policy) -> Cell:
    return Cell(
        data={},
        fingerprint="ratings",
        environment={},
        policy=policy,
        label="",
        seed=1,
        rounds=5,
        checkpoints=(5,),
    )


def test_only_the_package_has_kernels() -> None:
    with pytest.raises(ParameterError) as refused:

        @registry.register("clicks-all", engines=("cpu",))
        @dataclass(frozen=True, kw_only=True)
        class ClicksAll(Cascade):
            """Clicks everything."""

    assert refused.value.name == "engines"


@pytest.mark.parametrize(
    "table",
    [
        lambda k: (np.ones((2, 2)), np.zeros((2, 2))),
        lambda k: (np.ones((2 * k, 2 * k)), np.zeros((2 * k, 2 * k))),
        lambda k: (np.ones(k), np.zeros(k)),
        lambda k: (np.ones((k, k)), np.ones((k, k))),
        lambda k: (np.ones((k, k)), np.zeros((2, 2))),
        lambda k: (np.full((k, k), np.nan), np.zeros((k, k))),
    ],
)
@pytest.mark.parametrize("engine", ["loop", "cpu"])
def test_a_reward_table_that_is_none_is_refused_by_every_engine(table: Any, engine: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Odd(RewardModel):
        """Returns a table of the wrong kind."""

        def table(self, k: int) -> RewardTable:
            return RewardTable(*table(k))

    with pytest.raises((TypeError, ParameterError)):
        fc.simulate(small_environment(k=5), fc.Bandit(reward=Odd()), rounds=2, engine=engine)


def test_penalties_are_not_dropped() -> None:
    assert RewardTable.of(3, rewards=1.0, penalties=0.5).ignored[2].tolist() == [-0.5] * 3
    with pytest.raises(ParameterError):
        RewardTable.of(3, rewards=1.0, penalties=0.5, gamma=-1.0)


@dataclass(frozen=True, kw_only=True)
class Always(Random):
    """Shows the same items."""

    def scores(self, pool: Any) -> Any:
        return pool.items.popularity[pool.rows]


@dataclass(frozen=True, kw_only=True)
class Reversed(Identity):
    """Turns slates round."""

    def arrange(self, request: Any, slates: Slates, ledger: Any) -> Slates:
        return Slates(items=slates.items[:, ::-1], scores=slates.scores[:, ::-1])


@dataclass(frozen=True, kw_only=True)
class Bold(Epsilon):
    """Never explores, whatever epsilon is."""

    def slates(self, request: Any, scores: Any) -> Slates:
        return Exploration.slates(self, request, scores)


@pytest.mark.parametrize(
    "policy",
    [
        Always(),
        fc.Bandit(exploration=Bold(epsilon=0.5)),
        fc.Bandit(exploration="epsilon", reranker=Reversed()),
        fc.Bandit(reranker=Reversed()),
    ],
    ids=lambda policy: policy.label,
)
def test_propensities_of_a_parent_class_are_not_believed(policy: Policy, tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    fc.simulate(small_environment(), policy, rounds=2, trace=trace)
    rows = pq.read_table(trace)
    assert rows["pscore"].null_count == len(rows)


def test_what_was_not_shown_is_not_learned() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Boundless(Observation):
        """Takes all positions as seen."""

        def seen(self, clicks, shown):
            return np.ones(clicks.shape)

    ranker = fc.Ranker(fc.Bandit(observation=Boundless()), items=np.eye(5))
    slate = ranker.recommend("u", 5)
    with pytest.raises(ValueError, match="not shown"):
        ranker.update(slate, clicked=1, shown=2)


@dataclass(frozen=True, kw_only=True, eq=False)
class WithMoods(Environment):
    """Users with a mood each."""

    mood: Any = None
    boost: float = 1.0

    def attraction(self, slates, rows=slice(None), *, round=1):
        return super().attraction(slates, rows, round=round) * self.boost


def test_fields_of_an_environment_s_subclass_are_part_of_it() -> None:
    base = small_environment(users=6)
    given = {"items": base.items, "users": base.users, "k": base.k}
    prints = {
        WithMoods(**given, mood=mood, boost=boost).fingerprint
        for mood in (np.zeros(3), np.ones(3))
        for boost in (1.0, 0.5)
    }
    assert len(prints) == 4
    with pytest.raises(TypeError, match="'mood'"):
        fc.simulate(WithMoods(**given, mood=np.zeros(6)), fc.LinUCB(), rounds=1)


def test_a_value_too_large_to_be_counted_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Rich(Cascade):
        """Slates are worth millions."""

        def value(self, attraction, slates):
            return 1e7 * super().value(attraction, slates)

    with pytest.raises(ValueError, match="value of at most"):
        fc.simulate(small_environment(click_model=Rich()), fc.LinUCB(), rounds=1)


def test_a_spec_in_python_takes_components_as_they_are(own: ModuleType, tmp_path: Path) -> None:
    plain = {"name": "own", "data": {"name": "synthetic"}, "run": {"rounds": 5}}
    objects = {
        "environment": {"k": 3, "click_model": own.Skimmer(patience=0.5)},
        "policies": [fc.LinUCB(alpha=2.0), {"name": "bandit", "reward": own.TopHeavy(fold=1)}],
    }
    tables = {
        "environment": {"k": 3, "click_model": {"name": "skimmer", "patience": 0.5}},
        "policies": [
            {"name": "linucb", "alpha": 2.0},
            {"name": "bandit", "reward": {"name": "top_heavy", "fold": 1}},
        ],
    }
    one, other = (Spec.of(plain | given).cells("ratings") for given in (objects, tables))
    assert [cell.key for cell in one] == [cell.key for cell in other]


def test_the_check_of_a_reward_model_sees_tables_of_the_wrong_length() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Short(RewardModel):
        """One number is missing."""

        def table(self, k: int) -> RewardTable:
            return RewardTable.of(k, rewards=np.ones(max(1, k - 1)))

    registry.register("short")(Short)
    try:
        with pytest.raises(ParameterError):
            testing.check_reward_model(Short())
    finally:
        del registry.names.registered["reward"]["short"]


def test_a_label_names_the_estimator(own: ModuleType) -> None:
    assert own.ItemMean.name in fc.Bandit(estimator=own.ItemMean()).label
    assert fc.Bandit().label != fc.Bandit(estimator=own.ItemMean()).label


@pytest.mark.parametrize("error", [KeyError, ZeroDivisionError, AttributeError])
def test_a_fault_in_a_part_is_one_line_that_says_where(
    error: type[Exception], monkeypatch, capsys, tmp_path: Path
) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Faulty(Cascade):
        """Fails."""

        def click(self, attraction, slates, draws):
            raise error("what")

    registry.register("faulty")(Faulty)
    try:
        arguments = ["simulate", "--users", "20", "--rounds", "2", "--click-model", "faulty"]
        monkeypatch.setattr(sys, "argv", ["faircascade", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        del registry.names.registered["click_model"]["faulty"]
    said = capsys.readouterr().err.splitlines()[-1]
    assert ended.value.code == 1
    assert "Faulty.click" in said
    assert Path(__file__).name in said
