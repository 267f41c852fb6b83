"""Small environments that tests share."""

from faircascade.testing import small_environment as small_world

__all__ = ["small_world"]
