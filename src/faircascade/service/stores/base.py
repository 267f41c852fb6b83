"""What a store keeps for the service, and what it promises.

Everything that is learned is a sum, so a store needs one kind of write: add. Whatever a method
acknowledged survives the death of the process, and feedback a power cut too. Several services may
use one store at once if it is Redis or PostgreSQL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.service.stores.attributes import AttributeChanges, Attributes
from faircascade.service.stores.item_columns import PAGE, ItemColumns
from faircascade.types import Floats, Ints

if TYPE_CHECKING:
    from faircascade.service.stores.changes import Change
    from faircascade.service.stores.contents import StoreContents

COUNTED = "counted"
"""Under which name the note of an impression has what its events need."""
CHARGED = "charged"
"""Under which name the note of an impression says that the user's account has its exposure."""
ANSWER = "answer"
"""Under which name the note of an event has what the answer says beside clicks."""
SHOWN = "shown"
"""Under which name an answer says how many positions were shown, if not all."""
VALUES = "values"
"""Under which name an answer has values by position: [[2, {"watch_seconds": 95.0}]]."""
LABELS = "labels"
"""Under which name the note of an impression has the labels of its user, such as `country=de`: the
cohorts that its answer teaches."""
DEFAULT = "default"
"""Under which name an answer says that nobody gave it: no feedback came in time."""

Slots = NDArray[np.int32]
"""Numbers that a store gives to items, from 0; never reused, not even after a removal."""


class StoreDown(Exception):  # noqa: N818 - it says what is the matter
    """The store cannot be reached or written to now; the same call may succeed later."""


class StoreLost(StoreDown):
    """What the store held is not where it was; nothing is written until a restart."""

    def __init__(self, reason: str, *, advice: str) -> None:
        """Say what happened, and what to do without naming hosts and paths."""
        super().__init__(reason)
        self.advice = advice


class StoreUnsure(StoreDown):
    """The store did not say whether a write was done; it may have been."""


@dataclass(frozen=True, kw_only=True)
class StoreShape:
    """What the numbers in a store mean; a store refuses to be opened with another one."""

    dim: int
    """Numbers that describe an item, d: its features, then its topics."""
    sums: int
    """Numbers that a user's models consist of, s. A store can be made wider, see `Store.widen`."""
    topics: int = 0
    """How many of the d numbers are topics."""

    def refuses(self, other: StoreShape) -> str:
        """Return why a store of this shape cannot be opened for another, or nothing."""
        fits = (self.dim, self.topics) == (other.dim, other.topics) and self.sums >= other.sums
        return "" if fits else f"holds {self.plain()}, cannot be opened for {other.plain()}"

    def widened(self, sums: int) -> StoreShape:
        """Return it with at least so many sums."""
        return replace(self, sums=max(self.sums, sums))

    def plain(self) -> dict[str, int]:
        """Return it as plain data; older releases know of no topics."""
        return {name: n for name, n in asdict(self).items() if n or name != "topics"}


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredItem:
    """An item of the catalogue; one that was removed keeps its slot."""

    id: str
    features: Floats
    """Features, then topics, (d,)."""
    merit: float = 1.0
    popularity: float = 0.0
    groups: Mapping[str, str] = field(default_factory=dict)
    """Labels by column, such as {"group": "jazz", "supplier": "a|b"}."""
    attributes: Attributes = field(default_factory=dict)
    """What else it is, such as {"price": 9.5, "tags": ["sale", "new"]}."""
    slot: int = -1
    """Given by the store."""
    removed: bool = False
    version: int = 0
    """Of the catalogue with which it changed last, as `items` tells it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemPatch:
    """The new state of an item; None keeps the old value, or the default of a new item."""

    id: str
    features: Floats
    """Features, then topics, (d,)."""
    merit: float | None = None
    popularity: float | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    """Labels to set, by column; an empty one removes the label."""
    attributes: AttributeChanges = field(default_factory=dict)
    """Attributes to set; None removes one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Impression:
    """A slate that was handed out, with the features that it showed, and what came back."""

    id: str
    """Given by the store; cannot be guessed."""
    user: str
    slots: Slots
    """Items from the top, (K,)."""
    features: Floats
    """Features, then topics, as shown, (K, d)."""
    round: int
    """How many slates this user has had, this one included."""
    time: float
    """When it was handed out, seconds since 1970."""
    note: Mapping[str, Any] = field(default_factory=dict)
    """What else is known of it, as a JSON object: the policy that made it, say. What stands under
    `COUNTED` goes with its events."""
    clicked: tuple[int, ...] | None = None
    """Answer: the clicked positions from 1, ascending; None while there is no answer."""
    examined: int | None = None
    """Answer: how many positions count as seen by the policy, from the top."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Answer: what else it says, as a JSON object: `SHOWN`, if not all was shown, `VALUES` if there
    are some, and `DEFAULT`."""

    @property
    def counted(self) -> Mapping[str, Any]:
        """What goes with its events."""
        return self.note.get(COUNTED, {})  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelUpdate:
    """Feedback on an impression, and what it adds to the sums of its user."""

    impression: Impression
    clicked: tuple[int, ...]
    examined: int
    increments: Floats
    """For the first numbers of the user's sums, or all of them; more are refused."""
    time: float
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else the answer says, see `Impression`. Another answer has to say the same."""
    refunds: Mapping[int, int] = field(default_factory=dict)
    """Units to take from the user's account, by slot: those of items that were not shown."""
    reward: float | None = None
    """What its positions are worth together, where that is not one for a click; goes with the
    event."""

    @property
    def clicked_slots(self) -> Slots:
        """The items that were clicked, from the top."""
        return self.impression.slots[[position - 1 for position in self.clicked]]

    def says(self, learned: Impression) -> bool:
        """Whether it says what an impression without feedback was learned as."""
        given = (self.clicked, self.examined, self.details)
        return given == ((), learned.examined, {})

    @property
    def cohorts(self) -> Sequence[str]:
        """The cohorts that it teaches, each once; none if it teaches nothing."""
        labels: Sequence[str] = self.impression.note.get(LABELS, ())
        return labels if len(self.increments) else ()

    @property
    def unshown(self) -> int:
        """How many positions were not shown."""
        size = len(self.impression.slots)
        return size - int(self.details.get(SHOWN, size))

    @property
    def counted(self) -> Mapping[str, Any]:
        """What goes with its event: the items that were not shown, if any, where they stood and
        when the slate was handed out, and whether it is a default, beside what goes with all events
        of the impression."""
        said: dict[str, Any] = {}
        if (shown := self.details.get(SHOWN)) is not None:
            said["unshown"] = {
                "time": self.impression.time,
                "below": shown,
                "slots": self.impression.slots[shown:].tolist(),
            }
        if DEFAULT in self.details:
            said[DEFAULT] = True
        if self.reward is not None:
            said["reward"] = self.reward
        return {**self.impression.counted, ANSWER: said} if said else self.impression.counted


@dataclass(frozen=True, kw_only=True)
class StoreSize:
    """How much room a store takes, in bytes; None if it cannot tell."""

    data: int | None = None
    """All that is kept."""
    log: int | None = None
    """What is written ahead of it and not carried over yet, in addition."""


class UpdateOutcome(Enum):
    """What became of an update."""

    LEARNED = "learned"
    REPEATED = "repeated"
    """The same answer had been learned already; nothing changed."""
    CONFLICT = "conflict"
    """Another answer had been learned; nothing changed."""
    UNKNOWN = "unknown"
    """There is no such impression (any more); nothing changed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class UserStates:
    """What is known of some users who are about to get a slate."""

    sums: Floats
    """(n, s); zeros for a new user."""
    rounds: Ints
    """Round of each user's slate, (n,): no two slates of a user share one."""
    accounts: Sequence[Mapping[int, int]] = ()
    """Exposure that items have had with each user, in units by slot, if asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CohortStates:
    """What users with labels have taught, by label."""

    sums: Floats
    """(n, s); zeros for a cohort that nobody taught."""
    slates: Ints
    """How many slates taught them, (n,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class UserRecord:
    """Everything kept about one user."""

    user: str
    sums: Floats
    """(s,)."""
    rounds: int
    """Slates the user has had."""
    impressions: Sequence[Impression]
    """Newest first; at most as many as were asked for."""
    count: int
    """How many impressions are kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Event:
    """Something that counts for exposure; it does not say who saw it."""

    time: float
    slots: Slots
    """The whole slate when it was handed out; of an answer the clicked items alone."""
    answered: bool = False
    """False: a slate was handed out. True: it was answered."""
    note: Mapping[str, Any] = field(default_factory=dict)
    """What the note of the impression has under `COUNTED`, and under `ANSWER` what else the answer
    says: see `ModelUpdate.counted`."""


class Store(ABC):
    """The contract of a store. Methods wait only for the store, and are called from one event loop.

    `faircascade.testing.check_store` checks it, `register_store` makes a store available to
    `faircascade serve --store`.
    """

    address_form: ClassVar[str]
    """What addresses look like, for messages: `sqlite:PATH`."""
    durability: str | None = None
    """Once open: a warning if acknowledged feedback could be lost with the store's settings."""

    @property
    def removal(self) -> str:
        """The command that removes it and nothing else; empty if there is none."""
        return ""

    @classmethod
    @abstractmethod
    def from_address(cls, address: str, *, ttl: float) -> Store:
        """Return the store at an address, not opened yet; impressions are kept for `ttl` seconds.

        A malformed address raises a `ValueError`.
        """

    def share(self) -> Sequence[int]:
        """Keep the store for the processes of one service; return the open files that each of them
        has to inherit. To be called by the process that starts them, which does not open it.

        A store that any number of services may use at once has nothing to do.
        """
        return ()

    def join(self, files: Sequence[int]) -> None:  # noqa: B027 - most stores need not do anything
        """Use the store together with the processes that inherited the files of `share`; without
        any, alone."""

    @abstractmethod
    async def stored_shape(self) -> StoreShape | None:
        """Return the shape of what it holds, before it is opened; None if it holds nothing."""

    @abstractmethod
    async def open(self, shape: StoreShape) -> None:
        """Connect and prepare; a store made for another shape is refused with a ValueError.

        One with more sums is not: the first numbers of them are used, and the others left alone.
        """

    @abstractmethod
    async def widen(self, sums: int) -> None:
        """Use so many numbers of each user from now on, no fewer than before; new ones are 0."""

    @abstractmethod
    async def move_sums(self, first: int, size: int, into: int | None, after: str) -> str | None:
        """Add `size` numbers of users and cohorts to those from `into` on, or drop them if that is
        None; they are 0 then.

        Some users at a time, each at once: those after a cursor, which is "" at first. Returns the
        next cursor, None when all had their turn; those who came meanwhile may not have had it.
        """

    @abstractmethod
    async def close(self) -> None:
        """Finish pending work and close."""

    @abstractmethod
    async def ping(self) -> None:
        """Raise `StoreDown` if it could not be written to now."""

    # meta: small things by name

    @abstractmethod
    async def get_meta(self, name: str) -> Any:
        """Return a JSON value, None if there is none."""

    @abstractmethod
    async def set_meta(self, name: str, value: Any) -> None:
        """Keep a JSON value."""

    @abstractmethod
    async def replace_meta(self, name: str, before: Any, value: Any) -> bool:
        """Keep a JSON value in the place of another, None if there was none.

        False if yet another one is kept: then nothing changed. Of several services that replace
        one value by values of their own, one does.
        """

    # catalogue

    @abstractmethod
    async def catalogue_version(self) -> int:
        """Return a number that grows with every change of the catalogue."""

    @abstractmethod
    async def items(self, after: int = 0) -> tuple[int, list[StoredItem]]:
        """Return the version and the items changed after a version, removed ones included.

        All changes up to the version that it returns are among them, whoever changes items
        meanwhile; later ones may be.
        """

    async def item_columns(self, after: int, dim: int) -> AsyncIterator[ItemColumns]:
        """Yield the items changed after a version, removed ones included, some at a time.

        They are described by `dim` numbers. Those that change meanwhile may come as they were or
        as they are. The same as `items`, for stores that need no object for each.
        """
        _, found = await self.items(after)
        for first in range(0, len(found), PAGE):
            yield ItemColumns.of(found[first : first + PAGE], dim)

    @abstractmethod
    async def put_items(self, changes: Sequence[ItemPatch]) -> None:
        """Add or change items by id, all or none; what a change leaves out stays as it was.

        A removed item comes back in its old slot, with nothing else of its old state.
        """

    @abstractmethod
    async def remove_items(self, ids: Sequence[str]) -> bool:
        """Mark items as removed; unknown ids are ignored.

        False if that would leave no item at all: then nothing changed.
        """

    # recommending

    @abstractmethod
    async def begin_round(self, users: Sequence[str], *, accounts: bool = False) -> UserStates:
        """Return what is known of users (one may occur twice), and number their slates."""

    @abstractmethod
    async def record(self, impressions: Sequence[Impression], *, units: Ints | None) -> list[str]:
        """Keep slates as impressions, count them, and return their ids.

        `units` (the longest K,) is what each position adds to the users' accounts, if they have
        any. Ids and answers of the given impressions are ignored. `StoreUnsure` if the slates may
        have been counted although no ids come back.
        """

    # learning

    @abstractmethod
    async def impressions(self, ids: Sequence[str]) -> list[Impression | None]:
        """Return impressions by id, None for those not kept; any text may be asked for."""

    @abstractmethod
    async def unanswered(self, before: float, limit: int) -> list[Impression]:
        """Return impressions without an answer that were handed out before a time, oldest first.

        At most `limit` of them; none if there are none. It takes no longer if others are answered.
        """

    @abstractmethod
    async def learn(self, updates: Sequence[ModelUpdate]) -> list[UpdateOutcome]:
        """Learn each update at most once: answer, sums, account and count change together or not
        at all.

        Updates are applied in order; several may be about one impression. A ValueError if one has
        more increments than there are sums: then nothing changed. What an update adds to the sums
        of its user it adds to those of its cohorts, too.
        """

    @abstractmethod
    async def cohorts(self, names: Sequence[str]) -> CohortStates:
        """Return what users with each of some labels have taught."""

    # users

    @abstractmethod
    async def user(self, user: str, *, impressions: int) -> UserRecord | None:
        """Return everything kept about a user, with some of the impressions."""

    @abstractmethod
    async def erase(self, user: str) -> bool:
        """Forget a user: sums, account, impressions and answers; False if there was none.

        Counts of exposure and cohorts stay: they do not say who saw an item, or who taught them.
        """

    @abstractmethod
    async def put_users(self, users: Sequence[str], sums: Floats, rounds: Ints) -> None:
        """Import users with what is known of them, (n, s) and (n,). Existing users stay as they
        are: more may have been learned of them since.
        """

    # exposure

    @abstractmethod
    async def events(self, after: str, limit: int) -> list[tuple[str, Event]]:
        """Return the events after a cursor, oldest first, each with its own cursor.

        The cursor before the first event is "".
        """

    @abstractmethod
    async def counts(self) -> tuple[str, bytes | None]:
        """Return what `keep_counts` kept last, and the cursor up to which it counts."""

    @abstractmethod
    async def keep_counts(self, cursor: str, counts: bytes) -> None:
        """Keep counts of all events up to a cursor, unless later ones are kept already.

        Events that the counts cover may be dropped, but only after other services had minutes to
        read them.
        """

    # event log

    @abstractmethod
    def log_changes(self, on: bool) -> None:
        """Say whether what this store does from now on is kept for `changes`; at first it is not.

        To be called before or after it is opened.
        """

    @abstractmethod
    async def changes(self, after: str, limit: int) -> list[tuple[str, Change]]:
        """Return the changes after a cursor, oldest first, each with its own cursor.

        Slates, answers, erasures, imports of users that were not known, and numbers that were
        moved: each once, in the order in which they came to one user, kept by the transaction that
        did it. Impressions that `expire` drops unanswered are there, too. The cursor before the
        first change is "".
        """

    @abstractmethod
    async def drop_changes(self, until: str) -> None:
        """Drop the changes up to a cursor: the log has them. Later ones have other cursors."""

    # time

    @abstractmethod
    async def expire(self, before: float) -> int:
        """Drop impressions handed out before a time, answered or not; return how many.

        It may drop only some of them, so that others need not wait; 0 says that all are gone.
        """

    # operation

    async def size(self) -> StoreSize:
        """Return how much room it takes, for whoever watches it."""
        return StoreSize()

    # copies

    def contents(self) -> StoreContents:
        """Return everything the open store holds, to be copied; a store need not offer this."""
        raise ValueError(f"{type(self).__name__} does not support copies: it has no contents()")
