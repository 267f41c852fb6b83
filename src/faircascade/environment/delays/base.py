"""The contract of a delay."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from faircascade.random import Words
from faircascade.registry import Component
from faircascade.types import Ints


class Delay(Component):
    """How long feedback is on its way."""

    kind: ClassVar[str] = "delay"

    waits: ClassVar[bool] = True
    """False if feedback is always learned before the next slate."""

    @abstractmethod
    def rounds(self, users: Words, round: int, seed: int) -> Ints:
        """Return for how many rounds the feedback of a round waits, (n,), each >= 0.

        With 0 it is learned before the next slate, with 1 one round later. `users` are the keys
        of the users; draws are keyed by seed, user and round. Feedback that is still waiting
        when a run ends is never learned.
        """
