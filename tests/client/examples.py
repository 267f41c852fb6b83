"""Documents of the service as its schemas give them, and what a client makes of them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from faircascade.client import Impression, Receipt

IMPRESSION = Impression(
    id="1f-Zq3vT0kX5mE",
    user="user-7",
    items=("song-3", "song-8"),
    scores=(0.41, 0.4),
    policy_name="ealinucb",
    policy_version="8c1f0e2a9b3d",
)
RECEIPT = Receipt(
    impression_id="1f-Zq3vT0kX5mE", clicked_positions=(2,), clicked_items=("song-8",), shown=2
)


def example(model: type[BaseModel]) -> Any:
    """Return the first example of a schema, as JSON."""
    extra: Any = model.model_config["json_schema_extra"]
    return extra["examples"][0]
