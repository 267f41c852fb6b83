"""The parameter by which a part trades clicks for fairness."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StrengthRange:
    """Which parameter of a part buys fairness with clicks, and which of its values are worth
    trying, whatever the scale of scores."""

    parameter: str
    weakest: float
    """Where it hardly costs anything; it may be the largest value."""
    strongest: float
    log: bool = True
    """Whether values are spread by their logarithm; both ends are above 0 then."""

    @property
    def span(self) -> dict[str, float | bool]:
        """Return it as a range of a search is written."""
        low, high = sorted((self.weakest, self.strongest))
        return {"low": low, "high": high, "log": self.log}
