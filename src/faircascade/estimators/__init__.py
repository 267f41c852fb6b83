"""What a policy learns."""

from faircascade.estimators.base import Beliefs, Estimator, Evidence
from faircascade.estimators.item_sums import ItemSums
from faircascade.estimators.logistic import Logistic
from faircascade.estimators.ridge import Ridge
from faircascade.estimators.shared_ridge import SharedRidge
from faircascade.estimators.shared_topical import SharedTopical
from faircascade.estimators.states import ArrayState, UserArrays
from faircascade.estimators.tabular import Tabular
from faircascade.estimators.topical import Topical
from faircascade.estimators.toprank import TopRankBlocks

__all__ = [
    "ArrayState",
    "Beliefs",
    "Estimator",
    "Evidence",
    "ItemSums",
    "Logistic",
    "Ridge",
    "SharedRidge",
    "SharedTopical",
    "Tabular",
    "TopRankBlocks",
    "Topical",
    "UserArrays",
]
