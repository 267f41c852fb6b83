"""What values that come with feedback, such as seconds watched, are worth."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError

from faircascade.service.messages import Model

Share = Annotated[float, Field(ge=0, le=1)]


class ValueReward(Model):
    """The reward of one kind of value."""

    reward: Share = 1.0
    """Of a full value."""
    linear_to: float | None = Field(default=None, gt=0)
    """What a full value is: less is worth in proportion. None: any value above 0."""

    def of(self, value: float) -> float:
        """Return what a value is worth."""
        if self.linear_to is None:
            return self.reward if value > 0 else 0.0
        return self.reward * min(value / self.linear_to, 1.0)


def _of_any(given: object) -> object:
    return given if isinstance(given, dict | ValueReward) else {"reward": given}


class GradedRewards(Model):
    """What clicks and values are worth, in [0, 1]."""

    click: Share = 1.0
    """A click alone."""
    combine: Literal["max", "sum"] = "max"
    """Of several rewards of a position, the largest counts, or the sum, 1 at most."""
    values: dict[str, Annotated[ValueReward, BeforeValidator(_of_any)]] = Field(min_length=1)
    """By name: the reward of any value above 0, or how it follows from the value."""

    @classmethod
    def read(cls, path: Path) -> GradedRewards:
        """Read a file of TOML."""
        try:
            return cls.model_validate(tomllib.loads(path.read_text("utf-8")))
        except OSError as error:
            raise ValueError(f"{path}: cannot be read ({error.strerror})") from error
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path}: is not TOML: {error}") from error
        except ValidationError as error:
            from faircascade.service.http.validation_errors import first_in

            raise ValueError(f"{path}: {first_in(cls, error)}") from None

    def reward(self, clicked: bool, values: Mapping[str, float]) -> float:
        """Return what a position is worth."""
        rewards = [self._of(name, value) for name, value in values.items()]
        if clicked:
            rewards.append(self.click)
        return max(rewards, default=0.0) if self.combine == "max" else min(sum(rewards), 1.0)

    def _of(self, name: str, value: float) -> float:
        known = self.values.get(name)
        return 0.0 if known is None else known.of(value)
