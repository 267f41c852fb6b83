"""The Helm chart, rendered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tests.deploy.go_template import Templates

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "faircascade"
ABOUT = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

Document = dict[str, Any]


def render(values: Mapping[str, Any]) -> list[Document]:
    """Return the documents that a release named shop with these values has."""
    merged = _merged(DEFAULTS, values)
    jsonschema.validate(merged, SCHEMA)
    files = {path.name: path for path in sorted((CHART / "templates").iterdir())}
    templates = Templates({name: path.read_text("utf-8") for name, path in files.items()})
    dot = {
        "Values": merged,
        "Release": {"Name": "shop", "Service": "Helm"},
        "Chart": {"AppVersion": ABOUT["appVersion"]},
    }
    documents = []
    for name in files:
        if not name.startswith("_"):
            documents += yaml.safe_load_all(templates.render(name, dot))
    return [document for document in documents if document is not None]


def _merged(base: Any, changes: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(changes, Mapping):
        return changes
    return base | {name: _merged(base.get(name), value) for name, value in changes.items()}
