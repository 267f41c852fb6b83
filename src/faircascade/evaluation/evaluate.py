"""Evaluate policies from a click log: `fc.evaluate`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faircascade.data.base import Progress
from faircascade.data.log import Impressions, Log, as_log
from faircascade.errors import ParameterError, check_choice
from faircascade.evaluation.behaviour import ESTIMATED, Behaviour
from faircascade.evaluation.catalogue import Catalogue, items_for, read_items
from faircascade.evaluation.click_rates import PositionModel, position_model
from faircascade.evaluation.estimators import ESTIMATORS, KINDS, Chances, EvaluatedSlates
from faircascade.evaluation.estimators.slates import check_prefixes, known_positions
from faircascade.evaluation.frozen import FrozenPolicy, FrozenRun
from faircascade.evaluation.given import GivenRun, Probabilities
from faircascade.evaluation.intervals import BLOCKS
from faircascade.evaluation.learning import LearningPolicy, LearnsFrom, ReplayRun
from faircascade.evaluation.log_totals import LogTotals
from faircascade.evaluation.policy_chances import PolicyQuery
from faircascade.evaluation.policy_sources import named_policies
from faircascade.evaluation.policy_views import NextItemValues, PolicyRun
from faircascade.evaluation.results import Evaluation, PolicyEvaluation
from faircascade.evaluation.summary import summarise
from faircascade.evaluation.sums import BEHAVIOURS, PolicySums
from faircascade.evaluation.user_blocks import UserBlocks
from faircascade.fitting.fitted import FittedClickModel
from faircascade.parameters import checked_arguments
from faircascade.policies import Policy
from faircascade.registry import declared
from faircascade.types import Items

CHUNK = 8192
"""Impressions that policies are asked about at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """How a log is to be evaluated."""

    estimators: tuple[str, ...]
    replay: LearnsFrom | None
    warm_up: float
    precision: float
    level: float
    behaviour: Any
    draws: int | None
    seed: int
    progress: Progress | None


@checked_arguments
def evaluate(
    log: Any,
    policies: Any,
    *,
    items: Any = None,
    item_ids: Any = None,
    estimators: Sequence[str] | None = None,
    replay: Literal["log", "matches"] | None = None,
    warm_up: float = 0.5,
    precision: float = 0.1,
    level: float = 0.95,
    behaviour: Any = ESTIMATED,
    click_model: PositionModel | FittedClickModel | str | Path | None = None,
    draws: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Estimate clicks and exposure fairness that other policies would have had in a click log.

    `log` is a `Log` or what one is made of. A policy is a `Policy` or its name with parameters, a
    `Ranker`, the result of a simulation, the file of a ranker (`Path`), or `Probabilities` of its
    own; several are a list, or a dictionary by label. `items` are a catalogue, features with
    `item_ids`, or a table; policies on ids alone need none.

    A policy that learns and has learned nothing yet learns from the first part of the log
    (`warm_up`), and is evaluated as it is then on the rest. With `replay="log"` it goes on
    learning from what was logged, with `replay="matches"` only from positions at which its own
    slate agrees (Li et al. 2011).

    A verdict of enough evidence needs an interval against the log of plus or minus `precision`
    of the log's clicks.
    `behaviour` (for AIPS) is "standard", "cascade", "independent", a dictionary of these by user
    id, one of them for each impression, or "estimated". `click_model` is position-based and was
    fitted before: a `FittedClickModel` or its file, or a `PositionModel`. Blocks of users by id
    make the intervals; memory grows with users and items, not with impressions.
    """
    chosen = tuple(ESTIMATORS) if estimators is None else tuple(estimators)
    if not chosen:
        raise ParameterError("estimators", "must be at least one", estimators)
    for name in chosen:
        check_choice("estimator", name, ESTIMATORS)
    if not 0 < warm_up < 1:
        raise ParameterError("warm_up", "must be above 0 and below 1", warm_up)
    if not precision > 0:
        raise ParameterError("precision", "must be above 0", precision)
    if not 0 < level < 1:
        raise ParameterError("level", "must be above 0 and below 1", level)
    if isinstance(behaviour, str):
        check_choice("behaviour", behaviour, [*BEHAVIOURS, ESTIMATED])
    settings = Settings(
        estimators=chosen,
        replay=replay,
        warm_up=warm_up,
        precision=precision,
        level=level,
        behaviour=behaviour,
        draws=draws,
        seed=seed,
        progress=progress,
    )
    catalogue = None if items is None else read_items(items, item_ids)
    sources = named_policies(policies)
    opened = as_log(log)
    blocks = UserBlocks(opened, BLOCKS)
    model = None if click_model is None else position_model(click_model)
    totals = LogTotals.of(opened, blocks, model, progress)
    return _Evaluator(opened, totals, blocks, settings, catalogue).evaluate(sources)


class _Evaluator:
    """Goes through a log once to let policies learn, if need be, and once to evaluate them."""

    def __init__(
        self,
        log: Log,
        totals: LogTotals,
        blocks: UserBlocks,
        settings: Settings,
        items: Items | None,
    ) -> None:
        self.log, self.totals, self.blocks = log, totals, blocks
        self.settings, self.items = settings, items
        self.behaviour = Behaviour.said(settings.behaviour, totals.users, totals.impressions)

    def evaluate(self, sources: Mapping[str, Any]) -> Evaluation:
        """Return what the log says of policies."""
        learners = {
            label: self._learner(source)
            for label, source in sources.items()
            if isinstance(source, Policy) and source.learns
        }
        warm = bool(learners) and self.settings.replay is None
        start = math.ceil(self.totals.impressions * self.settings.warm_up) if warm else 0
        if start >= self.totals.impressions:
            rule = f"must leave impressions of the {self.totals.impressions:,} to evaluate"
            raise ParameterError("warm_up", rule, self.settings.warm_up)
        if warm:
            for part in self._chunks(0, start, "learning"):
                for learner in learners.values():
                    learner.learn(part)
        evaluated = self.totals.impressions - start
        runs = [
            self._run(label, source, learners.get(label), start, evaluated)
            for label, source in sources.items()
        ]
        sums = self._sums(runs, start)
        policies = [self._summary(run, found) for run, found in zip(runs, sums, strict=True)]
        clicks = sums[0].logged_clicks()
        low, high = clicks.interval(self.settings.level)
        return Evaluation(
            log=self.log.name,
            impressions=evaluated,
            users=len(self.totals.users),
            items=len(self.totals.items),
            k=self.totals.k,
            clicks=clicks.value,
            clicks_low=low,
            clicks_high=high,
            policies=tuple(policies),
            level=self.settings.level,
            precision=self.settings.precision,
            notes=(*self.log.notes, *self.log.left_out),
        )

    def _summary(self, run: PolicyRun, sums: PolicySums) -> PolicyEvaluation:
        settings = self.settings
        return summarise(
            run,
            sums,
            random_log=self._random_log,
            estimators=settings.estimators,
            precision=settings.precision,
            level=settings.level,
        )

    def _sums(self, runs: Sequence[PolicyRun], start: int) -> list[PolicySums]:
        every = [
            PolicySums(
                BLOCKS, self.totals.k, run.catalogue.size, chosen_behaviour=self.behaviour is None
            )
            for run in runs
        ]
        self._random_log = False
        for part in self._chunks(start, self.totals.impressions, "evaluating"):
            blocks = self.blocks.of(part.users)
            known, logging = known_positions(part), Chances.of_log(part)
            column = self.log.columns.cascade_propensity or ""
            check_prefixes(logging.cascade, f"column {column!r}", part.first)
            self._random_log |= _is_random(logging)
            for run, sums in zip(runs, every, strict=True):
                slates = EvaluatedSlates(
                    rewards=part.clicks.astype(np.float64),
                    known=known,
                    logging=logging,
                    policy=run.view(part, blocks),
                    behaviour=None if self.behaviour is None else self.behaviour.of(part),
                )
                rows = run.catalogue.rows(part.items)
                sums.add(slates, blocks, rows, estimate=isinstance(run, GivenRun))
        return every

    def _chunks(self, start: int, end: int, what: str) -> Iterator[Impressions]:
        """Yield impressions from `start` to `end`, with all positions of the log."""
        report = self.settings.progress
        for block in self.log.blocks():
            first = max(start - block.first, 0)
            last = min(end - block.first, len(block))
            for begin in range(first, last, CHUNK):
                part = block.take(slice(begin, min(begin + CHUNK, last)))
                yield replace(part.widened(self.totals.k), first=block.first + begin)
                if report:
                    report(what, block.first + begin + len(part), self.totals.impressions)

    def _query(self, policy: Policy, items: Items, seed: int) -> PolicyQuery:
        if declared(policy, "omniscient"):
            raise ParameterError("policy", "must not need a simulator", policy.label)
        return PolicyQuery(policy=policy, items=items, k=self.totals.k, seed=seed)

    def _learner(self, policy: Policy) -> LearningPolicy:
        items = items_for(policy, self.items, self.totals.items, self.totals.clicks)
        query = self._query(policy, items, self.settings.seed)
        return LearningPolicy(query, Catalogue.of(items, self.totals.items), self.totals.users)

    def _run(
        self, label: str, source: Any, learner: LearningPolicy | None, start: int, n: int
    ) -> PolicyRun:
        """Return a policy that is ready to go through the log."""
        totals = self.totals
        if isinstance(source, Probabilities):
            chances = source.chances(self.log, totals.impressions, totals.k)
            return GivenRun(chances, self._logged_items(), label)
        if learner is not None and self.settings.replay is not None:
            return ReplayRun(
                learner,
                label=label,
                rates=totals.rates,
                values=self._values(learner.query, n),
                learns_from=self.settings.replay,
            )
        if learner is not None:
            how = f"frozen after the first {start:,} impressions of the log"
            state, rounds, query = learner.state, learner.rounds, learner.query
            catalogue = learner.catalogue
        else:
            frozen = FrozenPolicy.of(source) or self._unlearned(source)
            how = "frozen" if frozen.policy.learns else "it does not learn"
            query = self._query(frozen.policy, frozen.items, frozen.seed)
            catalogue = Catalogue.of(frozen.items, totals.items)
            state, rounds = frozen.for_users(totals.users)
        return FrozenRun(
            query,
            catalogue,
            state,
            rounds,
            label=label,
            how=how,
            rates=totals.rates,
            values=self._values(query, n),
            blocks=self.blocks.of(np.arange(len(totals.users), dtype=np.int32)),
            draws=self.settings.draws,
        )

    def _unlearned(self, policy: Policy) -> FrozenPolicy:
        items = items_for(policy, self.items, self.totals.items, self.totals.clicks)
        return FrozenPolicy(policy=policy, items=items, seed=self.settings.seed)

    def _values(self, query: PolicyQuery, impressions: int) -> NextItemValues:
        asked = query.query_items(impressions)
        return NextItemValues.of(self.totals.rates, self.totals.shown, asked)

    def _logged_items(self) -> Catalogue:
        ids = self.totals.items
        items = self.items or Items.of(np.ones((len(ids), 1)), ids=ids)
        return Catalogue.of(items, ids)


def _is_random(chances: Chances) -> bool:
    known = [found for kind in KINDS if (found := chances.of(kind)) is not None]
    return any(bool((found < 1).any()) for found in known)
