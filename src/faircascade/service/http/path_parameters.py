"""Ids in paths, as the API reference describes them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from faircascade.service.ids import Id, Name

ItemPath = Annotated[
    Id, Path(description="The item, percent-encoded; it may have slashes.", examples=["song-12"])
]
UserPath = Annotated[
    Id, Path(description="The user, percent-encoded; may have slashes.", examples=["user-7"])
]
PolicyPath = Annotated[
    Name, Path(description="Name of the policy, such as `default`.", examples=["default"])
]
ExperimentPath = Annotated[Name, Path(description="The experiment.", examples=["fairer-home"])]
