"""Computes the lists of other people's fair rankers on small score matrices: `fair_lists.json`.

Needs fairdiverse 1.0.0 unpacked, a checkout of MarcoMorik/Dynamic-Fairness, numpy, tqdm and cvxpy
(1.9.3 here), in an environment of its own:

    python tests/peers/fair_ranker_lists.py FAIRDIVERSE DYNAMIC_FAIRNESS

Nothing of faircascade is imported. `scores`, `GROUPS` and `MERIT` are all that both sides share.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

USERS, ITEMS, K, SUPPLIERS = 300, 60, 5, 6
GROUPS = np.array([0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 5] * (ITEMS // 12))
"""Supplier of each item; they have different numbers of items."""
MERIT = 0.2 + 0.8 * (np.arange(ITEMS) % 7) / 6
STRENGTH = {"p-mmf": 0.5, "cp-fair": 0.3, "min-regularizer": 3.0, "fairco": 0.01}
STEP, MOMENTUM = 0.05, 0.3


def scores(seed: int = 11) -> np.ndarray:
    """Return scores of users that like some items more than others, all different, (n, m)."""
    rng = np.random.default_rng(seed)
    return 0.6 * rng.uniform(size=(USERS, ITEMS)) + 0.4 * rng.uniform(size=ITEMS)


def fairdiverse(folder: str) -> dict[str, Any]:
    """Return the lists of rerankers of fairdiverse, imported without the rest of the package."""
    root = Path(folder) / "fairdiverse" / "recommendation"
    members = np.eye(SUPPLIERS)[GROUPS]
    stubs = {"fairdiverse": root.parent, "fairdiverse.recommendation": root}
    stubs["fairdiverse.recommendation.rerank_model"] = root / "rerank_model"
    for name, path in stubs.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(path)]  # type: ignore[attr-defined]
    tools = types.ModuleType("fairdiverse.recommendation.utils")
    tools.Build_Adjecent_Matrix = lambda config: (members, dict(enumerate(GROUPS)))  # type: ignore[attr-defined]
    sys.modules[tools.__name__] = tools
    lists = {}
    for key, name in (
        ("p-mmf", "PMMF"),
        ("cp-fair", "CPFair"),
        ("min-regularizer", "min_regularizer"),
    ):
        module = importlib.import_module(f"fairdiverse.recommendation.rerank_model.{name}")
        config = {
            "item_num": ITEMS,
            "group_num": SUPPLIERS,
            "lambda": STRENGTH[key],
            "learning_rate": STEP * ITEMS**0.5,
            "gamma": MOMENTUM,
        }
        ranker = getattr(module, name)(config)
        ranker.group_num = SUPPLIERS
        if name == "PMMF":  # its weights cannot be given as an array; these are the authors' own
            ranker.weights = (1 + 1 / SUPPLIERS) * np.bincount(GROUPS) / ITEMS
        lists[key] = np.array(ranker.rerank(scores(), K)).tolist()
    return lists


def dynamic_fairness(folder: str) -> dict[str, Any]:
    """Return the lists of FairCo's controller over groups and over items, with merit given.

    Its functions are taken out of a file that would import much else; its `argsort` ranks all
    items, and positions below the slate count as not seen, as here.
    """
    tree = ast.parse((Path(folder) / "Simulation.py").read_text())
    wanted = ("get_unfairness", "controller_rank")
    found = [node for node in tree.body if getattr(node, "name", "") in wanted]
    for node in found:
        node.decorator_list = []
    space: dict[str, Any] = {"np": np}
    exec(compile(ast.Module(found, []), "Simulation.py", "exec"), space)
    lists = {}
    for key, groups in (("fairco-groups", GROUPS), ("fairco-items", np.arange(ITEMS))):
        rows = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
        exposure, shown = np.zeros(ITEMS), []
        for row in scores():
            error = space["get_unfairness"](exposure, MERIT, rows, error=True)
            slate = space["controller_rank"](row, error, KP=STRENGTH["fairco"])[:K]
            exposure[slate] += 1 / np.log2(2 + np.arange(K))
            shown.append(slate.tolist())
        lists[key] = shown
    return lists


if __name__ == "__main__":
    lists = fairdiverse(sys.argv[1]) | dynamic_fairness(sys.argv[2])
    lines = ",\n".join(
        f' "{key}": {json.dumps(made).replace(" ", "")}' for key, made in lists.items()
    )
    Path(__file__).with_name("fair_lists.json").write_text("{\n" + lines + "\n}\n")
