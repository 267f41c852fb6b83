"""How users click."""

from faircascade.clicks.base import ClickModel
from faircascade.clicks.cascade import Cascade

__all__ = ["Cascade", "ClickModel"]
