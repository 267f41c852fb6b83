"""The file of a saved ranker: its policy, its catalogue and what it learned of its users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faircascade import storage
from faircascade.policies import Policy
from faircascade.ranker_feedback import Answer
from faircascade.registry import from_spec, to_spec
from faircascade.types import Items, Users

VERSION = 2
_STATE = "state/"


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedRanker:
    """All of a ranker that outlives its process."""

    policy: Policy
    items: Items
    seed: int
    max_open: int
    users: list[str]
    slates: list[int]
    """How many slates each user has had."""
    open: list[list[str]]
    """Ids of each user's slates that wait for feedback, oldest first."""
    answers: list[dict[str, Answer]]
    """What was learned from each user's slates, by their ids, oldest first."""
    state: Any
    """What the policy learned, one row per user; None if there are no users."""

    def write(self, path: str | Path) -> None:
        """Write one .npz file."""
        learned = {} if self.state is None else self.policy.arrays(self.state)
        storage.save_arrays(
            path,
            kind="ranker",
            version=VERSION,
            meta={
                "policy": to_spec(self.policy),
                "seed": self.seed,
                "max_open": self.max_open,
                "users": self.users,
                "slates": self.slates,
                "open": self.open,
                "answers": self.answers,
            },
            arrays=self.items.arrays() | {_STATE + name: a for name, a in learned.items()},
        )

    @classmethod
    def read(cls, path: str | Path) -> SavedRanker:
        """Read what `write` wrote."""
        meta, arrays = storage.load_arrays(path, kind="ranker", version=VERSION)
        policy = from_spec("policy", meta["policy"])
        learned = {
            name.removeprefix(_STATE): array
            for name, array in arrays.items()
            if name.startswith(_STATE)
        }
        users = Users(ids=np.array(meta["users"]))
        return cls(
            policy=policy,
            items=Items.restore(arrays),
            seed=meta["seed"],
            max_open=meta["max_open"],
            users=meta["users"],
            slates=meta["slates"],
            open=meta["open"],
            answers=_answers(meta),
            state=policy.restore(users, learned) if len(users) else None,
        )


def _answers(meta: dict[str, Any]) -> list[dict[str, Answer]]:
    """Return what was learned from slates; the first files did not say."""
    kept = meta.get("answers", [{} for _ in meta["users"]])
    return [{slate: (a[0], a[1], a[2]) for slate, a in answers.items()} for answers in kept]
