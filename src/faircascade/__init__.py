"""Online learning to rank that shares exposure fairly.

>>> import faircascade as fc
>>> data = fc.load_dataset("synthetic", users=50, items=80)
>>> env = fc.Environment.from_ratings(data, dim=5, k=5)
>>> result = fc.simulate(env, fc.EALinUCB(weight="log"), rounds=20, seed=1)
>>> 0 < result.clicks < 1
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from faircascade.version import __version__ as __version__

if TYPE_CHECKING:
    from faircascade import theory
    from faircascade.client import AsyncClient, Client
    from faircascade.data.base import DataError, Ratings
    from faircascade.data.load import load_dataset
    from faircascade.engine import Result, simulate
    from faircascade.environment import Environment
    from faircascade.experiment import Comparison, compare, load_results, run_experiment
    from faircascade.policies import (
        Bandit,
        EAEpsilonGreedy,
        EALinTS,
        EALinUCB,
        EARSLinUCB,
        EpsilonGreedy,
        FRMLinUCB,
        LinTS,
        LinUCB,
        MostPopular,
        Optimal,
        Random,
    )
    from faircascade.ranker import Ranker
    from faircascade.report import write_report
    from faircascade.types import Slate


_HOME = {
    "AsyncClient": "client",
    "Bandit": "policies",
    "Client": "client",
    "Comparison": "experiment",
    "DataError": "data.base",
    "EAEpsilonGreedy": "policies",
    "EALinTS": "policies",
    "EALinUCB": "policies",
    "EARSLinUCB": "policies",
    "Environment": "environment",
    "EpsilonGreedy": "policies",
    "FRMLinUCB": "policies",
    "LinTS": "policies",
    "LinUCB": "policies",
    "MostPopular": "policies",
    "Optimal": "policies",
    "Random": "policies",
    "Ranker": "ranker",
    "Ratings": "data.base",
    "Result": "engine",
    "Slate": "types",
    "compare": "experiment",
    "load_dataset": "data.load",
    "load_results": "experiment",
    "run_experiment": "experiment",
    "simulate": "engine",
    "theory": "theory",
    "write_report": "report",
}

__all__ = [
    "AsyncClient",
    "Bandit",
    "Client",
    "Comparison",
    "DataError",
    "EAEpsilonGreedy",
    "EALinTS",
    "EALinUCB",
    "EARSLinUCB",
    "Environment",
    "EpsilonGreedy",
    "FRMLinUCB",
    "LinTS",
    "LinUCB",
    "MostPopular",
    "Optimal",
    "Random",
    "Ranker",
    "Ratings",
    "Result",
    "Slate",
    "compare",
    "load_dataset",
    "load_results",
    "run_experiment",
    "simulate",
    "theory",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `faircascade --help` does not wait for NumPy."""
    if name not in _HOME:
        raise AttributeError(f"module 'faircascade' has no attribute {name!r}")
    home = import_module(f"faircascade.{_HOME[name]}")
    value = home if name == _HOME[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
