"""How users click."""

from faircascade.clicks.base import ClickDraws, ClickModel
from faircascade.clicks.cascade import Cascade

__all__ = ["Cascade", "ClickDraws", "ClickModel"]
