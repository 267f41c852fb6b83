"""What several documents share."""

from __future__ import annotations

from abc import abstractmethod

from pydantic import Field

from faircascade.service.messages import MOST, Model

LARGEST_PAGE = 1_000


class Batch(Model):
    """Several things at once."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many."""


class Paging(Model):
    offset: int = Field(0, ge=0, le=MOST, description="How many to leave out.")
    limit: int = Field(100, ge=1, le=LARGEST_PAGE, description="How many to return at most.")
