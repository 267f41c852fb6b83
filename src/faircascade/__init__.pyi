from . import theory
from .client import AsyncClient, Client
from .data.base import DataError, Ratings
from .data.load import load_dataset
from .data.log import EventLogWriter, Log, LoggedImpression
from .engine import Result, simulate
from .environment import Environment, load_instances
from .environment.traffic import FittedTraffic, fit_traffic
from .evaluation.audit import Audit, audit
from .evaluation.evaluate import evaluate
from .evaluation.given import Probabilities
from .evaluation.results import Evaluation
from .experiment import Comparison, compare, load_results, run_experiment
from .fitting import ClickCounts, FittedClickModel, fit_click_model
from .policies import (
    DCMKLUCB,
    PBMTS,
    PBMUCB,
    Bandit,
    CascadeHybrid,
    CascadeKLUCB,
    CascadeLSB,
    CascadeTS,
    CascadeUCB1,
    DiscountLinUCB,
    EAEpsilonGreedy,
    EALinTS,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FairXLinUCB,
    FairXTS,
    FRMLinUCB,
    LinTS,
    LinUCB,
    LogisticTS,
    LogisticUCB,
    MostPopular,
    Optimal,
    Random,
    SharedLinUCB,
    TopRank,
    TSCascade,
)
from .ranker import Ranker
from .report import write_audit, write_evaluation, write_report
from .types import Slate
from .version import __version__ as __version__

__all__ = [
    "DCMKLUCB",
    "PBMTS",
    "PBMUCB",
    "AsyncClient",
    "Audit",
    "Bandit",
    "CascadeHybrid",
    "CascadeKLUCB",
    "CascadeLSB",
    "CascadeTS",
    "CascadeUCB1",
    "ClickCounts",
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
    "Evaluation",
    "EventLogWriter",
    "FRMLinUCB",
    "FairXLinUCB",
    "FairXTS",
    "FittedClickModel",
    "FittedTraffic",
    "LinTS",
    "LinUCB",
    "Log",
    "LoggedImpression",
    "LogisticTS",
    "LogisticUCB",
    "MostPopular",
    "Optimal",
    "Probabilities",
    "Random",
    "Ranker",
    "Ratings",
    "Result",
    "SharedLinUCB",
    "Slate",
    "TSCascade",
    "TopRank",
    "audit",
    "compare",
    "evaluate",
    "fit_click_model",
    "fit_traffic",
    "load_dataset",
    "load_instances",
    "load_results",
    "run_experiment",
    "simulate",
    "theory",
    "write_audit",
    "write_evaluation",
    "write_report",
]
