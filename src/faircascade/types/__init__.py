"""What travels between the rooms: items, users, slates and feedback."""

from faircascade.types.arrays import (
    Bools,
    Floats,
    Ids,
    Ints,
    Rows,
    Singles,
    as_ids,
    check_finite,
    id_text,
    whole,
)
from faircascade.types.items import Items, Pool
from faircascade.types.slates import Feedback, Slate, SlatePropensities, Slates
from faircascade.types.users import Users

__all__ = [
    "Bools",
    "Feedback",
    "Floats",
    "Ids",
    "Ints",
    "Items",
    "Pool",
    "Rows",
    "Singles",
    "Slate",
    "SlatePropensities",
    "Slates",
    "Users",
    "as_ids",
    "check_finite",
    "id_text",
    "whole",
]
