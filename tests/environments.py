"""Small environments that tests share."""

from faircascade.testing import small_environment as small_environment

__all__ = ["small_environment"]
