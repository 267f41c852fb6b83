"""A GPU for machines that have none: the kernel's own text, compiled for the processor."""

from tests.engine.emulated.device import Emulated, compiler

__all__ = ["Emulated", "compiler"]
