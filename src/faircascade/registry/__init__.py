"""Names for components: what the command line, spec files, docs tables and contract tests see.

A component is a frozen dataclass of its parameters that derives from the base class of its room
(`Exploration`, `RewardModel`, ...). `@register("name")` is all it takes to be found: the modules
of each room, and those that other packages advertise under the entry-point group
`faircascade.components`, are imported when a name is first looked up. Others are loaded by
`component_files`.
"""

from faircascade.errors import suggest
from faircascade.parameters import parameters_of
from faircascade.registry.component import Component, declared
from faircascade.registry.names import components, find, kinds, lookup
from faircascade.registry.registration import register
from faircascade.registry.specs import (
    as_component,
    build,
    flat_spec,
    from_spec,
    to_spec,
    validated,
)

__all__ = [
    "Component",
    "as_component",
    "build",
    "components",
    "declared",
    "find",
    "flat_spec",
    "from_spec",
    "kinds",
    "lookup",
    "parameters_of",
    "register",
    "suggest",
    "to_spec",
    "validated",
]
