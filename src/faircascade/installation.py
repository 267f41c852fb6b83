"""How to get what is not installed, from wherever this package was installed."""

from __future__ import annotations

import json
from pathlib import Path


def install_command(extra: str) -> str:
    """Return the command that installs an extra; in a checkout that is the folder itself."""
    return f"pip install '{'.' if _is_local() else 'faircascade'}[{extra}]'"


def _in_checkout() -> bool:
    """Say whether these sources lie in a checkout, whatever is installed beside it."""
    return (Path(__file__).parents[2] / "pyproject.toml").is_file()


def _is_local() -> bool:
    """Say whether this package was installed from a folder, or is not installed at all."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import

    if _in_checkout():
        return True
    try:
        origin = distribution("faircascade").read_text("direct_url.json")
    except PackageNotFoundError:
        return True
    return origin is not None and "dir_info" in json.loads(origin)
