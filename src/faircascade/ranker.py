"""A policy online, without a simulator: recommend, show, learn from what came back."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from faircascade.data.base import Progress
from faircascade.data.log import as_log
from faircascade.errors import ParameterError
from faircascade.history import LearnedLog, LogReader, check_learnable
from faircascade.parameters import checked_arguments
from faircascade.policies import Policy
from faircascade.propensities import is_drawn, knows_chances
from faircascade.ranker_catalogue import RankerCatalogue
from faircascade.ranker_feedback import (
    Answer,
    Answers,
    Positions,
    Values,
    clicks_of,
    read_answer,
    values_of,
)
from faircascade.ranker_file import SavedRanker
from faircascade.ranker_models import UserModels
from faircascade.registry import as_component, declared
from faircascade.rerankers.ledger import Ledger
from faircascade.types import (
    Feedback,
    Floats,
    Ids,
    Ints,
    Items,
    Pool,
    Slate,
    SlatePropensities,
    Users,
    id_text,
    whole,
)


class SimulatedEnvironment(Protocol):
    """Where a simulation took place."""

    @property
    def items(self) -> Items: ...
    @property
    def users(self) -> Users: ...


class Simulated(Protocol):
    """What a simulation gives back, as far as a ranker needs it."""

    @property
    def policy(self) -> Policy: ...
    @property
    def state(self) -> Any: ...
    @property
    def env(self) -> SimulatedEnvironment: ...
    @property
    def rounds(self) -> int: ...
    @property
    def seed(self) -> int: ...


class Ranker:
    """Ranks items for users and learns from their clicks, one call at a time.

    Every user has a model of their own; unknown users start cold. An account of exposure may be
    that of all users: then every slate is a round of it. Recommending and learning are independent:
    feedback may come late, in any order, or never. Not safe for several threads.

    >>> import numpy as np
    >>> from faircascade.policies import EALinUCB
    >>> ranker = Ranker(EALinUCB(weight="log"), items=np.eye(4), item_ids=["a", "b", "c", "d"])
    >>> slate = ranker.recommend("user-7", k=2)
    >>> ranker.update(slate, clicked=2)
    >>> ranker.recommend("user-7", k=2).items[0] == slate.items[1]
    True
    """

    @checked_arguments
    def __init__(
        self,
        policy: Policy | str,
        *,
        items: Floats | Items,
        item_ids: Sequence[Any] | Ids | None = None,
        seed: int = 0,
        max_open: int = 1000,
    ) -> None:
        """Rank `items`, a catalogue or feature rows (m, d), with a policy or the name of one.

        Ids of users and items are text or whole numbers; 7 and "7" are the same. Of each user the
        last `max_open` slates without feedback are remembered, and as many answers.
        """
        chosen: Policy = as_component("policy", policy)
        alone = chosen.shares and type(chosen).account is Policy.account
        if chosen.indivisible or alone:
            raise ParameterError("policy", "must keep its users apart", chosen.label)
        if declared(chosen, "omniscient"):
            raise ParameterError("policy", "must not need a simulator", chosen.label)
        if not isinstance(items, Items):
            items = Items.of(items, ids=item_ids)
        elif item_ids is not None:
            raise ParameterError("item_ids", "must be left out with a catalogue", item_ids)
        if max_open < 1:
            raise ParameterError("max_open", "must be at least 1", max_open)
        self.policy = chosen
        self.seed = whole(seed, "seed")
        self.max_open = whole(max_open, "max_open")
        self._run = secrets.token_hex(4)  # tells the slates of this process from all others
        self._slates: dict[str, int] = {}  # slates each user has had
        self._answers = Answers(self.max_open)
        self._rates = is_drawn(chosen) and knows_chances(chosen)
        self._catalogue = RankerCatalogue.of(chosen, items)
        self._states = UserModels(chosen, chosen.dim_of(items))
        self._account: Ledger | None = None  # of all users, if the policy keeps one

    @classmethod
    def from_state(
        cls, policy: Policy, state: Any, *, users: Users, items: Items, rounds: int, seed: int = 0
    ) -> Ranker:
        """Go online with the state of users who have had `rounds` slates each."""
        ranker = cls(policy, items=items, seed=seed)
        for row, user in enumerate(users.ids.astype(str).tolist()):
            ranker._states[user] = ranker.policy.take(state, slice(row, row + 1))
            ranker._slates[user] = rounds
        ranker._account = ranker.policy.account(state) if ranker.policy.shares else None
        return ranker

    @classmethod
    def from_result(cls, result: Simulated) -> Ranker:
        """Go online with what a simulation learned: its policy, items, users and seed."""
        if not hasattr(result, "state"):
            raise ParameterError("result", "must be what simulate returned", result)
        return cls.from_state(
            result.policy,
            result.state,
            users=result.env.users,
            items=result.env.items,
            rounds=result.rounds,
            seed=result.seed,
        )

    def __repr__(self) -> str:
        return f"Ranker({self.policy!r}: {len(self.items):,} items, {len(self._slates):,} users)"

    @property
    def items(self) -> Items:
        """The catalogue as it is now."""
        return self._catalogue.items

    @property
    def users(self) -> tuple[str, ...]:
        """Users who have had a slate or a model."""
        return tuple(self._slates)

    def recommend(
        self,
        user: object,
        k: int = 10,
        *,
        candidates: Iterable[object] | None = None,
        exclude: Iterable[object] = (),
    ) -> Slate:
        """Return a ranked slate of k items, fewer if there are not as many to choose from.

        `candidates` limits the choice to some items; ids in `exclude` are left out. Unknown ids
        are ignored in both: an item may have been removed meanwhile. A policy that compares all
        items (`toprank`) takes neither.
        """
        k = whole(k, "k")
        if k < 1:
            raise ParameterError("k", "must be at least 1", k)
        name = id_text(user, "user")
        pool = self._catalogue.pool(candidates, exclude)
        round = self._slates.get(name, 0) + 1
        state = self._state_of(name)
        before = self.policy.take(state, slice(None)) if self._rates else None
        slates = self.policy.recommend(
            state, slice(None), pool, min(k, len(pool)), round=round, seed=self.seed
        )
        slate_id = f"{name}/{round}/{self._run}"
        if self.policy.shares:  # a slate is a round
            self.policy.settle([state])
            self._account = self.policy.account(state)
        self._states[name] = state
        self._slates[name] = round
        self._answers.expect(name, slate_id)
        rows = slates.items[0]
        return Slate(
            slate_id=slate_id,
            user=name,
            items=tuple(self.items.ids[rows].tolist()),
            scores=tuple(slates.scores[0].tolist()),
            features=self.items.features[rows].copy(),
            topics=self.items.topics[rows].copy(),
            round=round,
            propensities=self._propensities(before, pool, slates.items, round),
            explored=slates.explored is not None and bool(slates.explored[0]),
        )

    def _state_of(self, user: str) -> Any:
        """Return what is known of a user, with the account that all users have together."""
        state = self._states[user]
        return state if self._account is None else self.policy.with_account(state, self._account)

    def _joined(self) -> Any:
        """Return the state of all users, None if there are none."""
        if not self.users:
            return None
        state = self._states.joined(self.users)
        return state if self._account is None else self.policy.with_account(state, self._account)

    def _propensities(
        self, before: Any, pool: Pool, slates: Ints, round: int
    ) -> SlatePropensities | None:
        """Return how likely a slate was, given the state from before it was chosen."""
        if not self._rates:
            return None
        found = self.policy.propensities(
            before, slice(None), pool, slates, round=round, seed=self.seed
        )
        if found is None:  # which is so for all slates
            self._rates = False
            return None
        single = found.item_position
        return SlatePropensities.of(
            slate=float(found.whole[0]),
            cascade=found.cascade[0].tolist(),
            item_position=None if single is None else single[0].tolist(),
        )

    def update(
        self,
        slate: Slate,
        clicked: Positions = None,
        *,
        clicked_item: object = None,
        shown: int | None = None,
        values: Values = None,
    ) -> None:
        """Learn what the user did: the 1-based position of the click, several, or None.

        `clicked_item` is the clicked item (or a list of them) in place of positions. `shown`
        says how many positions were on the screen, counted from the top, if not all. `values` says
        what positions are worth, in [0, 1]: the target of a click that has one is multiplied by it,
        and a position that is worth something counts as clicked. The same
        answer again changes nothing; feedback that is refused, such as another answer for the same
        slate, changes nothing either.
        """
        if not isinstance(slate, Slate):
            raise ParameterError("slate", "must be what recommend returned", slate)
        answer = read_answer(slate, clicked, clicked_item, shown, values)
        worth = values_of(answer, len(slate))
        if not self._answers.awaits(slate):
            self._check_repeated(slate, answer)
            return
        feedback = Feedback(
            items=np.array([slate.items]),
            features=slate.features[None],
            clicks=clicks_of(answer, len(slate))[None],
            shown=np.array([answer[1]]),
            topics=slate.topics[None],
            values=None if worth is None else worth[None],
        )
        learned = self.policy.take(self._state_of(slate.user), slice(None))
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                self.policy.update(learned, slice(None), feedback)
                self.policy.give_back(learned, slice(None), feedback)
        except FloatingPointError as error:
            raise FloatingPointError(
                f"slate {slate.slate_id!r} cannot be learned: {error}; "
                "check the scale of the features, sigma and the reward weights"
            ) from error
        self._states[slate.user] = learned
        account = self.policy.account(learned) if self.policy.shares else None
        if account is not None:
            account.absorb()
            self._account = account
        self._answers.add(slate, answer)

    def learn(
        self, log: Any, *, threads: int | None = None, progress: Progress | None = None
    ) -> LearnedLog:
        """Learn from history: an `fc.Log`, or what it opens (a file, a folder, a DataFrame).

        An impression counts as answered, unless the log says that it was not, and as a slate that
        its user has had. Clicks, several too, and `shown` go through the policy's observation.
        Items are found by id; an impression with one that is not in the catalogue is left out as a
        whole and counted, since what was seen of the others depends on it. The same log twice is
        learned twice. `threads` are those that compute sums; default: the cores of this process.

        Policies that keep sums have those that feeding slate by slate gives, up to rounding, and
        exactly if the sums are whole numbers; all others are fed in order and end in the same
        bits. A log that is refused changes nothing, and neither does one that Ctrl-C cuts short; a
        log that teaches nothing is a warning.
        """
        if self.policy.shares:
            rule = "must keep an account for each user, not one for all, to learn from a log"
            raise ParameterError("policy", rule, self.policy.label)
        log = as_log(log)
        check_learnable(self.policy, log)
        reader = LogReader(log, self.items, self._catalogue.rows)
        try:
            states, had = self._states.after(reader, threads, progress)
        except FloatingPointError as error:
            raise FloatingPointError(
                f"{log.name} cannot be learned: {error}; check the scale of the features, sigma "
                "and the reward weights"
            ) from error
        before, more = self._slates, dict(had)
        slates = before | more
        slates.update((name, n + more[name]) for name, n in before.items() if name in more)
        report = reader.report()
        if not report.impressions:
            warnings.warn(f"{log.name} taught nothing; {'; '.join(report.reasons)}", stacklevel=2)
        vars(self).update(_states=states, _slates=slates)  # both or, if Ctrl-C comes now, neither
        return report

    def _check_repeated(self, slate: Slate, answer: Answer) -> None:
        """Accept the answer that a slate had before, and refuse any other."""
        before = self._answers.to(slate)
        if before is None:
            raise ValueError(
                f"slate {slate.slate_id!r} is not known: it is too old or comes from another ranker"
            )
        if answer != before:
            raise ValueError(
                f"slate {slate.slate_id!r} was answered differently before; that answer stays"
            )

    def add_items(
        self,
        features: Floats,
        item_ids: Sequence[Any],
        *,
        merit: Floats | None = None,
        groups: dict[str, Sequence[str]] | None = None,
        topics: Floats | None = None,
    ) -> None:
        """Add items. One whose id is there already gets the new features; what is not given
        (merit, groups, topics) stays as it was, or is 1, "unknown" and 0 for a new item. A policy
        on topics needs those of new items."""
        self._catalogue = self._catalogue.with_items(
            features, item_ids, merit=merit, groups=groups, topics=topics
        )

    def remove_items(self, item_ids: Iterable[object]) -> None:
        """Remove items; feedback on slates that show them can still be learned."""
        self._catalogue = self._catalogue.without(item_ids)

    def sums(self) -> tuple[Floats, Ints]:
        """Return what was learned as sums over feedback, (n, s), and slates had, (n,).

        Rows follow `users`. Sums can be kept apart from the policy and grow in any order; a
        policy that does not learn has none (s is 0).
        """
        rounds = np.array([self._slates[name] for name in self.users], dtype=np.int64)
        return self._states.sums(self.users), rounds

    def learned(self) -> tuple[Any, list[str], list[int]]:
        """Return the state of all users (None if there are none), their ids and slates had."""
        return self._joined(), list(self.users), [self._slates[name] for name in self.users]

    def save(self, path: str | Path) -> None:
        """Write the policy, the catalogue and everything learned to one .npz file."""
        kept = [self._answers.of(name) for name in self.users]
        SavedRanker(
            policy=self.policy,
            items=self.items,
            seed=self.seed,
            max_open=self.max_open,
            users=list(self.users),
            slates=[self._slates[name] for name in self.users],
            open=[waiting for waiting, _ in kept],
            answers=[given for _, given in kept],
            state=self._joined(),
        ).write(path)

    @classmethod
    def load(cls, path: str | Path) -> Ranker:
        """Read a ranker that `save` wrote; slates issued before can be answered after."""
        saved = SavedRanker.read(path)
        ranker = cls(saved.policy, items=saved.items, seed=saved.seed, max_open=saved.max_open)
        for row, name in enumerate(saved.users):
            ranker._states[name] = ranker.policy.take(saved.state, slice(row, row + 1))
            ranker._slates[name] = saved.slates[row]
            ranker._answers.restore(name, saved.open[row], saved.answers[row])
        if saved.state is not None and saved.policy.shares:
            ranker._account = saved.policy.account(saved.state)
        return ranker
