"""Lineups against a model that keeps what each version knows by itself."""

from __future__ import annotations

import json
from itertools import count

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from faircascade.policies import EALinUCB, LinTS, LinUCB, MostPopular, Policy, Random
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.experiments import Assignment, Holdout
from faircascade.service.lineup import DEFAULT, Experiment, Lineup, PolicyVersion
from faircascade.service.lineup import experiment_changes as experiments
from faircascade.service.lineup import policy_changes as policies
from faircascade.service.lineup.knowledge import MOST_SUMS
from faircascade.service.lineup.models import size_of
from faircascade.service.lineup.vacancies import REST
from faircascade.service.messages import Refused
from faircascade.service.stores.packing import moved

BLANK = Catalogue.empty(2, 0).items
POLICIES: list[Policy] = [
    LinUCB(),
    LinUCB(alpha=0.5),
    LinTS(),
    EALinUCB(weight="log"),
    EALinUCB(weight="log", alpha=0.7),
    EALinUCB(weight="rbp", gamma=0.1),
    MostPopular(),
    Random(),
]
NAMES = [DEFAULT, "fairer", "bolder"]
KNOWLEDGE = st.sampled_from([None, "shared", "branched", "new"])


def put(lineup: Lineup, name: str, policy: Policy, now: float = 1.0, **options) -> Lineup:
    return policies.with_policy(
        lineup, name, policy, size=size_of(policy, BLANK), now=now, **options
    )


def first_lineup(policy: Policy | None = None) -> Lineup:
    policy = policy or LinUCB()
    return Lineup.of(policy, size=size_of(policy, BLANK), seed=0, now=0.0)


class Cell:
    """What versions that share it know: a sum over feedback."""

    def __init__(self, known: int = 0) -> None:
        self.known = known


class LineupMachine(RuleBasedStateMachine):
    """Names, versions and feedback in any order."""

    @initialize(policy=st.sampled_from(POLICIES))
    def start(self, policy: Policy) -> None:
        self.lineup = first_lineup(policy)
        self.now = 1.0
        self.sums = np.zeros((2, 0))
        self.cells: dict[str, Cell] = {}
        self.seen: dict[str, Policy] = {}
        self.feedback = count(1)
        self.take(self.lineup)

    def take(self, after: Lineup) -> None:
        """Go on with another lineup, and know what it says of new versions."""
        before, self.lineup = self.lineup, after
        assert after.width >= before.width
        assert (after.number > before.number) == (after is not before)
        self.sums = np.pad(self.sums, ((0, 0), (0, after.width - self.sums.shape[1])))
        for version in after.versions:
            if version.id not in self.cells and version.model is not None:
                self.cells[version.id] = Cell()
            self.seen[version.id] = version.policy

    def learner(self, lineup: Lineup, name: str) -> PolicyVersion | None:
        return lineup.by_name.get(name, lineup.policies[0]).learner

    @rule(name=st.sampled_from(NAMES), policy=st.sampled_from(POLICIES), knowledge=KNOWLEDGE)
    def put(self, name: str, policy: Policy, knowledge) -> None:
        known = self.learner(self.lineup, name)
        try:
            after = put(self.lineup, name, policy, knowledge=knowledge, now=self.now)
        except Refused:
            if knowledge is None:
                raise
            return
        new = after.named(name).current
        if after is not self.lineup and new.model is not None and new.id not in self.cells:
            cell = Cell()
            if new.knowledge == "shared":
                assert known is not None
                cell = self.cells[known.id]
            elif new.knowledge == "branched":
                assert known is not None
                cell = Cell(self.cells[known.id].known)
            self.cells[new.id] = cell
        self.take(after)

    @rule(name=st.sampled_from(NAMES), place=st.integers(0, 5))
    def choose(self, name: str, place: int) -> None:
        named = self.lineup.by_name.get(name)
        if named is not None:
            version = named.versions[place % len(named.versions)]
            self.take(policies.with_chosen(self.lineup, name, version.id, self.now))
            assert self.lineup.named(name).current.id == version.id

    @rule(name=st.sampled_from(NAMES), other=st.sampled_from(NAMES))
    def take_over(self, name: str, other: str) -> None:
        """A version of another name comes with what it knows."""
        known = self.lineup.by_name
        if name in known and other in known:
            version = known[other].current
            self.take(policies.with_chosen(self.lineup, name, version.id, self.now))
            assert self.lineup.named(name).current.id == version.id

    @precondition(lambda self: len(self.lineup.policies) > 1)
    @rule()
    def remove(self) -> None:
        self.take(policies.without(self.lineup, self.lineup.policies[-1].name, self.now))

    @rule(seconds=st.sampled_from([1.0, REST, 10 * REST]), users=st.sampled_from([[0], [0, 1]]))
    def move(self, seconds: float, users: list[int]) -> None:
        """Time passes, and numbers of one user are moved, or those of both."""
        self.now += seconds
        for move in self.lineup.vacant.due(self.now)[:1]:
            for user in users:
                row = moved(self.sums[user], move.first, move.size, move.into)
                if row is not None:
                    self.sums[user] = row
            if len(users) == len(self.sums):
                self.take(self.lineup.moved(move, self.now))

    @rule()
    def learn(self) -> None:
        """Feedback is worth a power of two, so that a sum says what it consists of."""
        worth = 1 << (next(self.feedback) % 50)
        for model, _ in self.lineup.taught:
            self.sums[:, model.first : model.end] += worth
        learners = [named.learner for named in self.lineup.policies]
        for cell in {self.cells[one.id] for one in learners if one is not None}:
            cell.known += worth

    @invariant()
    def every_version_knows_what_it_should(self) -> None:
        for version in self.lineup.versions:
            if version.model is not None:
                known = self.lineup.models[version.model].of(self.sums)
                assert (known == self.cells[version.id].known).all()

    @invariant()
    def what_was_shown_names_its_policy(self) -> None:
        for version in (*self.lineup.versions, *self.lineup.retired):
            found = self.lineup.version(version.id)
            assert found is not None
            assert found.policy == self.seen[version.id]

    @invariant()
    def it_is_the_same_as_plain_data(self) -> None:
        assert Lineup.from_json(json.loads(json.dumps(self.lineup.to_json()))) == self.lineup

    @invariant()
    def numbers_are_of_one_model_or_of_none(self) -> None:
        vacant, models = self.lineup.vacant, self.lineup.models
        bases = {model.first for model in models}
        dropped = [move for move in vacant.moves if move.first not in bases]
        spans = sorted((one.first, one.end) for one in (*models, *dropped, *vacant.free))
        assert [first for first, _ in spans] == [0, *(end for _, end in spans)][:-1]
        for span in vacant.free:
            assert not self.sums[:, span.first : span.end].any()


LineupMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestLineup = LineupMachine.TestCase


def experiment(**shares: float) -> Experiment:
    shares = shares or {DEFAULT: 0.5, "fairer": 0.5}
    return Experiment(assignment=Assignment.of("test", shares, fallback=DEFAULT))


def compared() -> Lineup:
    """Return a lineup with an experiment on two policies."""
    lineup = put(first_lineup(), "fairer", EALinUCB(weight="log"))
    return experiments.with_experiment(lineup, experiment(), 2.0)


def test_the_same_policy_again_changes_nothing() -> None:
    lineup = compared()
    assert put(lineup, "fairer", EALinUCB(weight="log")) is lineup
    assert experiments.with_experiment(lineup, experiment(), 3.0) is lineup
    assert experiments.ramped(lineup, "test", {"fairer": 0.5}, 3.0) is lineup
    assert experiments.paused(lineup, "test", stopped=False, now=3.0) is lineup
    assert policies.with_kill_switch(lineup, None, 3.0) is lineup
    assert policies.with_shadow(lineup, "fairer", 0.0, 3.0) is lineup
    assert policies.with_chosen(lineup, DEFAULT, lineup.default.id, 3.0) is lineup


def test_whatever_changes_who_gets_what_begins_counts_that_nobody_had_before() -> None:
    lineup = compared()
    seen = {lineup.experiment.key}

    def check(after: Lineup, *, anew: bool) -> Lineup:
        assert (after.experiment.key not in seen) is anew
        seen.add(after.experiment.key)
        return after

    lineup = check(experiments.ramped(lineup, "test", {"fairer": 0.4}, 3.0), anew=True)
    lineup = check(put(lineup, "fairer", EALinUCB(weight="log", alpha=0.7)), anew=True)
    first = lineup.named("fairer").versions[0].id
    lineup = check(policies.with_chosen(lineup, "fairer", first, 4.0), anew=True)
    lineup = check(put(lineup, "bolder", Random()), anew=False)
    lineup = check(policies.with_shadow(lineup, "bolder", 0.1, 4.0), anew=False)
    lineup = check(experiments.paused(lineup, "test", stopped=True, now=5.0), anew=False)
    lineup = check(experiments.paused(lineup, "test", stopped=False, now=5.0), anew=False)
    lineup = experiments.ended(lineup, "test", 6.0)
    check(experiments.with_experiment(lineup, experiment(), 7.0), anew=True)


def test_a_ramp_moves_nobody_out_of_an_arm_that_grows() -> None:
    lineup = put(first_lineup(), "fairer", EALinUCB(weight="log"))
    plan = experiment(**{DEFAULT: 0.01, "fairer": 0.01})
    lineup = experiments.with_experiment(lineup, plan, 2.0)
    users = [f"user-{n}" for n in range(3_000)]
    held: set[str] = set()
    for share in (0.01, 0.05, 0.25, 0.99):
        shares = {"fairer": share, DEFAULT: min(share, 1 - share)}
        lineup = experiments.ramped(lineup, "test", shares, 3.0)
        found = {user for user in users if lineup.serves(user) == ("fairer", "fairer")}
        assert held <= found
        assert abs(len(found) / len(users) - share) < 0.03
        held = found


def test_who_is_held_out_gets_the_control_and_is_not_counted() -> None:
    held = Holdout(salt="all", share=0.3)
    assignment = Assignment.of("test", {DEFAULT: 0, "fairer": 1}, fallback=DEFAULT, holdout=held)
    lineup = put(first_lineup(), "fairer", EALinUCB(weight="log"))
    lineup = experiments.with_experiment(lineup, Experiment(assignment=assignment), 2.0)
    for user in map(str, range(200)):
        name, arm = (DEFAULT, None) if held.has(user) else ("fairer", "fairer")
        assert lineup.serves(user) == (name, arm)
        assert bool(lineup.counted(user)) == (arm is not None)


def test_the_kill_switch_serves_everybody_and_counts_nobody() -> None:
    lineup = policies.with_kill_switch(compared(), Random(), 3.0)
    assert {lineup.serves(str(user)) for user in range(50)} == {(DEFAULT, None)}
    assert lineup.counted("ann") == {}
    assert policies.with_kill_switch(lineup, None, 4.0).serves("ann")[1] is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: policies.without(it, DEFAULT, 1.0), "must stay"),
        (lambda it: policies.without(it, "fairer", 1.0), "in an experiment; end it first"),
        (lambda it: policies.without(it, "none", 1.0), "'none' is not the name of a policy"),
        (lambda it: policies.with_chosen(it, DEFAULT, "none", 1.0), "is no version of any policy"),
        (lambda it: put(it, "a/b", Random()), "must be 1 to 64 letters"),
        (lambda it: put(it, "fairer", Random(), knowledge="new"), None),
        (lambda it: put(it, "bolder", EALinUCB(), knowledge="shared"), "learn it differently"),
        (lambda it: experiments.with_experiment(it, experiment(default=1, fairer=0), 1.0), "plan"),
        (lambda it: experiments.ramped(it, "test", {"none": 0.1}, 1.0), "of policies of this"),
        (lambda it: experiments.ramped(it, "other", {"fairer": 0.1}, 1.0), "not the name"),
    ],
)
def test_what_cannot_be_is_refused(change, message: str | None) -> None:
    if message is None:
        change(compared())
    else:
        with pytest.raises(Refused, match=message):
            change(compared())


def test_going_back_never_fails_for_want_of_sums() -> None:
    """Branches are refused as long as there is room for those that going back may need."""
    lineup, refused = first_lineup(), 0
    alphas = count(1)
    while not refused and lineup.width < MOST_SUMS:
        policy = EALinUCB(weight="log", gamma=next(alphas) / 1e4)
        size = 900
        try:
            lineup = (
                policies.with_policy(lineup, DEFAULT, policy, size=size, now=1.0, knowledge="new")
                if lineup.width < size
                else policies.with_policy(
                    lineup, DEFAULT, policy, size=size, now=1.0, knowledge="branched"
                )
            )
        except Refused:
            refused += 1
    for version in lineup.named(DEFAULT).versions:
        lineup = policies.with_chosen(lineup, DEFAULT, version.id, 2.0)
    assert refused
    assert lineup.width <= MOST_SUMS


@pytest.mark.parametrize("knowledge", ["new", "branched"])
def test_a_year_of_policies_that_come_and_go_takes_no_more_numbers_than_a_week(knowledge) -> None:
    lineup, now, widths = first_lineup(EALinUCB()), 0.0, []

    def settled(lineup: Lineup, now: float) -> Lineup:
        for later in (2 * REST, 4 * REST, 6 * REST):  # a fold may follow another
            for move in lineup.vacant.due(now + later):
                lineup = lineup.moved(move, now + later)
        return lineup

    for day in range(365):
        trial, default = EALinUCB(gamma=0.1 + day / 1000), EALinUCB(alpha=0.2 + (day % 7) / 10)
        now = 86_400.0 * day
        lineup = settled(put(lineup, "trial", trial, now=now, knowledge=knowledge), now)
        lineup = settled(put(lineup, DEFAULT, default, now=now + 10_000), now + 10_000)
        lineup = settled(policies.without(lineup, "trial", now + 20_000), now + 20_000)
        widths.append(lineup.width)
        assert len(lineup.models) < 10
        assert len(json.dumps(lineup.to_json())) < 100_000
    assert max(widths) == max(widths[:7])


def test_a_policy_given_at_every_start_does_not_undo_a_change() -> None:
    def start(lineup: Lineup, policy: Policy) -> Lineup:
        size = size_of(policy, BLANK)
        return policies.serving(lineup, policy, size=size, seed=None, now=5.0)

    lineup = first_lineup(LinUCB())
    assert start(lineup, LinUCB()) is lineup
    changed = put(lineup, DEFAULT, EALinUCB())
    assert start(changed, LinUCB()) is changed
    assert start(changed, EALinUCB()) is changed
    other = start(changed, LinTS())
    assert other.default.policy == LinTS()
    assert start(other, LinUCB()).default.policy == LinUCB()
