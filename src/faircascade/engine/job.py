"""What is to be simulated, and what comes back from an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from faircascade.environment import Environment
from faircascade.metrics import Tally
from faircascade.numerics import LARGEST_RESIDUAL
from faircascade.policies import Policy
from faircascade.types import Floats

Progress = Callable[[float], None]
"""Called with the share of the work that is done."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """One policy in one environment, fully specified."""

    env: Environment
    policy: Policy
    checkpoints: tuple[int, ...]
    seed: int
    threads: int
    start: Any = None
    """The policy's state of all users before the first round; None if it knows nothing yet."""
    activity: float = 1.0
    """How likely a user comes in a round of theirs, see `chances`."""
    realised: bool = False
    trace: Path | None = None
    propensities: bool = True
    """Whether a trace has propensities."""
    propensity_draws: int = 0
    """How often a slate is drawn again to estimate what is not known exactly."""
    snapshot: Path | None = None
    """Where the run is kept while it is under way."""
    keep_snapshot: bool = False
    lazy: bool = True
    """Whether scores that cannot matter may be left out."""
    precision: str = "float64"
    """Of what the policy computes; only the gpu engine has another than float64."""
    progress: Progress | None = None

    @property
    def rounds(self) -> int:
        return self.checkpoints[-1]

    @cached_property
    def chances(self) -> Floats:
        """How likely each user comes in a round, (n,)."""
        return self.activity * self.env.users.chances()

    @cached_property
    def everybody_comes(self) -> bool:
        """Whether all users come in every round."""
        return bool((self.chances == 1.0).all())


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What an engine returns."""

    tally: Tally
    state: Any
    """The policy's state of all users after the last round."""
    interrupted: bool
    earlier: float = 0.0
    """Seconds of the attempts that the run continued."""
    compiling: float = 0.0
    """Seconds until its kernel was compiled or loaded, which say nothing of the run itself."""


def not_finite(job: Job, last: int) -> FloatingPointError:
    """Return the error of a run whose numbers float64 cannot hold."""
    return FloatingPointError(
        f"{job.policy.label}: by round {last} a number is not finite, or M^-1 is off by more than "
        f"{LARGEST_RESIDUAL:g}; check the scale of the features, sigma and the reward weights"
    )
