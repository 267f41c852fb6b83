from . import theory
from .client import AsyncClient, Client
from .data.base import DataError, Ratings
from .data.load import load_dataset
from .engine import Result, simulate
from .environment import Environment, load_instances
from .experiment import Comparison, compare, load_results, run_experiment
from .policies import (
    Bandit,
    CascadeHybrid,
    CascadeLSB,
    DiscountLinUCB,
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
from .ranker import Ranker
from .report import write_report
from .types import Slate
from .version import __version__ as __version__

__all__ = [
    "AsyncClient",
    "Bandit",
    "CascadeHybrid",
    "CascadeLSB",
    "Client",
    "Comparison",
    "DataError",
    "DiscountLinUCB",
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
    "load_instances",
    "load_results",
    "run_experiment",
    "simulate",
    "theory",
    "write_report",
]
