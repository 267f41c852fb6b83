"""The contract of dynamics."""

from __future__ import annotations

from typing import ClassVar

from faircascade.registry import Component
from faircascade.types import Bools, Floats, Items, Users


class Dynamics(Component):
    """What users like and which items are there, as a function of the round.

    It must be a function of its arguments alone, so that every policy meets the same changes and
    users can be simulated apart: draw with `faircascade.random`, keyed by `users.keys`, a `seed`
    parameter of its own, and the round.
    """

    kind: ClassVar[str] = "dynamics"

    changes: ClassVar[bool] = True
    """False if every round is like the first."""

    @property
    def changes_items(self) -> bool:
        """Whether items may come and go."""
        return type(self).present is not Dynamics.present

    def preferences(self, users: Users, round: int) -> Floats:
        """Return the preferences of users in a round, (n, d); `users.preferences` at the start."""
        assert users.preferences is not None
        return users.preferences

    def present(self, items: Items, round: int) -> Bools | None:
        """Return which items can be recommended in a round, (m,); None for all eligible ones."""
        return None
